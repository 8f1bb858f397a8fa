"""Metadata in the form in which it is written, read in one step: a catalog is built of nothing else.

What has any other form, be it as right, is left to `bayou.wire.metadata`.
"""

import re
from typing import Final

from bayou.domain.artifacts import Artifact, Owner, OwnerType
from bayou.domain.lifetimes import normalised_lifetime
from bayou.errors import UsageError

_TEXT: Final = '"([ !#-\\[\\]-~]*)"'  # printable ASCII that needs no escape
_SOME_TEXT: Final = '"([ !#-\\[\\]-~]+)"'
_KEY: Final = "(?!(?i:null|true|false):)[A-Za-z_][A-Za-z0-9_-]*"
_NUMBER: Final = "([1-9][0-9]{0,14})"


def _maybe(key: str) -> str:
    return f"(?:  {key}: {_TEXT}\n)?"


_METADATA = re.compile(
    f"id: {_TEXT}\nname: {_TEXT}\nversion: {_NUMBER}\ncontentType: {_SOME_TEXT}\nlifetime: {_SOME_TEXT}\n"
    f"garbageCollection: (?:{_NUMBER}|{_TEXT})\nstreaming: (true|false)\n"
    f'tags:\n((?:  {_KEY}: "[ !#-\\[\\]-~]*"\n)+)'
    f"ownerDefinition:\n{_maybe('definitionHash')}  ownerType: {_TEXT}\n  ownerRef: {_SOME_TEXT}\n"
    f"{_maybe('workflowId')}{_maybe('workflowRunId')}{_maybe('workflowName')}{_maybe('jobName')}{_maybe('stepName')}"
    f"{_maybe('source')}"
    'createdAt: "([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z)"\n'
    f'(?:size: (0|[1-9][0-9]{{0,14}})\n)?(?:checksum: "([0-9a-f]{{64}})"\n)?'
)
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
