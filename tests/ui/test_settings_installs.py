"""Settings, Engine: vLLM installed from the app."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from kimi_desktop.backends.install.types import InstallPhase
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.ui.language import LanguageSwitch
from kimi_desktop.ui.settings.page import SettingsPage
from tests.support.scripted_installs import installed_engine


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("KIMI_DESKTOP_HOME", str(tmp_path))


@pytest.fixture
def page(qtbot, bridge) -> SettingsPage:
    widget = SettingsPage(bridge)
    qtbot.addWidget(widget)
    widget.resize(1200, 900)
    widget.show()
    QApplication.processEvents()
    return widget


@pytest.fixture
def get(page):
    return page.engine.installs


def press(qtbot, widget) -> None:
    QApplication.processEvents()
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)
    QApplication.processEvents()


def test_size_and_licence_stand_there_before_anything_is_fetched(qtbot, get, services):
    qtbot.waitUntil(get.install.isVisible)
    assert get.facts.text() == (
        "vLLM 0.25.1 in an environment of its own · 4.3 GB to fetch, about 10.8 GB on disk · "
        "licence Apache-2.0, NVIDIA CUDA EULA"
    )
    assert services.desk.called("installs.install") == 0
    get.kind.setCurrentIndex(1)
    assert "vLLM 0.32.0+cpu" in get.facts.text()
    press(qtbot, get.install)
    assert services.desk.calls[-2][1][0].accelerator == "cpu"


def test_progress_cancel_and_going_on(qtbot, get, services):
    qtbot.waitUntil(get.install.isVisible)
    services.desk.hold.add("installs.install")
    press(qtbot, get.install)
    assert get.progress.isVisible()
    assert not get.install.isVisible()
    services.installs.tell(InstallPhase.FETCHING, 2_150_000_000, 4_300_000_000, "torch")
    qtbot.waitUntil(lambda: "50%" in get.progress.facts())
    assert get.progress.title() == "Fetching packages: torch"
    services.installs.tell(InstallPhase.PROVING, 0, 4_300_000_000)
    qtbot.waitUntil(lambda: get.progress.title() == "Trying it")
    services.installs.installed = (installed_engine(is_whole=False),)
    press(qtbot, get.progress.cancel_button)
    qtbot.waitUntil(get.install.isVisible)
    assert get.install.text() == "Go on"
    assert not get.problem.isVisible()
    assert get.rows == []


def test_an_installed_one_is_used_and_removed(qtbot, get, services):
    qtbot.waitUntil(get.install.isVisible)
    press(qtbot, get.install)
    qtbot.waitUntil(lambda: len(get.rows) == 1)
    assert get.rows[0].chip.isVisible()
    assert not get.install.isVisible()
    assert get.facts.text() == "vLLM 0.25.1 is here."
    services.installs.set_installed(installed_engine())
    qtbot.waitUntil(lambda: not get.rows[0].use.isHidden())
    press(qtbot, get.rows[0].use)
    qtbot.waitUntil(lambda: not get.rows[0].chip.isHidden())
    press(qtbot, get.rows[0].remove)
    qtbot.waitUntil(lambda: get.rows == [])
    assert get.install.isVisible()


def test_a_failure_is_told_in_place_with_what_to_do(qtbot, get, services):
    qtbot.waitUntil(get.install.isVisible)
    services.installs.error = BackendError(
        ErrorCode.INSTALL_NO_TORCH, {"package": "torch", "variable": "KIMI_DESKTOP_TORCH_LINKS"}
    )
    press(qtbot, get.install)
    qtbot.waitUntil(get.problem.isVisible)
    assert "KIMI_DESKTOP_TORCH_LINKS" in get.problem.text()
    assert get.install.isVisible()


def test_a_system_without_a_build_and_a_card_that_is_too_old(qtbot, get, services, bridge):
    qtbot.waitUntil(get.install.isVisible)
    services.installs.lacks_gpu = True
    bridge.save_settings(lambda s: s)
    qtbot.waitUntil(get.advice.isVisible)
    assert "7.0" in get.advice.text()
    services.installs.offers = ()
    bridge.save_settings(lambda s: s)
    qtbot.waitUntil(lambda: "Linux" in get.facts.text())
    assert not get.install.isVisible()
    assert not get.advice.isVisible()


def test_it_speaks_chinese(qtbot, get, qapp):
    qtbot.waitUntil(get.install.isVisible)
    switch = LanguageSwitch(qapp)
    try:
        switch.choose(LanguageChoice.ZH_CN)
        QApplication.processEvents()
        assert get.install.text() == "安装"
        assert "独立环境" in get.facts.text()
    finally:
        switch.choose(LanguageChoice.EN)
        QApplication.processEvents()


def test_what_is_compiled_says_so_first_and_while_it_is(qtbot, page, services):
    section = page.engine.python_installs
    qtbot.waitUntil(section.install.isVisible)
    assert section.facts.text() == (
        "llama-cpp-python 0.3.36 in an environment of its own · 106 MB to fetch, about 212 MB on "
        "disk · licence MIT · compiled here: 10 to 20 minutes, and a C++ compiler"
    )
    services.desk.hold.add("installs.install")
    press(qtbot, section.install)
    assert not page.engine.installs.progress.isVisible()
    services.installs.tell(InstallPhase.PROVING, 0, 1)  # of the other engine
    assert "Compiling" not in section.progress.title()
    services.python_installs.tell(InstallPhase.COMPILING, 1, 2, "llama-cpp-python")
    qtbot.waitUntil(lambda: "Compiling, 10 to 20 minutes" in section.progress.title())
    services.installs.set_installed(installed_engine())
    assert section.rows == []


def test_gpus_and_the_processors_build_of_llama_cpp_python(qtbot, page, services):
    services.python_installs.lacks_gpu = True
    section = page.engine.python_installs
    section._look()
    qtbot.waitUntil(section.advice.isVisible)
    assert "CMAKE_ARGS" in section.advice.text()
