"""Real stores do, step by step, what the model does: the same answers, bytes, and categories of errors."""

import asyncio
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import BayouError
from bayou.storage import ABSENT, ANY, Condition, FilesystemStore, Store, Version
from bayou.testing.contract.expect import list_keys, read
from bayou.testing.memory import MemoryStore
from bayou.testing.servers import Server

# No key is the folder of another, which a folder could not hold; one of them is no key at all.
KEYS = ("a", "b-c", "b/c", "b/d/e", "b0", "ü ñ", "x/" + "y" * 100, "../z")
PREFIXES = ("", "a", "b", "b/d", "none", "..")
NOTHING = Version('"0" "0"')

Step = tuple[str, int, int]
Outcome = object
steps = st.tuples(
    st.sampled_from(["put", "create", "replace", "get", "range", "changed", "head", "delete", "copy", "list", "after"]),
    st.integers(0, 100),
    st.integers(0, 100),
)


class Play:
    """One store, and the versions that it gave at each step so far."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.versions: list[Version] = []

    async def step(self, number: int, step: Step) -> Outcome:
        """Do a step; give what can be compared: versions only by when they were given before."""
        try:
            return await self._do(number, step)
        except BayouError as error:
            return type(error).__mro__[-4:], error.kind

    async def _do(self, number: int, step: Step) -> Outcome:  # noqa: PLR0911 - one for each verb
        verb, first, second = step
        key, other = KEYS[first % len(KEYS)], KEYS[second % len(KEYS)]
        known = self.versions[second % len(self.versions)] if self.versions else NOTHING
        if verb in {"put", "create", "replace"}:
            conditions: dict[str, Condition] = {"put": ANY, "create": ABSENT, "replace": known}
            self.versions.append(await self.store.put(key, self._content(number), when=conditions[verb]))
            return len(self.versions)
        if verb == "get":
            fetched = await self.store.get(key)
            return fetched.meta.size, await fetched.bytes(), self._when(fetched.version)
        if verb == "range":
            return await (await self.store.get(key, start=second % 7, stop=second % 7 + 3)).bytes()
        if verb == "changed":
            changed = await self.store.get_if_changed(key, known)
            return None if changed is None else (await changed.bytes(), self._when(changed.version))
        if verb == "head":
            meta = await self.store.head(key)
            return meta.key, meta.size
        if verb == "delete":
            await self.store.delete(key)
            return None
        if verb == "copy":
            await self.store.copy(key, other)
            # A copy is new bytes in a folder, and the same bytes with the same name in a bucket.
            return await self.store.put(other, self._content(number)) and None
        if verb == "list":
            return await list_keys(self.store, PREFIXES[first % len(PREFIXES)])
        return await list_keys(self.store, after=KEYS[first % len(KEYS)])

    def _content(self, number: int) -> bytes:
        # Never the same twice: the model would give it the same version.
        return b"%d:" % number + b"x" * (number % 11)

    def _when(self, version: Version) -> int | None:
        return self.versions.index(version) if version in self.versions else None


async def same(store: Store, script: list[Step]) -> None:
    model, real = Play(MemoryStore()), Play(store)
    async with store:
        for number, step in enumerate(script):
            expected = await model.step(number, step)
            assert await real.step(number, step) == expected, (number, step)
        assert await list_keys(store) == await list_keys(model.store)
        for key in await list_keys(store):
            assert await read(store, key) == await read(model.store, key)


@given(st.lists(steps, max_size=12))
def test_a_folder_does_what_the_model_does(script: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(same(FilesystemStore(Path(folder), durable=False), script))


@pytest.mark.parametrize("name", ["azurite", "fake_gcs", "ministack"])
async def test_a_bucket_does_what_the_model_does(
    name: str, request: pytest.FixtureRequest, new_bucket: Callable[[Server], Store]
) -> None:
    dice = random.Random(20261118)  # noqa: S311 - repeatable on purpose
    verbs = ["put", "create", "replace", "get", "range", "changed", "head", "delete", "copy", "list", "after"]
    script = [(dice.choice(verbs), dice.randrange(100), dice.randrange(100)) for _ in range(300)]
    await same(new_bucket(request.getfixturevalue(name)), script)
