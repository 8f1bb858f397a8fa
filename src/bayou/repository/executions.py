"""Run a command as a method of a model: what it prints as JSON becomes an artifact, and so do the files it names."""

import codecs
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from bayou.domain.artifacts import JSON
from bayou.domain.tags import Tags
from bayou.repository import jsontext
from bayou.repository.commands import Ended, Sinks, environment, run_command
from bayou.repository.content import BYTES, TEXT, of_file, of_stream
from bayou.repository.jsontext import NotFinite
from bayou.repository.methodruns import FILE, RESOURCE, MethodRun
from bayou.repository.record import Record
from bayou.storage.oserrors import translated

_MOST_JSON = 2**28  # bytes that are worth parsing to see whether they are JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What of a command is to be kept besides its log.

    Without a name for its output, stdout is kept where it is JSON, under `result`. With one it is kept whatever it is.
    """

    output: str | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    """Files that it writes, by the names that they get as artifacts. One that is not there afterwards is a failure."""
    tags: Tags = field(default_factory=dict)


def execute(  # noqa: PLR0913 - what there is to say about an execution
    run: MethodRun,
    command: Sequence[str],
    wanted: Wanted,
    *,
    stdout: BinaryIO | None = None,
    stderr: BinaryIO | None = None,
    notice: Callable[[str], None] = lambda _: None,
) -> tuple[Ended, list[Record]]:
    """Run it to its end, record that, and give back how it ended and what came of it.

    A command that fails keeps what it printed, as people want to see why; nothing of a run with rollback stays. Where
    its output could not be written, as on a full disk, the run has failed, and nothing is kept of half an output.
    """
    with run, ExitStack() as opened:
        kept = opened.enter_context(tempfile.TemporaryFile())
        sinks = Sinks(_log(run, opened), kept, stdout or sys.stdout.buffer, stderr or sys.stderr.buffer)
        variables = {"BAYOU_RUN_ID": run.id, "BAYOU_MODEL": str(run.model)}
        ended = run_command(command, sinks, environ=environment(variables))
        if ended.lost is not None:
            with translated(f"the output of {command[0]!r}"):
                raise ended.lost
        records = [*_output(run, kept, wanted, notice), *_files(run, wanted, required=ended.exit_code == 0)]
        if ended.interrupted:
            run.cancel(ended.error)
        elif ended.exit_code:
            run.fail(ended.error)
    return ended, records


def _log(run: MethodRun, opened: ExitStack) -> BinaryIO:
    path = run.log
    if path is None:
        return opened.enter_context(open(os.devnull, "wb"))  # noqa: PTH123 - no path of ours
    with translated(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        return opened.enter_context(path.open("wb", buffering=0))


def _output(run: MethodRun, kept: BinaryIO, wanted: Wanted, notice: Callable[[str], None]) -> list[Record]:
    size = kept.tell()
    if size == 0:
        return []
    try:
        is_json = size <= _MOST_JSON and _is_json(kept)
    except NotFinite as error:
        is_json = False
        notice(f"what {run.method} printed is no JSON: {error}" + ("" if wanted.output else "; it is in the log only"))
    if wanted.output is None and not is_json:
        return []
    kept.seek(0)
    content_type = JSON if is_json else _text_or_bytes(kept)
    kept.seek(0)
    data_type = RESOURCE if is_json else FILE
    name = wanted.output or "result"
    return [run.write(name, of_stream(kept, content_type), data_type=data_type, tags=wanted.tags)]


def _is_json(kept: BinaryIO) -> bool:
    """Whether it is a JSON document; a bare word or number that happens to be one is no result of anything."""
    kept.seek(0)
    content = kept.read().strip()
    if content.removeprefix(codecs.BOM_UTF8)[:1] not in {b"{", b"["}:
        return False
    try:
        jsontext.check(content)
    except NotFinite:
        raise
    except ValueError:
        return False
    return True


def _text_or_bytes(kept: BinaryIO) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while chunk := kept.read(2**20):
            if "\0" in decoder.decode(chunk):
                return BYTES
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return BYTES
    return TEXT


def _files(run: MethodRun, wanted: Wanted, *, required: bool) -> list[Record]:
    there = {name: path for name, path in wanted.files.items() if required or path.exists()}
    return [run.write(name, of_file(path), data_type=FILE, tags=wanted.tags) for name, path in there.items()]
