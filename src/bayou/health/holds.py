"""Locks that somebody holds, and those whose holder seems to be gone."""

from collections.abc import Iterator
from functools import partial

from bayou.health.findings import Finding, Repair, notice, ok, problem
from bayou.health.patient import Patient
from bayou.locks import Info
from bayou.locks.bodies import Identity, ourselves
from bayou.locks.watch import is_dead_here


def locks(patient: Patient) -> Iterator[Finding]:
    held = [info for info in patient.locking.status() if info.is_held]
    who = ourselves()
    orphans = {info.lock_key: why for info in held if (why := _suspicion(info, who))}
    alive = [info.lock_key for info in held if info.lock_key not in orphans]
    yield ok(f"{len(alive)} locks are held" if alive else "no lock is held by anybody alive", held=alive)
    for key, why in orphans.items():
        release = Repair(f"end the lock {key}, if nobody renews it", partial(patient.locking.release, key))
        remedy = "Whoever wants it waits until its time is over, and then takes it; --repair ends it now."
        yield problem(f"the lock {key} seems to be nobody's: {why}", remedy, repair=release, details={"lockKey": key})
    left = patient.locking.locks.left_behind()
    if left:
        clear = Repair(f"take away {left} notes of those who waited", patient.locking.locks.clear)
        yield notice(f"{left} notes are left of those who were killed while they waited for a lock", repair=clear)


def _suspicion(info: Info, who: Identity) -> str | None:
    """Why it may be abandoned, at a glance. Before it is ended it is watched."""
    if info.nonce is None and info.holder is None:
        return "what it says cannot be read"
    if info.hostname is not None and info.pid is not None and is_dead_here(info.hostname, info.pid, who):
        return f"the process {info.pid} of this machine is gone"
    if info.age is not None and info.ttl is not None and info.age > 2 * info.ttl:
        return f"{info.holder} gave no sign of life for {info.age:.0f} s"
    return None
