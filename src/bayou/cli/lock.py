"""`bayou lock status|release`: who holds what, and an end to what hangs."""

from pathlib import Path

import click

from bayou.cli import options
from bayou.cli.terminal import Terminal
from bayou.config import Arguments
from bayou.datastore.locking import Locking
from bayou.datastore.opening import load
from bayou.locks import Info


@click.group()
def lock() -> None:
    """Locks: who holds which, and an end to what hangs. Neither needs a lock itself."""


@lock.command()
@click.option("--all", "walk", is_flag=True, help="In a bucket, list all data to find those of existing clients too.")
@options.common
def status(*, walk: bool, repo_dir: Path | None, as_json: bool) -> None:
    """Show which locks are held, by whom, and who waits.

    Example: bayou lock status --json
    """
    terminal = Terminal(as_json)
    with _locking(repo_dir, terminal) as locking:
        locks = locking.status(walk=walk)
        kind = locking.settings.location.type
    if as_json:
        terminal.document({"datastoreType": kind, "locks": [_document(info) for info in locks]})
        return
    held = [info for info in locks if info.is_held or info.is_drained]
    rows = [(info.lock_key, _who(info), _age(info), info.pid, info.hostname, _waits(info)) for info in held]
    terminal.table(("lock", "holder", "last sign of life", "pid", "host", "who waits"), rows)
    if not held:
        terminal.say("no lock is held")


@lock.command()
@click.argument("lock_key", metavar="[LOCK]", required=False)
@options.text("--model", "TYPE/ID", "The lock of this model; else the one that is named, else the global one.")
@click.option("--force", is_flag=True, help="Also if its holder is alive: he finds out, and fails.")
@options.common
def release(*, lock_key: str | None, model: str | None, force: bool, repo_dir: Path | None, as_json: bool) -> int:
    """End a lock whose holder is gone. Nobody needs to: it ends by itself when its time is over.

    Example: bayou lock release --model aws/ec2/vpc/0b2f6c1e --force
    """
    named = [name for name in (lock_key, model) if name is not None]
    if len(named) > 1 or "" in named:
        raise click.UsageError("Name one lock, or none for the global one.")
    terminal = Terminal(as_json)
    with _locking(repo_dir, terminal) as locking:
        released = locking.release(next(iter(named), None), force=force)
    if as_json:
        document: dict[str, object] = {"released": released.was_ended, "reason": released.reason}
        document["lockKey"] = released.lock_key
        if released.holder is not None:
            document["previousHolder"] = _holder(released.holder)
        terminal.document(document)
    else:
        terminal.say(f"{released.lock_key}: {'released' if released.was_ended else 'left alone'}, {released.reason}")
    return 0 if released.was_ended or released.holder is None else 1


def _locking(repo_dir: Path | None, terminal: Terminal) -> Locking:
    return Locking(load(Arguments(repo_dir=repo_dir)), terminal.warn)


def _document(info: Info) -> dict[str, object]:
    """One lock in the names of the specification (repository spec 8.3), and what else is known."""
    document: dict[str, object] = {"held": info.is_held, "lockScope": info.scope.value, "lockKey": info.lock_key}
    if info.is_held:
        document["info"] = _holder(info)
    if info.is_drained:
        document["draining"] = True
    if info.waiters:
        document["waiters"] = [
            {"holder": one.holder, "hostname": one.hostname, "pid": one.pid, "waitingMs": round(one.seconds * 1000)}
            for one in info.waiters
        ]
    return document


def _holder(info: Info) -> dict[str, object]:
    document = {
        "holder": info.holder,
        "hostname": info.hostname,
        "pid": info.pid,
        "acquiredAt": info.acquired_at,
        "ttlMs": None if info.ttl is None else round(info.ttl * 1000),
        "nonce": info.nonce,
        "ageMs": None if info.age is None else round(info.age * 1000),
    }
    return {key: value for key, value in document.items() if value is not None}


def _who(info: Info) -> str | None:
    if not info.is_held:
        return None
    return info.holder or "somebody whose entry cannot be read"


def _waits(info: Info) -> str | None:
    said = [f"{one.holder} (pid {one.pid}) for {one.seconds:.0f} s" for one in info.waiters]
    if info.is_drained:
        said.append("a structural command, for runs to end")
    return ", ".join(said) or None


def _age(info: Info) -> str | None:
    return None if info.age is None else f"{info.age:.0f} s ago"
