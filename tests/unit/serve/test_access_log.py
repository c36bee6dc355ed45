"""What strangers do is in the log, and cannot fill it."""

from __future__ import annotations

import logging

import pytest

from kimi_desktop.serve.access_log import LINES_A_MINUTE, AccessLog


def test_a_flood_is_a_number(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "gateway")
    now = [0.0]
    log = AccessLog(lambda: now[0])
    for _ in range(LINES_A_MINUTE + 5_000):
        log.stranger("refused: GET /v1/models", 401, "192.168.1.9")
    assert caplog.messages == ["refused: GET /v1/models 401, from 192.168.1.9"] * LINES_A_MINUTE
    log.answered("POST", "/v1/chat/completions", 200, 0.0123)  # whoever has a key is never left out
    assert caplog.messages[-1] == "POST /v1/chat/completions 200, 12 ms to the first byte"
    now[0] = 60.0
    log.stranger("refused: no HTTP", 400, "")
    bad = "refused: no HTTP 400, from -"
    assert caplog.messages[-2:] == ["5000 more in the minute before", bad]
    now[0] = 120.0
    log.stranger("GET /health", 200, "127.0.0.1")
    assert caplog.messages[-2:] == [bad, "GET /health 200, from 127.0.0.1"]
