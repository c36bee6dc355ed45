"""Settings: what runs here, in versions, and under which licences. Qt thread."""

from __future__ import annotations

import platform
from importlib import metadata

import PySide6
from PySide6.QtCore import QEvent
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QGridLayout, QWidget

import kimi_desktop
from kimi_desktop.backends.types import EngineStateChanged
from kimi_desktop.base.events import Event
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.settings.rows import SettingRow, SettingsCard
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.label import MEDIUM, Label, TextSize

LIBRARIES = (
    ("PySide6-Essentials", "LGPL-3.0"),
    ("xllamacpp", "MIT"),
    ("httpx", "BSD-3-Clause"),
    ("markdown-it-py", "MIT"),
    ("Pygments", "BSD-2-Clause"),
    ("psutil", "BSD-3-Clause"),
    ("platformdirs", "MIT"),
    ("nvidia-ml-py", "BSD-3-Clause"),
)
"""What the app stands on, with the licences that their distributions name."""


def installed_version(distribution: str) -> str:
    """Its version, "" when it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


class AboutCard(SettingsCard):
    """Versions to copy into a report, and the licences on demand."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__()
        self._bridge = bridge
        self.copy_button = Button(icon="copy", small=True)
        self.licences_button = Button(small=True)
        self.copy_button.clicked.connect(self._copy)
        self.licences_button.clicked.connect(self._toggle)
        self._row = SettingRow(self.licences_button, self.copy_button)
        self.licences = _Licences()
        self.licences.hide()
        self.show_rows((self._row, self.licences))
        bridge.happened.connect(self._on_event)
        self.retranslate()

    def versions(self) -> str:
        """One line of versions."""
        parts = [f"Kimi Desktop {kimi_desktop.__version__}"]
        if engine := self._bridge.services.engine.status.engine_name:
            parts.append(engine)
        parts.append(f"Qt {PySide6.__version__}")
        parts.append(f"Python {platform.python_version()}")
        parts.append(f"{platform.system()} {platform.release()}")
        return " · ".join(parts)

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        self._row.set_texts(f"Kimi Desktop {kimi_desktop.__version__}", self.versions())
        self.copy_button.setText(self.tr("Copy versions"))
        self.copy_button.setAccessibleName(self.tr("Copy versions"))
        shown = self.licences.isVisibleTo(self)
        self.licences_button.setText(
            self.tr("Hide licences") if shown else self.tr("Show licences")
        )
        self.licences_button.setAccessibleName(self.licences_button.text())
        self.licences.set_head(
            self.tr("Kimi Desktop is free software under the Apache License 2.0. It stands on:")
        )

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.versions())
        self._bridge.navigation.tell(self.tr("Versions copied."))

    def _toggle(self) -> None:
        self.licences.setVisible(not self.licences.isVisibleTo(self))
        self.retranslate()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, EngineStateChanged):
            self._row.set_texts(f"Kimi Desktop {kimi_desktop.__version__}", self.versions())


class _Licences(QWidget):
    """Name, version, licence."""

    def __init__(self) -> None:
        super().__init__()
        grid = QGridLayout(self)
        grid.setContentsMargins(16, 12, 16, 12)
        grid.setHorizontalSpacing(24)
        grid.setVerticalSpacing(4)
        self._head = Label(tone="muted", wrap=True)
        grid.addWidget(self._head, 0, 0, 1, 3)
        grid.setColumnStretch(2, 1)
        for number, (name, licence) in enumerate(LIBRARIES, start=1):
            version = installed_version(name)
            grid.addWidget(Label(name, weight=MEDIUM), number, 0)
            grid.addWidget(Label(version, size=TextSize.SMALL, tone="muted"), number, 1)
            grid.addWidget(Label(licence, size=TextSize.SMALL, tone="muted"), number, 2)

    def set_head(self, text: str) -> None:
        self._head.setText(text)
