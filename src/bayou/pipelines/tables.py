"""Tables: what can be read, with the columns of each, the parts of an index that it is in, and what a row costs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Final

from bayou.domain.entries import Entry
from bayou.domain.suggestions import suggestion
from bayou.errors import UsageError
from bayou.pipelines import artifactrows, objectrows, recordrows, retentionrows
from bayou.pipelines.reading import Batches, Task
from bayou.pipelines.slices import Cost

Columns = dict[str, str]
"""The names of columns, and their types in Spark's own spelling."""


def _columns(text: str, **others: str) -> Columns:
    """`name type name type …`, with what takes spaces or is named by others."""
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True)) | others


_TAGS = "map<string,string>"
_PRODUCED = "array<struct<data_id:string,name:string,version:bigint>>"
_WHOSE = _columns("namespace string type string model_id string name string version bigint")
_VERSION = _WHOSE | _columns(
    """
    is_latest boolean id string model_name string spec_name string data_type string content_type string
    lifetime string garbage_collection string owner_type string owner_ref string definition_hash string
    workflow_id string workflow_run_id string workflow_name string job_name string step_name string source string
    streaming boolean size bigint created timestamp created_at string tags map<string,string> checksum string
    lifecycle string renamed_to string problem string
    """
)
_ENTRY = _WHOSE | _columns("kind string path string part string size bigint sha256 string modified timestamp")


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    columns: Columns
    rows: Callable[[Task, Mapping[str, Entry]], Batches] | None
    """None: it is not read from an index."""
    parts: tuple[str, ...]
    """What the names of the parts begin with in which its rows are."""
    cost: Cost
    by_bytes: bool = False
    can_be_cut: bool = True

    @property
    def of_versions(self) -> bool:
        return self.parts == ("data--",)

    @property
    def target(self) -> float:
        """Seconds of a task from which on it is cut in two."""
        return 0.5 if self.can_be_cut else inf


_ALL: Final = (
    Table("artifacts", _VERSION, artifactrows.artifacts, ("data--",), Cost(1.2e-4)),
    Table(
        "content",
        _VERSION | _columns("attributes string text string content binary"),
        artifactrows.content,
        ("data--",),
        Cost(2e-4, 3e-9),
        by_bytes=True,
    ),
    Table("objects", _ENTRY | {"local_mtime": "string"}, objectrows.objects, ("",), Cost(8e-6)),
    Table(
        "outputs",
        _columns(
            """
            namespace string type string id string definition_id string method string status string
            started timestamp completed timestamp duration_ms bigint retries bigint error string triggered_by string
            initiated_by string workflow_id string workflow_run_id string step_name string machine string
            path string problem string
            """,
            artifacts=_PRODUCED,
        ),
        recordrows.outputs,
        ("outputs--",),
        Cost(3e-4),
    ),
    Table(
        "workflow_runs",
        _columns(
            """
            namespace string id string workflow_id string workflow_name string status string started timestamp
            completed timestamp initiated_by string trigger_source string failed_step string failure_reason string
            machine string path string problem string
            """,
            tags=_TAGS,
            artifacts=_PRODUCED,
        ),
        recordrows.workflow_runs,
        ("workflow-runs--",),
        Cost(4e-4),
    ),
    Table(
        "audit",
        _columns(
            """
            namespace string kind string day string machine string path string line bigint time timestamp
            command string cwd string session_id string exit_code bigint status string error string
            duration_ms bigint action string vault_name string vault_type string secret_key string
            caller_context string problem string
            """
        ),
        recordrows.audit,
        ("audit",),
        Cost(2e-3),
    ),
    Table(
        "models",
        _columns(
            """
            namespace string type string model_id string model_name string names bigint versions bigint bytes bigint
            last_modified timestamp
            """
        ),
        artifactrows.models,
        ("data--",),
        Cost(1e-5),
        can_be_cut=False,
    ),
    Table(
        "checks",
        _ENTRY | _columns("verdict string found_size bigint found_sha256 string"),
        objectrows.checks,
        ("",),
        Cost(2e-4, 3e-9),
        by_bytes=True,
    ),
    Table(
        "retention",
        _WHOSE
        | _columns(
            """
            is_latest boolean created_ms bigint bytes bigint keep bigint keep_until bigint live_until bigint
            ended string
            """
        ),
        retentionrows.retention,
        ("data--",),
        Cost(1.2e-4),
    ),
    Table(
        "listing",
        _WHOSE | _columns("kind string path string part string key string role string size bigint modified timestamp"),
        None,
        ("",),
        Cost(1e-5),
        by_bytes=True,
    ),
)

TABLES: Final = {table.name: table for table in _ALL}


def table_of(name: str) -> Table:
    found = TABLES.get(name)
    if found is None:
        raise UsageError(
            f"{name!r} is no table{suggestion(name, TABLES)}", remedy=f"The tables are: {', '.join(TABLES)}."
        )
    return found
