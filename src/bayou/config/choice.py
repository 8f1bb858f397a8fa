"""The precedence: argument beats environment, environment beats what declares the datastore, that beats the default."""

from collections.abc import Mapping
from typing import TypeVar

from bayou.config import environment
from bayou.config.settings import Arguments, Origin, Source
from bayou.config.wording import described, refusal, shown
from bayou.errors import ErrorKind

_T = TypeVar("_T")
_NOBODY = Origin(Source.DEFAULT)


class Choice:
    """Picks each setting from the first source that says something, and notes which one that was."""

    def __init__(self, arguments: Arguments, environ: Mapping[str, str], declared: Origin) -> None:
        self._arguments = arguments
        self._environ = environ
        self.declared = declared
        self.origins: dict[str, Origin] = {}
        self.warnings: list[str] = []

    def of(self, name: str, default: _T, *said: tuple[_T | None, Origin]) -> _T:
        """Pick the first value that is not None."""
        for value, origin in said:
            if value is not None:
                self.origins[name] = origin
                return value
        self.origins[name] = Origin(Source.DEFAULT)
        return default

    def text(self, name: str, default: str, declared: str | None) -> str:
        argument: str | None = getattr(self._arguments, name)
        return self.of(name, default, (argument, Origin(Source.ARGUMENT, name)), (declared, self.declared))

    def number(
        self, name: str, default: int, allowed: range, *, variable: str | None = None, declared: int | None = None
    ) -> int:
        argument: int | None = getattr(self._arguments, name)
        if argument is not None and argument not in allowed:
            raise refusal(
                f"{name}: expected {described(allowed)}, found {shown(argument)}",
                kind=ErrorKind.INVALID_ARGUMENT,
                remedy=f"Give {name} as {described(allowed)}.",
            )
        from_variable = self._warned(environment.number(self._environ, variable, allowed)) if variable else None
        return self.of(
            name,
            default,
            (argument, Origin(Source.ARGUMENT, name)),
            (from_variable, Origin(Source.ENVIRONMENT, variable or "")),
            (declared, self.declared),
        )

    def size(self, name: str, default: int, variable: str) -> int:
        value = self._warned(environment.size(self._environ, variable))
        return self.of(name, default, (value, Origin(Source.ENVIRONMENT, variable)))

    def switch(
        self,
        name: str,
        variable: str | None,
        *,
        default: bool = False,
        marked: tuple[bool | None, Origin] = (None, _NOBODY),
    ) -> bool:
        argument: bool | None = getattr(self._arguments, name, None)
        value = environment.switch(self._environ, variable) if variable else None
        return self.of(
            name,
            default,
            (argument, Origin(Source.ARGUMENT, name)),
            (value, Origin(Source.ENVIRONMENT, variable or "")),
            marked,
        )

    def _warned(self, read: tuple[_T | None, str | None]) -> _T | None:
        value, warning = read
        if warning:
            self.warnings.append(warning)
        return value
