"""Drafts: what a writer says about a version before it is written. The rest follows from its place and its content."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

from bayou.domain.artifacts import Artifact, ArtifactKey, Owner, check_tags
from bayou.domain.lifetimes import Bound, normalised_lifetime
from bayou.domain.names import check_data_name
from bayou.domain.retention import parse_policy
from bayou.errors import UsageError
from bayou.tree import Written

_CONTENT_TYPE = re.compile(r"[!-~]+/[!-~]+(?: ?; ?[!-~ ]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Checked when it is made, so that nothing is written that nobody could read."""

    owner: Owner
    tags: Mapping[str, str]
    content_type: str | None = None
    """None: what the content itself speaks for."""
    lifetime: str = Bound.INFINITE
    garbage_collection: int | str = 10
    streaming: bool = False

    def __post_init__(self) -> None:
        check_tags(self.tags)
        parse_policy(self.garbage_collection)
        object.__setattr__(self, "lifetime", normalised_lifetime(self.lifetime))
        if self.content_type is not None and not _CONTENT_TYPE.fullmatch(self.content_type):
            raise UsageError(
                f"{self.content_type!r} is not a content type",
                remedy="Write one such as application/json, text/plain or application/octet-stream.",
            )

    @property
    def is_ephemeral(self) -> bool:
        return self.lifetime == Bound.EPHEMERAL

    def artifact(self, key: ArtifactKey, version: int, content_type: str, written: Written, at: str) -> Artifact:
        """The metadata of the version. It has an id of its own, as with the existing clients."""
        return Artifact(
            id=str(uuid4()),
            name=check_data_name(key.name),
            version=version,
            content_type=self.content_type or content_type,
            lifetime=self.lifetime,
            garbage_collection=self.garbage_collection,
            streaming=self.streaming,
            tags=dict(self.tags),
            owner=self.owner,
            created_at=at,
            size=written.size,
            checksum=written.sha256,
        )
