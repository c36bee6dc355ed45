"""Which theme is in force, its palette and its fonts. Qt thread.

``Theme`` follows the system's scheme (or the user's choice) and re-dresses the running app:
a Fusion palette, one style sheet, and ``changed`` for who keeps something rendered.
"""

from __future__ import annotations

import sys
from functools import cache

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from kimi_desktop.base.settings import ThemeChoice
from kimi_desktop.ui.stylesheet import style_sheet
from kimi_desktop.ui.tokens import BODY_PX, CODE_PX, DARK, LIGHT, Tokens

GENERIC_FAMILIES = frozenset({"", "sans", "sans serif", "sans-serif", "system-ui"})
UI_FAMILIES = (
    "Segoe UI Variable Text",
    "Segoe UI",
    "Inter",
    "Noto Sans",
    "Cantarell",
    "DejaVu Sans",
)
CJK_FAMILIES = (
    "PingFang SC",
    "Microsoft YaHei UI",
    "Microsoft YaHei",
    "Noto Sans CJK SC",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
)
MONO_FAMILIES = (
    "Cascadia Mono",
    "SF Mono",
    "Menlo",
    "Noto Sans Mono",
    "DejaVu Sans Mono",
    "Consolas",
)
CJK_MONO_FAMILIES = ("Noto Sans Mono CJK SC", *CJK_FAMILIES)

_in_force: list[Tokens] = [DARK]


def tokens() -> Tokens:
    """The tokens in force. Ask while painting; do not keep."""
    return _in_force[0]


def color(value: str) -> QColor:
    """A token as a colour."""
    return QColor(value)


def _installed(families: tuple[str, ...]) -> list[str]:
    return [family for family in families if QFontDatabase.hasFamily(family)]


@cache
def _ui_families() -> tuple[str, ...]:
    system = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont).families()
    own = [name for name in system if name.lower() not in GENERIC_FAMILIES]
    if sys.platform == "darwin" and own:
        return (*own, *_installed(CJK_FAMILIES))
    chosen = own or _installed(UI_FAMILIES)[:1] or list(system)
    return (*chosen, *_installed(CJK_FAMILIES), "sans-serif")


@cache
def _mono_families() -> tuple[str, ...]:
    chosen = _installed(MONO_FAMILIES)[:1] or [
        QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family()
    ]
    return (*chosen, *_installed(CJK_MONO_FAMILIES)[:1], "monospace")


@cache
def _font(families: tuple[str, ...], px: int, weight: QFont.Weight, *, mono: bool) -> QFont:
    font = QFont()
    font.setFamilies(list(families))
    font.setPixelSize(px)
    font.setWeight(weight)
    if mono:
        font.setStyleHint(QFont.StyleHint.Monospace)
    else:
        font.setFeature(QFont.Tag("tnum"), 1)  # figures of one width, so that numbers stand still
    return font


def ui_font(px: int = BODY_PX, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """The interface's font, with tabular figures and a CJK fallback."""
    return QFont(_font(_ui_families(), px, weight, mono=False))


def mono_font(px: int = CODE_PX, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """For code and for numbers in tables."""
    return QFont(_font(_mono_families(), px, weight, mono=True))


def has_chinese_font() -> bool:
    """Some installed family can write simplified Chinese."""
    return bool(QFontDatabase.families(QFontDatabase.WritingSystem.SimplifiedChinese))


def palette_of(t: Tokens) -> QPalette:
    """The Fusion palette of a theme."""
    palette = QPalette()
    role = QPalette.ColorRole
    for where, value in (
        (role.Window, t.window),
        (role.WindowText, t.text),
        (role.Base, t.panel),
        (role.AlternateBase, t.raised),
        (role.Text, t.text),
        (role.PlaceholderText, t.muted),
        (role.Button, t.panel),
        (role.ButtonText, t.text),
        (role.BrightText, t.bad),
        (role.ToolTipBase, t.raised),
        (role.ToolTipText, t.text),
        (role.Highlight, t.accent),
        (role.HighlightedText, t.on_accent),
        (role.Accent, t.accent),
        (role.Link, t.accent),
        (role.LinkVisited, t.kv),
        (role.Light, t.raised),
        (role.Midlight, t.hover),
        (role.Mid, t.line),
        (role.Dark, t.control),
        (role.Shadow, t.window),
    ):
        palette.setColor(where, QColor(value))
    for where in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, where, QColor(t.muted))
    return palette


class Theme(QObject):
    """Dresses the application. One per app; ``tokens()`` gives what it chose."""

    changed = Signal()

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app = app
        self._choice = ThemeChoice.SYSTEM
        # Without a desktop (bare X, offscreen) the scheme stays Unknown: the platform's own
        # palette, read before ours replaces it, is the next best witness.
        self._platform_dark = app.palette().color(QPalette.ColorRole.Window).lightness() < 128
        if app.style().objectName() != "fusion":  # making a style anew costs 8 ms of the start
            QApplication.setStyle("Fusion")
        app.setFont(ui_font())
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._on_scheme_changed)

    def choose(self, choice: ThemeChoice) -> None:
        """Wear what the user chose; ``SYSTEM`` follows the desktop."""
        self._choice = choice
        hints = QGuiApplication.styleHints()
        # Also tells the platform, whose title bar and native menus then match.
        if choice is ThemeChoice.SYSTEM:
            hints.unsetColorScheme()
        else:
            dark = choice is ThemeChoice.DARK
            hints.setColorScheme(Qt.ColorScheme.Dark if dark else Qt.ColorScheme.Light)
        self._dress()

    def _wanted(self) -> Tokens:
        if self._choice is not ThemeChoice.SYSTEM:
            return DARK if self._choice is ThemeChoice.DARK else LIGHT
        scheme = QGuiApplication.styleHints().colorScheme()
        if scheme is Qt.ColorScheme.Unknown:
            return DARK if self._platform_dark else LIGHT
        return DARK if scheme is Qt.ColorScheme.Dark else LIGHT

    def _dress(self) -> None:
        wanted = self._wanted()
        if self._app.styleSheet() and tokens() is wanted:
            return
        _in_force[0] = wanted
        QApplication.setPalette(palette_of(wanted))
        self._app.setStyleSheet(style_sheet(wanted))
        self.changed.emit()

    def _on_scheme_changed(self) -> None:
        if self._choice is ThemeChoice.SYSTEM:
            self._dress()
