"""The Monitor page: what it shows, when it draws, the cursor, the export."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog

from kimi_desktop.backends.types import EngineState
from kimi_desktop.base.errors import ErrorCode, MonitorError
from kimi_desktop.base.settings import LanguageChoice, ThemeChoice
from kimi_desktop.monitor.types import Phase
from kimi_desktop.serve.types import ServeState, ServeStatus
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import LanguageSwitch
from kimi_desktop.ui.monitor.drawing import Drawing
from kimi_desktop.ui.monitor.page import MonitorPage
from kimi_desktop.ui.monitor.view import PLOT_LEFT
from kimi_desktop.ui.theme import Theme, tokens
from tests.support import scripted_data as data
from tests.support.scripted_services import lived_in

SIZE = (1224, 732)


@pytest.fixture
def theme(qapp):
    theme = Theme(qapp)
    theme.choose(ThemeChoice.DARK)
    return theme


def open_page(qtbot, bridge, size=SIZE):
    page = MonitorPage(bridge)
    qtbot.addWidget(page)
    page.resize(*size)
    page.show()
    qtbot.waitExposed(page)
    return page


@pytest.fixture
def page(qtbot, bridge, theme):
    return open_page(qtbot, bridge)


def point(page, share):
    """A place in the plot of the second graph, in px of the stack."""
    row = page.board.rows[1]
    return QPoint(PLOT_LEFT + round(share * page.board.plot_width), row.y() + 50)


def note(page):
    return page._header._note.full_text()


def test_at_the_designs_size_everything_fits_without_scrolling(page):
    assert [row.graph.key for row in page.board.rows] == [
        "speed",
        "vram",
        "ram",
        "disk",
        "load",
        "power",
    ]
    assert not page.board._scroll.verticalScrollBar().isVisible()
    heights = [row.height() for row in page.board.rows]
    assert heights == [100 + 17, 100 + 17, 88 + 17, 80 + 17, 80 + 17, 80 + 17]


def test_a_larger_window_gives_the_graphs_its_height(qtbot, page):
    page.resize(1864, 1012)
    assert page.board.rows[0].height() > 117
    assert not page.board._scroll.verticalScrollBar().isVisible()


def test_eight_gpus_scroll_under_a_clock_that_stays(qtbot, services, bridge, theme):
    gpu = services.machine.machine.gpus[0]
    gpus = tuple(dataclasses.replace(gpu, index=index) for index in range(8))
    box = dataclasses.replace(services.machine.machine, gpus=gpus)
    services.machine.machine = box
    services.monitor.samples = data.session(box)
    page = open_page(qtbot, bridge)
    bar = page.board._scroll.verticalScrollBar()
    qtbot.waitUntil(bar.isVisible)
    vram = page.board.rows[1]
    assert vram.height() >= 20 + 8 * 18 + 16
    assert len(vram.drawing.scale.ticks()) == 5
    before = (page.board.strip.y(), page.board.axis.y())
    bar.setValue(bar.maximum())
    assert (page.board.strip.y(), page.board.axis.y()) == before


def test_a_box_without_a_gpu_says_why_there_are_no_graphs_of_one(qtbot, tmp_path, theme):
    services = lived_in(tmp_path, "cpu")
    bridge = Bridge(services)
    page = open_page(qtbot, bridge)
    assert [row.graph.key for row in page.board.rows] == ["speed", "ram", "engine", "disk", "cpu"]
    assert page.board._note.isVisible()
    assert "GPU" in page.board._note.text()
    bridge.close()


def test_before_the_first_sample_a_sentence_stands_there(qtbot, fresh_services, fresh_bridge):
    page = open_page(qtbot, fresh_bridge)
    assert page.empty.isVisible()
    assert not page.board.isVisible()
    assert not page.export_button.isEnabled()
    fresh_services.monitor.take(data.sample(data.cpu_only_box(), data.NOW))
    assert page.board.isVisible()
    assert not page.empty.isVisible()
    assert page.export_button.isEnabled()


def test_a_new_sample_moves_the_window(page, services):
    services.monitor.take(data.sample(services.machine.machine, data.NOW + 1))
    view = page.board._view
    assert view.end == data.NOW + 1
    assert view.end - view.start == 300
    assert page.board.rows[0].graph.curves[0].now == "–"


def test_a_hidden_page_draws_nothing_and_catches_up(page, services, monkeypatch):
    drawn = []
    render = Drawing.render_plot
    monkeypatch.setattr(
        Drawing, "render_plot", lambda self, *args: drawn.append(1) or render(self, *args)
    )
    page.hide()
    services.monitor.take(data.sample(services.machine.machine, data.NOW + 1))
    assert not drawn
    assert page.board._view.end == data.NOW
    page.show()
    page.grab()
    assert page.board._view.end == data.NOW + 1
    assert len(drawn) == 6


def test_moving_the_cursor_renders_no_graph_again(page, monkeypatch):
    page.grab()
    for render in ("render_plot", "render_left"):
        monkeypatch.setattr(Drawing, render, lambda *_: pytest.fail("rendered again"))
    page.board.point_at(point(page, 0.5))
    page.grab()
    page.board.point_at(point(page, 0.6))
    page.grab()


@pytest.mark.parametrize(("key", "span"), [("5min", 300), ("1h", 3600)])
def test_the_span_can_be_chosen(qtbot, page, key, span):
    page.span.segment("session").click()
    qtbot.mouseClick(page.span.segment(key), Qt.MouseButton.LeftButton)
    assert page.board._view.end - page.board._view.start == span


def test_the_session_spans_all_samples_and_a_minute_at_least(page, services):
    page.span.segment("session").click()
    view = page.board._view
    assert view.start == services.monitor.samples[0].at
    services.monitor.samples = services.monitor.samples[-3:]
    page.refresh()
    assert page.board._view.end - page.board._view.start == 60


# painting


def pixel(page, row, x, y):
    """The colour at x, y px of a row's plot."""
    picture = page.board.rows[row].grab().toImage()
    ratio = picture.devicePixelRatio()
    return picture.pixelColor(round((PLOT_LEFT + x) * ratio), round((9 + y) * ratio))


def test_a_gap_is_a_gap(qtbot, services, bridge, theme):
    services.monitor.samples = services.monitor.samples[:100] + services.monitor.samples[200:]
    page = open_page(qtbot, bridge)
    view = page.board._view
    ram = page.board.rows[2]
    assert len(view.breaks) == 1
    y = round(ram.drawing.y(ram.graph.curves[0].values[view.breaks[0] - 1]))
    inside = round(view.xs[view.breaks[0] - 1]) + 40
    window = QColor(tokens().window)
    column = {pixel(page, 2, inside, other).name() for other in range(y - 8, y + 8)}
    lines = {QColor(tokens().line).name(), window.name()}
    assert column <= lines


def test_phases_are_shaded_over_the_whole_height(page):
    view = page.board._view
    load = next(span for span in view.spans if span.phase is Phase.LOAD)
    middle = round(view.x((load.start + load.end) / 2))
    idle = round(view.x(load.start) - 10)
    assert pixel(page, 4, middle, 40) != pixel(page, 4, idle, 40)
    assert pixel(page, 4, idle, 40).name() == QColor(tokens().window).name()


def test_the_graphs_follow_the_theme(page, theme):
    dark = pixel(page, 4, 5, 40)
    theme.choose(ThemeChoice.LIGHT)
    light = pixel(page, 4, 5, 40)
    assert dark.lightness() < 60 < 200 < light.lightness()


# the cursor


def test_the_mouse_reads_the_nearest_sample(page):
    page.board.point_at(point(page, 0.9))
    index = page.board.cursor_index()
    view = page.board._view
    assert abs(view.xs[index] - 0.9 * view.width) <= view.width / 300
    assert page.board.readout.isVisible()
    assert "Decode" in page.board.readout.text()
    assert "18." in page.board.readout.text()


def test_the_card_turns_to_the_other_side_at_the_edge(page):
    page.board.point_at(point(page, 0.1))
    readout, view = page.board.readout, page.board._view
    assert readout.x() > PLOT_LEFT + view.xs[page.board.cursor_index()]
    page.board.point_at(point(page, 0.95))
    assert readout.x() + readout.width() < PLOT_LEFT + view.xs[page.board.cursor_index()]
    assert readout.x() + readout.width() <= PLOT_LEFT + view.width


def test_the_card_stays_inside_from_top_to_bottom(page):
    for row in page.board.rows:
        for y in (row.y(), row.y() + row.height() - 1):
            page.board.point_at(QPoint(PLOT_LEFT + 100, y))
            readout = page.board.readout
            assert readout.y() >= page.board._scroll.y()
            assert readout.y() + readout.height() <= page.board.axis.y()


def test_in_a_gap_the_card_says_so(qtbot, services, bridge, theme):
    services.monitor.samples = services.monitor.samples[:100] + services.monitor.samples[200:]
    page = open_page(qtbot, bridge)
    page.board.point_at(point(page, 0.5))
    assert page.board.cursor_index() is None
    assert page.board.readout.isVisible()
    assert "No sample" in page.board.readout.text()


def test_a_real_mouse_moves_and_leaves(qtbot, page):
    row = page.board.rows[0]
    QTest.mouseMove(row, QPoint(PLOT_LEFT + 50, 30))
    QTest.mouseMove(row, QPoint(PLOT_LEFT + 60, 30))
    qtbot.waitUntil(page.board.readout.isVisible)
    QTest.mouseMove(row, QPoint(40, 30))
    qtbot.waitUntil(lambda: not page.board.readout.isVisible())


def test_the_keyboard_walks_over_the_samples(qtbot, page):
    board = page.board
    board.setFocus(Qt.FocusReason.TabFocusReason)
    last = len(board._view.times) - 1
    qtbot.keyClick(board, Qt.Key.Key_Left)
    assert board.cursor_index() == last
    qtbot.keyClick(board, Qt.Key.Key_Left)
    qtbot.keyClick(board, Qt.Key.Key_Left)
    assert board.cursor_index() == last - 2
    qtbot.keyClick(board, Qt.Key.Key_Right)
    assert board.cursor_index() == last - 1
    qtbot.keyClick(board, Qt.Key.Key_Left, Qt.KeyboardModifier.ControlModifier)
    assert board.cursor_index() == last - 11
    qtbot.keyClick(board, Qt.Key.Key_Home)
    assert board.cursor_index() == board._view.shown().start
    qtbot.keyClick(board, Qt.Key.Key_Left)
    assert board.cursor_index() == board._view.shown().start
    qtbot.keyClick(board, Qt.Key.Key_End)
    assert board.cursor_index() == last
    qtbot.keyClick(board, Qt.Key.Key_Escape)
    assert board.cursor_index() is None
    assert not board.readout.isVisible()


def test_the_keyboards_cursor_stays_on_its_sample_while_time_goes_on(qtbot, page, services):
    board = page.board
    qtbot.keyClick(board, Qt.Key.Key_End)
    qtbot.keyClick(board, Qt.Key.Key_Left)
    at = board._view.times[board.cursor_index()]
    x = board._view.xs[board.cursor_index()]
    services.monitor.take(data.sample(services.machine.machine, data.NOW + 1))
    assert board._view.times[board.cursor_index()] == at
    assert board._view.xs[board.cursor_index()] < x


def test_the_keyboards_cursor_does_not_leave_with_its_sample(qtbot, page, services):
    board = page.board
    qtbot.keyClick(board, Qt.Key.Key_Home)
    services.monitor.take(data.sample(services.machine.machine, data.NOW + 5))
    assert board.cursor_index() == board._view.shown().start


def test_a_key_takes_over_from_a_mouse_that_rests(qtbot, page):
    page.board.point_at(point(page, 0.5))
    middle = page.board.cursor_index()
    qtbot.keyClick(page.board, Qt.Key.Key_End)
    assert page.board.cursor_index() > middle


def test_screen_readers_get_names_and_readings(page):
    row = page.board.rows[1]
    assert row.accessibleName() == "VRAM"
    assert row.accessibleDescription() == "GPU 0 87.0 GiB, GPU 1 87.0 GiB"
    assert page.board.accessibleName() == "Graphs"
    assert page.board.accessibleDescription()
    assert page.span.accessibleName() == "Time shown"


def test_screen_readers_hear_what_the_keyboard_reads(qtbot, page, monkeypatch):
    said = []
    update = QAccessible.updateAccessibility
    monkeypatch.setattr(QAccessible, "isActive", lambda: True)
    monkeypatch.setattr(
        QAccessible,
        "updateAccessibility",
        lambda event: said.append(event.message()) or update(event),
    )
    qtbot.keyClick(page.board, Qt.Key.Key_End)
    assert said == [page.board.readout.text()]
    assert "18.7 tok/s" in said[0]


def test_tab_reaches_span_export_and_graphs(qtbot, page):
    reached = []
    page.span.segment("5min").setFocus(Qt.FocusReason.TabFocusReason)
    for _ in range(4):
        reached.append(page.focusWidget())
        page.focusNextChild()
    assert page.export_button in reached
    assert page.board in reached


# the words


def test_the_header_counts_requests_of_window_and_gateway(page, services):
    assert note(page) == "0 running · 0 waiting"
    chat = services.chats.new_chat()
    services.chats.send(chat, "Hello")
    assert note(page) == "1 running · 0 waiting"
    services.serve.set_status(ServeStatus(ServeState.ON, running=2))
    assert note(page) == "1 running · 2 waiting"
    services.engine.set_state(EngineState.STOPPED)
    assert note(page) == "Engine: Stopped"


def test_the_page_changes_its_language_while_it_is_open(qtbot, page, qapp):
    switch = LanguageSwitch(qapp)
    switch.choose(LanguageChoice.ZH_CN)
    try:
        qtbot.waitUntil(lambda: page.export_button.text() == "导出 CSV")
        assert page.board.rows[0].graph.title == "词元/秒"
        assert page.board.strip.word(Phase.DECODE) == "解码"
        assert page.board.rows[0].graph.curves[0].now.endswith("词元/秒")
    finally:
        switch.choose(LanguageChoice.EN)


# the export


def test_the_export_asks_for_a_file_and_says_where_it_is(qtbot, page, services, tmp_path):
    qtbot.mouseClick(page.export_button, Qt.MouseButton.LeftButton)
    dialog = page.findChild(QFileDialog)
    assert dialog.acceptMode() is QFileDialog.AcceptMode.AcceptSave
    assert dialog.defaultSuffix() == "csv"
    dialog.fileSelected.emit(str(tmp_path / "samples.csv"))
    dialog.reject()
    qtbot.waitUntil(page.saved_bar.isVisible)
    assert (tmp_path / "samples.csv").exists()
    assert str(tmp_path / "samples.csv") in page.saved_bar.accessibleName()
    assert page.export_button.isEnabled()


def test_a_second_click_does_not_open_a_second_dialog(qtbot, page):
    page.ask_for_file()
    page.ask_for_file()
    (dialog,) = page.findChildren(QFileDialog)
    dialog.reject()
    page.ask_for_file()
    qtbot.waitUntil(lambda: len(page.findChildren(QFileDialog)) == 1)
    page.findChild(QFileDialog).reject()


def test_a_failed_export_says_why_in_place_and_offers_another_place(
    qtbot, page, services, tmp_path
):
    services.desk.hold.add("monitor.export_csv")
    page.export_to(tmp_path / "samples.csv")
    assert not page.export_button.isEnabled()
    error = MonitorError(
        ErrorCode.EXPORT_FAILED, {"path": "samples.csv", "detail": "Permission denied"}
    )
    services.desk.fail("monitor.export_csv", error)
    qtbot.waitUntil(page.error_bar.isVisible)
    assert "Permission denied" in page.error_bar.text()
    assert page.export_button.isEnabled()
    services.desk.hold.clear()
    page.export_to(Path(tmp_path / "other.csv"))
    qtbot.waitUntil(page.saved_bar.isVisible)
    assert not page.error_bar.isVisible()
