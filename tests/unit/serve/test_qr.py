"""The code of an address: its size, its marks, and the same in a terminal."""

from __future__ import annotations

from kimi_desktop.serve.qr import QUIET, qr_lines, qr_modules

URL = "http://192.168.1.20:8080/v1"
FINDER = ("1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111")


def test_the_three_marks_are_where_readers_look_for_them() -> None:
    modules = qr_modules(URL)
    side = len(modules)
    assert (side - 17) % 4 == 0
    assert all(len(row) == side for row in modules)
    for top, left in ((0, 0), (0, side - 7), (side - 7, 0)):
        rows = ["".join("01"[dark] for dark in row[left : left + 7]) for row in modules[top:][:7]]
        assert tuple(rows) == FINDER


def test_a_terminal_gets_the_same_modules_light_on_dark() -> None:
    modules, lines = qr_modules(URL), qr_lines(URL)
    upper = {"█": (True, True), "▀": (True, False), "▄": (False, True), " ": (False, False)}
    rows = []
    for line in lines:
        pairs = [upper[character] for character in line]
        rows += [[light for light, _ in pairs], [light for _, light in pairs]]
    side = len(modules) + 2 * QUIET
    assert all(len(row) == side for row in rows)
    inside = [row[QUIET : side - QUIET] for row in rows[QUIET : side - QUIET]]
    assert inside == [[not dark for dark in row] for row in modules]
    border = rows[:QUIET] + rows[side - QUIET :]
    assert all(all(row) for row in border)
