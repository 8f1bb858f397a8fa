"""What was executed: the records of methods and of workflow runs, as users ask for them."""

import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bayou.domain.durations import parse_duration
from bayou.domain.outputs import Output, OutputStatus
from bayou.domain.runs import RunStatus, RunSummary
from bayou.errors import ErrorKind, NotFound
from bayou.layout.places import LOCAL, run_log
from bayou.layout.records import RunRecord
from bayou.repository import outputs, runretention, runs
from bayou.repository.outputs import Found, Page
from bayou.repository.runretention import RunGc
from bayou.repository.runs import FoundRun, RunPage
from bayou.storage.oserrors import translated

if TYPE_CHECKING:
    from bayou.datastore.datastore import Datastore

_CHUNK = 2**20


class Recorded:
    def __init__(self, datastore: "Datastore") -> None:
        self._datastore = datastore
        self._tree = datastore.tree

    def methods(  # noqa: PLR0913 - what one may ask for
        self,
        *,
        model: str | None = None,
        method: str | None = None,
        statuses: Collection[OutputStatus] = (),
        since: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> Page:
        """Executions of methods, newest first."""
        found = None if model is None else self._datastore.find_model(model)
        return outputs.listing(
            self._tree,
            model_type=found.type if found else None,
            model_id=found.id if found else None,
            method=method,
            statuses=statuses,
            since_ms=_since_ms(since),
            limit=limit,
            after=after,
        )

    def workflows(
        self,
        *,
        statuses: Collection[RunStatus] = (),
        since: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> RunPage:
        """Runs of workflows, newest first."""
        return runs.listing(self._tree, statuses=statuses, since_ms=_since_ms(since), limit=limit, after=after)

    def is_stale(self, found: Found | FoundRun) -> bool:
        """Whether it says that it runs, and its process is gone."""
        here = self._datastore.machine
        if isinstance(found, Found):
            return outputs.is_stale(self._tree, found, here)
        return runs.is_stale(self._tree, found, here)

    def reconcile(self) -> int:
        """Let those have failed that died on this machine without saying so; how many that were."""
        here, at = self._datastore.machine, self._datastore.holdings.now()
        return len(outputs.reconcile(self._tree, here, at)) + len(runs.reconcile(self._tree, here, at))

    def show(self, prefix: str) -> dict[str, object]:
        """The record with this id, of a method or of a workflow run."""
        try:
            found = outputs.find(self._tree, prefix)
        except NotFound:
            return _document(runs.find(self._tree, prefix))
        return {"modelType": found.model_type, **_document(found.output)}

    def log(self, prefix: str) -> Iterator[bytes]:
        """The log of the execution with this id, piece by piece. It is on the machine where that ran.

        Its place follows from that of the record: what a record says about it may come from anywhere.
        """
        path = self._log_path(prefix)
        try:
            with translated(path.name), path.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    yield chunk
        except NotFound:
            raise NotFound(f"{prefix!r} has no log on this machine", kind=ErrorKind.RECORD_MISSING) from None

    def _log_path(self, prefix: str) -> Path:
        try:
            found = outputs.find(self._tree, prefix)
        except NotFound:
            run = runs.find(self._tree, prefix)
            return self._tree.local / run_log(RunRecord(run.workflow_id, run.id)).removeprefix(f"{LOCAL}/")
        return self._tree.local / f"{found.path.removesuffix('.yaml')}.log"

    def gc(self, *, older_than: str | None = None, dry_run: bool = False) -> RunGc:
        """Remove the records of what ended long ago. Data that is bound to them expires with the next gc."""
        day = runretention.DAY_MS
        keep_ms = runretention.DEFAULT_DAYS * day if older_than is None else parse_duration(older_than).seconds * 1000
        if dry_run:
            return runretention.plan(self._tree, time.time_ns() // 1_000_000, keep_ms)
        self._datastore.check_writable()
        with self._datastore.coordination.alone():
            plan = runretention.plan(self._tree, time.time_ns() // 1_000_000, keep_ms)
            return runretention.carry_out(self._tree, plan)


def _since_ms(since: str | None) -> int | None:
    return None if since is None else time.time_ns() // 1_000_000 - parse_duration(since).seconds * 1000


def _document(record: Output | RunSummary) -> dict[str, object]:
    document: dict[str, object] = msgspec.to_builtins(record)
    return {key: value for key, value in document.items() if value is not None}
