"""Settings and set-up: official llama.cpp builds."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from kimi_desktop.base.errors import BackendError, DownloadError, ErrorCode
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.downloads.engine_builds.types import Accelerator, BuildPhase
from kimi_desktop.ui.language import LanguageSwitch
from kimi_desktop.ui.models.discover_view import DiscoverView
from kimi_desktop.ui.settings.page import SettingsPage
from kimi_desktop.ui.wizard.page import WizardPage
from tests.support.scripted_builds import installed_build


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("KIMI_DESKTOP_HOME", str(tmp_path))


@pytest.fixture
def page(qtbot, bridge) -> SettingsPage:
    widget = SettingsPage(bridge)
    qtbot.addWidget(widget)
    widget.resize(1200, 900)
    widget.show()
    return widget


def press(qtbot, widget) -> None:
    QApplication.processEvents()
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)
    QApplication.processEvents()


def test_what_there_is_is_shown_before_anything_is_fetched(qtbot, page, services):
    get = page.builds.get
    assert services.desk.called("builds.look") == 0
    services.desk.hold.add("builds.look")
    press(qtbot, get.look)
    assert get.look.text() == "Looking"
    services.desk.release("builds.look")
    qtbot.waitUntil(get.download.isVisible)
    assert get.facts.text() == "b11600 · 42 MB · licence MIT · from github.com"
    assert "-DGGML_CUDA=ON" in get.advice.text()
    assert services.desk.called("builds.install") == 0
    get.kind.choose("b11600-cpu")
    assert "17 MB" in get.facts.text()
    press(qtbot, get.download)
    assert services.desk.calls[-1][1][0].accelerator is Accelerator.CPU


def test_the_row_grows_with_what_it_shows(qtbot, page):
    get = page.builds.get
    before = get.height()
    press(qtbot, get.look)
    qtbot.waitUntil(lambda: get.height() >= before + get.facts.height() + get.advice.height())
    assert get.look.height() == get.look.sizeHint().height()


def test_progress_and_cancel(qtbot, page, services):
    get = page.builds.get
    press(qtbot, get.look)
    qtbot.waitUntil(get.download.isVisible)
    services.desk.hold.add("builds.install")
    press(qtbot, get.download)
    assert get.progress.isVisible()
    assert not get.download.isVisible()
    services.builds.tell(BuildPhase.DOWNLOADING, 21_000_000, 42_000_000)
    qtbot.waitUntil(lambda: "50%" in get.progress.facts())
    services.builds.tell(BuildPhase.UNPACKING, 10, 100)
    qtbot.waitUntil(lambda: get.progress.title() == "unpacking")
    press(qtbot, get.progress.cancel_button)
    qtbot.waitUntil(lambda: not get.progress.isVisible())
    assert not get.problem.isVisible()
    assert get.download.isVisible()


def test_a_build_that_is_installed_says_so(qtbot, page, services, bridge):
    notes = []
    bridge.navigation.note_made.connect(notes.append)
    get = page.builds.get
    press(qtbot, get.look)
    qtbot.waitUntil(get.download.isVisible)
    press(qtbot, get.download)
    qtbot.waitUntil(
        lambda: notes == ["b11600-vulkan is used when the engine is started the next time."]
    )
    assert not get.download.isVisible()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (DownloadError(ErrorCode.DOWNLOAD_OFFLINE, {"host": "github.com"}), "cannot be reached"),
        (DownloadError(ErrorCode.HUB_BUSY, {"host": "github.com", "wait_s": 60}), "1 min"),
        (
            DownloadError(
                ErrorCode.BUILD_NONE_HERE, {"host": "github.com", "system": "linux riscv"}
            ),
            "-DGGML_VULKAN=ON",
        ),
    ],
)
def test_what_stands_against_it_is_said_in_place(qtbot, page, services, error, words):
    services.builds.error = error
    press(qtbot, page.builds.get.look)
    qtbot.waitUntil(page.builds.get.problem.isVisible)
    assert words in page.builds.get.problem.text()
    assert page.builds.get.look.isEnabled()


def test_a_library_that_a_build_lacks_is_named(qtbot, page, services):
    get = page.builds.get
    press(qtbot, get.look)
    qtbot.waitUntil(get.download.isVisible)
    params = {"path": "llama-server", "library": "libcudart.so.13"}
    services.builds.error = BackendError(ErrorCode.ENGINE_MISSING_LIBRARY, params)
    press(qtbot, get.download)
    qtbot.waitUntil(get.problem.isVisible)
    assert "libcudart.so.13" in get.problem.text()


def test_builds_side_by_side(qtbot, page, services):
    blind = installed_build("b11400", devices=(), lacking="libvulkan.so.1")
    services.builds.set_builds(installed_build(in_use=True), blind)
    qtbot.waitUntil(lambda: len(page.builds.rows) == 2)
    first, second = page.builds.rows
    qtbot.waitUntil(first.chip.isVisible)
    assert not first.use.isVisible()
    assert "NVIDIA GeForce RTX 4090" in first.facts.text()
    assert "libvulkan.so.1 is missing" in second.facts.text()
    press(qtbot, second.use)
    qtbot.waitUntil(lambda: page.builds.rows[1].build.in_use)
    qtbot.waitUntil(lambda: page.builds.rows[1].chip.isVisible())  # noqa: PLW0108 - other rows
    press(qtbot, page.builds.rows[0].remove)
    qtbot.waitUntil(lambda: len(page.builds.rows) == 1)
    assert services.desk.called("builds.remove") == 1


def test_one_that_runs_is_not_removed(qtbot, page, services, bridge):
    problems = []
    bridge.navigation.problem_met.connect(problems.append)
    services.builds.set_builds(installed_build(in_use=True))
    qtbot.waitUntil(lambda: len(page.builds.rows) == 1)
    services.builds.error = BackendError(ErrorCode.BUILD_IN_USE, {"build": "b11549-vulkan"})
    press(qtbot, page.builds.rows[0].remove)
    qtbot.waitUntil(lambda: len(problems) == 1)
    assert len(page.builds.rows) == 1


def test_in_chinese(qtbot, page, services, qapp):
    services.builds.set_builds(installed_build(in_use=True))
    press(qtbot, page.builds.get.look)
    qtbot.waitUntil(page.builds.get.download.isVisible)
    switch = LanguageSwitch(qapp)
    try:
        switch.choose(LanguageChoice.ZH_CN)
        qtbot.waitUntil(lambda: "许可证 MIT" in page.builds.get.facts.text())
        assert "使用中" in page.builds.rows[0].chip.text()
        assert "Vulkan（各种 GPU）" in page.builds.rows[0].facts.text()
    finally:
        switch.choose(LanguageChoice.EN)


def test_discover_leads_there(qtbot, bridge, services):
    wanted = []
    bridge.navigation.settings_wanted.connect(wanted.append)
    services.discover.no_gpu_engine = True
    view = DiscoverView(bridge)
    qtbot.addWidget(view)
    view.resize(1200, 900)
    view.show()
    view.appear()
    press(qtbot, view.get_engine)
    assert wanted == ["builds"]


def test_the_section_is_shown_and_asked(qtbot, page, bridge, services):
    bridge.navigation.open_settings("builds")
    qtbot.waitUntil(lambda: services.desk.called("builds.look") == 1)


def test_the_set_up_gets_one_in_place(qtbot, bridge, services):
    services.discover.no_gpu_engine = True
    wizard = WizardPage(bridge)
    qtbot.addWidget(wizard)
    wizard.resize(1200, 900)
    wizard.show()
    wizard.show_step(1)
    step = wizard.step
    qtbot.waitUntil(step.engine_note.isVisible)
    press(qtbot, step.get_engine)
    qtbot.waitUntil(step.get_build.download.isVisible)
    services.discover.no_gpu_engine = False
    services.builds.set_builds(installed_build(in_use=True))
    qtbot.waitUntil(lambda: not step.engine_note.isVisible())
    assert not step.get_build.isVisible()
