"""Pauses between tries are not what these tests are about."""

from __future__ import annotations

import pytest

from kimi_desktop.downloads.hubs import control


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "FIRST_WAIT_S", 0.001)
