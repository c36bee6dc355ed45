"""The bar for a slow engine, and the marks of the Monitor."""

from __future__ import annotations

import dataclasses

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from kimi_desktop.monitor.types import Mark
from kimi_desktop.ui.monitor.page import MonitorPage
from kimi_desktop.ui.monitor.run_words import mark_words
from kimi_desktop.ui.notices import Notices
from kimi_desktop.ui.slow_bar import tell_slowness
from tests.support import scripted_data as data

SLOW = data.SLOW


def test_it_says_what_and_why_and_mends_it(qtbot, bridge):
    notices = Notices()
    qtbot.addWidget(notices)
    tell_slowness(bridge, notices, SLOW)
    (bar,) = notices.bars()
    assert "2.0 tok/s" in bar.text()
    assert "8.0 to 12.0" in bar.text()
    way, _monitor = bar.buttons()
    with qtbot.waitSignal(bridge.navigation.start_wanted) as started:
        way.click()
    assert started.args == [SLOW.ways[0].settings]
    assert notices.bars() == ()


def test_without_a_reason_it_says_so_and_leads_to_the_monitor(qtbot, bridge):
    notices = Notices()
    qtbot.addWidget(notices)
    tell_slowness(bridge, notices, dataclasses.replace(SLOW, finding=None, ways=()))
    (bar,) = notices.bars()
    (monitor,) = bar.buttons()
    with qtbot.waitSignal(bridge.navigation.page_wanted) as page:
        monitor.click()
    assert page.args == ["monitor"]


def test_the_monitor_points_at_the_moment(qtbot, bridge, services):
    samples = data.session(data.two_gpu_box(), seconds=120)
    services.monitor.samples = samples
    page = MonitorPage(bridge)
    qtbot.addWidget(page)
    page.resize(1200, 720)
    page.show()
    services.monitor.said.append(Mark(samples[60].at, "mmap_thrash"))
    page.refresh()
    said = mark_words(services.monitor.said[0])
    QTest.keyClick(page.board, Qt.Key.Key_End)
    assert said not in page.board.readout.text()
    QTest.keyClick(page.board, Qt.Key.Key_Home)
    for _ in range(60):
        QTest.keyClick(page.board, Qt.Key.Key_Right)
    assert said in page.board.readout.text()
