"""The frame: pages on demand, shortcuts, engine control, overlays, notices, leaving."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from kimi_desktop.backends.types import EngineState, Leftover
from kimi_desktop.base.errors import BackendError, ErrorCode, SettingsError
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.chat.types import StoreFailed
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.log_view import LogView
from kimi_desktop.ui.main_window import MainWindow
from kimi_desktop.ui.navigation import PAGES
from kimi_desktop.ui.pages import Page, standard_pages
from kimi_desktop.ui.shell import LEAST_SIZE
from kimi_desktop.ui.widgets.button import ButtonKind
from kimi_desktop.ui.widgets.chip import Dot
from kimi_desktop.ui.window_overlays import Question, ShortcutList
from tests.support.scripted_services import ScriptedServices


class Built(list[str]):
    """Names of the pages that were built."""


@pytest.fixture
def built() -> Built:
    return Built()


def make_pages(built: Built) -> list[Page]:
    def make(name: str) -> Page:
        def build(bridge: Bridge) -> QWidget:
            built.append(name)
            return QLabel(name)

        return Page(name, name, build)

    return [make(name) for name in PAGES]


@pytest.fixture
def window(qtbot, bridge: Bridge, built: Built, tmp_path: Path) -> MainWindow:
    frame = MainWindow(bridge, make_pages(built))
    qtbot.addWidget(frame)
    frame.show()
    qtbot.waitExposed(frame)
    qtbot.waitUntil(lambda: bool(built))
    return frame


def test_the_frame_stands_there_before_its_first_page(qtbot, bridge, built):
    frame = MainWindow(bridge, make_pages(built))
    qtbot.addWidget(frame)
    assert frame.rail.item("chat").isChecked()
    assert built == []
    frame.show()
    qtbot.waitUntil(lambda: built == ["chat"])


def test_a_page_asked_for_before_the_first_painting_is_the_only_one(qtbot, bridge, built):
    frame = MainWindow(bridge, make_pages(built))
    qtbot.addWidget(frame)
    bridge.navigation.show_page("plan")
    frame.show()
    qtbot.waitExposed(frame)
    QApplication.processEvents()
    assert built == ["plan"]


def test_only_the_page_shown_is_built(window, built, bridge):
    assert built == ["chat"]
    bridge.navigation.show_page("plan")
    bridge.navigation.show_page("chat")
    bridge.navigation.show_page("plan")
    assert built == ["chat", "plan"]
    assert window.stack.currentWidget().text() == "plan"
    assert bridge.settings.window.page == "plan"
    assert window.rail.item("plan").isChecked()


def test_an_unknown_page_is_refused_and_a_stored_one_falls_back(qtbot, window, bridge, built):
    with pytest.raises(ValueError):
        bridge.navigation.show_page("games")
    bridge.update_settings(
        lambda s: dataclasses.replace(s, window=dataclasses.replace(s.window, page="games"))
    )
    second = MainWindow(bridge, make_pages(built))
    qtbot.addWidget(second)
    second.show()
    assert second.page_name == "chat"
    qtbot.waitUntil(lambda: second.stack.currentWidget() is second.page("chat"))


@pytest.mark.parametrize(("key", "page"), [(str(n), p) for n, p in enumerate(PAGES, 1)])
def test_ctrl_and_a_figure_go_to_the_pages(qtbot, window, key, page):
    qtbot.keyClick(window, key, Qt.KeyboardModifier.ControlModifier)
    assert window.stack.currentWidget().text() == page


def test_ctrl_comma_opens_settings_and_a_click_on_the_rail_models(qtbot, window):
    qtbot.keyClick(window, ",", Qt.KeyboardModifier.ControlModifier)
    assert window.stack.currentWidget().text() == "settings"
    qtbot.mouseClick(window.rail.item("models"), Qt.MouseButton.LeftButton)
    assert window.stack.currentWidget().text() == "models"


def test_ctrl_b_opens_the_rail_and_it_is_remembered(qtbot, window, bridge):
    qtbot.keyClick(window, "b", Qt.KeyboardModifier.ControlModifier)
    assert window.rail.width() == 200
    assert bridge.settings.window.rail_open
    qtbot.keyClick(window, "b", Qt.KeyboardModifier.ControlModifier)
    assert window.rail.width() == 56


def test_ctrl_n_opens_an_empty_chat_on_its_page(qtbot, window, bridge):
    bridge.navigation.show_page("plan")
    with qtbot.waitSignal(bridge.navigation.new_chat_wanted):
        qtbot.keyClick(window, "n", Qt.KeyboardModifier.ControlModifier)
    assert window.stack.currentWidget().text() == "chat"


def test_its_sizes(window):
    assert (window.width(), window.height()) == (1280, 800)
    assert window.minimumSize() == LEAST_SIZE.boundedTo(window.screen().availableSize())


def test_the_pill_is_in_the_true_centre(window, services):
    for width in (960, 1280, 1700):
        window.resize(width, 700)
        QApplication.processEvents()
        pill = window.top_bar.pill
        assert abs(pill.geometry().center().x() - window.width() / 2) <= 1


def test_pill_and_state_say_what_the_engine_does(window, services):
    bar = window.top_bar
    assert bar.pill.texts()[:2] == ("Kimi K2.6", "UD-Q4_K_XL")
    assert bar.state_button().word() == "Running"
    assert bar.switch_button().text() == "Stop engine"

    services.engine.set_state(EngineState.LOADING, load_fraction=0.43)
    assert bar.state_button().word() == "Loading 43%"

    services.engine.set_state(EngineState.STOPPED)
    assert bar.pill.texts()[2] == "· not loaded"
    assert bar.switch_button().text() == "Start"


def test_start_and_stop_go_through_the_engine(qtbot, window, services):
    qtbot.mouseClick(window.top_bar.switch_button(), Qt.MouseButton.LeftButton)
    assert services.desk.called("engine.stop") == 1
    qtbot.mouseClick(window.top_bar.switch_button(), Qt.MouseButton.LeftButton)
    (settings,) = next(args for name, args in services.desk.calls if name == "engine.start")
    assert settings.model_path.name.startswith("Kimi-K2.6-UD-Q4_K_XL")


def test_start_without_a_model_opens_the_picker(window, services, bridge):
    services.engine.set_state(EngineState.STOPPED, settings=None)
    services.models.set_models()
    bridge.navigation.start_engine()
    assert window.overlays.current is not None
    assert [entry.title for entry in window.overlays.current.entries()] == [
        "No model yet.",
        "Models: library and folders",
        "Servers: add and check",
    ]


def test_a_restart_asks_before_it_cuts_an_answer_off(qtbot, window, services, bridge):
    chat_id = services.chats.new_chat()
    services.chats.send(chat_id, "Hello")
    wanted = services.engine.settings_for(services.models.models[0])

    bridge.navigation.start_engine(wanted)
    assert services.desk.called("engine.start") == 0
    assert isinstance(window.overlays.current, Question)
    qtbot.mouseClick(window.overlays.current.cancel_button, Qt.MouseButton.LeftButton)
    assert services.desk.called("engine.start") == 0

    bridge.navigation.start_engine(wanted)
    qtbot.mouseClick(window.overlays.current.confirm_button, Qt.MouseButton.LeftButton)
    assert services.desk.calls[-1] == ("engine.start", (wanted,))


def test_a_restart_of_an_idle_engine_asks_too(qtbot, window, services, bridge):
    wanted = services.engine.settings_for(services.models.models[0])
    bridge.navigation.start_engine(wanted)
    assert services.desk.called("engine.start") == 0
    qtbot.mouseClick(window.overlays.current.confirm_button, Qt.MouseButton.LeftButton)
    assert services.desk.calls[-1] == ("engine.start", (wanted,))


def test_a_start_that_fails_shows_its_panel_and_no_second_message(qtbot, window, services, bridge):
    services.engine.start_error = services.models.models[-1].problem
    services.engine.set_state(EngineState.STOPPED)
    bridge.navigation.start_engine(services.engine.settings_for(services.models.models[0]))
    QApplication.processEvents()
    assert window.top_bar.state_button().word() == "Failed"
    assert not window.notices.bars()
    qtbot.mouseClick(window.top_bar.state_button(), Qt.MouseButton.LeftButton)
    panel = window.failure.failure.panel
    assert panel.isVisible()
    assert panel.accessibleName()
    first, *others = panel.fix_buttons()
    assert first.kind is ButtonKind.PRIMARY
    assert all(button.kind is ButtonKind.SECONDARY for button in others)
    services.engine.set_ready(services.models.models[0])
    assert not window.failure.isVisible()


def test_a_failure_stands_in_place_and_the_page_goes_on(qtbot, window, services):
    window.show_page("models")
    error = BackendError(ErrorCode.ENGINE_EXITED, {"code": 1})
    services.engine.set_failed(services.models.models[0], error)
    button = window.top_bar.state_button()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert window.overlays.current is None  # nothing lies over the window
    place = window.failure
    assert place.isVisible()
    assert place.height() <= 0.6 * window.height()

    def top_of(widget: QWidget, below: int = 0) -> int:
        return widget.mapTo(window, QPoint(0, below)).y()

    qtbot.waitUntil(lambda: top_of(window.stack) >= top_of(place, place.height()))
    assert window.stack.currentWidget().isEnabled()
    panel = place.failure.panel
    assert panel.height() == panel.layout().totalHeightForWidth(panel.width())
    qtbot.mouseClick(panel.close_button(), Qt.MouseButton.LeftButton)
    assert not place.isVisible()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert place.isVisible()
    window.show_page("settings")
    assert not place.isVisible()


def test_where_the_page_tells_the_failure_it_is_not_told_twice(qtbot, bridge, services):
    frame = MainWindow(bridge, standard_pages())
    qtbot.addWidget(frame)
    frame.show()
    frame.show_page("chat")
    params = {"code": 1}
    error = BackendError(ErrorCode.ENGINE_EXITED, params)
    services.engine.set_failed(services.models.models[0], error)
    qtbot.mouseClick(frame.top_bar.state_button(), Qt.MouseButton.LeftButton)
    assert not frame.failure.isVisible()


def test_an_error_without_a_state_is_a_bar_said_once(window, bridge):
    error = SettingsError(ErrorCode.SETTINGS_NOT_SAVED, {"path": "x", "detail": "full"})
    bridge.navigation.report(error)
    bridge.navigation.report(error)
    (bar,) = window.notices.bars()
    assert "could not be saved" in bar.text()


def test_at_most_three_bars(window, bridge):
    for number in range(5):
        bridge.navigation.report(RuntimeError(str(number)))
    assert [bar.text()[-2] for bar in window.notices.bars()] == ["2", "3", "4"]


def test_a_note_goes_away_when_closed(window, bridge):
    bridge.navigation.tell("Copied.")
    (bar,) = window.notices.bars()
    bar.closed.emit()
    assert window.notices.bars() == ()
    assert not window.notices.isVisible()


def test_chats_that_cannot_be_stored_are_said(window, services):
    error = SettingsError(ErrorCode.DISK_FULL, {"path": "/data"})
    services.bus.publish(StoreFailed(error))
    assert "full" in window.notices.bars()[0].text()


def test_settings_problems_are_shown_once(qtbot, services, bridge, built):
    services.store.problems.append(
        SettingsError(ErrorCode.SETTINGS_BAD_VALUE, {"name": "serve.port", "value": "80"})
    )
    frame = MainWindow(bridge, make_pages(built))
    qtbot.addWidget(frame)
    frame.show()
    qtbot.waitUntil(lambda: bool(frame.notices.bars()))
    assert "serve.port" in frame.notices.bars()[0].text()
    assert services.store.problems == []


@pytest.mark.parametrize("answer", ["End it", "Leave it"])
def test_leftovers_are_offered(qtbot, services, bridge, built, answer):
    services.engine.leftovers = (Leftover(4711, "/models/Kimi.gguf", 1_796_000_000.0),)
    frame = MainWindow(bridge, make_pages(built))
    qtbot.addWidget(frame)
    frame.show()
    qtbot.waitUntil(lambda: bool(frame.notices.bars()))
    (bar,) = frame.notices.bars()
    button = next(b for b in bar.buttons() if b.text() == answer)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not frame.notices.bars())
    assert services.desk.called("engine.end_leftovers") == (answer == "End it")


def test_closing_is_free_when_nothing_runs(qtbot, window):
    with qtbot.waitSignal(window.closed):
        window.close()


@pytest.mark.parametrize("reason", ["answer", "serving"])
def test_closing_asks_when_something_would_be_cut_off(qtbot, window, services, reason):
    if reason == "answer":
        services.chats.send(services.chats.new_chat(), "Hello")
    else:
        services.serve.switch_on()
    assert not window.close()
    assert isinstance(window.overlays.current, Question)
    qtbot.keyClick(window.overlays.current, Qt.Key.Key_Escape)
    assert window.overlays.current is None
    assert window.isVisible()

    window.close()
    with qtbot.waitSignal(window.closed):
        qtbot.mouseClick(window.overlays.current.confirm_button, Qt.MouseButton.LeftButton)


def test_the_picker_loads_what_is_chosen(qtbot, window, services, bridge):
    qtbot.keyClick(window, "l", Qt.KeyboardModifier.ControlModifier)
    picker = window.overlays.current
    assert picker.current().detail == "UD-Q4_K_XL"
    qtbot.keyClicks(picker.field, "gemma")
    assert [entry.title for entry in picker.entries()] == [
        "Gemma 3 270M",
        "Models: library and folders",
        "Servers: add and check",
    ]
    qtbot.keyClick(picker.field, Qt.Key.Key_Return)
    assert bridge.settings.models.selected.endswith("gemma-3-270m-Q4_K_M.gguf")
    qtbot.mouseClick(window.overlays.current.confirm_button, Qt.MouseButton.LeftButton)
    name, (settings,) = services.desk.calls[-1]
    assert name == "engine.start"
    assert settings.model_path.name == "gemma-3-270m-Q4_K_M.gguf"
    assert window.top_bar.pill.texts()[0] == "Gemma 3 270M"


def test_two_files_of_one_quantization_are_told_apart_in_the_picker(window, services):
    one = services.models.models[1]
    path = one.path.parent / "elsewhere" / one.path.name
    other = dataclasses.replace(one, id=str(path), path=path)
    services.models.set_models(one, other)
    window.overlays.open_picker()
    details = [entry.detail for entry in window.overlays.current.entries()[:2]]
    assert details == ["UD-Q4_K_XL · UD-Q4_K_XL", "UD-Q4_K_XL · elsewhere"]


def test_the_picker_follows_the_library_and_keeps_its_place(qtbot, window, services):
    window.overlays.open_picker()
    picker = window.overlays.current
    assert services.desk.called("models.freshen") >= 1
    qtbot.keyClick(picker.field, Qt.Key.Key_Down)
    before = picker.current()
    services.models.set_models(*services.models.models[1:])
    assert picker.current().detail == before.detail
    assert "UD-Q2_K_XL" not in [entry.detail for entry in picker.entries()]


def test_the_picker_does_not_reload_what_runs(qtbot, window, services):
    window.overlays.open_picker()
    qtbot.keyClick(window.overlays.current.field, Qt.Key.Key_Return)
    assert services.desk.called("engine.start") == 0


def test_the_palette_finds_chats_and_commands(qtbot, window, services, bridge):
    qtbot.keyClick(window, "k", Qt.KeyboardModifier.ControlModifier)
    palette = window.overlays.current
    qtbot.keyClicks(palette.field, "regex")
    assert [entry.title for entry in palette.entries()] == ["Chats", "Regex for shard names"]
    with qtbot.waitSignal(bridge.navigation.chat_wanted) as asked:
        qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert services.chats.messages(asked.args[0])

    window.overlays.open_palette()
    qtbot.keyClicks(window.overlays.current.field, "monitor")
    qtbot.keyClick(window.overlays.current.field, Qt.Key.Key_Return)
    assert window.stack.currentWidget().text() == "monitor"


def test_arrows_move_in_the_palette_and_skip_headings(qtbot, window):
    window.overlays.open_palette()
    palette = window.overlays.current
    able = [entry for entry in palette.entries() if entry.run is not None]
    assert palette.current() is able[0]
    qtbot.keyClick(palette.field, Qt.Key.Key_Down)
    assert palette.current() is able[1]
    qtbot.keyClick(palette.field, Qt.Key.Key_Up)
    qtbot.keyClick(palette.field, Qt.Key.Key_Up)
    assert palette.current() is able[-1]
    qtbot.keyClick(palette.field, Qt.Key.Key_Escape)
    assert window.overlays.current is None


def test_a_click_beside_an_overlay_closes_it(qtbot, window):
    window.overlays.open_palette()
    qtbot.mouseClick(
        window.overlays.current, Qt.MouseButton.LeftButton, pos=window.rect().bottomLeft()
    )
    assert window.overlays.current is None


def test_tab_stays_inside_an_overlay(qtbot, window):
    window.overlays.ask("Sure?", "It is final.", "Yes", lambda: None)
    question = window.overlays.current
    seen = set()
    for _ in range(4):
        seen.add(QApplication.focusWidget())
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
    assert seen == {question.cancel_button, question.confirm_button}


def test_shortcuts_and_log_open(qtbot, window, services, bridge):
    qtbot.keyClick(window, "/", Qt.KeyboardModifier.ControlModifier)
    assert isinstance(window.overlays.current, ShortcutList)
    bridge.navigation.show_log()
    assert isinstance(window.overlays.current, LogView)
    qtbot.mouseClick(window.overlays.current.copy_button, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == services.engine.log


def test_the_status_bar_follows_and_leads_to_monitor(qtbot, window, services: ScriptedServices):
    bar = window.status_bar
    assert [cell.value for cell in bar.cells()][:3] == ["–", "–", "0"]
    services.chats.send(services.chats.new_chat(), "Hello")
    services.chats.stream("word " * 40)
    texts = [cell.text for cell in bar.cells()]
    assert texts[0] == "18.4 tok/s"
    assert texts[1] == "First token 3.1 s"
    assert texts[2] == "Context 1,178 / 131,072"
    assert texts[3].startswith("RAM ")
    assert [text.partition(" ")[0] for text in texts[4:]] == ["GPU", "GPU"]
    assert bar.endpoint() == "Endpoint off"
    services.serve.switch_on()
    assert bar.endpoint() == "127.0.0.1:8080"
    services.serve.set_address("192.168.1.20")
    assert bar.endpoint() == "Open to the network: 192.168.1.20:8080"
    assert "Open to the network" in bar.accessibleDescription()
    services.serve.set_address("")
    assert "18.4 tok/s" in bar.accessibleDescription()
    qtbot.mouseClick(bar, Qt.MouseButton.LeftButton)
    assert window.stack.currentWidget().text() == "monitor"


def test_many_gpus_share_one_cell(window, services):
    sample = services.monitor.samples[-1]
    services.monitor.take(dataclasses.replace(sample, gpus=sample.gpus * 4))
    (cell,) = window.status_bar.cells()[4:]
    assert cell.before == "VRAM, 8 GPUs "


def test_the_wizard_hides_the_rest_until_a_page_is_asked_for(
    qtbot, fresh_bridge, fresh_services, built
):
    frame = MainWindow(fresh_bridge, make_pages(built), wizard=lambda _: QLabel("wizard"))
    qtbot.addWidget(frame)
    frame.show()
    assert not frame.rail.isVisible()
    qtbot.waitUntil(lambda: frame.stack.count() == 1)
    assert frame.stack.currentWidget().text() == "wizard"
    assert built == []
    assert not frame.rail.isVisible()
    assert not frame.status_bar.isVisible()
    assert frame.top_bar.language_control().isVisible()
    qtbot.keyClick(frame, "2", Qt.KeyboardModifier.ControlModifier)
    assert frame.stack.currentWidget().text() == "wizard"
    frame.top_bar.language_control().segment("zh_CN").click()
    assert fresh_bridge.settings.window.language is LanguageChoice.ZH_CN

    fresh_bridge.navigation.show_page("chat")

    assert frame.rail.isVisible()
    assert frame.status_bar.isVisible()
    assert not frame.top_bar.language_control().isVisible()
    fresh_bridge.navigation.run_wizard()
    assert frame.stack.currentWidget().text() == "wizard"


def test_every_control_of_the_frame_has_a_name(window):
    for widget in window.findChildren(QWidget):
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisibleTo(window):
            assert widget.accessibleName() or getattr(widget, "text", str)(), widget


def test_an_unexpected_failure_is_said(window):
    for _ in range(2):
        window.show_unexpected("Traceback ...\nValueError: 7\n")
    (bar,) = window.notices.bars()
    assert bar.text() == "Something unexpected happened: ValueError: 7."
    (copy,) = bar.buttons()
    copy.click()
    assert QGuiApplication.clipboard().text().startswith("Traceback")


def test_the_dot_has_a_shape_of_its_own_when_failed(window, services):
    broken = services.models.models[-1]
    assert broken.problem is not None
    services.engine.set_failed(services.models.models[0], broken.problem)
    assert window.top_bar.pill.dot is Dot.BAD


@pytest.mark.parametrize("name", PAGES)
def test_every_page_of_the_app_loads_into_the_frame(qtbot, bridge, monkeypatch, tmp_path, name):
    monkeypatch.setenv("KIMI_DESKTOP_HOME", str(tmp_path))
    bridge.update_settings(
        lambda s: dataclasses.replace(s, window=dataclasses.replace(s.window, page=name))
    )
    frame = MainWindow(bridge, standard_pages())
    qtbot.addWidget(frame)
    frame.show()
    qtbot.waitUntil(lambda: frame.stack.count() == 1)
    assert type(frame.stack.currentWidget()).__name__ == f"{name.title()}Page"
    for control in frame.stack.currentWidget().findChildren(QWidget):
        if control.focusPolicy() & Qt.FocusPolicy.TabFocus and control.isVisibleTo(frame):
            label = getattr(control, "text", None) or control.accessibleName
            assert control.accessibleName() or label(), control
