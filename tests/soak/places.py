"""Where the hammer falls: a folder, or a bucket with caches, each on what passes for a computer of its own."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

import bayou
from bayou.config import Hydration, newrepo, urls
from bayou.datastore import coordination, remote
from bayou.datastore.setup import Wishes, set_up
from bayou.testing.servers import SERVERS
from bayou.testing.servers.places import new_place

FOLDER = "folder"


class Computer(NamedTuple):
    """A repo, and the home in which its cache is."""

    repo: Path
    home: Path

    @contextmanager
    def opened(self, ttl: float) -> Iterator[bayou.Datastore]:
        """Its datastore, with locks that are good for as long as those of the writers."""
        brief = partial(coordination.open_locks, ttl=ttl)
        with (
            patch.dict(os.environ, SWAMP_HOME=str(self.home)),
            patch.object(coordination, "open_locks", brief),
            patch.object(remote, "open_locks", brief),
            bayou.open(self.repo, durable=False, lock_timeout=60 + 5 * ttl, notice=lambda _: None) as datastore,
        ):
            yield datastore


@contextmanager
def computers(place: str, caches: int) -> Iterator[list[Computer]]:
    """All who work on one new datastore: in a folder it is one, in a bucket there are as many as there are caches."""
    with ExitStack() as opened:
        folder = Path(opened.enter_context(TemporaryDirectory(prefix="soak-")))
        found = [Computer(folder / f"repo{n}", folder / f"home{n}") for n in range(1 if place == FOLDER else caches)]
        for computer in found:
            newrepo.create(computer.repo)
        if place != FOLDER:
            server = opened.enter_context(SERVERS[place]())
            url = urls.render(new_place(server, os.environ.__setitem__, "soak"))
            for computer in found:
                with patch.dict(os.environ, SWAMP_HOME=str(computer.home)):
                    set_up(computer.repo, Wishes(url, hydration=Hydration.FULL), lambda _: None)
        yield found
