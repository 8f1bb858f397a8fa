"""From arguments, environment and marker to settings.

A datastore is declared as a whole by one source: where an argument or the environment names another datastore, nothing
of the marker's `datastore` block applies to it, neither its namespace nor its directories (repository spec 7.2: the
form of the environment carries none). What goes unused this way is named in a warning.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from bayou.config import environment, repo
from bayou.config.block import Block
from bayou.config.choice import Choice
from bayou.config.declaration import LEGACY_S3, plugin_types
from bayou.config.locations import GCS, S3, Azure, Folder
from bayou.config.marker import Marker, read
from bayou.config.paths import checked
from bayou.config.settings import Arguments, Hydration, Origin, Settings, Source
from bayou.config.sources import Declared, Surroundings, declared
from bayou.config.wording import escaped, quoted, refusal
from bayou.domain.namespaces import SOLO, check_namespace
from bayou.domain.suggestions import suggestion
from bayou.errors import ErrorKind, NotFound, UsageError
from bayou.layout.directories import ALWAYS_LOCAL, DEFAULT, in_datastore
from bayou.layout.internal import never_crosses
from bayou.layout.places import MARKER
from bayou.layout.safety import fault

_SILENT = Arguments()
_POSITIVE = range(1, 2**63)
_CONCURRENCY = range(1, 1001)
_REQUEST_TIMEOUT = range(1000, 600_001)
_REPO_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TUNING = ("pullConcurrency", "pushConcurrency", "requestTimeoutMs")
_OF_ONE_DATASTORE = ("namespace", "directories", "exclude", "hydrationStrategy", "syncTimeoutMs")


def load(
    start: Path,
    environ: Mapping[str, str],
    arguments: Arguments = _SILENT,
    *,
    home: Path,
    plugins: Callable[[], Iterable[str]] = plugin_types,
) -> Settings:
    """Find the settings of a session that begins in the folder `start`."""
    # The parents of `a/..` are not those of the folder it means.
    start = Path(checked(os.path.normpath(start.absolute())))
    root = repo.choose(start, environ, arguments.repo_dir, home)
    marker = None if root is None else _marker(root)
    found = declared(arguments.datastore, marker, Surroundings(start, root, environ, home, plugins))
    location, block = found.location, found.block
    # The tuning of these is in their config; the config of any other type is not ours to read.
    remote = isinstance(location, S3 | GCS | Azure)
    config = found.config if remote else Block({}, where=block.where)
    repo_id = None if marker is None else _repo_id(marker)
    user_folder = repo.user_folder(environ, home)
    # Of the repo is what its marker says. Two datastores in one cache would end up in each other.
    has_cache = root is not None and not isinstance(location, Folder) and found.origin.source is Source.MARKER

    choice = Choice(arguments, environ, found.origin)
    return Settings(
        location=choice.of("location", location, (location, found.origin)),
        namespace=_namespace(choice, block),
        directories=_directories(choice, block),
        exclude=choice.of("exclude", (), (block.texts("exclude"), found.origin)),
        hydration=_hydration(choice, block),
        sync_timeout_ms=choice.number(
            "sync_timeout_ms",
            300_000,
            _POSITIVE,
            variable=environment.SYNC_TIMEOUT,
            declared=block.number("syncTimeoutMs", _POSITIVE),
        ),
        lock_timeout_ms=choice.number("lock_timeout_ms", 60_000, _POSITIVE, variable=environment.LOCK_TIMEOUT),
        pull_concurrency=choice.number(
            "pull_concurrency", 50, _CONCURRENCY, declared=config.number("pullConcurrency", _CONCURRENCY)
        ),
        push_concurrency=choice.number(
            "push_concurrency", 25, _CONCURRENCY, declared=config.number("pushConcurrency", _CONCURRENCY)
        ),
        request_timeout_ms=choice.number(
            "request_timeout_ms",
            30_000,
            _REQUEST_TIMEOUT,
            variable=environment.request_timeout_variable(location),
            declared=config.number("requestTimeoutMs", _REQUEST_TIMEOUT),
        ),
        ephemeral_budget=choice.size("ephemeral_budget", 512 * 2**20, environment.EPHEMERAL_BUDGET),
        durable=choice.switch("durable", environment.DURABLE, default=True),
        auto_gc=choice.switch("auto_gc", None, marked=_auto_gc(marker)),
        trace=choice.switch("trace", environment.trace_variable(location)),
        repo=root,
        repo_id=repo_id,
        user_folder=user_folder,
        cache=repo.cache(user_folder, repo_id) if has_cache else None,
        origins=choice.origins,
        warnings=tuple(
            escaped(warning)
            for warning in (
                *choice.warnings,
                *(() if marker is None else marker.unknown()),
                *_unknown(found, ours=remote),
                *_unused(found, marker),
                *_odd_prefix(location),
                *(_shared_cache(marker) if has_cache and not repo_id else ()),
            )
        ),
    )


def _marker(root: Path) -> Marker:
    marker = read(root)
    if marker is None:
        raise NotFound(
            escaped(f"{root} is not a repo: it has no {MARKER}"),
            kind=ErrorKind.REPO_MISSING,
            remedy=escaped(f"Run `bayou init` in {root}, or name another folder."),
        )
    # They are for the tools themselves. That they have the wrong type is said here, as of every key that Bayou reads.
    marker.block().texts("tools")
    marker.block().text("tool")
    return marker


def _auto_gc(marker: Marker | None) -> tuple[bool | None, Origin]:
    """A setting of the repo, not of its datastore."""
    if marker is None:
        return None, Origin(Source.DEFAULT)
    return marker.block().flag("autoGc"), Origin(Source.MARKER, str(marker.path))


def _repo_id(marker: Marker) -> str | None:
    block = marker.block()
    repo_id = block.text("repoId")
    if repo_id and not _REPO_ID.fullmatch(repo_id):
        # It names a folder of the user's home.
        raise block.complaint("repoId", f"expected letters, digits, dots and dashes, found {quoted(repo_id)}")
    return repo_id or None


def _namespace(choice: Choice, block: Block) -> str:
    namespace = choice.text("namespace", SOLO, block.text("namespace"))
    try:
        return check_namespace(namespace)
    except UsageError as error:
        if choice.origins["namespace"].source is Source.ARGUMENT:
            raise
        raise block.complaint("namespace", error.message, remedy=error.remedy) from None


def _hydration(choice: Choice, block: Block) -> Hydration:
    text = choice.text("hydration", Hydration.FULL, block.text("hydrationStrategy"))
    if text in set(Hydration):
        return Hydration(text)
    problem = f"expected full or lazy, found {quoted(text)}{suggestion(text, Hydration)}"
    if choice.origins["hydration"].source is Source.ARGUMENT:
        raise refusal(
            f"hydration: {problem}", kind=ErrorKind.INVALID_ARGUMENT, remedy="Give hydration as full or lazy."
        )
    raise block.complaint("hydrationStrategy", problem)


def _directories(choice: Choice, block: Block) -> tuple[str, ...]:
    names = block.texts("directories")
    for name in names or ():
        if fault(name) or "/" in name:
            raise block.complaint("directories", f"expected names of folders of the runtime data, found {quoted(name)}")
        if name in ALWAYS_LOCAL:
            choice.warnings.append(f"{block.where}: {block.at('directories')}: {name} always stays on this machine")
        elif never_crosses(name):
            raise block.complaint(
                "directories", f"{quoted(name)} is not for data: every client keeps its own state there"
            )
        elif name not in DEFAULT:
            choice.warnings.append(
                f"{block.where}: {block.at('directories')}: {quoted(name)} is not a folder that existing clients have"
                f"{suggestion(name, DEFAULT)}"
            )
    once = None if names is None else in_datastore(dict.fromkeys(names))
    return choice.of("directories", in_datastore(), (once, choice.declared))


def _unknown(found: Declared, *, ours: bool) -> Iterator[str]:
    """Warn about keys that nobody reads. Called last, when every key that is known has been asked for."""
    yield from found.block.unknown()
    if ours and found.config is not found.block:
        yield from found.config.unknown()


def _unused(found: Declared, marker: Marker | None) -> Iterator[str]:
    if marker is None or found.origin.source in {Source.MARKER, Source.DEFAULT}:
        return
    there = marker.block().block("datastore")
    tuned = _tuned(there)
    if unused := [
        block.at(key)
        for block, keys in ((there, _OF_ONE_DATASTORE), (tuned, _TUNING))
        for key in keys
        if block.values.get(key) is not None
    ]:
        yield f"{marker.path}: {', '.join(unused)}: not used, because another datastore is named by {found.origin}"


def _tuned(datastore: Block) -> Block:
    """Find the block with the tuning, without complaint: nothing else of it is going to be read."""
    kind, config = datastore.values.get("type"), datastore.values.get("config")
    if kind == LEGACY_S3:
        return datastore
    ours = kind in {S3.type, GCS.type, Azure.type} and isinstance(config, Mapping)
    return datastore.block("config") if ours else Block({}, where=datastore.where)


def _odd_prefix(location: object) -> Iterator[str]:
    if isinstance(location, S3 | GCS | Azure) and location.prefix and "" in location.prefix.split("/"):
        prefix = location.prefix
        yield (
            f"the prefix {quoted(prefix)} is taken as it is: existing clients keep their keys below"
            f" {quoted(prefix + '/')}, where Bayou cannot open a datastore; use a prefix without empty parts"
        )


def _shared_cache(marker: Marker | None) -> Iterator[str]:
    if marker is not None:
        yield f"{marker.path} has no repoId, so its cache is shared with every repo on this machine that has none"
