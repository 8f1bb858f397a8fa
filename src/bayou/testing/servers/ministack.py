"""ministack: an emulator of AWS whose S3 honours conditional writes. The default S3 of the tests."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bayou.testing.servers.process import HOST, answers, claimed_ports, module_folder, running
from bayou.testing.servers.s3 import CREDENTIALS, s3_server
from bayou.testing.servers.server import Server


@contextmanager
def ministack() -> Iterator[Server]:
    """Run ministack, S3 only."""
    module_folder("ministack", package="pip install ministack")
    with claimed_ports(1) as (port,):
        endpoint = f"http://{HOST}:{port}"
        surroundings = {
            "BIND_HOST": HOST,  # it would listen on every interface
            "GATEWAY_PORT": str(port),
            "SERVICES": "s3",
            **CREDENTIALS,  # it checks presigned requests only
            "IOT_MTLS_ENABLED": "0",  # these two would open further ports, at fixed numbers
            "SFTP_ENABLED": "0",
            "DOCKER_HOST": "unix:///nonexistent",  # it would remove containers that an earlier run left behind
        }
        ready = f"{endpoint}/_ministack/ready"
        with running([sys.executable, "-m", "ministack"], env=surroundings, ready=lambda: answers(ready)):
            yield s3_server("ministack", endpoint, conditional=True)
