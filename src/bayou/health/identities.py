"""Whose credentials are used, and where they come from. Whether they are any good is for the store to say."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bayou.config.locations import GCS, S3, Azure
from bayou.health.findings import Finding, ok
from bayou.health.patient import Patient
from bayou.storage.credentials import aws_credentials, azure_cli_is_logged_in

_GCLOUD = ".config/gcloud/application_default_credentials.json"
_AZURE: Mapping[str, Callable[[Mapping[str, str]], bool]] = {
    "environment (AZURE_STORAGE_ACCOUNT_KEY)": lambda env: (
        _has(env, "AZURE_STORAGE_ACCOUNT_KEY") or _has(env, "AZURE_STORAGE_ACCESS_KEY")
    ),
    "federated token (AZURE_FEDERATED_TOKEN_FILE)": lambda env: _has(env, "AZURE_FEDERATED_TOKEN_FILE"),
    "client secret (AZURE_CLIENT_SECRET)": lambda env: (
        _has(env, "AZURE_CLIENT_SECRET") or _has(env, "AZURE_STORAGE_CLIENT_SECRET")
    ),
    "shared access signature (AZURE_STORAGE_SAS_KEY)": lambda env: (
        _has(env, "AZURE_STORAGE_SAS_KEY") or _has(env, "AZURE_STORAGE_SAS_TOKEN")
    ),
}


def credentials(patient: Patient) -> Iterator[Finding]:
    match patient.settings.location:
        case S3():
            source = aws_credentials(os.environ, Path.home()).source
        case GCS(endpoint=endpoint):
            source = gcs_source(os.environ, Path.home(), endpoint)
        case Azure():
            source = azure_source(os.environ, Path.home())
        case _:
            return
    yield ok(f"credentials: {source}", source=source)


def gcs_source(environ: Mapping[str, str], home: Path, endpoint: str | None = None) -> str:
    if endpoint is not None and endpoint.startswith("http://"):
        return "none: an emulator"
    for name in ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_KEY", "GOOGLE_APPLICATION_CREDENTIALS"):
        if _has(environ, name):
            return f"environment ({name})"
    return "gcloud auth application-default login" if (home / _GCLOUD).is_file() else "machine (metadata server)"


def azure_source(environ: Mapping[str, str], home: Path) -> str:
    named = next((source for source, is_there in _AZURE.items() if is_there(environ)), None)
    if named is not None:
        return named
    return "az login" if azure_cli_is_logged_in(environ, home) else "machine (managed identity)"


def _has(environ: Mapping[str, str], name: str) -> bool:
    return bool(environ.get(name))
