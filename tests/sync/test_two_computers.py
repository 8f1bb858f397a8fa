"""Two computers that share a bucket: each does what its commands do, and in the end both hold the same."""

from collections.abc import Callable

import pytest

from bayou.domain.modeltypes import ModelType
from bayou.errors import Conflict, ErrorKind
from bayou.locks import Hold
from bayou.repository.models import Models
from bayou.testing.computers import Computer, name_of
from bayou.testing.memory import MemoryStore

STATE = name_of()


Make = Callable[..., Computer]


async def test_what_one_pushes_the_other_pulls(computer: Make) -> None:
    one, two = computer("one"), computer("two")
    one.write_version(1, b"1")
    one.write("logs/a", b"log")
    pushed = await one.push()
    assert sorted(pushed.pushed) == [
        f"{STATE}/1/metadata.yaml",
        f"{STATE}/1/raw",
        f"{STATE}/latest",
        "logs/a",
    ]
    pulled = await two.pull()
    assert not pulled.failed
    assert two.files() == one.files()
    assert one.journal.status().dirty == two.journal.status().dirty == 0


async def test_nothing_to_do_is_one_request(computer: Make) -> None:
    one, two = computer("one"), computer("two")
    one.write_version(1, b"1")
    await one.push()
    await two.pull()
    for each in (one, two):
        for work in (each.push, each.pull, each.sync):
            each.asked()
            await work()
            asked = each.asked()
            assert len(asked) == 1, (work, asked)


async def test_a_deletion_travels_and_stays(computer: Make) -> None:
    one, two = computer("one"), computer("two")
    one.write_version(1, b"1")
    one.write_version(2, b"2")
    await one.push()
    await two.pull()
    two.delete_version(1)
    report = await two.push()
    assert sorted(report.deleted_there) == [f"{STATE}/1/metadata.yaml", f"{STATE}/1/raw"]
    report = await one.pull()
    assert sorted(report.deleted_here) == [f"{STATE}/1/metadata.yaml", f"{STATE}/1/raw"]
    assert one.files() == two.files()


async def test_what_is_written_again_as_it_was_before_its_deletion_lives(computer: Make) -> None:
    """Also where the writer asks the bucket nothing before he writes, and the object was swept long ago."""
    one, two, three = computer("one"), computer("two"), computer("three")
    one.write("logs/a", b"same")
    await one.push()
    await two.sync()
    one.delete("logs/a")
    await one.push()
    for each in (two, three):
        await each.sync()
        assert each.files() == {}
    await one.ends.store.delete(one.ends.key("logs/a"))
    two.write("logs/a", b"same")
    assert (await two.push()).pushed == ["logs/a"]
    for each in (one, three, two):
        await each.sync()
        assert each.files() == {"logs/a": b"same"}
    three.write("logs/a", b"other")
    await three.push()
    three.write("logs/a", b"same")  # a content that died before, and is no deletion of what is there now
    await three.push()
    for each in (one, two):
        await each.sync()
        assert each.files() == {"logs/a": b"same"}


async def test_both_made_version_two(computer: Make) -> None:
    one, two = computer("one"), computer("two")
    one.write_version(1, b"1")
    await one.push()
    await two.pull()
    one.write_version(2, b"one's")
    two.write_version(2, b"two's")
    await one.sync()
    report = await two.sync()
    assert [(each.path, each.to) for each in report.renumbered] == [(f"{STATE}/2", f"{STATE}/3")]
    await one.sync()
    assert one.files() == two.files()
    assert one.files()[f"{STATE}/3/raw"] == b"two's"
    assert one.files()[f"{STATE}/latest"] == b"3"


async def test_a_version_whose_content_is_nowhere_is_named_until_somebody_brings_it(
    computer: Make, store: MemoryStore
) -> None:
    """The bucket was emptied, and this machine has left the content there: what it says of it cannot be pushed."""
    one, two = computer("one"), computer("two", lazy=True)
    one.write_version(1, b"1")
    one.write("logs/a", b"log")
    await one.push()
    await two.pull()
    for key in [item.key async for page in store.list("") for item in page]:
        await store.delete(key)
    report = await two.sync()
    assert report.pushed == ["logs/a"]
    assert report.failed.keys() == {f"{STATE}/1/metadata.yaml"}
    assert not report.is_complete
    assert (await one.sync()).is_complete
    assert (await two.sync(everything=True)).is_complete
    assert two.files() == {path: body for path, body in one.files().items() if not path.endswith("/raw")}


async def test_no_marker_comes_before_the_version_that_it_names(computer: Make, store: MemoryStore) -> None:
    one, two = computer("one"), computer("two")
    one.write_version(1, b"1")
    await one.push()
    await two.pull()
    one.write_version(2, b"2")
    await one.push()
    whole, _ = store.objects[f"{STATE}/2/raw"]
    await store.put(f"{STATE}/2/raw", b"damaged")
    assert not (await two.pull()).is_complete
    assert two.files()[f"{STATE}/latest"] == b"1"
    await store.put(f"{STATE}/2/raw", whole)
    assert (await two.pull()).is_complete
    assert two.files() == one.files()
    assert two.files()[f"{STATE}/latest"] == b"2"


async def test_the_newest_of_ours_stays_on_top_where_something_unlisted_lies_in_the_way(
    computer: Make, store: MemoryStore
) -> None:
    """The newer one is uploaded by then, and must be listed neither below the older one nor twice."""
    one, two = computer("one"), computer("two")
    one.write_version(1, b"1")
    await one.push()
    await store.put(f"{STATE}/2/raw", b"of somebody who was killed")
    one.write_version(2, b"older")
    one.write_version(3, b"newer")
    assert (await one.push()).is_complete
    await two.pull()
    assert one.files() == two.files()
    bodies = {path[len(STATE) :]: body for path, body in two.files().items() if not path.endswith(".yaml")}
    assert bodies == {"/1/raw": b"1", "/4/raw": b"older", "/5/raw": b"newer", "/latest": b"5"}


async def test_the_newest_of_ours_stays_on_top_where_something_whole_is_listed_that_lay_in_the_way(
    computer: Make,
) -> None:
    one, two = computer("one"), computer("two")
    one.write_version(1, b"1")
    await one.push()
    await two.pull()
    two.write_version(2, b"of somebody who was killed before his commit")
    await two.engine.prepare()
    one.write_version(2, b"older")
    one.write_version(3, b"newer")
    assert (await one.push()).is_complete
    raws = {int(path.split("/")[-2]): body for path, body in one.files().items() if path.endswith("/raw")}
    ours = [raws[number] for number in sorted(raws) if number != 2]
    assert ours == [b"1", b"older", b"newer"]
    assert one.files()[f"{STATE}/latest"] == str(max(raws)).encode()
    await two.sync()
    assert one.files() == two.files()


async def test_what_was_uploaded_under_a_number_that_was_given_up_comes_to_nobody_as_a_version(
    computer: Make, store: MemoryStore
) -> None:
    """Somebody else writes that number, and finds it in his way."""
    one, two = computer("one"), computer("two")
    one.write_version(1, b"1")
    await one.push()
    await two.pull()
    await store.put(f"{STATE}/2/raw", b"of somebody who was killed")
    one.write_version(2, b"older")
    one.write_version(3, b"newer")
    await one.push()
    assert f"{STATE}/3/raw" in store.objects
    two.write_version(3, b"theirs")
    for each in (two, one, two):
        assert (await each.sync()).is_complete
    assert one.files() == two.files()
    raws = sorted(body for path, body in one.files().items() if path.endswith("/raw"))
    assert raws == [b"1", b"newer", b"older", b"theirs"]


async def test_a_file_that_both_changed_keeps_theirs_and_sets_ours_aside(computer: Make) -> None:
    one, two = computer("one"), computer("two")
    one.write("logs/a", b"0")
    await one.push()
    await two.pull()
    one.write("logs/a", b"one")
    two.write("logs/a", b"two")
    await one.sync()
    report = await two.sync()
    assert report.conflicts == ["logs/a"]
    assert two.files() == one.files() == {"logs/a": b"one"}
    assert (two.journal.place.cache / "_control/conflicts/logs/a").read_bytes() == b"two"


async def test_lazily_only_metadata_arrives(computer: Make) -> None:
    one, two = computer("one"), computer("two", lazy=True)
    one.write_version(1, b"1")
    await one.push()
    report = await two.pull()
    assert report.known == 1
    assert two.files().keys() == {f"{STATE}/1/metadata.yaml", f"{STATE}/latest"}
    assert (await two.push()).deleted_there == []
    two.asked()
    await two.pull()
    assert len(two.asked()) == 1
    two.delete_version(1)
    deleted = sorted((await two.push()).deleted_there)
    assert deleted == [f"{STATE}/1/metadata.yaml", f"{STATE}/1/raw", f"{STATE}/latest"]
    await one.pull()
    assert one.files() == two.files() == {}


async def test_a_cache_of_an_existing_client_is_no_heap_of_conflicts(computer: Make, store: MemoryStore) -> None:
    """It has files and the index that they came with, and no journal."""
    one = computer("one")
    one.write("logs/a", b"then")
    one.write("logs/b", b"same")
    await one.push()
    two = computer("two")
    index = store.objects[".datastore-index.json"][0]
    one.write("logs/a", b"now")
    await one.push()
    (two.journal.place.cache / "logs").mkdir()
    (two.journal.place.cache / "logs/a").write_bytes(b"then")
    (two.journal.place.cache / "logs/b").write_bytes(b"ours")
    (two.journal.place.cache / ".datastore-index.json").write_bytes(index)
    report = await two.sync()
    # An index that is there says nothing of files that differ from it: their download may have failed.
    assert report.conflicts == ["logs/b"]
    assert sorted(report.pulled) == ["logs/a", "logs/b"]
    assert two.files() == one.files()


async def test_one_model_that_two_computers_defined_goes_by_the_id_that_was_published(computer: Make) -> None:
    """What was never published moves to that id; the other one stays defined, and leads there."""
    one, two = computer("one"), computer("two")
    path = "auto-definitions/aws/ec2/vpc/prod.yaml"
    for each, model_id in ((one, "id-of-one"), (two, "id-of-two")):
        each.write(path, f"type: aws/ec2/vpc\nid: {model_id}\nname: prod\nversion: 1\n".encode())
        each.write_version(1, model_id.encode(), model=model_id, name=f"of-{model_id}")
    await one.sync()
    await two.sync()
    await one.sync()
    assert one.files() == two.files()
    files = one.files()
    assert b"id-of-one" in files[path]
    assert b'aliasOf: "id-of-one"' in files["auto-definitions/aws/ec2/vpc/id-of-two.yaml"]
    assert files["data/aws/ec2/vpc/id-of-one/of-id-of-two/1/raw"] == b"id-of-two"
    assert not [path for path in files if path.startswith("data/aws/ec2/vpc/id-of-two/")]
    models = Models(two.tree, None)
    assert str(models.of(ModelType("aws/ec2/vpc"), "prod").id) == "id-of-one"
    assert {model.id for model in models.all()} == {"id-of-one", "id-of-two"}
    assert models.meant("prod", models.all()).id == "id-of-one"
    assert [model.id for model in models.chain(models.meant("prod", models.all()))] == ["id-of-one", "id-of-two"]


async def test_a_lock_that_was_lost_before_the_commit_lists_nothing(
    computer: Make, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits for long between the two may have lost it without a word; only the store knows."""
    one, two = computer("one"), computer("two")
    one.write_version(1, b"1")

    async def is_lost(_hold: Hold) -> bool:
        return False

    with monkeypatch.context() as patch:
        patch.setattr(Hold, "still_held", is_lost)
        with pytest.raises(Conflict) as caught:
            await one.push()
    assert caught.value.kind is ErrorKind.LOCK_LOST
    await two.pull()
    assert not any(path.startswith("_index") or path == ".datastore-index.json" for path in store.objects)
    assert (await one.push()).is_complete
    await two.pull()
    assert two.files() == one.files()
