"""`type:value`, the form of SWAMP_DATASTORE: `filesystem:PATH`, `@coll/name:{json}`, and the older `s3:bucket/prefix`.

Repository spec 7.2. The result has the shape of the `datastore` block of `.swamp.yaml`.
"""

import json
from collections.abc import Mapping

from bayou.config.declaration import LEGACY_S3
from bayou.config.locations import Folder
from bayou.config.wording import quoted, refusal, repeated
from bayou.domain.suggestions import suggestion

_FORMS = "filesystem:PATH, @collective/name:{JSON} or a URL such as s3://bucket/prefix"


def parse(text: str, *, where: str) -> dict[str, object]:
    kind, colon, value = text.partition(":")
    if not colon:
        hint = f"; did you mean {quoted(f'filesystem:{text}')}?" if "/" in text else ""
        raise refusal(
            f"{where}: expected TYPE:VALUE, found {repeated(text)}{hint}", remedy=f"Write {where} as {_FORMS}."
        )
    if kind.startswith("@"):
        return {"type": kind, "config": _config(value, kind, where)}
    if kind == Folder.type:
        return {"type": kind, "path": value}
    if kind == LEGACY_S3:
        bucket, _, prefix = value.partition("/")
        return {"type": kind, "bucket": bucket, "prefix": prefix}
    near = suggestion(kind, (Folder.type, LEGACY_S3))
    raise refusal(
        f"{where}: {quoted(kind)} is not a known type of datastore{near}", remedy=f"Write {where} as {_FORMS}."
    )


def render(kind: str, config: Mapping[str, object]) -> str:
    return f"{kind}:{json.dumps(config, separators=(',', ':'))}"


def _config(value: str, kind: str, where: str) -> dict[str, object]:
    if not value:
        return {}
    try:
        config = json.loads(value)
    except (ValueError, RecursionError) as error:
        # The text itself is not repeated: plugins may take credentials there.
        raise refusal(
            f"{where}: what follows {kind}: is not JSON ({error})", remedy=f"Write {where} as {kind}:{{JSON}}."
        ) from None
    if not isinstance(config, dict):
        raise refusal(
            f"{where}: what follows {kind}: is JSON, but not an object", remedy=f"Write {where} as {kind}:{{JSON}}."
        )
    return config
