"""The language of the window: loads the translations and switches them live. Qt thread.

Qt then sends LanguageChange to every widget, which sets its words again. Texts of
``base.messages`` take ``language()``.
"""

from __future__ import annotations

from PySide6.QtCore import QLibraryInfo, QLocale, QObject, QTranslator, Signal
from PySide6.QtWidgets import QApplication

from kimi_desktop.base.assets import asset
from kimi_desktop.base.messages import Language, system_language
from kimi_desktop.base.settings import LanguageChoice

_in_force: list[Language] = [Language.EN]


def language() -> Language:
    """The language in force."""
    return _in_force[0]


def wanted_language(choice: LanguageChoice) -> Language:
    """What a choice means on this system."""
    if choice is LanguageChoice.SYSTEM:
        return system_language()
    return Language.ZH_CN if choice is LanguageChoice.ZH_CN else Language.EN


class LanguageSwitch(QObject):
    """Owns the translators. One per app."""

    changed = Signal()

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app = app
        self._translators: list[QTranslator] = []
        _in_force[0] = Language.EN

    def choose(self, choice: LanguageChoice) -> None:
        """Speak the language of the choice from now on."""
        wanted = wanted_language(choice)
        if wanted is language() and (self._translators or wanted is Language.EN):
            return
        _in_force[0] = wanted
        chinese = wanted is Language.ZH_CN
        QLocale.setDefault(QLocale("zh_CN" if chinese else "en_US"))
        for old in self._translators:
            self._app.removeTranslator(old)
        self._translators = []
        if chinese:
            qt_folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
            for file in (
                f"{qt_folder}/qtbase_zh_CN.qm",
                str(asset("translations/kimi_desktop_zh_CN.qm")),
            ):
                translator = QTranslator(self)
                if translator.load(file):
                    self._app.installTranslator(translator)
                    self._translators.append(translator)
        self.changed.emit()
