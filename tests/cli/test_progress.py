"""What a bar shows of files on their way."""

import sys

import pytest

from bayou.cli import progress
from bayou.sync.report import Amount


def test_transfers_show_files_bytes_and_rate_each_with_its_total(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[int, int | None, str]] = []

    def show(_: object, done: int, total: int | None = None, *, note: str = "") -> None:
        shown.append((done, total, note))

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress._Bar, "__call__", show)
    with progress.transfers("syncing") as moved:
        assert moved is not None
        moved(Amount(files=4, bytes=8 << 20, files_done=1, bytes_done=2 << 20))
        moved(Amount(files=4, files_done=1, bytes_done=2 << 20))
    assert [(done, total) for done, total, _ in shown] == [(1, 4), (1, 4)]
    notes = [note for _, _, note in shown]
    assert notes[0].startswith("2.0 MiB of 8.0 MiB, ")
    assert notes[0].endswith("/s")
    assert notes[1].startswith("2.0 MiB, ")  # how much it is nobody knows
