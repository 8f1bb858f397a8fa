"""One mapping of the configuration, which can say where it stands.

Whoever reads a block asks for its keys by name and type. A wrong type is an error with file, key path, expected and
found; a key that nobody asked for is one that nobody knows, so the list of known keys is the code that reads them.
"""

from collections.abc import Collection, Iterator, Mapping

from bayou.config.credentials import names_credential
from bayou.config.wording import described, refusal, shown
from bayou.domain.suggestions import suggestion
from bayou.errors import UsageError


class Block:
    """A mapping at `path` of `where` (a file, a variable, an argument)."""

    def __init__(self, values: Mapping[str, object], *, where: str, path: str = "") -> None:
        self.values = values
        self.where = where
        self.path = path
        self._asked: set[str] = set()

    def at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def complaint(self, key: str, problem: str, *, remedy: str | None = None) -> UsageError:
        return refusal(
            f"{self.where}: {self.at(key)}: {problem}",
            remedy=remedy or f"Correct {self.at(key)} in {self.where}.",
        )

    def _mismatch(self, key: str, expected: str, found: object) -> UsageError:
        return self.complaint(key, f"expected {expected}, found {shown(found)}")

    def _value(self, key: str) -> object:
        self._asked.add(key)
        return self.values.get(key)

    def text(self, key: str) -> str | None:
        match self._value(key):
            case None | str() as value:
                return value
            case other:
                raise self._mismatch(key, "a text", other)

    def required_text(self, key: str) -> str:
        value = self.text(key)
        if value is None:
            raise self._mismatch(key, "a text", None)
        return value

    def flag(self, key: str) -> bool | None:
        match self._value(key):
            case None | bool() as value:
                return value
            case other:
                raise self._mismatch(key, "true or false", other)

    def number(self, key: str, allowed: range) -> int | None:
        match self._value(key):
            case None:
                return None
            case int() as value if not isinstance(value, bool) and value in allowed:
                return value
            case other:
                raise self._mismatch(key, described(allowed), other)

    def texts(self, key: str) -> tuple[str, ...] | None:
        match self._value(key):
            case None:
                return None
            case list() as items if all(isinstance(item, str) for item in items):
                return tuple(items)
            case list() as items:
                raise self._mismatch(key, "a list of texts", next(item for item in items if not isinstance(item, str)))
            case other:
                raise self._mismatch(key, "a list of texts", other)

    def block(self, key: str) -> "Block":
        match self._value(key):
            case None:
                return Block({}, where=self.where, path=self.at(key))
            case Mapping() as values:
                return Block(values, where=self.where, path=self.at(key))
            case other:
                raise self._mismatch(key, "a mapping", other)

    def unknown(self, known: Collection[str] = ()) -> Iterator[str]:
        """Warn about each key that nobody asked for, except those that are known for other reasons."""
        known = self._asked.union(known)
        for key in map(str, self.values):
            if key in known:
                continue
            if names_credential(key):
                yield (
                    f"{self.where}: {self.at(key)} is ignored: credentials come from the environment or the machine's"
                    " identity, never from here; remove it, and replace the credential if the file was shared"
                )
            else:
                yield f"{self.where}: {self.at(key)} is not a known key and is ignored{suggestion(key, known)}"
