"""The same server, further away: for whatever program speaks to it, ours or not."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from bayou.testing.servers.process import HOST, answers, claimed_ports, running
from bayou.testing.servers.server import Server

_RELAY = Path(__file__).with_name("relay.py")


@contextmanager
def far_away(server: Server, milliseconds: float) -> Iterator[Server]:
    """Let the server answer each request as much later."""
    with claimed_ports(1) as (port,):
        endpoint = f"http://{HOST}:{port}"
        upstream = str(urlsplit(server.endpoint).port)
        command: list[str | Path] = [sys.executable, "-I", _RELAY, HOST, str(port), upstream, str(milliseconds)]
        with running(command, ready=lambda: answers(endpoint)):
            yield replace(server, endpoint=endpoint, settings={**server.settings, "endpoint": endpoint})
