"""Credentials: the order of the chain, and profiles that work against a server that checks."""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bayou.config.locations import S3, Location
from bayou.errors import Denied, ErrorKind
from bayou.storage import connect
from bayou.storage import credentials as credentials_module
from bayou.storage.credentials import AwsCredentials, aws_credentials, azure_cli_is_logged_in
from bayou.testing.contract.expect import read
from bayou.testing.servers import Server

KEYS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
IDENTITY = {"AWS_WEB_IDENTITY_TOKEN_FILE": "/token", "AWS_ROLE_ARN": "arn"}
CONTAINER = {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x"}
OFF = {"AWS_EC2_METADATA_DISABLED": "TRUE"}
PROFILE = {"AWS_PROFILE": "p"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without anything, also for boto3, which asks the environment of the process."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    (tmp_path / ".aws").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("environ", "file", "source"),
    [
        (KEYS, "", "environment (AWS_ACCESS_KEY_ID)"),
        (KEYS | IDENTITY | CONTAINER, "credentials", "environment (AWS_ACCESS_KEY_ID)"),
        (IDENTITY | CONTAINER | PROFILE, "credentials", "web identity (AWS_WEB_IDENTITY_TOKEN_FILE)"),
        (KEYS | PROFILE, "", "profile p"),
        (PROFILE | CONTAINER, "", "profile p"),
        (CONTAINER, "credentials", "profile default"),
        (CONTAINER, "config", "profile default"),
        ({"AWS_ACCESS_KEY_ID": "a"}, "config", "profile default"),
        (CONTAINER | OFF, "", "container"),
        ({"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://x"}, "", "container"),
        ({"AWS_EC2_METADATA_DISABLED": "false"}, "", "machine (instance metadata)"),
        ({}, "", "machine (instance metadata)"),
    ],
)
def test_the_order_is_that_of_aws(
    environ: dict[str, str], file: str, source: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []
    monkeypatch.setattr(credentials_module, "_profile_provider", asked.append)
    if file:
        (home / ".aws" / file).write_text("[default]\n")
    found = aws_credentials(environ, home)
    assert found == AwsCredentials(source)
    assert asked == ([environ.get("AWS_PROFILE")] if source.startswith("profile") else [])


def test_the_files_may_be_elsewhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials_module, "_profile_provider", lambda _: None)
    elsewhere = home / "elsewhere"
    elsewhere.write_text("")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        assert aws_credentials({name: str(elsewhere)}, home).source == "profile default"
        assert aws_credentials({name: str(home / "missing")}, home).source == "machine (instance metadata)"


def test_nothing_anywhere_is_said_at_once(home: Path) -> None:
    with pytest.raises(Denied) as caught:
        aws_credentials(OFF, home)
    assert caught.value.kind is ErrorKind.CREDENTIALS_MISSING
    assert "aws configure" in caught.value.remedy


def test_a_mere_region_does_not_ask_for_boto3(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".aws" / "config").write_text("[default]\nregion = eu-central-1\n")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert aws_credentials({}, home).source == "machine (instance metadata)"


def test_azure_asks_the_command_line_tool_only_where_somebody_logged_in(tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path)}
    assert not azure_cli_is_logged_in(environ, tmp_path)
    (tmp_path / "az").write_text("#!/bin/sh\n")
    (tmp_path / "az").chmod(0o755)
    assert not azure_cli_is_logged_in(environ, tmp_path)
    (tmp_path / ".azure").mkdir()
    (tmp_path / ".azure" / "azureProfile.json").touch()
    assert azure_cli_is_logged_in(environ, tmp_path)
    assert azure_cli_is_logged_in(environ | {"AZURE_CONFIG_DIR": str(tmp_path / ".azure")}, tmp_path / "other")
    assert not azure_cli_is_logged_in(environ | {"IDENTITY_ENDPOINT": "http://localhost"}, tmp_path)
    assert not azure_cli_is_logged_in({"PATH": str(tmp_path / ".azure")}, tmp_path)


def test_a_profile_without_boto3_says_what_to_install(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(Denied) as caught:
        aws_credentials(PROFILE, home)
    assert "bayou-datastore[aws]" in caught.value.remedy


def test_a_profile_that_does_not_exist(home: Path) -> None:
    with pytest.raises(Denied, match="'p'") as caught:
        aws_credentials(PROFILE, home)
    assert caught.value.kind is ErrorKind.CREDENTIALS_MISSING


def test_a_profile_without_credentials(home: Path) -> None:
    (home / ".aws" / "config").write_text("[default]\nregion = eu-central-1\n")
    with pytest.raises(Denied) as caught:
        aws_credentials({}, home)
    assert caught.value.kind is ErrorKind.CREDENTIALS_MISSING


def sso_profile(home: Path, name: str) -> None:
    """A profile whose login was long ago."""
    (home / ".aws" / "config").write_text(
        f"[profile {name}]\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = dev\n"
        "region = us-east-1\n\n"
        "[sso-session corp]\nsso_start_url = https://example.com/start\nsso_region = us-east-1\n"
    )
    folder = home / ".aws" / "sso" / "cache"
    folder.mkdir(parents=True)
    token = {
        "startUrl": "https://example.com/start",
        "region": "us-east-1",
        "accessToken": "x",
        "expiresAt": "2020-01-01T00:00:00Z",
    }
    # The name of the file is the SHA-1 of the session's name.
    (folder / "d8f9a6cf9b6b3e3c4a8ac1e0a4a0d8dbf9d6a0b0.json").write_text(json.dumps(token))


@pytest.mark.parametrize("name", ["p", '"my team"'])
def test_an_expired_single_sign_on_says_how_to_log_in(home: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sso_profile(home, name)
    plain = name.strip('"')
    monkeypatch.setenv("AWS_PROFILE", plain)
    with pytest.raises(Denied) as caught:
        aws_credentials({"AWS_PROFILE": plain}, home)
    assert caught.value.kind is ErrorKind.CREDENTIALS_EXPIRED
    assert caught.value.remedy == f'Log in again: aws sso login --profile "{plain}"'


@pytest.mark.parametrize("with_keys", [True, False], ids=["static keys", "credential_process"])
async def test_a_profile_opens_a_bucket(
    *,
    with_keys: bool,
    seaweedfs: Server,
    new_location: Callable[[Server], Location],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    location = new_location(seaweedfs)
    # What is in the environment by chance must not be what opens it.
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    monkeypatch.setenv("AWS_PROFILE", "team")
    key, secret = seaweedfs.settings["access_key_id"], seaweedfs.settings["secret_access_key"]
    if with_keys:
        text = f"[team]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n"
        (home / ".aws" / "credentials").write_text(text)
    else:
        answer = json.dumps({"Version": 1, "AccessKeyId": key, "SecretAccessKey": secret})
        command = shlex.join([sys.executable, "-c", f"print({answer!r})"])
        (home / ".aws" / "config").write_text(f"[profile team]\ncredential_process = {command}\n")
    async with connect(location) as store:
        await store.put("a", b"content")
        assert await read(store, "a") == b"content"


async def test_a_login_that_ends_while_the_store_is_open_is_denied(
    seaweedfs: Server, new_location: Callable[[Server], Location], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Expired:
        config: dict[str, Any]

        def __init__(self) -> None:
            self.config = {}

        def __call__(self) -> dict[str, Any]:
            raise RuntimeError("Error loading SSO Token: Token for corp has expired")

    found = AwsCredentials("profile p", Expired())  # type: ignore[arg-type] # a provider that only fails
    monkeypatch.setattr(sys.modules["bayou.storage.connecting"], "aws_credentials", lambda *_: found)
    async with connect(new_location(seaweedfs)) as store:
        with pytest.raises(Denied) as caught:
            await store.get("a")
    assert caught.value.kind is ErrorKind.CREDENTIALS_EXPIRED
    assert "aws sso login" in caught.value.remedy


def test_the_region_of_the_location_goes_before_that_of_the_profile(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".aws" / "config").write_text(
        "[profile team]\nregion = eu-central-1\naws_access_key_id = a\naws_secret_access_key = b\n"
    )
    monkeypatch.setenv("AWS_PROFILE", "team")
    config = sys.modules["bayou.storage.connecting"].open_bare(S3("bucket", region="us-east-2"))._client.config
    assert config["region"] == "us-east-2"
    config = sys.modules["bayou.storage.connecting"].open_bare(S3("bucket"))._client.config
    assert config["region"] == "eu-central-1"
