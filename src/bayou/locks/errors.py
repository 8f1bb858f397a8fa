"""What can become of a lock that somebody wants or has."""

from bayou.errors import Conflict, ErrorKind, LockTimeout, Unsupported


class LockBusy(LockTimeout):
    """Somebody else held it all the time. The text is that of the existing clients (sync spec 7)."""

    def __init__(self, lock_key: str, holder: str | None, waited_ms: int, *, remedy: str | None = None) -> None:
        by = f" held by {holder}" if holder else ""
        super().__init__(f'Lock "{lock_key}"{by} — timed out after {waited_ms}ms', remedy=remedy or _remedy(lock_key))
        self.lock_key = lock_key
        self.holder = holder
        self.waited_ms = waited_ms


def _remedy(lock_key: str) -> str:
    return (
        "`bayou lock status` shows who has it. Wait for him, allow more time (SWAMP_LOCK_TIMEOUT_MS), or, if he is gone"
        f" for good: bayou lock release {lock_key} --force"
    )


class LockLost(Conflict):
    """It was ours, and then somebody else's. What was done since may have to be done again."""

    exit_code = 3
    default_kind = ErrorKind.LOCK_LOST
    default_remedy = (
        "Run the command again. If this happens often, look for pauses of the machine and for slow storage."
    )

    def __init__(self, lock_key: str, why: str) -> None:
        super().__init__(f'Lock "{lock_key}" was lost: {why}')
        self.lock_key = lock_key
        self.why = why


class SecondWriter(Unsupported):
    """The store cannot keep two writers apart, and there is another one."""

    default_kind = ErrorKind.STORE_CANNOT
    default_remedy = (
        "Let one writer finish before the next begins, or use a store that honours conditional writes"
        " (docs/stores.md names some)."
    )

    def __init__(self, lock_key: str, holder: str) -> None:
        super().__init__(
            f'Lock "{lock_key}" is held by {holder}, and this store ignores conditional writes:'
            " it is safe for a single writer only"
        )
        self.lock_key = lock_key
        self.holder = holder
