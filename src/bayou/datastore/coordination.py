"""Coordination: the locks that a command of this datastore holds, and what it exchanges with others meanwhile.

design/009 says who takes what. A run holds the locks of its models, a structural command holds the global one.
"""

from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property, partial
from typing import Any, NamedTuple

from bayou.config import Settings
from bayou.config.locations import Folder
from bayou.datastore import abilities
from bayou.domain.models import Model
from bayou.domain.scopes import EVERYTHING, Scope, scope_of
from bayou.errors import BayouError, Unavailable
from bayou.layout.keys import Keyspace
from bayou.locks import Hold, Locks, Waiting, open_cells
from bayou.locks.bodies import DEFAULT_TTL
from bayou.locks.heart import Heart
from bayou.storage import Ability, connect

Check = Callable[[], None]
"""Raises LockLost where somebody else has taken our locks: what is written after that might undo his work."""
Notice = Callable[[str], None]


class Exchange(NamedTuple):
    """What passes between this machine and the others while the locks are held: fetched before, published after.

    Who publishes asks `hold` whether the locks are still ours, at the moment when it counts.
    """

    before: Callable[[Scope, Hold], Coroutine[Any, Any, None]]
    after: Callable[[Scope, Hold], Coroutine[Any, Any, None]]


class Coordination:
    def __init__(self, settings: Settings, notice: Notice, exchange: Exchange | None = None) -> None:
        """Without an `exchange` the datastore is where everybody sees it, such as a folder."""
        self.exchange = exchange
        self._settings = settings
        self._notice = notice
        self._heart = Heart()

    @cached_property
    def locks(self) -> Locks:
        return open_locks(self._settings, self._notice, several_writers=self._several_writers())

    @contextmanager
    def running(self, models: Sequence[Model]) -> Iterator[Check]:
        """Around a run of these models. Commands that it starts, in whichever process, do not wait for it.

        Where others cannot be reached a run goes on without them: their work and ours are merged later.
        """
        with ExitStack() as held:
            try:
                hold = held.enter_context(self.locks.models(models))
            except Unavailable as error:
                if self.exchange is None:
                    raise
                self._notice(f"working offline, without locks; the next sync delivers what is written: {error}")
                yield _unchecked
                return
            yield held.enter_context(self._exchanging(hold, scope_of(models)))

    @contextmanager
    def alone(self) -> Iterator[Check]:
        """Around what must not meet any run: gc, prune, whatever is done to many names at once."""
        with self.locks.structure() as hold, self._exchanging(hold, EVERYTHING) as check:
            yield check

    def close(self) -> None:
        if "locks" in self.__dict__:
            self.locks.close()
        self._heart.stop()

    @contextmanager
    def _exchanging(self, hold: Hold, scope: Scope) -> Iterator[Check]:
        if self.exchange is not None:
            self._heart.run(self.exchange.before(scope, hold))
        try:
            yield hold.confirm
        except Exception:
            # What it did until then is worth publishing, its record at the least; but it is not what went wrong.
            try:
                self._publish(scope, hold)
            except BayouError as error:
                self._notice(f"what was done is not published yet: {error}")
            raise
        self._publish(scope, hold)

    def _publish(self, scope: Scope, hold: Hold) -> None:
        if self.exchange is not None:
            self._heart.run(self.exchange.after(scope, hold))

    def _several_writers(self) -> Ability:
        if isinstance(self._settings.location, Folder):
            return Ability.YES

        async def ask() -> Ability:
            async with connect(self._settings.location) as store:
                return await abilities.several_writers(self._settings, store)

        return self._heart.run(ask())


def _unchecked() -> None:
    """There is nothing that could have been lost."""


def open_locks(
    settings: Settings,
    notice: Notice,
    *,
    several_writers: Ability = Ability.YES,
    namespace: str | None = None,
    ttl: float = DEFAULT_TTL,
) -> Locks:
    """The locks of a datastore, whether it is opened or not. Nothing is asked of the store by this alone."""
    seconds = settings.lock_timeout_ms / 1000

    def waiting(news: Waiting) -> None:
        if seconds < 1:
            return  # who does not wait is told by the error
        notice(f"waiting for {news.holder}, who has the lock {news.lock_key!r}; {seconds:g} s at most")

    def trouble(error: BayouError) -> None:
        notice(f"a lock could not be given back, and ends by itself within {ttl:g} s: {error}")

    return Locks(
        partial(open_cells, settings.location, several_writers=several_writers, ttl=ttl),
        Keyspace(settings.namespace if namespace is None else namespace),
        ttl=ttl,
        timeout=seconds,
        notice=waiting,
        trouble=trouble,
    )
