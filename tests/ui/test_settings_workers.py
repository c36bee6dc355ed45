"""Settings: machines that lend llama.cpp their devices; plans count them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.planner.types import DeviceMemory
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import LanguageSwitch
from kimi_desktop.ui.plan.page import PlanPage
from kimi_desktop.ui.settings.page import SettingsPage
from kimi_desktop.ui.widgets.chip import Verdict
from kimi_desktop.ui.widgets.device_view import device_word
from tests.support.scripted_services import lived_in
from tests.support.scripted_workers import ready_worker

ADDRESS = "192.168.1.20:50052"


@pytest.fixture
def page(qtbot, bridge) -> SettingsPage:
    widget = SettingsPage(bridge)
    qtbot.addWidget(widget)
    widget.resize(1200, 900)
    widget.show()
    return widget


@pytest.fixture
def cpu_bridge(tmp_path, qapp) -> Iterator[Bridge]:
    door = Bridge(lived_in(tmp_path / "cpu", "cpu"))
    yield door
    door.close()


def press(qtbot, widget) -> None:
    QApplication.processEvents()
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)
    QApplication.processEvents()


def test_one_is_added(qtbot, page, services):
    form = page.workers.form
    assert not form.add.isEnabled()
    assert "no encryption" in form._warning.text()
    form.address.setText(ADDRESS)
    form.device.setText("RTX 4090")
    services.desk.hold.add("workers.add")
    press(qtbot, form.add)
    assert services.desk.calls[-1] == ("workers.add", (ADDRESS, "RTX 4090"))
    assert not form.add.isEnabled()
    services.desk.release("workers.add")
    qtbot.waitUntil(lambda: form.address.text() == "")
    row = page.workers.rows[ADDRESS]
    assert row.name.text() == "RTX 4090"
    assert row.chip.text() == "Ready"
    for word in (ADDRESS, "22.5 of 24.0 GiB free", "RPC protocol 7.0.0", "1.1 GB/s"):
        assert word in row.facts.text()


def test_a_public_address_is_refused_in_place(qtbot, page, services):
    form = page.workers.form
    services.workers.error = BackendError(ErrorCode.WORKER_PUBLIC_ADDRESS, {"address": "8.8.8.8"})
    form.address.setText("8.8.8.8")
    qtbot.keyClick(form.address, Qt.Key.Key_Return)
    qtbot.waitUntil(form.problem.isVisible)
    assert "8.8.8.8 is not an address of a private network" in form.problem.text()
    assert form.address.failed
    assert form.address.text() == "8.8.8.8"
    form.address.setText("10.0.0.2")
    assert not form.problem.isVisible()


@pytest.mark.parametrize(
    ("code", "verdict", "word"),
    [
        (ErrorCode.WORKER_BUSY, Verdict.WARN, "In use"),
        (ErrorCode.WORKER_UNREACHABLE, Verdict.BAD, "Not reachable"),
        (ErrorCode.WORKER_OTHER_VERSION, Verdict.BAD, "Cannot be used"),
    ],
)
def test_a_check_says_what_it_met(qtbot, page, services, code, verdict, word):
    services.workers.set_workers(ready_worker())
    qtbot.waitUntil(lambda: ADDRESS in page.workers.rows)
    services.workers.problem = BackendError(
        code, {"address": ADDRESS, "detail": "x", "engine": "llama.cpp", "version": "6.1.0"}
    )
    row = page.workers.rows[ADDRESS]
    press(qtbot, row.check)
    qtbot.waitUntil(row.problem.isVisible)
    assert (row.chip.verdict, row.chip.text()) == (verdict, word)
    assert row.check.isEnabled()


def test_one_is_removed(qtbot, page, services):
    services.workers.set_workers(ready_worker())
    qtbot.waitUntil(lambda: ADDRESS in page.workers.rows)
    press(qtbot, page.workers.rows[ADDRESS].remove)
    qtbot.waitUntil(lambda: page.workers.rows == {})


def test_words_follow_the_language(qtbot, qapp, page, services):
    services.workers.set_workers(ready_worker(), ready_worker("10.0.0.9:50052", ""))
    qtbot.waitUntil(lambda: len(page.workers.rows) == 2)
    switch = LanguageSwitch(qapp)
    try:
        switch.choose(LanguageChoice.ZH_CN)
        QApplication.processEvents()
        row = page.workers.rows[ADDRESS]
        assert "空闲 22.5 / 24.0 GiB" in row.facts.text()
        assert row.chip.text() == "就绪"
    finally:
        switch.choose(LanguageChoice.EN)


def test_the_plan_page_counts_them(qtbot, cpu_bridge):
    services = cpu_bridge.services
    page = PlanPage(cpu_bridge)
    qtbot.addWidget(page)
    page.resize(1280, 800)
    page.show()
    assert not page.choices.placement.gpu_layers.isEnabled()
    services.workers.set_workers(ready_worker())
    qtbot.waitUntil(page.choices.placement.gpu_layers.isEnabled)


def test_devices_of_workers_are_named_as_such():
    device = DeviceMemory("rpc:0", "RTX 4090 (10.0.0.2:50052)", 1, 1, 0, 0, 0, 0)
    assert device_word(device) == "RPC 0"
