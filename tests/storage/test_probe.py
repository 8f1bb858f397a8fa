"""The probe tells honest stores from those that ignore conditions, and leaves nothing behind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bayou.errors import Conflict, Denied, Unavailable, Unsupported
from bayou.storage import (
    ABSENT,
    ANY,
    Abilities,
    Ability,
    Body,
    Condition,
    FilesystemStore,
    Patience,
    Retry,
    Store,
    Version,
    probe,
)
from bayou.testing.contract.expect import list_keys
from bayou.testing.faults import Fault, Faulty, at
from bayou.testing.memory import MemoryStore
from bayou.testing.servers import Server

YES, NO, UNKNOWN = Ability.YES, Ability.NO, Ability.UNKNOWN


class Partial(MemoryStore):
    """A store of which `refuse` says what it does to a put with that condition: an error, or True to ignore it."""

    def __init__(self, refuse: Callable[[Condition], Exception | bool]) -> None:
        super().__init__()
        self._refuse = refuse

    async def put(self, key: str, body: Body, *, when: Condition = ANY) -> Version:
        refused = self._refuse(when)
        if isinstance(refused, Exception):
            raise refused
        return await super().put(key, body, when=ANY if refused else when)


def is_version(when: Condition) -> bool:
    return isinstance(when, str)


@pytest.mark.parametrize("name", ["azurite", "fake_gcs", "ministack", "rclone", "seaweedfs"])
async def test_servers(name: str, request: pytest.FixtureRequest, new_bucket: Callable[[Server], Store]) -> None:
    server = request.getfixturevalue(name)
    store = new_bucket(server)
    found = await probe(store)
    assert found == (Abilities(YES, YES) if server.conditional else Abilities(NO, NO))
    assert found.several_writers is (YES if server.conditional else NO)
    assert await list_keys(store) == []


async def test_a_store_that_refuses_everything_has_no_ability() -> None:
    found = await probe(Partial(lambda _: Conflict("no")))
    assert found == Abilities(NO, UNKNOWN)
    assert found.several_writers is NO


async def test_a_folder_and_the_model(tmp_path: Path) -> None:
    for store in (FilesystemStore(tmp_path), MemoryStore()):
        assert (await probe(store)).several_writers is YES
        assert await list_keys(store) == []


@pytest.mark.parametrize(
    ("refuse", "expected"),
    [
        (lambda when: when is ABSENT, Abilities(NO, YES)),
        (is_version, Abilities(YES, NO)),
        (lambda when: is_version(when) and Unsupported("501"), Abilities(YES, NO)),
        (lambda when: when is ABSENT and Unsupported("501"), Abilities(NO, UNKNOWN)),
        (lambda when: is_version(when) and Conflict("always"), Abilities(YES, NO)),
        (lambda _: Denied("read-only"), Abilities(UNKNOWN, UNKNOWN)),
        (lambda when: is_version(when) and Denied("may create, not replace"), Abilities(YES, UNKNOWN)),
        (lambda when: when is ANY and Denied("a policy wants conditions"), Abilities(YES, YES)),
    ],
)
async def test_what_a_store_does_is_what_is_said(
    refuse: Callable[[Condition], Exception | bool], expected: Abilities
) -> None:
    store = Partial(refuse)
    assert await probe(store) == expected
    assert store.objects == {}


async def test_who_may_not_delete_still_learns(tmp_path: Path) -> None:
    class NoDelete(FilesystemStore):
        async def delete(self, key: str) -> None:
            raise Denied(key)

    assert (await probe(NoDelete(tmp_path))).several_writers is YES


@pytest.mark.parametrize("number", [1, 2, 3, 4])
async def test_a_failure_is_no_answer(number: int) -> None:
    store = MemoryStore()
    with pytest.raises(Unavailable):
        await probe(Faulty(store, at(number, Fault.FAIL_BEFORE, verb="put")))
    assert store.objects == {}


@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("fault", [Fault.FAIL_BEFORE, Fault.FAIL_AFTER])
async def test_lost_answers_do_not_fool_it(number: int, fault: Fault) -> None:
    store = MemoryStore()
    patient = Retry(Faulty(store, at(number, fault, verb="put")), Patience(first_pause=0))
    assert await probe(patient) == Abilities(YES, YES)
    assert store.objects == {}


@pytest.mark.parametrize(
    ("create", "replace", "together"),
    [(YES, YES, YES), (YES, NO, NO), (NO, UNKNOWN, NO), (YES, UNKNOWN, UNKNOWN), (UNKNOWN, UNKNOWN, UNKNOWN)],
)
def test_several_writers_need_both(create: Ability, replace: Ability, together: Ability) -> None:
    assert Abilities(create, replace).several_writers is together


async def test_probes_do_not_meet() -> None:
    keys: list[str] = []

    class Watching(MemoryStore):
        async def put(self, key: str, body: Body, *, when: Condition = ANY) -> Version:
            keys.append(key)
            return await super().put(key, body, when=when)

    for _ in range(2):
        await probe(Watching())
    assert len(set(keys)) == 2
    assert all(key.startswith("_control/bayou/") for key in keys)
