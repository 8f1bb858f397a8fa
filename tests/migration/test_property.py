"""Whatever both sides do between runs, and whenever one is killed: a run does what a three-way comparison says."""

import asyncio
from contextlib import suppress
from typing import Literal

from hypothesis import example, given, settings
from hypothesis import strategies as st

from bayou.errors import BayouError
from bayou.migration.ends import End
from bayou.remotes import Change, Changeset, ObjectRemote
from bayou.storage.port import Store
from bayou.testing.faults import Fault, Faulty, at
from bayou.testing.machines import Machine, entry_of
from bayou.testing.memory import MemoryStore
from bayou.testing.migrations import carried

PATHS = ("audit/x", "logs/y", "files/z")

paths = st.sampled_from(PATHS)
writes = st.tuples(st.sampled_from(("source", "target")), paths, st.sampled_from((b"1", b"2", None)))
runs = st.tuples(st.just("run"), st.integers(0, 60), st.just(b""))
Side = dict[str, bytes]
Action = tuple[Literal["source", "target"], str, bytes | None] | tuple[Literal["run"], int, bytes]


def expected(source: Side, target: Side, agreed: Side, buried: set[tuple[str, bytes]]) -> Side:
    """What the target holds after a run. As everywhere, a tombstone is about a content, and not about a path."""
    after = dict(target)
    for path in PATHS:
        ours, theirs, base = source.get(path), target.get(path), agreed.get(path)
        if ours is None:
            if theirs is not None and theirs == base and (path, theirs) in buried:
                del after[path]
        elif theirs == base or (theirs is None and ours != base):
            after[path] = ours
    return after


async def write(store: Store, now: Side, path: str, body: bytes | None) -> None:
    """Somebody writes or deletes; what he deletes he buries, and what he writes again he digs up."""
    before = now.pop(path, None)
    old = None if before is None else entry_of(path, before).sha256
    if body is None:
        if old is not None:
            change = Change(before={path: old}, buries={path: old})
            await Machine(store).commit(Changeset("", (change,)))
        return
    now[path] = body
    entry = entry_of(path, body)
    await store.put(path, body)
    change = Change({} if old is None else {path: old}, {path: entry}, revokes={path: entry.sha256 or ""})
    await Machine(store).commit(Changeset("", (change,)))


# What was deleted at the target still lies there when something else comes to its place.
@example([("source", "audit/x", None), ("run", 0, b""), ("source", "audit/x", b"1")])
# What both sides were given by others is agreed on too.
@example([("source", "logs/y", b"1"), ("target", "logs/y", b"1"), ("run", 0, b""), ("source", "logs/y", b"2")])
@settings(max_examples=settings().max_examples // 10)
@given(st.lists(writes | runs, max_size=9))
def test_a_run_compares_three_ways(actions: list[Action]) -> None:
    async def play() -> None:
        stores = {"source": MemoryStore(), "target": MemoryStore()}
        now: dict[str, Side] = {"source": {}, "target": {}}
        agreed: Side = {}
        buried: set[tuple[str, bytes]] = set()
        await Machine(stores["source"]).remote.establish()
        await write(stores["source"], now["source"], "audit/x", b"0")
        number = 0

        async def run(target: Store) -> None:
            remote = ObjectRemote(target, now=lambda: 10**18 * (2 + number))
            await carried(End(ObjectRemote(stores["source"]), "here"), End(remote, "there"))

        for action in (("run", 0, b""), *actions, ("run", 0, b"")):
            if action[0] != "run":
                path, body = str(action[1]), action[2]
                before = now[action[0]].get(path)
                if action[0] == "source":
                    buried -= {(path, body)}
                    buried |= {(path, before)} if body is None and before is not None else set()
                await write(stores[action[0]], now[action[0]], path, body)
                continue
            number += 1
            if action[1]:
                with suppress(BayouError):
                    await run(Faulty(stores["target"], at(int(action[1]), Fault.FAIL_AFTER)))
                number += 1
            await run(stores["target"])
            now["target"] = expected(now["source"], now["target"], agreed, buried)
            listed = (await ObjectRemote(stores["target"]).load()).contents()
            assert listed == {path: entry_of(path, body).sha256 for path, body in now["target"].items()}, action
            assert all(stores["target"].objects[path][0] == body for path, body in now["target"].items())
            for path in PATHS:
                ours, theirs = now["source"].get(path), now["target"].get(path)
                if ours == theirs:
                    agreed.pop(path, None)
                    agreed.update({} if ours is None else {path: ours})

    asyncio.run(play())
