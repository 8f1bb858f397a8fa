"""The folders of the runtime tier: which are in the datastore, and which never leave this machine."""

from collections.abc import Collection, Iterable

DEFAULT = (
    "auto-definitions",
    "definitions-evaluated",
    "workflows-evaluated",
    "data",
    "outputs",
    "workflow-runs",
    "secrets",
    "bundles",
    "vault-bundles",
    "driver-bundles",
    "report-bundles",
    "audit",
    "telemetry",
    "logs",
    "files",
)
"""The list of a repo whose config names none, in the order in which existing clients go through it."""

ALWAYS_LOCAL = frozenset({"secrets", "bundles", "vault-bundles", "driver-bundles", "report-bundles"})
"""Never in the datastore, whatever the config says (repository spec 1.1)."""

MACHINE_LOCAL = ALWAYS_LOCAL | {"datastore-bundles"}
"""With the one folder that is in no list, because it is needed before any datastore is known."""

_WITH_LOGS = frozenset({"outputs", "workflow-runs"})


def in_datastore(configured: Iterable[str] | None = None) -> tuple[str, ...]:
    """The folders that live in the datastore, in order."""
    return tuple(folder for folder in (DEFAULT if configured is None else configured) if folder not in ALWAYS_LOCAL)


def lies_in(path: str, folders: Collection[str]) -> bool:
    """Whether the first segment of the path is one of the folders."""
    return path.partition("/")[0] in folders


def is_of_this_machine(path: str) -> bool:
    """Logs and summaries beside records, which stay where they were made."""
    return lies_in(path, _WITH_LOGS) and path.endswith((".log", "/.runs-index.json"))
