"""Metadata in the form in which it is written, read in one step: a catalog is built of nothing else.

What has any other form, be it as right, is left to `bayou.wire.metadata`.
"""

import re
from typing import Final, NamedTuple

from bayou.domain.artifacts import Artifact, Owner, OwnerType
from bayou.domain.lifetimes import normalised_lifetime
from bayou.errors import UsageError

_TEXT: Final = '"([ !#-\\[\\]-~]*)"'  # printable ASCII that needs no escape
_SOME_TEXT: Final = '"([ !#-\\[\\]-~]+)"'
_KEY: Final = "(?!(?i:null|true|false):)[A-Za-z_][A-Za-z0-9_-]*"
_NUMBER: Final = "([1-9][0-9]{0,14})"


def _maybe(key: str) -> str:
    return f"(?:  {key}: {_TEXT}\n)?"


_FIRST: Final = f"id: {_TEXT}\nname: {_TEXT}\nversion: {_NUMBER}\n"
_LAST: Final = (
    'createdAt: "([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z)"\n'
    '(?:size: (0|[1-9][0-9]{0,14})\n)?(?:checksum: "([0-9a-f]{64})"\n)?'
)
_METADATA = re.compile(
    f"{_FIRST}contentType: {_SOME_TEXT}\nlifetime: {_SOME_TEXT}\n"
    f"garbageCollection: (?:{_NUMBER}|{_TEXT})\nstreaming: (true|false)\n"
    f'tags:\n((?:  {_KEY}: "[ !#-\\[\\]-~]*"\n)+)'
    f"ownerDefinition:\n{_maybe('definitionHash')}  ownerType: {_TEXT}\n  ownerRef: {_SOME_TEXT}\n"
    f"{_maybe('workflowId')}{_maybe('workflowRunId')}{_maybe('workflowName')}{_maybe('jobName')}{_maybe('stepName')}"
    f"{_maybe('source')}{_LAST}"
)
_HEAD, _RUN, _TAIL = re.compile(_FIRST), re.compile(f"  workflowRunId: {_TEXT}\n"), re.compile(_LAST)
_TAG = re.compile('  ([^:]+): "([^"]*)"\n')
_OWNER_TYPES = {str(one): one for one in OwnerType}


def read(data: bytes) -> Artifact | None:
    """What it says, or None where it is not in this form."""
    try:
        found = _METADATA.fullmatch(data.decode("ascii"))
    except UnicodeDecodeError:
        return None
    if found is None:
        return None
    (
        (artifact_id, name, version, content_type, lifetime, keep, keep_for, streaming, tag_lines),
        (definition_hash, owner_type, owner_ref, workflow_id, workflow_run_id, workflow_name, job, step, source),
        (created_at, size, checksum),
    ) = (groups := found.groups())[:9], groups[9:18], groups[18:]
    tags = _TAG.findall(tag_lines)
    by_key = dict(tags)
    known_type = _OWNER_TYPES.get(owner_type)
    if known_type is None or len(by_key) != len(tags):
        return None
    try:
        lifetime = normalised_lifetime(lifetime)
    except UsageError:
        return None
    return Artifact(
        id=artifact_id,
        name=name,
        version=int(version),
        content_type=content_type,
        lifetime=lifetime,
        garbage_collection=int(keep) if keep else keep_for,
        streaming=streaming == "true",
        tags=by_key,
        owner=Owner(
            definition_hash=definition_hash,
            owner_type=known_type,
            owner_ref=owner_ref,
            workflow_id=workflow_id,
            workflow_run_id=workflow_run_id,
            workflow_name=workflow_name,
            job_name=job,
            step_name=step,
            source=source,
        ),
        created_at=created_at,
        size=None if size is None else int(size),
        checksum=checksum,
    )


class Differing(NamedTuple):
    """What is another in each version, as a rule."""

    id: str
    name: str
    version: int
    run_id: str
    created_at: str
    size: int | None
    checksum: str


def divide(data: bytes) -> tuple[tuple[str, str], Differing] | None:
    """What differs from version to version, and what stands before and after the run. None where it cannot be divided.

    Whatever is divided in the same way as something that `read` takes, `read` takes too, and says the same of the rest.
    """
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError:
        return None
    head = _HEAD.match(text)
    end = text.rfind("\ncreatedAt: ") + 1
    tail = _TAIL.fullmatch(text, end)
    if head is None or tail is None:
        return None
    begin = head.end()
    # A tag may be called like that, too.
    at = text.find("\n  workflowRunId: ", max(text.find("\nownerDefinition:\n", begin, end), begin), end) + 1
    run = _RUN.match(text, at, end) if at else None
    rest = (text[begin:at], text[run.end() : end]) if run else (text[begin:end], "")
    created_at, size, checksum = tail.groups()
    number = None if size is None else int(size)
    return rest, Differing(head[1], head[2], int(head[3]), run[1] if run else "", created_at, number, checksum or "")
