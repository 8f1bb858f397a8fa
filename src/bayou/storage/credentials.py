"""Which credentials a bucket is opened with, and where they come from.

Nothing is ever read from a configuration file of ours: the provider's own chain is asked, in the provider's own order.
What obstore cannot do by itself, the profiles of AWS with their single sign-on, roles and helper processes, is boto3's
work (extra `aws`).
"""

import importlib.util
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from bayou.errors import Denied, ErrorKind

if TYPE_CHECKING:
    from obstore.store import S3CredentialProvider

# boto3 renews what has less than ten minutes left, so what it gives is good for at least that long.
_RENEWED_AFTER = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class AwsCredentials:
    """`source` says who answered, for people; `provider` is None where obstore asks by itself."""

    source: str
    provider: "S3CredentialProvider | None" = None


def aws_credentials(environ: Mapping[str, str], home: Path) -> AwsCredentials:
    """Follow the order of AWS: the environment, a web identity, a profile, the container, the machine.

    A profile that was named on purpose goes before keys that happen to be there, as in the existing clients' SDK.
    """
    profile = environ.get("AWS_PROFILE")
    if environ.get("AWS_ACCESS_KEY_ID") and environ.get("AWS_SECRET_ACCESS_KEY") and not profile:
        return AwsCredentials("environment (AWS_ACCESS_KEY_ID)")
    if environ.get("AWS_WEB_IDENTITY_TOKEN_FILE") and environ.get("AWS_ROLE_ARN"):
        return AwsCredentials("web identity (AWS_WEB_IDENTITY_TOKEN_FILE)")
    if profile or _has_default_profile(environ, home):
        return AwsCredentials(f"profile {profile or 'default'}", _profile_provider(profile))
    if environ.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") or environ.get("AWS_CONTAINER_CREDENTIALS_FULL_URI"):
        return AwsCredentials("container")
    if environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        message = "no AWS credentials in the environment, a profile or a container, and the machine's are switched off"
        raise Denied(message, kind=ErrorKind.CREDENTIALS_MISSING, remedy=_GET_SOME)
    return AwsCredentials("machine (instance metadata)")


_GET_SOME = "Run `aws configure sso` or `aws configure`, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."


def azure_cli_is_logged_in(environ: Mapping[str, str], home: Path) -> bool:
    """Whether `az` can give a token, which obstore asks for last but one: before the machine's own identity."""
    if environ.get("IDENTITY_ENDPOINT") or environ.get("MSI_ENDPOINT"):
        return False  # an identity was assigned on purpose
    folder = Path(environ.get("AZURE_CONFIG_DIR") or home / ".azure")
    return (folder / "azureProfile.json").is_file() and shutil.which("az", path=environ.get("PATH")) is not None


def _has_default_profile(environ: Mapping[str, str], home: Path) -> bool:
    if Path(environ.get("AWS_SHARED_CREDENTIALS_FILE") or home / ".aws" / "credentials").is_file():
        return True
    # A configuration often says no more than a region: not worth a complaint about a missing boto3.
    has_config = Path(environ.get("AWS_CONFIG_FILE") or home / ".aws" / "config").is_file()
    return has_config and _boto3_is_installed()


def _boto3_is_installed() -> bool:
    return importlib.util.find_spec("boto3") is not None


def _profile_provider(profile: str | None) -> "S3CredentialProvider":
    name = f"AWS profile {profile or 'default'!r}"
    if not _boto3_is_installed():
        message = f"the {name} needs boto3, which is not installed"
        remedy = "Install bayou-datastore[aws], or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        raise Denied(message, kind=ErrorKind.CREDENTIALS_MISSING, remedy=remedy)
    import boto3  # noqa: PLC0415 - half a second that only profiles pay for
    from botocore.exceptions import BotoCoreError, SSOError, TokenRetrievalError  # noqa: PLC0415
    from obstore.auth.boto3 import Boto3CredentialProvider  # noqa: PLC0415

    try:
        provider = Boto3CredentialProvider(boto3.Session(profile_name=profile), ttl=_RENEWED_AFTER)
        provider()  # most profiles only find out now
    except (SSOError, TokenRetrievalError) as error:
        remedy = "Log in again: aws sso login" + (f' --profile "{profile}"' if profile else "")
        raise Denied(f"{name}: {error}", kind=ErrorKind.CREDENTIALS_EXPIRED, remedy=remedy) from error
    except (BotoCoreError, ValueError) as error:
        raise Denied(f"{name}: {error}", kind=ErrorKind.CREDENTIALS_MISSING, remedy=_GET_SOME) from error
    return provider
