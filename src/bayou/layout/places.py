"""Places on this machine: the files of a repo, and those at the root of its cache."""

from bayou.domain.names import check_id
from bayou.layout.records import OutputRecord, RunRecord
from bayou.layout.safety import check_path

MARKER = ".swamp.yaml"
"""At the root of a repo; its settings."""

LOCAL = ".swamp"
"""The runtime folder of a repo: what is this machine's, and the datastore too where none is configured."""

CATALOG = f"{LOCAL}/catalog.bayou.db"
LEGACY_CATALOG = f"{LOCAL}/data/_catalog.db"
"""The existing clients' catalog. Never opened by us."""
RUN_TRACKER = f"{LOCAL}/run_tracker.db"

# At the root of a cache, also where a namespace is bound. `_control` is out of sight of existing clients' walks.
SIDECAR = ".datastore-sync-state.json"
LOCAL_INDEX = ".datastore-index.json"
JOURNAL = "_control/journal.db"
TEMPORARY = "_control/tmp"
CONFLICTS = "_control/conflicts"


def cache_folder(repo_id: str) -> str:
    """The cache of a repo and all its clones, relative to the home of the existing clients (`~/.swamp`)."""
    return f"repos/{check_id(repo_id or 'unknown')}"


def conflict(path: str) -> str:
    """Where our side of a conflict over this path is kept."""
    return f"{CONFLICTS}/{check_path(path)}"


def output_log(output: OutputRecord) -> str:
    """The log of a method execution. Those of existing clients have a stamp some milliseconds before the record's."""
    return f"{LOCAL}/{output.path.removesuffix('.yaml')}.log"


def run_log(run: RunRecord) -> str:
    return f"{LOCAL}/{run.path.removesuffix('.yaml')}.log"


def runs_index(workflow_id: str) -> str:
    """The existing clients' summary of a workflow's runs; they drop and rebuild it as they like."""
    return f"{LOCAL}/workflow-runs/{check_id(workflow_id)}/.runs-index.json"
