"""What `.swamp.yaml` says about where the datastore is: the keys of each type, read into a location and back.

Repository spec 7.1, sync spec 4.0 and 9. The config of MongoDB and of plugins is handed on as it stands.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path

from bayou.config.block import Block
from bayou.config.locations import GCS, S3, Azure, Folder, Headers, Location, Misfit, Mongo, Plugin
from bayou.config.paths import collapsed
from bayou.config.wording import quoted
from bayou.domain.suggestions import suggestion
from bayou.errors import UsageError

PLUGIN_GROUP = "bayou.datastores"
LEGACY_S3 = "s3"
BUILT_IN = (Folder.type, S3.type, GCS.type, Azure.type, Mongo.type)

# The key of each field, where the file has another name for it.
_KEYS: Mapping[str, Mapping[str, str]] = {
    S3.type: {"path_style": "forcePathStyle"},
    GCS.type: {"endpoint": "apiEndpoint", "project": "projectId"},
}


def plugin_types() -> frozenset[str]:
    """List the types that installed packages offer; nothing of them is imported."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to import, and only an unknown type asks

    return frozenset(point.name for point in entry_points(group=PLUGIN_GROUP))


def config_of(declared: Block) -> Block:
    """Find the block with the settings of the place: `config`, except that the legacy type `s3` has none of its own."""
    kind = declared.text("type")
    return declared if kind in {Folder.type, LEGACY_S3} else declared.block("config")


def read(
    declared: Block,
    config: Block,
    *,
    folder: Callable[[str], Path] = Path,
    plugins: Callable[[], Iterable[str]] = plugin_types,
) -> Location:
    """Read a declaration. `config` is its `config_of`, `folder` finds the folder that a path means."""
    named = declared.required_text("type")
    kind = S3.type if named == LEGACY_S3 else named
    try:
        match kind:
            case Folder.type:
                return Folder(_folder(declared, folder))
            case S3.type:
                return S3(
                    bucket=config.required_text("bucket"),
                    prefix=config.text("prefix") or "",
                    region=config.text("region") or None,
                    endpoint=config.text("endpoint"),
                    path_style=config.flag("forcePathStyle") or False,
                    headers=_headers(config.block("headers")),
                )
            case GCS.type:
                return GCS(
                    bucket=config.required_text("bucket"),
                    prefix=config.text("prefix") or "",
                    endpoint=config.text("apiEndpoint"),
                    project=config.text("projectId") or None,
                    headers=_headers(config.block("headers")),
                )
            case Azure.type:
                return Azure(
                    container=config.required_text("container"),
                    prefix=config.text("prefix") or "",
                    account=config.text("account") or None,
                    endpoint=config.text("endpoint"),
                    headers=_headers(config.block("headers")),
                )
            case Mongo.type:
                return Mongo(config.values)
            case _:
                _check_offered(kind, declared, plugins())
                return Plugin(kind, config.values)
    except Misfit as misfit:
        key = _KEYS.get(kind, {}).get(misfit.field, misfit.field)
        raise config.complaint(key, misfit.problem) from None


def _folder(declared: Block, folder: Callable[[str], Path]) -> Path:
    path = declared.required_text("path")
    try:
        return folder(path)
    except UsageError as error:
        raise declared.complaint("path", error.message, remedy=error.remedy) from None


def _check_offered(kind: str, declared: Block, offered: Iterable[str]) -> None:
    known = (*BUILT_IN, *sorted(offered))
    if kind not in known:
        raise declared.complaint(
            "type",
            f"{quoted(kind)} is not a known type of datastore{suggestion(kind, known)}",
            remedy=f"Use one of {', '.join(known)}, or install the package that offers {kind}.",
        )


def _headers(block: Block) -> Headers:
    return tuple((str(name), block.required_text(name)) for name in block.values)


def written(location: Location, home: Path) -> dict[str, object]:
    """Write a location as the keys of the `datastore` block that `read` gives back."""
    match location:
        case Folder(path):
            return {"type": location.type, "path": collapsed(path, home)}
        case Mongo(config) | Plugin(_, config):
            return {"type": location.type, "config": dict(config)}
        case S3() | GCS() | Azure():
            return {"type": location.type, "config": _config(location)}


def _config(location: S3 | GCS | Azure) -> dict[str, object]:
    values: dict[str, object] = {}
    for field in fields(location):
        value = getattr(location, field.name)
        if value != field.default:
            key = _KEYS.get(location.type, {}).get(field.name, field.name)
            values[key] = dict(value) if field.name == "headers" else value
    return values
