"""The Chinese translation is whole, fresh, and switches in the running window."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QApplication, QLabel

from kimi_desktop.base.messages import Language
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.ui.language import LanguageSwitch, language, wanted_language
from kimi_desktop.ui.main_window import MainWindow
from kimi_desktop.ui.navigation import PAGES
from kimi_desktop.ui.pages import Page

TOOL = Path(__file__).resolve().parents[2] / "tools" / "translations.py"
_spec = importlib.util.spec_from_file_location("translations_tool", TOOL)
assert _spec is not None
assert _spec.loader is not None
tool = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = tool
_spec.loader.exec_module(tool)


@pytest.fixture
def switch(qapp: QApplication) -> Iterator[LanguageSwitch]:
    """Speaks English again afterwards."""
    owner = LanguageSwitch(qapp)
    yield owner
    owner.choose(LanguageChoice.EN)


def test_nothing_is_missing_stale_or_wrong():
    assert tool.check() == []


def test_rates_are_told_in_chinese():
    files = sorted((TOOL.parents[1] / "assets" / "translations").glob("*_zh_CN.ts"))
    assert files
    for file in files:
        for said in ElementTree.parse(file).iter("translation"):
            assert "tok/s" not in (said.text or "")


def test_the_parts_cover_every_file_once():
    files = [path for part in tool.PARTS for path in tool.sources(part)]
    assert sorted(files) == sorted(tool.UI.rglob("*.py"))


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ('self.tr("Plain")', False),
        ('self.tr("Fields {n}").format(n=1)', False),
        ('QCoreApplication.translate("Context", "Plain")', False),
        ('self.tr(f"Number {n}")', True),
        ("self.tr(text)", True),
        ('self.tr("One" + two)', True),
        ("f\"{self.tr('Inside')} {n}\"", True),
        ('translate("Context", text)', True),
        ('QCoreApplication.translate("Context", text)', True),
        ("painter.translate(x, y)", False),
    ],
)
def test_texts_that_cannot_be_collected_are_found(code, wrong):
    assert bool(tool.wrong_calls(Path("page.py"), code)) is wrong


@pytest.mark.parametrize(
    ("source", "translation", "finished", "wrong"),
    [
        ("Close", "关闭", True, False),
        ("Close", "", True, True),
        (" ", "", True, False),
        (" ", "", False, True),
        ("Close", "关闭", False, True),
        ("{count} files", "{count} 个文件", True, False),
        ("{count} files", "{n} 个文件", True, True),
        ("{count} files", "几个文件", True, True),
        ("%n file(s)", "%n 个文件", True, False),
        ("%n file(s)", "文件", True, True),
        ("Close", "关{闭", True, True),
    ],
)
def test_wrong_translations_are_found(source, translation, finished, wrong):
    entry = tool.Entry("frame", "Page", source, (translation,), finished, False)
    assert bool(tool.wrong_entries([entry])) is wrong


def test_plural_forms_must_all_be_there():
    entry = tool.Entry("frame", "Page", "%n file(s)", ("%n 个文件", ""), True, True)
    assert tool.wrong_entries([entry])


def test_a_choice_speaks_at_once(switch):
    switch.choose(LanguageChoice.ZH_CN)
    assert language() is Language.ZH_CN
    assert QCoreApplication.translate("MainWindow", "Settings") == "设置"
    assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "取消"  # Qt's own words
    switch.choose(LanguageChoice.EN)
    assert language() is Language.EN
    assert QCoreApplication.translate("MainWindow", "Settings") == "Settings"


def test_the_system_is_asked(monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert wanted_language(LanguageChoice.SYSTEM) is Language.ZH_CN
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert wanted_language(LanguageChoice.SYSTEM) is Language.EN


def test_the_running_window_changes_its_words(qtbot, bridge, switch):
    window = MainWindow(bridge, [Page(name, name, lambda _: QLabel()) for name in PAGES])
    qtbot.addWidget(window)
    window.show()
    assert window.top_bar.switch_button().text() == "Stop engine"

    switch.choose(LanguageChoice.ZH_CN)
    QApplication.processEvents()

    assert window.top_bar.switch_button().text() == "停止引擎"
    assert window.rail.item("monitor").accessibleName() == "监控"
    assert window.status_bar.cells()[1].before == "首字延迟 "
    qtbot.keyClick(window, "k", Qt.KeyboardModifier.ControlModifier)
    assert any(entry.title == "新对话" for entry in window.overlays.current.entries())
