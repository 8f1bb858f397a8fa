"""What it takes to run any server: a port, a process that never outlives the tests, a wait for its first answer."""

import importlib.util
import os
import random
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from bayou.errors import Unavailable, Unsupported

HOST = "127.0.0.1"
START_SECONDS = 60.0
POLL_SECONDS = 0.02
_KEEPER = Path(__file__).with_name("keeper.py")
# Below the range from which systems take ports for outgoing connections, so that no client of a busy run takes ours.
_PORTS = range(20_000, 30_000)


@contextmanager
def claimed_ports(count: int) -> Iterator[list[int]]:
    """Ports on which a server can listen and which no other test process will pick.

    A port that is merely found free can be found by two processes at once. Holding the UDP port of the same number
    settles who has it, and the kernel takes the claim back however the holder ends.
    """
    with ExitStack() as claims:
        ports: list[int] = []
        for port in random.sample(_PORTS, len(_PORTS)):
            claim = claims.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            try:
                claim.bind((HOST, port))
                with socket.socket() as trial:
                    trial.bind((HOST, port))
            except OSError:
                claim.close()
                continue
            ports.append(port)
            if len(ports) == count:
                break
        yield ports


@contextmanager
def running(
    command: Sequence[str | Path], *, ready: Callable[[], bool], env: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Run a server in a temporary folder of its own, from its first good answer until the end of the block.

    It inherits no environment but PATH: credentials and settings of the person who runs the tests are not its business.
    """
    folder = Path(tempfile.mkdtemp(prefix="bayou-server-"))
    output = folder / "output"
    surroundings = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "TMPDIR": str(folder),
        **(env or {}),
    }
    with output.open("wb") as sink:
        keeper = subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, "-I", "-S", _KEEPER, folder, *command],
            stdin=subprocess.PIPE,
            stdout=sink,
            stderr=sink,
            env=surroundings,
            start_new_session=True,  # a Ctrl-C is for the test run, which then ends the server
        )
    try:
        _await_first_answer(keeper, ready, output)
        yield
    finally:
        keeper.communicate()  # closes its standard input, which is the word to stop, and waits for the end
        shutil.rmtree(folder, ignore_errors=True)


def _await_first_answer(keeper: subprocess.Popen[bytes], ready: Callable[[], bool], output: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not ready():
        try:
            keeper.wait(timeout=POLL_SECONDS)
        except subprocess.TimeoutExpired:
            if time.monotonic() < deadline:
                continue
            problem = f"did not answer within {START_SECONDS:.0f} s"
        else:
            problem = "ended before it answered"
        raise Unavailable(
            f"a test server {problem}; its output:\n{output.read_text(errors='replace')[-4000:]}",
            remedy="The output above says why; the versions that are known to work stand in the project's lock file.",
        )


def status_of(
    method: str, url: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> int | None:
    """The HTTP status of one request, or None where nobody answers. Never through a proxy."""
    where = urlsplit(url)
    with closing(HTTPConnection(where.netloc, timeout=START_SECONDS)) as connection:
        try:
            connection.request(method, where._replace(scheme="", netloc="").geturl() or "/", body, dict(headers or {}))
            return connection.getresponse().status
        except (OSError, HTTPException):
            return None


def answers(url: str) -> bool:
    """Whether somebody speaks HTTP there; what they say does not matter."""
    return status_of("GET", url) is not None


def must_succeed(status: int | None, what: str) -> None:
    """Stop a test whose preparation failed."""
    if status not in {200, 201}:
        raise Unavailable(
            f"{what}: HTTP status {status}", remedy="Look at the server's own documentation of that call."
        )


def program(name: str, *, package: str) -> str:
    """The path of a program, from this environment first and the PATH after it."""
    here = sysconfig.get_path("scripts")
    found = shutil.which(name, path=os.pathsep.join([here, os.environ.get("PATH", os.defpath)]))
    if found is None:
        raise missing(f"the program {name}", package)
    return found


def module_folder(name: str, *, package: str) -> Path:
    """The folder of an installed Python package, without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise missing(f"the Python module {name}", package)
    return Path(spec.origin).parent


def missing(what: str, package: str) -> Unsupported:
    """The error for a server that is not installed."""
    return Unsupported(f"{what} is not installed here", remedy=f"Install it: {package}. `make test` does.")
