"""Metadata read in one step says what it says when it is read as any YAML."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bayou.domain.artifacts import Artifact, Owner, OwnerType
from bayou.errors import Corrupt
from bayou.testing.strategies import artifacts
from bayou.wire import metadata, ourmetadata

PLAIN = Artifact(
    id="3d0a6f0e-6f0c-4a55-9c1f-0d3c9b0f6a11",
    name="disk-report",
    version=4,
    content_type="application/json",
    lifetime="infinite",
    garbage_collection=10,
    tags={"type": "resource", "modelName": "web-01"},
    owner=Owner(owner_type=OwnerType.MODEL_METHOD, owner_ref="9b2f1a52", workflow_name="nightly", source="step-output"),
    created_at="2026-04-02T09:15:00.125Z",
    size=512,
    checksum="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
)


def patiently(data: bytes) -> Artifact | None:
    """As any YAML, or None where that is not metadata."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ourmetadata, "read", lambda _: None)
        try:
            return metadata.decode(data, "metadata.yaml")
        except Corrupt:
            return None


@given(artifacts())
def test_what_is_read_in_one_step_is_what_any_reader_reads(artifact: Artifact) -> None:
    data = metadata.encode(artifact)
    assert ourmetadata.read(data) in (None, patiently(data))


@given(st.sampled_from(metadata.encode(PLAIN).decode().splitlines()), st.data())
def test_a_line_that_was_changed_by_hand_is_read_alike_or_not_at_all(line: str, data: st.DataObject) -> None:
    odd = st.sampled_from(
        ["", '"', "null", "true", "0", "-1", "1e5", "'x'", "\\", "\t", " ", "é", ": ", "#", "type", "\n", "no", "00"]
    )
    at = data.draw(st.integers(0, len(line)))
    upto = data.draw(st.integers(at, len(line)))
    changed = f"{line[:at]}{data.draw(odd)}{line[upto:]}"
    assume(changed != line)
    text = metadata.encode(PLAIN).decode().replace(f"{line}\n", f"{changed}\n", 1).encode()
    found = ourmetadata.read(text)
    assert found is None or found == patiently(text)


def test_what_we_write_is_read_in_one_step() -> None:
    assert ourmetadata.read(metadata.encode(PLAIN)) == PLAIN
    text = metadata.encode(PLAIN).decode()
    for optional in ("size", "checksum", "  workflowName", "  source"):
        without = re.sub(rf"(?m)^{optional}: .*\n", "", text)
        assert without != text
        assert ourmetadata.read(without.encode()) == patiently(without.encode()) is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('  type: "resource"', '  type: "resource"\n  type: "file"'),  # twice
        ('"model-method"', '"somebody"'),
        ('lifetime: "infinite"', 'lifetime: "for a while"'),
        ('lifetime: "infinite"', 'lifetime: "0h"'),
        ('  modelName: "web-01"', '  true: "web-01"'),
        ("version: 4", "version: 0"),
        ("streaming: false", "streaming: yes"),
    ],
)
def test_what_is_wrong_or_another_form_is_decided_by_the_patient_reader(old: str, new: str) -> None:
    data = metadata.encode(PLAIN).decode().replace(old, new).encode()
    assert data != metadata.encode(PLAIN)
    assert ourmetadata.read(data) in (None, patiently(data))
