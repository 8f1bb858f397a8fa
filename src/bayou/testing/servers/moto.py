"""moto_server: the other emulator of AWS, for a second opinion on S3. It checks no credentials and is slow."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bayou.testing.servers.process import HOST, answers, claimed_ports, module_folder, running
from bayou.testing.servers.s3 import s3_server
from bayou.testing.servers.server import Server


@contextmanager
def moto() -> Iterator[Server]:
    """Run moto_server."""
    module_folder("moto", package="pip install 'moto[server]'")
    with claimed_ports(1) as (port,):
        endpoint = f"http://{HOST}:{port}"
        command = [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(port)]
        with running(command, ready=lambda: answers(f"{endpoint}/moto-api/")):
            yield s3_server("moto", endpoint, conditional=True)
