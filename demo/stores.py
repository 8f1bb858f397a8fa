"""A tour of the storage port: the same steps on whatever store it is given."""

import asyncio

from bayou.config.locations import Location
from bayou.errors import BayouError, Conflict
from bayou.storage import ABSENT, Store, Tally, connect, probe
from demo.show import refusal, say

WORKERS, INCREMENTS = 8, 5


async def tour(location: Location) -> None:
    tally = Tally()
    async with connect(location, tally=tally) as store:
        abilities = await probe(store)
        create, replace = abilities.create_if_absent.value, abilities.replace_if_match.value
        say(f"honours create-if-absent: {create}, replace-if-match: {replace}")
        await one_winner(store)
        await no_lost_update(store)
        await refusals(store)
        await listing(store)
    by_verb = ", ".join(f"{count} {verb}" for verb, count in sorted(tally.requests.items()))
    say(f"all of it took {tally.total} requests: {by_verb}")


async def one_winner(store: Store) -> None:
    async def claim(writer: int) -> bool:
        try:
            await store.put("claims/version-3", f"writer {writer}".encode(), when=ABSENT)
        except Conflict:
            return False
        return True

    outcomes = await asyncio.gather(*(claim(writer) for writer in range(16)))
    holder = await (await store.get("claims/version-3")).bytes()
    say(f"16 writers claim one name: {sum(outcomes)} wins ({holder.decode()})")


async def no_lost_update(store: Store) -> None:
    await store.put("counter", b"0")
    lost = 0

    async def increment() -> None:
        nonlocal lost
        while True:
            fetched = await store.get("counter")
            value = int(await fetched.bytes())
            try:
                await store.put("counter", str(value + 1).encode(), when=fetched.version)
            except Conflict:
                lost += 1
                continue
            return

    async def work() -> None:
        for _ in range(INCREMENTS):
            await increment()

    await asyncio.gather(*(work() for _ in range(WORKERS)))
    total = int(await (await store.get("counter")).bytes())
    say(f"{WORKERS} writers add 1 to one object {INCREMENTS} times each: it says {total}, after {lost} lost races")


async def refusals(store: Store) -> None:
    for key in ("../outside", "reports//q3"):
        try:
            await store.put(key, b"")
        except BayouError as error:
            refusal(f"put {key!r}", error)
    try:
        await store.get("no/such/object")
    except BayouError as error:
        refusal("get 'no/such/object'", error)


async def listing(store: Store) -> None:
    keys = [f"data/aws/ec2/vpc/prod/state/{version}/raw" for version in range(1, 4)]
    await asyncio.gather(*(store.put(key, b'{"VpcId":"vpc-1"}') for key in keys))
    found = [meta.key async for page in store.list("data/aws/ec2/vpc") for meta in page]
    say(f"listing data/aws/ec2/vpc: {len(found)} objects, the last is {found[-1]}")
