"""The Serve page: the switch, what a program needs, lines to try, every failure in place."""

from __future__ import annotations

import dataclasses
import time

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QLineEdit, QWidget

from kimi_desktop.backends.types import EngineState
from kimi_desktop.base.errors import BackendError, ErrorCode, ServeError
from kimi_desktop.base.settings import LanguageChoice, ThemeChoice
from kimi_desktop.serve.qr import QUIET
from kimi_desktop.serve.types import (
    ClientKey,
    DoneRequest,
    LiveRequest,
    RefusedRequests,
    ServeState,
    ServeStatus,
)
from kimi_desktop.ui.language import LanguageSwitch
from kimi_desktop.ui.serve.page import ServePage
from kimi_desktop.ui.serve.snippet_card import MASK
from kimi_desktop.ui.theme import Theme
from kimi_desktop.ui.widgets.chip import Dot, Verdict
from kimi_desktop.ui.widgets.qr_code import DARK, LIGHT, MODULE

LEFT = Qt.MouseButton.LeftButton
TAKEN = ServeError(ErrorCode.SERVE_PORT_TAKEN, {"port": 8080, "free_port": 8081})


@pytest.fixture
def page(qtbot, bridge, qapp):
    Theme(qapp).choose(ThemeChoice.DARK)
    page = ServePage(bridge)
    qtbot.addWidget(page)
    page.resize(1224, 732)
    page.show()
    qtbot.waitExposed(page)
    return page


@pytest.fixture
def on(page, services):
    """The page of a gateway that listens."""
    services.serve.switch_on().result(0)
    return page


def shown_lines(page):
    return page.snippets.block.lines.toPlainText()


def clipboard():
    return QGuiApplication.clipboard().text()


def type_port(qtbot, page, text, *, enter=True):
    field = page.connection.port
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, text)
    if enter:
        qtbot.keyClick(field, Qt.Key.Key_Return)


# the switch


def test_off_at_first_and_plain_about_who_can_connect(page):
    assert not page.switch.isChecked()
    assert (page.state.text(), page.state.dot) == ("Off", Dot.OFF)
    assert "Only programs on this machine" in page.reach.says()
    assert page.connection.address.text() == "http://127.0.0.1:8080/v1"
    assert page.snippets.absent.isVisible()
    assert not page.snippets.block.isVisible()
    assert not page.error_bar.isVisible()
    assert not page.engine_bar.isVisible()


def test_the_switch_switches(qtbot, page, services):
    qtbot.mouseClick(page.switch, LEFT)
    assert services.serve.status.state is ServeState.ON
    assert page.switch.isChecked()
    assert (page.state.text(), page.state.dot) == ("On", Dot.OK)
    assert page.connection.model.text() == "kimi-k2.6"
    qtbot.mouseClick(page.switch, LEFT)
    assert services.serve.status.state is ServeState.OFF
    assert not page.switch.isChecked()


def test_the_space_bar_switches(qtbot, page, services):
    page.switch.setFocus()
    qtbot.keyClick(page.switch, Qt.Key.Key_Space)
    assert services.serve.status.state is ServeState.ON


def test_while_it_starts_the_word_says_so(page, services):
    services.desk.hold.add("serve.switch_on")
    page.switch.click()
    assert (page.state.text(), page.state.dot) == ("Starting", Dot.BUSY)
    assert page.switch.isChecked()
    assert page.switch.accessibleDescription() == "Starting"
    services.desk.release("serve.switch_on")


def test_requests_are_counted(on, services):
    status = dataclasses.replace(services.serve.status, running=1, served=1_204)
    services.serve.set_status(status)
    assert on._header._note.full_text() == "1 running · 1,204 answered"


# failures


def test_a_taken_port_is_said_where_it_is_chosen(qtbot, page, services):
    services.serve.error = TAKEN
    qtbot.mouseClick(page.switch, LEFT)
    qtbot.waitUntil(page.error_bar.isVisible)
    assert not page.switch.isChecked()
    assert (page.state.text(), page.state.dot) == ("Failed", Dot.BAD)
    assert page.error_bar.text() == "Port 8080 is used by another program."
    assert page.connection.port.failed
    assert page.connection.port_problem() == "This port is taken."
    assert page.connection.port.hasFocus()


def test_the_free_port_is_one_click_away(qtbot, page, services, bridge):
    services.serve.error = TAKEN
    page.switch.click()
    qtbot.waitUntil(page.free_port.isVisible)
    assert page.free_port.text() == "Use port 8081"
    services.serve.error = None
    qtbot.mouseClick(page.free_port, LEFT)
    assert bridge.settings.serve.port == 8081
    assert services.serve.status.url == "http://127.0.0.1:8081/v1"
    assert page.connection.port.text() == "8081"
    assert not page.connection.port.failed
    assert not page.error_bar.isVisible()


def test_another_port_and_enter_tries_again(qtbot, page, services, bridge):
    services.serve.error = TAKEN
    page.switch.click()
    qtbot.waitUntil(page.error_bar.isVisible)
    services.serve.error = None
    type_port(qtbot, page, "9000")
    assert bridge.settings.serve.port == 9000
    assert services.serve.status.url == "http://127.0.0.1:9000/v1"
    assert page.connection.address.text() == "http://127.0.0.1:9000/v1"
    assert services.desk.called("serve.switch_on") == 2


def test_the_same_port_can_be_tried_again(qtbot, page, services):
    services.serve.error = TAKEN
    page.switch.click()
    qtbot.waitUntil(page.again.isVisible)
    services.serve.error = None
    qtbot.mouseClick(page.again, LEFT)
    assert services.serve.status.state is ServeState.ON


def test_a_failure_takes_the_focus_only_once(qtbot, page, services, bridge):
    services.serve.error = TAKEN
    page.switch.click()
    qtbot.waitUntil(page.connection.port.hasFocus)
    page.switch.setFocus()
    services.engine.set_state(EngineState.GENERATING)
    assert not page.connection.port.hasFocus()


def test_a_gateway_that_died_offers_no_port(qtbot, on, services):
    error = ServeError(ErrorCode.SERVE_FAILED, {"detail": "exit code -9"})
    services.serve.set_status(ServeStatus(ServeState.FAILED, error=error))
    assert on.error_bar.isVisible()
    assert "exit code -9" in on.error_bar.text()
    assert not on.free_port.isVisible()
    assert on.again.isVisible()
    assert not on.connection.port.failed


def test_a_failure_that_is_not_the_gateways_goes_to_the_window(qtbot, page, services, bridge):
    met = []
    bridge.navigation.problem_met.connect(met.append)
    services.desk.hold.add("serve.switch_on")
    page.switch.click()
    services.serve.set_status(ServeStatus(ServeState.OFF))
    error = OSError("no more processes")
    services.desk.fail("serve.switch_on", error)
    qtbot.waitUntil(lambda: met == [error])
    assert not page.switch.isChecked()


# the port


@pytest.mark.parametrize("text", ["80", "0", "65536", "99999", "12x", "-1", "", "８０８０"])
def test_what_is_no_port_is_refused_while_typing_and_forgotten_after(qtbot, page, bridge, text):
    QGuiApplication.clipboard().setText(text or " ")
    page.connection.port.setFocus()
    page.connection.port.selectAll()
    page.connection.port.paste()
    assert page.connection.port.failed
    assert page.connection.port_problem() == "A number from 1,024 to 65,535."
    page.connection.port.editingFinished.emit()
    assert bridge.settings.serve.port == 8080
    assert page.connection.port.text() == "8080"
    assert not page.connection.port.failed


def test_while_it_is_off_a_port_is_saved_and_nothing_starts(qtbot, page, services, bridge):
    type_port(qtbot, page, "9000")
    assert bridge.settings.serve.port == 9000
    assert page.connection.address.text() == "http://127.0.0.1:9000/v1"
    assert services.desk.called("serve.switch_on") == 0


def test_while_it_is_on_it_moves_when_asked(qtbot, on, services, bridge):
    type_port(qtbot, on, "9000", enter=False)
    on.connection.port.editingFinished.emit()
    assert bridge.settings.serve.port == 8080
    assert on.connection.move_button.isVisible()
    qtbot.mouseClick(on.connection.move_button, LEFT)
    qtbot.waitUntil(lambda: services.serve.status.url == "http://127.0.0.1:9000/v1")
    assert services.desk.called("serve.switch_off") == 1
    assert bridge.settings.serve.port == 9000
    assert not on.connection.move_button.isVisible()


def test_a_port_changed_in_the_settings_shows_here(page, bridge):
    bridge.save_settings(
        lambda s: dataclasses.replace(s, serve=dataclasses.replace(s.serve, port=9100))
    )
    assert page.connection.port.text() == "9100"


# the key


def test_the_key_is_masked_until_it_is_asked_for(qtbot, on, services):
    key = services.serve.status.api_key
    assert on.connection.key.echoMode() is QLineEdit.EchoMode.Password
    assert on.connection.key.displayText() != key
    assert key not in shown_lines(on)
    assert MASK in shown_lines(on)
    qtbot.mouseClick(on.connection.reveal, LEFT)
    assert on.connection.key.displayText() == key
    assert key in shown_lines(on)
    assert on.connection.reveal.accessibleName() == "Hide the key"
    on.hide()
    on.show()
    assert on.connection.key.echoMode() is QLineEdit.EchoMode.Password
    assert key not in shown_lines(on)


def test_without_a_key_there_is_nothing_to_do_with_it(page):
    assert page.connection.key.placeholderText()
    for button in (page.connection.reveal, page.connection.copy_key, page.connection.renew):
        assert not button.isEnabled()


def test_copying_says_so(qtbot, on, services, monkeypatch):
    monkeypatch.setattr("kimi_desktop.ui.widgets.copying.CHECK_MS", 50)
    for button, text in (
        (on.connection.copy_address, "http://127.0.0.1:8080/v1"),
        (on.connection.copy_key, services.serve.status.api_key),
        (on.connection.copy_model, "kimi-k2.6"),
    ):
        before = button.accessibleName()
        qtbot.mouseClick(button, LEFT)
        assert clipboard() == text
        assert (button.icon_name(), button.accessibleName()) == ("check", "Copied")
        qtbot.waitUntil(lambda button=button: button.icon_name() == "copy")
        assert button.accessibleName() == before


def test_the_key_is_replaced_only_after_a_yes(qtbot, on, services):
    key = services.serve.status.api_key
    qtbot.mouseClick(on.connection.renew, LEFT)
    assert on.connection.question.isVisible()
    assert services.desk.called("serve.renew_key") == 0
    assert on.focusWidget().text() == "Keep it"
    qtbot.keyClick(on.focusWidget(), Qt.Key.Key_Escape)
    assert not on.connection.question.isVisible()
    assert services.serve.status.api_key == key
    qtbot.mouseClick(on.connection.renew, LEFT)
    qtbot.mouseClick(on.connection._confirm, LEFT)
    qtbot.waitUntil(lambda: services.serve.status.api_key != key)
    assert on.connection.key.text() == services.serve.status.api_key
    qtbot.waitUntil(lambda: "new key" in on.connection.key_note())
    assert not on.connection.question.isVisible()


def test_keep_it_keeps_it(qtbot, on, services):
    on.connection.renew.click()
    qtbot.mouseClick(on.connection._keep, LEFT)
    assert services.desk.called("serve.renew_key") == 0
    assert on.connection.renew.hasFocus()


# the lines


def test_each_kind_has_its_lines_and_copies_the_real_key(qtbot, on, services):
    key = services.serve.status.api_key
    for snippet in services.serve.snippets():
        qtbot.mouseClick(on.snippets.kind.segment(snippet.kind.value), LEFT)
        assert shown_lines(on) == snippet.text.rstrip("\n").replace(key, MASK)
        qtbot.mouseClick(on.snippets.block.copy, LEFT)
        assert clipboard() == snippet.text
        assert on.snippets.block.lines.accessibleName()


def test_a_selection_survives_a_count(qtbot, on, services):
    on.snippets.block.lines.selectAll()
    services.serve.set_status(dataclasses.replace(services.serve.status, served=1))
    assert on.snippets.block.lines.textCursor().hasSelection()


# the engine


def test_an_engine_that_stopped_can_be_started_here(qtbot, on, services, bridge):
    wanted = []
    bridge.navigation.start_wanted.connect(wanted.append)
    services.engine.set_state(EngineState.STOPPED)
    assert on.engine_bar.isVisible()
    assert on.engine_bar.text() == "The engine is not running."
    assert on.connection.model.text() == ""
    assert not on.snippets.block.isVisible()
    assert "engine" in on.snippets.absent.text()
    qtbot.mouseClick(on.start, LEFT)
    assert wanted == [None]
    services.engine.set_state(EngineState.READY)
    assert not on.engine_bar.isVisible()
    assert on.connection.model.text() == "kimi-k2.6"
    assert on.snippets.block.isVisible()


def test_a_model_that_loads_needs_no_button(page, services):
    services.engine.set_state(EngineState.LOADING)
    assert page.engine_bar.text() == "The model is loading."
    assert not page.start.isVisible()


def test_an_engine_that_failed_says_why(page, services):
    killed = BackendError(ErrorCode.ENGINE_KILLED, {"signal": "SIGKILL"})
    services.engine.set_failed(services.models.models[0], killed)
    assert page.engine_bar.isVisible()
    assert "SIGKILL" in page.engine_bar.text()
    assert page.start.isVisible()


# reach and words


def test_every_control_has_a_name_and_tab_reaches_it(qtbot, on):
    wanted = [
        on.switch,
        on.connection.address,
        on.connection.copy_address,
        on.connection.key,
        on.connection.reveal,
        on.connection.copy_key,
        on.connection.renew,
        on.connection.model,
        on.connection.copy_model,
        on.connection.port,
        on.snippets.block.copy,
        on.snippets.block.lines,
    ]
    for control in wanted:
        assert control.accessibleName(), control
    reached: list[QWidget] = []
    on.switch.setFocus(Qt.FocusReason.TabFocusReason)
    for _ in range(len(wanted) + 4):
        reached.append(on.focusWidget())
        on.focusNextChild()
    assert [control for control in wanted if control not in reached] == []


def test_the_page_changes_its_language_while_it_is_open(qtbot, on, services, qapp):
    switch = LanguageSwitch(qapp)
    switch.choose(LanguageChoice.ZH_CN)
    try:
        qtbot.waitUntil(lambda: on.state.text() == "已开启")
        assert on.connection.key.accessibleName() == "密钥"
        services.serve.set_status(ServeStatus(ServeState.FAILED, error=TAKEN))
        assert on.error_bar.text() == "端口 8080 已被其他程序占用。"
    finally:
        switch.choose(LanguageChoice.EN)


def test_a_wide_window_has_the_lines_beside_the_address(qtbot, on):
    def corner(part):
        return part.mapTo(on, QPoint(0, 0))

    assert corner(on.snippets).y() > corner(on.connection).y()
    assert corner(on.snippets).x() == corner(on.connection).x()
    on.resize(1864, 1012)
    qtbot.waitUntil(lambda: corner(on.snippets).x() > corner(on.connection).x())
    assert corner(on.snippets).y() < corner(on.connection).y()


def test_at_the_least_size_nothing_is_cut(qtbot, on):
    on.resize(904, 532)
    column = on.connection.parentWidget()
    assert column.width() <= on.width()
    for control in (on.connection.renew, on.snippets.block):
        right = control.mapTo(on, control.rect().topRight()).x()
        assert right < on.width()


def test_what_the_profile_knows_is_shown_before_the_first_switch(qtbot, services, bridge):
    editor = ClientKey("editor", "kd-editor")
    services.serve.set_status(ServeStatus(ServeState.OFF, api_key="kd-kept", clients=(editor,)))
    page = ServePage(bridge)
    qtbot.addWidget(page)
    assert page.connection.key.text() == "kd-kept"
    assert page.connection.renew.isEnabled()
    assert len(page.clients.rows()) == 1


def test_an_open_network_is_a_red_badge_a_warning_and_a_code(qtbot, on, services):
    assert not on.open_badge.isVisible()
    assert not on.reach.code.isVisible()
    services.serve.set_address("192.168.1.20")
    qtbot.waitUntil(on.open_badge.isVisible)
    assert (on.open_badge.verdict, on.open_badge.text()) == (
        Verdict.BAD,
        "Open to the local network",
    )
    assert on.reach.plain.isVisible()
    assert "not encrypted" in on.reach.plain.text()
    assert on.reach.code.isVisible()
    assert on.reach.code.text() == "http://192.168.1.20:8080/v1"
    assert on.reach.code.accessibleDescription() == on.reach.code.text()
    services.serve.set_encrypted(encrypted=True)
    qtbot.waitUntil(lambda: not on.reach.plain.isVisible())
    qtbot.mouseClick(on.switch, LEFT)  # chosen still, but nobody can reach it
    qtbot.waitUntil(lambda: not on.open_badge.isVisible())
    assert not on.reach.code.isVisible()
    assert on.reach.reach.key() == "network"
    services.serve.set_address("")
    qtbot.waitUntil(lambda: on.reach.reach.key() == "here")


def test_the_code_is_dark_on_light_and_has_its_border(qtbot, on, services):
    services.serve.set_address("192.168.1.20")
    qtbot.waitUntil(on.reach.code.isVisible)
    image = on.reach.code.grab().toImage()
    border = QUIET * MODULE
    assert image.pixelColor(1, 1) == LIGHT
    assert image.pixelColor(border + 1, border + 1) == DARK
    assert image.pixelColor(border - 1, border + 1) == LIGHT


def test_refused_requests_are_told_with_their_reason(on, services):
    now = time.time()
    rows = (
        RefusedRequests(now - 3600, 401, 9, "10.0.0.9"),  # long ago
        RefusedRequests(now - 120, 401, 1_200, "10.0.0.9"),
        RefusedRequests(now - 60, 403, 2, "192.168.1.7"),
        RefusedRequests(now - 60, 418, 1, "192.168.1.8"),
    )
    assert not on.requests.refused.isVisible()
    services.serve.set_status(dataclasses.replace(services.serve.status, refused=rows))
    assert on.requests.refused.isVisible()
    assert on.requests.refused.text() == (
        "Refused in the last ten minutes: 1,200 × no or a wrong key, 2 × another host or a web "
        "page, 1 × 418. The last one came from 192.168.1.8."
    )


def test_the_network_is_opened_only_after_a_yes(qtbot, on, services):
    reach = on.reach
    qtbot.mouseClick(reach.reach.segment("network"), LEFT)
    assert not reach.question.isHidden()
    assert "not encrypted" in reach.question.accessibleName()
    assert not [call for call in services.desk.calls if call[0] == "serve.set_address"]
    qtbot.mouseClick(reach.keep, LEFT)
    assert reach.question.isHidden()
    assert reach.reach.key() == "here"
    qtbot.mouseClick(reach.reach.segment("network"), LEFT)
    qtbot.mouseClick(reach.confirm, LEFT)
    assert services.serve.status.address == "192.168.1.20"
    qtbot.waitUntil(lambda: "192.168.1.20" in reach.says())
    assert on.connection.address.text() == "http://192.168.1.20:8080/v1"
    reach.addresses.choose("10.0.0.4")
    reach.addresses.activated.emit(reach.addresses.currentIndex())
    assert services.serve.status.address == "10.0.0.4"
    qtbot.mouseClick(reach.reach.segment("here"), LEFT)
    assert services.serve.status.address == ""
    qtbot.waitUntil(lambda: "127.0.0.1" in reach.says())


def test_what_goes_over_the_network_is_encrypted(qtbot, on, services, monkeypatch):
    reach = on.reach
    qtbot.mouseClick(reach.reach.segment("network"), LEFT)
    qtbot.mouseClick(reach.encrypted, LEFT)
    assert services.store.settings.serve.encrypted
    assert "not encrypted" not in reach.question.accessibleName()
    qtbot.mouseClick(reach.confirm, LEFT)
    qtbot.waitUntil(lambda: on.connection.address.text().startswith("https://192.168.1.20:"))
    services.serve.set_encrypted(encrypted=True)
    qtbot.waitUntil(lambda: "AB:" in reach.fingerprint.text())
    assert "certificate" in reach.says()
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("/home/ada/k.pem", ""))
    qtbot.mouseClick(reach.save_certificate, LEFT)
    assert services.desk.called("serve.save_certificate") == 1
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("", ""))
    qtbot.mouseClick(reach.save_certificate, LEFT)
    assert services.desk.called("serve.save_certificate") == 1
    qtbot.mouseClick(reach.encrypted, LEFT)
    assert not services.store.settings.serve.encrypted
    qtbot.waitUntil(lambda: not reach.fingerprint.isVisible())


def test_text_that_wraps_has_its_height(qtbot, on, services):
    on.resize(1200, 1000)
    services.serve.set_address("192.168.1.20")
    services.serve.set_encrypted(encrypted=True)
    card = on.reach
    qtbot.waitUntil(card.fingerprint.isVisible)
    qtbot.waitUntil(lambda: card.height() >= card.layout().heightForWidth(card.width()))


def test_without_a_network_there_is_nothing_to_open(qtbot, on, services):
    on.hide()
    services.serve.addresses = ()
    on.show()
    qtbot.waitUntil(lambda: not on.reach.reach.segment("network").isEnabled())


def test_a_program_gets_a_key_and_loses_it(qtbot, on, services):
    qtbot.keyClicks(on.clients.name, "editor")
    qtbot.keyClick(on.clients.name, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: on.clients.name.text() == "")
    (row,) = on.clients.rows()
    row.copy.click()
    assert clipboard() == services.serve.status.clients[0].key
    qtbot.keyClicks(on.clients.name, "editor")
    qtbot.mouseClick(on.clients.add, LEFT)
    qtbot.waitUntil(lambda: "editor" in on.clients.problem())
    row.revoke.click()
    assert on.clients.rows() == ()
    assert services.serve.status.clients == ()


def test_requests_are_listed_the_live_ones_first(page, on, services):
    now = time.time()
    live = (
        LiveRequest(1, "editor", "/v1/chat/completions", now - 5, waits=False),
        LiveRequest(2, "notes", "/v1/embeddings", now - 1, waits=True),
    )
    done = (
        DoneRequest("editor", "/v1/completions", now - 60, 3.5, 200),
        DoneRequest("editor", "/v1/chat/completions", now - 90, 1.0, 499),
        DoneRequest("default", "/v1/chat/completions", now - 95, 1.0, 429),
    )
    services.serve.set_status(
        dataclasses.replace(services.serve.status, live=live, done=done, running=1)
    )
    rows = on.requests.rows()
    assert [row[:3] for row in rows] == [
        ("editor", "chat", "running"),
        ("notes", "embeddings", "waits"),
        ("editor", "completion", "answered"),
        ("editor", "chat", "left early"),
        ("default", "chat", "refused (429)"),
    ]
    assert rows[0][3].startswith("5")
    services.serve.set_status(dataclasses.replace(services.serve.status, live=(), done=()))
    assert on.requests.rows() == []
