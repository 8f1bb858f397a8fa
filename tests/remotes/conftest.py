"""Indexes in memory and on real servers, and async tests."""

import pytest

from bayou.remotes import attempts


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_FIRST_PAUSE", 0.0)
