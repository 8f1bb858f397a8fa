"""Metadata of versions: what we write reads back, what others write is read, nothing else passes."""

from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.artifacts import Artifact, Lifecycle, Owner, OwnerType
from bayou.errors import Corrupt, ErrorKind, UsageError
from bayou.testing import strategies
from bayou.wire import metadata, yamlmapping
from bayou.wire.yamldocument import load
from bayou.wire.yamllines import read

GOLDEN = sorted((Path(__file__).parent.parent / "golden").glob("*/cache*/**/metadata.yaml"))

PLAIN = Artifact(
    id="3d0a6f0e-6f0c-4a55-9c1f-0d3c9b0f6a11",
    name="disk-report",
    version=4,
    content_type="application/json",
    lifetime="infinite",
    garbage_collection=10,
    tags={"type": "resource", "modelName": "web-01"},
    owner=Owner(
        owner_type=OwnerType.MODEL_METHOD, owner_ref="9b2f1a52-2f4e-4c0e-8a7b-54f0a2f6f0aa", workflow_name="nightly"
    ),
    created_at="2026-04-02T09:15:00.125Z",
    size=512,
    checksum="3b7e" * 16,
)
# As an existing client writes it.
THEIRS = b"""\
id: 3d0a6f0e-6f0c-4a55-9c1f-0d3c9b0f6a11
name: disk-report
version: 4
contentType: application/json
lifetime: infinite
garbageCollection: 10
streaming: false
tags:
  type: resource
  modelName: web-01
ownerDefinition:
  ownerType: model-method
  ownerRef: 9b2f1a52-2f4e-4c0e-8a7b-54f0a2f6f0aa
  workflowName: nightly
createdAt: '2026-04-02T09:15:00.125Z'
size: 512
checksum: 3b7e3b7e3b7e3b7e3b7e3b7e3b7e3b7e3b7e3b7e3b7e3b7e3b7e3b7e3b7e3b7e
"""


def changed(old: str, new: str) -> bytes:
    text = THEIRS.decode()
    assert old in text
    return text.replace(old, new).encode()


@given(strategies.artifacts())
def test_what_is_known_of_a_version_survives(artifact: Artifact) -> None:
    assert metadata.decode(metadata.encode(artifact), "m") == artifact


@given(strategies.artifacts())
def test_the_whole_parser_reads_what_we_write_in_the_same_way(artifact: Artifact) -> None:
    text = metadata.encode(artifact).decode()
    known = {key: value for key, value in msgspec.to_builtins(artifact).items() if value is not None}
    if artifact.lifecycle is Lifecycle.ACTIVE:
        del known["lifecycle"]
    assert load(text) == known


def test_what_we_write_is_read_without_the_parser() -> None:
    assert read(metadata.encode(PLAIN).decode()) is not None


def test_what_an_existing_client_writes_is_read_without_the_parser() -> None:
    assert read(THEIRS.decode()) is not None
    assert metadata.decode(THEIRS, "m") == PLAIN


def test_the_keys_are_in_the_order_of_the_specification_and_texts_are_quoted() -> None:
    assert metadata.encode(PLAIN).decode() == (
        'id: "3d0a6f0e-6f0c-4a55-9c1f-0d3c9b0f6a11"\nname: "disk-report"\nversion: 4\ncontentType: "application/json"\n'
        'lifetime: "infinite"\ngarbageCollection: 10\nstreaming: false\n'
        'tags:\n  type: "resource"\n  modelName: "web-01"\n'
        'ownerDefinition:\n  ownerType: "model-method"\n  ownerRef: "9b2f1a52-2f4e-4c0e-8a7b-54f0a2f6f0aa"\n'
        '  workflowName: "nightly"\ncreatedAt: "2026-04-02T09:15:00.125Z"\nsize: 512\nchecksum: "' + "3b7e" * 16 + '"\n'
    )


@pytest.mark.parametrize("lifecycle", Lifecycle)
def test_only_a_deleted_version_says_what_has_become_of_it(lifecycle: Lifecycle) -> None:
    content = metadata.encode(msgspec.structs.replace(PLAIN, lifecycle=lifecycle))
    assert (b"lifecycle" in content) is (lifecycle is Lifecycle.DELETED)
    assert b"renamedTo" not in content
    assert metadata.decode(content, "m").lifecycle is lifecycle


@pytest.mark.parametrize("path", GOLDEN, ids=[str(path.relative_to(GOLDEN[0].parents[8])) for path in GOLDEN])
def test_golden_metadata_is_read_without_the_parser(path: Path) -> None:
    content = path.read_bytes()
    assert read(content.decode()) == load(content.decode())
    found = metadata.decode(content, str(path))
    assert (found.name, str(found.version)) == (path.parents[1].name, path.parents[0].name)


@pytest.mark.parametrize(
    ("written", "read_as"),
    [("0h", "workflow"), ("00w", "workflow"), ("0mo", "workflow"), ("01d", "01d"), ("007h", "007h")],
)
def test_no_time_at_all_means_until_the_workflow_is_gone(written: str, read_as: str) -> None:
    assert metadata.decode(changed("lifetime: infinite", f"lifetime: {written}"), "m").lifetime == read_as


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("2026-04-02T09:15:00.125Z", "2026-04-02T09:15:00.125Z"),
        ("'2026-04-02T09:15:00Z'", "2026-04-02T09:15:00.000Z"),
        ("'2026-04-02T11:15:00.1259+02:00'", "2026-04-02T09:15:00.125Z"),
        ("some day", "some day"),
    ],
)
def test_a_time_has_one_spelling(written: str, read_as: str) -> None:
    assert metadata.decode(changed("'2026-04-02T09:15:00.125Z'", written), "m").created_at == read_as


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: disk-report", "name: >-\n  disk-report"),
        ("name: disk-report", "name: disk-report # by hand"),
        ("name: disk-report", '"name": disk-report'),
        ("\n", "\r\n"),
        ("id:", "# by hand\nid:"),
        ("id:", "---\nid:"),
        ("id:", "\ufeffid:"),
        ("size: 512", "size: 512\nunknown: {a: [b]}"),
        ("tags:\n  type: resource\n  modelName: web-01", "tags: {type: resource, modelName: web-01}"),
    ],
)
def test_other_spellings_mean_the_same(old: str, new: str) -> None:
    assert metadata.decode(changed(old, new), "m") == PLAIN


def test_old_files_may_lack_tags_and_an_owner() -> None:
    old = changed(THEIRS.decode()[THEIRS.decode().index("streaming") : THEIRS.decode().index("createdAt")], "")
    assert metadata.decode(old, "m") == msgspec.structs.replace(PLAIN, tags={}, owner=None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("version: 4", "version: 0"),
        ("version: 4", "version: '4'"),
        ("version: 4", "version: 4.5"),
        ("version: 4", "version: 99999999999999999999999"),
        ("name: disk-report", "name: null"),
        ("name: disk-report", "name: disk-report\nname: other"),
        ("lifetime: infinite", "lifetime: forever"),
        ("  modelName: web-01", "  modelName: 7"),
        ("  modelName: web-01", "  7: web-01"),
        ("  modelName: web-01", "  null: web-01"),
        ("ownerType: model-method", "ownerType: nobody"),
        ("size: 512", "size: -1"),
        ("checksum: 3b", "checksum: XY"),
        ("tags:\n", "tags: [\n"),
        ("id: 3d0a6f0e-6f0c-4a55-9c1f-0d3c9b0f6a11\n", ""),
    ],
)
def test_metadata_that_was_edited_into_nonsense_is_corrupt_and_named(old: str, new: str) -> None:
    with pytest.raises(Corrupt, match=r"^data/t/m/n/4/metadata\.yaml: expected the metadata of a version"):
        metadata.decode(changed(old, new), "data/t/m/n/4/metadata.yaml")


@given(st.binary(max_size=64) | st.text().map(lambda text: text.encode(errors="surrogatepass")))
def test_hostile_bytes_are_corrupt(data: bytes) -> None:
    with pytest.raises(Corrupt, match=r"^where: "):
        metadata.decode(data, "where")


@given(st.data())
def test_damaged_metadata_is_read_or_corrupt(data: st.DataObject) -> None:
    damaged = bytearray(THEIRS)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at : at + data.draw(st.integers(0, 3))] = data.draw(
            st.binary(max_size=2) | st.sampled_from([b"\n", b": ", b"- ", b"&a ", b"*a"])
        )
    with suppress(Corrupt):
        metadata.decode(bytes(damaged), "where")


@pytest.mark.parametrize(
    "bomb",
    [
        b"a: &a [x, x, x, x, x, x, x, x, x, x]\n" + b"".join(
            b"%c: &%c [%b]\n" % (98 + i, 98 + i, b", ".join([b"*%c" % (97 + i)] * 10)) for i in range(12)
        ),
        b"a: " + b"[" * 100_000,
        b"- " * 100_000,
        b"a: &a [*a]\n",
    ],
    ids=["aliases", "brackets", "dashes", "itself"],
)  # fmt: skip
def test_a_bomb_is_corrupt(bomb: bytes) -> None:
    with pytest.raises(Corrupt):
        metadata.decode(bomb, "where")


@pytest.mark.parametrize(
    "tags", [{"type": "\ud800"}, {"k" * 1100: "v"}], ids=["half a character", "a key that no parser reads"]
)
def test_what_no_client_could_read_back_is_not_written(tags: dict[str, str]) -> None:
    with pytest.raises(UsageError) as refused:
        metadata.encode(msgspec.structs.replace(PLAIN, tags=tags))
    assert refused.value.kind is ErrorKind.INVALID_CONTENT


def test_many_values_are_read_where_programs_write_them() -> None:
    text = yamlmapping.encode({"items": {str(number): number for number in range(20_000)}}, "a file") + b"# end\n"
    with pytest.raises(Corrupt, match="10000 values"):
        yamlmapping.decode(text, "where", "a file")
    assert len(yamlmapping.decode(text, "where", "a file", most=yamlmapping.MANY)["items"]) == 20_000  # type: ignore[arg-type] # it is a mapping
