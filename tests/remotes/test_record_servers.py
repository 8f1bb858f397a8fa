"""Control-plane records on real servers, some of whose answers are lost (sync spec 4.16, acceptance 161-173, W-48)."""

import asyncio
from collections.abc import Callable, Iterable

import pytest

from bayou.errors import BayouError, Unavailable
from bayou.layout.keys import Keyspace
from bayou.remotes.control import Records
from bayou.storage import Limit, Patience, Retry, Store, TimeLimit, Window, connect, open_bare
from bayou.testing.faults import Chooser, Fault, Faulty, at, sometimes
from bayou.testing.servers import Server
from bayou.testing.servers.places import new_place

QUICK = Patience(attempts=8, first_pause=0.0, longest_pause=0.0)
SECONDS = 1.0

Open = Callable[[Chooser], Store]


@pytest.fixture
def faulty(server: Server, monkeypatch: pytest.MonkeyPatch) -> Open:
    """A store as users get it, around one bucket, some of whose requests go wrong."""
    location = new_place(server, monkeypatch.setenv)

    def open_one(choose: Chooser) -> Store:
        return Retry(Limit(TimeLimit(Faulty(open_bare(location), choose), SECONDS), Window(50)), QUICK)

    return open_one


def never(_: object) -> Fault | None:
    return None


@pytest.mark.parametrize("namespace", ["", "infra"])
async def test_records_are_put_got_listed_and_deleted(
    server: Server, monkeypatch: pytest.MonkeyPatch, namespace: str
) -> None:
    async with connect(new_place(server, monkeypatch.setenv, prefix="p")) as store:
        records = Records(store, Keyspace(namespace))
        await store.put("other/_control/claims/theirs", b"another namespace's")
        assert await records.get("claims/a") is None
        await records.put("claims/a", b"\x00\xff1")
        await records.put("claims/a b@ü", b"2")
        await records.put("heartbeats/x", b"")
        assert await records.get("claims/a") == b"\x00\xff1"
        assert await records.get("heartbeats/x") == b""
        assert set(await records.list()) == {"claims/a", "claims/a b@ü", "heartbeats/x"}
        assert set(await records.list("claims/")) == {"claims/a", "claims/a b@ü"}
        assert await records.list("nothing/") == []
        await records.delete("claims/a")
        await records.delete("claims/a")
        assert await records.get("claims/a") is None
        assert await records.put_if_absent("claims/a", b"me")
        assert not await records.put_if_absent("claims/a", b"you")
        assert await records.get("claims/a") == b"me"
        assert {key async for page in store.list() for key in (meta.key for meta in page)} == {
            "other/_control/claims/theirs",
            *(Keyspace(namespace).control(name) for name in ("claims/a", "claims/a b@ü", "heartbeats/x")),
        }


@pytest.mark.parametrize("fault", [Fault.FAIL_BEFORE, Fault.FAIL_AFTER, Fault.HANG_BEFORE, Fault.HANG_AFTER])
async def test_a_claim_whose_answer_was_lost_is_ours_and_nobody_elses(faulty: Open, fault: Fault) -> None:
    """Whichever request it is, of the look before as well as of the claim itself."""
    for number in (1, 2, 3):
        name = f"claims/{number}"
        async with faulty(at(number, fault)) as store:
            assert await Records(store, Keyspace("infra")).put_if_absent(name, b"me")
        async with faulty(never) as store:
            assert not await Records(store, Keyspace("infra")).put_if_absent(name, b"you")
            assert await Records(store, Keyspace("infra")).get(name) == b"me"


async def test_a_claim_that_others_made_is_lost_however_often_it_fails(faulty: Open) -> None:
    async with faulty(never) as store:
        assert await Records(store, Keyspace()).put_if_absent("claims/a", b"you")
    for seed in range(5):
        async with faulty(sometimes(0.4, Fault.FAIL_BEFORE, Fault.FAIL_AFTER, seed=seed)) as store:
            assert not await Records(store, Keyspace()).put_if_absent("claims/a", b"me")


async def test_of_claims_made_together_at_most_one_believes_that_it_won_and_it_did(
    faulty: Open, server: Server
) -> None:
    if not server.conditional:
        pytest.skip("without conditional writes there is a single writer")
    for turn in range(4):
        name = f"claims/{turn}"
        stores = [faulty(sometimes(0.3, Fault.FAIL_BEFORE, Fault.FAIL_AFTER, seed=10 * turn + n)) for n in range(5)]
        try:
            won = await asyncio.gather(*(_claim(store, name, f"{n}".encode()) for n, store in enumerate(stores)))
        finally:
            await _close(stores)
        async with faulty(never) as store:
            holder = await Records(store, Keyspace()).get(name)
        winners = [n for n, has_won in enumerate(won) if has_won]
        unsure = [n for n, has_won in enumerate(won) if has_won is None]
        assert len(winners) <= 1
        if winners:
            assert holder == f"{winners[0]}".encode()
        else:
            assert holder in {f"{n}".encode() for n in unsure}


async def _claim(store: Store, name: str, who: bytes) -> bool | None:
    """None: nobody could say."""
    try:
        return await Records(store, Keyspace()).put_if_absent(name, who)
    except Unavailable:
        return None


async def _close(stores: Iterable[Store]) -> None:
    for store in stores:
        await store.close()


async def test_a_record_that_cannot_be_read_is_not_taken_for_absent(faulty: Open) -> None:
    """A failure is an error, never "there is none"."""
    async with faulty(never) as store:
        await Records(store, Keyspace()).put("claims/a", b"you")
    async with faulty(lambda request: Fault.FAIL_BEFORE if request.verb in {"get", "list"} else None) as store:
        records = Records(store, Keyspace())
        for work in (records.get("claims/a"), records.list(), records.put_if_absent("claims/a", b"me")):
            with pytest.raises(BayouError):
                await work
    async with faulty(never) as store:
        assert await Records(store, Keyspace()).get("claims/a") == b"you"
