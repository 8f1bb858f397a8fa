"""The datastore: record what runs produced, find it, trust it."""

import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from bayou.catalog import Catalog, Row
from bayou.config import Settings, urls
from bayou.datastore.finding import Finding
from bayou.datastore.modelhandle import ModelHandle
from bayou.datastore.news import news_of
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.tags import Tags
from bayou.errors import Corrupt, Denied, ErrorKind, UsageError
from bayou.repository.content import Given
from bayou.repository.holdings import Holdings
from bayou.repository.machines import machine_name
from bayou.repository.models import Models
from bayou.repository.record import Record
from bayou.tree import Tree

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bayou.datastore.audited import Audited
    from bayou.datastore.cataloguing import Cataloguing
    from bayou.datastore.coordination import Coordination
    from bayou.datastore.recorded import Recorded
    from bayou.datastore.synced import Synced
    from bayou.datastore.syncing import Syncing
    from bayou.datastore.tidying import Tidying
    from bayou.query import Results
    from bayou.query.search import Filters
    from bayou.repository.pruning import Pruned
    from bayou.repository.retention import Collected
    from bayou.sync.journal import Journal

Progress = Callable[[int, int | None], None]
_Answer = TypeVar("_Answer")


class Datastore:
    """Use it as a context manager, or close it. Several threads and processes may work on one datastore."""

    def __init__(  # noqa: PLR0913 - what `open` found
        self,
        settings: Settings,
        tree: Tree,
        catalog: Path,
        *,
        writable: bool,
        notice: Callable[[str], None],
        journal: "Journal | None" = None,
    ) -> None:
        """`journal` is that of the cache where the tree is one."""
        self.settings = settings
        self.tree = tree
        self.progress: Progress | None = None
        """Called with how much of a long look at the files is done, if anybody wants to know."""
        self.catalog_path = catalog
        self._writable = writable
        self.notice = notice
        self._journal = journal

    @property
    def namespace(self) -> str:
        return self.tree.namespace

    @cached_property
    def catalog(self) -> Catalog:
        self.catalog_path.parent.mkdir(parents=True, exist_ok=True)
        news = None if self._journal is None else news_of(self._journal.changes)
        return Catalog.open(self.catalog_path, self.tree, notice=self.notice, news=news)

    @cached_property
    def holdings(self) -> Holdings:
        """What the rooms below work on."""
        return Holdings(self.tree, self.catalog, auto_gc=self.settings.auto_gc)

    @cached_property
    def models(self) -> Models:
        repo = self.settings.repo
        return Models(self.tree, None if repo is None else repo / "models")

    @cached_property
    def machine(self) -> str:
        """This machine's name in records."""
        return machine_name(self.tree)

    @cached_property
    def _finding(self) -> Finding:
        return Finding(self)

    # Each of these is imported when it is first used: a command needs one of them, and waits for no other.

    @cached_property
    def tidying(self) -> "Tidying":
        """What removes things, and what it would remove."""
        from bayou.datastore.tidying import Tidying  # noqa: PLC0415 - as above

        return Tidying(self)

    @cached_property
    def coordination(self) -> "Coordination":
        """The locks that keep runs and structural commands apart."""
        from bayou.datastore.coordination import Coordination  # noqa: PLC0415 - as above

        exchange = self.syncing.exchange() if self.is_synced else None
        return Coordination(self.settings, self.notice, exchange)

    @cached_property
    def runs(self) -> "Recorded":
        """What was executed."""
        from bayou.datastore.recorded import Recorded  # noqa: PLC0415 - as above

        return Recorded(self)

    @cached_property
    def audit(self) -> "Audited":
        """Which commands were run."""
        from bayou.datastore.audited import Audited  # noqa: PLC0415 - as above

        return Audited(self)

    @cached_property
    def cataloguing(self) -> "Cataloguing":
        """The catalog as a file: what goes out of it, and what of others comes in."""
        from bayou.datastore.cataloguing import Cataloguing  # noqa: PLC0415 - as above

        return Cataloguing(self)

    @property
    def is_synced(self) -> bool:
        """Whether it is a cache of another place, with which a sync keeps it in step."""
        return self._journal is not None

    @cached_property
    def syncing(self) -> "Syncing":
        """What passes between the cache and the place that it mirrors."""
        if self._journal is None:
            raise UsageError(
                f"there is nothing to sync: {self.tree.root} is the datastore itself",
                remedy="Connect this repo with a bucket: bayou setup s3://BUCKET/PREFIX.",
            )
        from bayou.datastore.syncing import Syncing  # noqa: PLC0415 - as above

        return Syncing(self, self._journal)

    def close(self) -> None:
        if "coordination" in self.__dict__:
            self.coordination.close()
        if "catalog" in self.__dict__:
            self.catalog.close()
        if self._journal is not None:
            self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- record ------------------------------------------------------------------------------------------------------

    def model(self, model_type: str, name: str) -> ModelHandle:
        """The model of this type and name. It comes into being with the first that is written to it."""
        return ModelHandle(self, ModelType(model_type), name)

    def hold(self, *models: ModelHandle) -> AbstractContextManager[object]:
        """Keep others away from several models for more than one run: `with ds.hold(vpc, dns): …`."""
        return self.coordination.running([handle.model for handle in models])

    def write(  # noqa: PLR0913 - what there is to say about an artifact
        self,
        model: str,
        name: str,
        given: Given,
        *,
        type: str | None = None,  # noqa: A002 - as the command line has it
        tags: Tags | None = None,
        content_type: str | None = None,
        lifetime: str = "infinite",
        keep: int | str = 10,
        streaming: bool = False,
    ) -> Record:
        """Write a new version by hand. The type may be left out for a model that has data already."""
        handle = ModelHandle(self, ModelType(type), model) if type else self._handle(self.find_model(model))
        return handle.write(
            name, given, tags=tags, content_type=content_type, lifetime=lifetime, keep=keep, streaming=streaming
        )

    def write_file(  # noqa: PLR0913 - as in write
        self,
        model: str,
        name: str,
        path: str | os.PathLike[str],
        *,
        type: str | None = None,  # noqa: A002 - as the command line has it
        tags: Tags | None = None,
        content_type: str | None = None,
        lifetime: str = "infinite",
        keep: int | str = 10,
    ) -> Record:
        """Write a file as a new version by hand."""
        return self.write(
            model,
            name,
            Path(path),
            type=type,
            tags={"type": "file", **(tags or {})},
            content_type=content_type,
            lifetime=lifetime,
            keep=keep,
        )

    def append(self, model: str, name: str, given: Given, *, type: str | None = None) -> Record:  # noqa: A002 - as above
        """Add to the end of streaming data that was written by hand."""
        handle = ModelHandle(self, ModelType(type), model) if type else self._handle(self.find_model(model))
        return handle.append(name, given)

    # --- ask ---------------------------------------------------------------------------------------------------------

    def latest(self, model: str, name: str) -> Record:
        """The latest version of a name; of several chains of writers, the one that was written last."""
        return self._finding.latest(model, name)

    def version(self, model: str, name: str, version: int) -> Record:
        """A version by its number, which never leads to another name."""
        return self._finding.version(model, name, version)

    def versions(self, model: str, name: str) -> list[Record]:
        """All versions of a name, newest first."""
        return self._finding.versions(model, name)

    def query(  # noqa: PLR0913 - what a question is made of
        self,
        predicate: str | None = None,
        *,
        select: str | None = None,
        limit: int | None = None,
        order_by: str | None = None,
        strict: bool = False,
        hydrate: bool = False,
        memory: Iterable[Record] = (),
    ) -> "Results":
        """What a CEL predicate says (docs/query.md): the latest versions that match, unless it asks for history.

        Nothing is fetched for it, unless `hydrate` asks for the content that decides, and for that of the records: also
        of those of other namespaces, which stay theirs and are not kept.
        `memory` are further records to ask, such as `run.ephemeral()`; they come first.
        """
        from bayou.query import query  # noqa: PLC0415 - as above

        held = list(memory)
        return self._asked(
            lambda: query(
                self.catalog,
                self.tree,
                predicate,
                select=select,
                limit=limit,
                order_by=order_by,
                strict=strict,
                hydrate=self.syncing.hydrate if hydrate and self.is_synced else None,
                abroad=self.cataloguing.abroad if hydrate else None,
                memory=held,
            )
        )

    def spark(self, predicate: str | None = None, *, spark: "SparkSession | None" = None) -> "DataFrame":
        """The same question asked on Spark, of all that the datastore shares: a data frame of the versions that match.

        `spark` is the session to use; else the one at hand, or a new one on this machine.
        """
        from bayou.pipelines.queries import ask  # noqa: PLC0415 - with Spark
        from bayou.pipelines.reach import Reach  # noqa: PLC0415 - the same
        from bayou.pipelines.sessions import session  # noqa: PLC0415 - the same

        reach = Reach(urls.render(self.settings.location), (self.namespace,))
        return ask(spark or session(), reach, predicate).matches

    def count(self, predicate: str | None = None) -> int:
        """How many match, without a list of them."""
        from bayou.query import count  # noqa: PLC0415 - as above

        return self._asked(lambda: count(self.catalog, self.tree, predicate))

    def search(self, filters: "Filters", *, newest_first: bool = True) -> list[Record]:
        """The latest versions that words and filters describe."""
        from bayou.query.search import search  # noqa: PLC0415 - as above

        rows = self._asked(lambda: search(self.catalog, self.namespace, filters, newest_first=newest_first))
        return [self.record(row) for row in rows]

    def find_model(self, reference: str) -> Model:
        """The model that is meant by its name, by TYPE/NAME, by its id or by the beginning of that."""
        return self._finding.model(reference)

    def record(self, row: Row) -> Record:
        """Content that is not here is fetched when it is read."""
        is_ours = row.namespace == self.namespace
        hydrate = self.syncing.hydrate_one if is_ours and self.is_synced else None
        return Record(row, self.tree if is_ours else None, hydrate=hydrate)

    # --- sync --------------------------------------------------------------------------------------------------------

    def sync(self, **wishes: Any) -> "Synced":  # noqa: ANN401 - those of `Syncing.sync`
        """Let the cache and the place that it mirrors agree: push what changed here, pull what changed there."""
        return self.syncing.sync(**wishes)

    def push(self, **wishes: Any) -> "Synced":  # noqa: ANN401 - as above
        """Only deliver what changed here."""
        return self.syncing.push(**wishes)

    def pull(self, **wishes: Any) -> "Synced":  # noqa: ANN401 - as above
        """Only fetch what changed there."""
        return self.syncing.pull(**wishes)

    # --- tidy up -----------------------------------------------------------------------------------------------------

    def delete(self, model: str, name: str, version: int | None = None) -> list[int]:
        """Delete a version, or a name with all of its versions; says which these were."""
        return self.tidying.delete(model, name, version)

    def rename(self, model: str, old: str, new: str) -> Record:
        """Give the latest version another name. Reads of the old name's latest lead to it."""
        return self.tidying.rename(model, old, new)

    def gc(self, *, dry_run: bool = False) -> "Collected":
        """Remove what has expired, and the versions that their policies let go."""
        return self.tidying.gc(self.tidying.plan_gc(), dry_run=dry_run)

    def prune(self, *, dry_run: bool = False) -> "Pruned":
        """Remove the data of models that nobody defines any more."""
        return self.tidying.prune(self.tidying.plan_prune(), dry_run=dry_run)

    def check_writable(self) -> None:
        if not self._writable:
            raise Denied(
                f"{self.tree.root} was opened for reading, as it is not the datastore of a repo",
                kind=ErrorKind.PERMISSION_DENIED,
                remedy="Open it with writable=True, or configure it in a repo's .swamp.yaml.",
            )

    # --- how ---------------------------------------------------------------------------------------------------------

    def _asked(self, question: Callable[[], _Answer]) -> _Answer:
        """The answer of a catalog that is up to date. One that turns out to be damaged was set aside, and so another
        one is asked, which is made first.
        """
        self.catalog.current(self.progress)
        try:
            return question()
        except Corrupt as error:
            if error.where != str(self.catalog_path):
                raise
        self.catalog.current(self.progress)
        return question()

    def _handle(self, model: Model) -> ModelHandle:
        return ModelHandle(self, model.type, model.name or model.id)
