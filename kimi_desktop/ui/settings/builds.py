"""Settings: official llama.cpp builds that are here; used, removed, and got. Qt thread."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.base.events import Event
from kimi_desktop.base.units import format_file_size
from kimi_desktop.downloads.engine_builds.types import BuildsChanged, InstalledBuild
from kimi_desktop.ui.bridge import Bridge, SettingsChanged
from kimi_desktop.ui.get_build import MARGINS, GetBuild, accelerator_name, no_gpu_words
from kimi_desktop.ui.settings.rows import SettingsCard
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.chip import Chip, Verdict
from kimi_desktop.ui.widgets.label import MEDIUM, Label, TextSize


class BuildsCard(SettingsCard):
    """One row a build that is here, and one to get another."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__()
        self._bridge = bridge
        self._asked = False
        self.rows: list[BuildRow] = []
        self.get = GetBuild(bridge)
        self.show_rows((self.get,))
        bridge.happened.connect(self._on_event)

    def showEvent(self, event: QShowEvent) -> None:
        """The folder is read when somebody looks."""
        super().showEvent(event)
        if not self._asked:
            self._asked = True
            self._read()

    def _read(self) -> None:
        self._bridge.watch(self._bridge.services.builds.installed(), self._fill, self._failed)

    def _fill(self, builds: tuple[InstalledBuild, ...]) -> None:
        self.rows = [BuildRow(build) for build in builds]
        for row in self.rows:
            row.use_wanted.connect(self._use)
            row.remove_wanted.connect(self._remove)
        self.show_rows((*self.rows, self.get))

    def _use(self, build_id: str) -> None:
        self._bridge.watch(
            self._bridge.services.builds.use(build_id), on_error=self._failed, owner=self
        )
        self._bridge.navigation.tell(self.tr("Used when the engine is started the next time."))

    def _remove(self, build_id: str) -> None:
        self._bridge.watch(
            self._bridge.services.builds.remove(build_id), on_error=self._failed, owner=self
        )

    def _failed(self, error: BaseException) -> None:
        self._bridge.navigation.report(error)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, BuildsChanged):
            self._fill(event.builds)
        elif isinstance(event, SettingsChanged) and self._asked:
            self._read()  # the field above may name another program now


class BuildRow(QWidget):
    """A build that is here."""

    use_wanted = Signal(str)
    remove_wanted = Signal(str)

    def __init__(self, build: InstalledBuild) -> None:
        super().__init__()
        self.build = build
        self._name = Label(weight=MEDIUM)
        self.chip = Chip()
        self.facts = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self.use = Button(small=True)
        self.remove = Button(small=True)
        self.use.clicked.connect(partial(self.use_wanted.emit, build.id))
        self.remove.clicked.connect(partial(self.remove_wanted.emit, build.id))
        head = QHBoxLayout()
        head.setSpacing(8)
        for widget in (self._name, self.chip):
            head.addWidget(widget)
        head.addStretch(1)
        for button in (self.use, self.remove):
            head.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*MARGINS)
        layout.setSpacing(2)
        layout.addLayout(head)
        layout.addWidget(self.facts)
        self.retranslate()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        build = self.build
        self._name.setText(f"llama.cpp {build.tag}")
        self.chip.show_verdict(Verdict.OK, self.tr("In use"))
        self.chip.setVisible(build.in_use)
        facts = [accelerator_name(build), format_file_size(build.size_bytes)]
        if build.sees_no_gpu:
            facts.append(no_gpu_words(build))
        else:
            facts += [device.partition(": ")[2] or device for device in build.devices]
        self.facts.setText(" · ".join(facts))
        self.facts.set_tone("warn" if build.sees_no_gpu else "muted")
        self.use.setText(self.tr("Use"))
        self.use.setAccessibleName(self.tr("Use {build}").format(build=build.id))
        self.use.setVisible(not build.in_use)
        self.remove.setText(self.tr("Remove"))
        self.remove.setAccessibleName(self.tr("Remove {build}").format(build=build.id))
