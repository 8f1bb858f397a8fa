"""How each kind of store names the bytes of an object, and how a condition on that name is asked for."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from bayou.storage.port import Version

if TYPE_CHECKING:
    from obstore import UpdateVersion


class Versions(Protocol):
    """The one thing in which buckets differ at this level."""

    def read(self, answer: Mapping[str, Any]) -> Version | None:
        """Take the version out of what obstore says of an object; None where it does not say enough."""

    def match(self, version: Version) -> "UpdateVersion":
        """Ask for a put only over this version."""

    def etag(self, version: Version) -> str:
        """Give what a conditional read compares."""


class ETags:
    """S3 and Azure compare ETags. They are kept as they came, quotes and all: some stores take nothing else back."""

    def read(self, answer: Mapping[str, Any]) -> Version | None:
        etag = answer["e_tag"]
        return None if etag is None else Version(etag)

    def match(self, version: Version) -> "UpdateVersion":
        return {"e_tag": version}

    def etag(self, version: Version) -> str:
        return version


class Generations:
    """GCS compares generations when it writes and ETags when it reads, so a version carries both.

    Its listings leave the generation out.
    """

    def read(self, answer: Mapping[str, Any]) -> Version | None:
        generation, etag = answer["version"], answer["e_tag"]
        return None if generation is None or etag is None else Version(f"{generation} {etag}")

    def match(self, version: Version) -> "UpdateVersion":
        return {"version": version.split(" ", 1)[0]}

    def etag(self, version: Version) -> str:
        return version.split(" ", 1)[1]
