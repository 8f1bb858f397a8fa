"""Outputs: one record for each execution of a method (repository spec 3.1), written whole at each of its steps.

Records of all types are listed, whether anybody knows the type or not (weakness 44). One that cannot be read is
reported and never hides another.
"""

import re
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.outputs import Output, OutputStatus, failed
from bayou.errors import BayouError, ErrorKind, NotFound, UsageError
from bayou.layout.places import output_log
from bayou.layout.records import OutputRecord, read_output, stamp
from bayou.repository.machines import writer_is_dead
from bayou.repository.walking import FileAt, walk
from bayou.tree import Tree
from bayou.wire import outputs
from bayou.wire.times import to_milliseconds, to_text

FOLDER = "outputs"

_STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9-]+Z")
_ID = re.compile(rb"id: [\"']?([0-9A-Za-z-]+)[\"']?\r?\n")
_HEAD = 128  # bytes in which the id is, where it comes first
_TRIES = 1000
DEAD = "the process that ran it is gone"


class Found(NamedTuple):
    path: str
    output: Output

    @property
    def model_type(self) -> str:
        """The type as its folders say it; for a file that nobody named properly, as much as can be told."""
        record = _record(self.path)
        return str(record.type) if record else "/".join(self.path.split("/")[1:-2])


class Unreadable(NamedTuple):
    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Page:
    records: tuple[Found, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    next: str | None = None
    """What continues after this page, if anything does."""


def create(tree: Tree, model: Model, output: Output, *, with_log: bool = False) -> Found:
    """Record an execution, in whatever state it is. Of two that began in one millisecond, the second began in the next.

    With a log, `logFile` says where it goes: beside the record, so that it leaves with it (weakness 47).
    """
    began = to_milliseconds(output.started_at)
    if began is None:
        raise UsageError(f"{output.started_at!r} is no time at which a method can have started")
    output = msgspec.structs.replace(output, id=output.id or str(uuid.uuid4()), definition_id=model.id)
    for later in range(_TRIES):
        started_at = to_text((began + later) * 1_000_000)
        record = OutputRecord(ModelType(model.type.normalised), output.method_name, model.id, stamp(started_at))
        log_file = output_log(record) if with_log else output.log_file
        output = msgspec.structs.replace(output, started_at=started_at, log_file=log_file)
        with tree.change(record.path) as change:
            if change.create(record.path, outputs.encode(output)):
                return Found(record.path, output)
    raise UsageError(f"{_TRIES} executions of {output.method_name!r} are recorded for one moment")


def advance(tree: Tree, path: str, step: Callable[[Output], Output]) -> Output:
    """Take the record one step further, unless it has come to its end elsewhere."""
    with tree.lock(path):
        return _advance(tree, path, step)


def read(tree: Tree, path: str) -> Output:
    content = tree.read(path)
    if content is None:
        raise NotFound(f"no record {path!r}", kind=ErrorKind.RECORD_MISSING)
    return outputs.decode(content, path)


def remove(tree: Tree, path: str) -> None:
    """Remove a record; it need not be there. Folders that are empty then go too."""
    with tree.removal(path) as change:
        change.remove(path)
        change.prune(path.rpartition("/")[0])


def listing(  # noqa: PLR0913 - what one may ask for
    tree: Tree,
    *,
    model_type: ModelType | None = None,
    model_id: str | None = None,
    method: str | None = None,
    statuses: Collection[OutputStatus] = (),
    since_ms: int | None = None,
    limit: int | None = None,
    after: str | None = None,
) -> Page:
    """The records, newest first. Those are read whose path does not rule them out, until the page is full."""
    cutoff = "" if since_ms is None else stamp(to_text(since_ms * 1_000_000))
    found: list[Found] = []
    unreadable: list[Unreadable] = []
    last = ""
    for moment, file in _newest_first(tree, model_type):
        here = f"{moment} {file.path}"
        if moment < cutoff:
            break
        if (after is not None and here >= after) or not _may_be(file.path, model_id, method):
            continue
        record = _read(file)
        if isinstance(record, Unreadable):
            unreadable.append(record)
        elif record is not None and _is_wanted(record, model_id, method, statuses, cutoff):
            if len(found) == limit:
                return Page(tuple(found), tuple(unreadable), next=last)
            found.append(record)
            last = here
    return Page(tuple(found), tuple(unreadable))


def find(tree: Tree, prefix: str) -> Found:
    """The record with this id, or the only one whose id begins like this."""
    matches: list[Found] = []
    for file in walk(tree, FOLDER, ".yaml"):
        head = _ID.match(file.read(_HEAD) or b"")
        if head and not head[1].startswith(prefix.encode()):
            continue
        record = _read(file)
        if isinstance(record, Found) and record.output.id.startswith(prefix):
            if record.output.id == prefix:
                return record
            matches.append(record)
    if len(matches) == 1 and prefix:
        return matches[0]
    if matches:
        ids = ", ".join(sorted(match.output.id for match in matches)[:5])
        raise UsageError(f"{len(matches)} outputs have an id that begins with {prefix!r}, such as {ids}")
    raise NotFound(f"no output has the id {prefix!r}", kind=ErrorKind.RECORD_MISSING)


def is_stale(tree: Tree, found: Found, here: str) -> bool:
    """Whether it says that it runs, and does not: its process ran on this machine and is gone (weakness 48)."""
    output = found.output
    return not output.is_over and writer_is_dead(tree, found.path, output.machine, output.pid, here)


def reconcile(tree: Tree, here: str, at: str, *, before_ms: int | None = None) -> list[Found]:
    """Let those have failed that died without saying so, and give them back.

    On this machine a look at the process decides. What other machines and clients left behind fails only when it began
    before a time that the caller names.
    """
    cutoff = "" if before_ms is None else to_text(before_ms * 1_000_000)

    def is_lost(found: Found) -> bool:
        return not found.output.is_over and (is_stale(tree, found, here) or "" < found.output.started_at < cutoff)

    ended: list[Found] = []
    for file in walk(tree, FOLDER, ".yaml"):
        record = _read(file)
        if not isinstance(record, Found) or not is_lost(record):
            continue
        with tree.lock(file.path):
            again = _read(file)
            if isinstance(again, Found) and is_lost(again):
                output = _advance(tree, file.path, lambda output: failed(_begun(output), at, DEAD))
                ended.append(Found(file.path, output))
    return ended


def _begun(output: Output) -> Output:
    # What never ran cannot fail; that it was lost is what there is to say.
    return msgspec.structs.replace(output, status=OutputStatus.RUNNING)


def _advance(tree: Tree, path: str, step: Callable[[Output], Output]) -> Output:
    output = step(read(tree, path))
    with tree.change(path) as change:
        change.replace(path, outputs.encode(output))
    return output


def _newest_first(tree: Tree, model_type: ModelType | None) -> list[tuple[str, FileAt]]:
    folder = f"{FOLDER}/{model_type}" if model_type else FOLDER
    return sorted(((_moment(file), file) for file in walk(tree, folder, ".yaml")), reverse=True)


def _moment(file: FileAt) -> str:
    """When it began, as the file name has it; or when the file was written."""
    match = _STAMP.search(file.path.rpartition("/")[2])
    if match is not None:
        return match[0]
    status = file.status()
    return stamp(to_text(status.st_mtime_ns)) if status else ""


def _may_be(path: str, model_id: str | None, method: str | None) -> bool:
    record = _record(path)
    return record is None or (method in {None, record.method} and model_id in {None, record.definition_id})


def _is_wanted(
    record: Found, model_id: str | None, method: str | None, statuses: Collection[OutputStatus], cutoff: str
) -> bool:
    output = record.output
    return (
        (not statuses or output.status in statuses)
        and method in {None, output.method_name}
        and (model_id in {None, output.definition_id} or f"/{model_id}/" in record.path)
        and (not output.started_at or stamp(output.started_at) >= cutoff)
    )


def _record(path: str) -> OutputRecord | None:
    """What the path says; None for one that nobody named properly, and for one that was moved aside by a sync."""
    try:
        return read_output(path.split("/"))
    except UsageError:
        return None


def _read(file: FileAt) -> Found | Unreadable | None:
    try:
        content = file.read()
        return None if content is None else Found(file.path, outputs.decode(content, file.path))
    except BayouError as error:
        return Unreadable(file.path, str(error))
