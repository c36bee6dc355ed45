"""Settings, Engine: an engine in an environment of its own: what fits, its size, get, remove."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.backends.install.types import (
    InstalledEngine,
    InstallKind,
    InstallOffer,
    InstallPhase,
    InstallProgressed,
    Installs,
    InstallsChanged,
)
from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import describe_error, message
from kimi_desktop.base.operation import Cancelled, Operation
from kimi_desktop.base.units import format_file_size
from kimi_desktop.ui.bridge import Bridge, SettingsChanged
from kimi_desktop.ui.language import language
from kimi_desktop.ui.services.engines import EngineInstallService
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.chip import Chip, Verdict
from kimi_desktop.ui.widgets.field import Select
from kimi_desktop.ui.widgets.label import MEDIUM, Label, TextSize
from kimi_desktop.ui.widgets.progress_row import ProgressRow

MARGINS = (16, 12, 16, 12)


class InstallsSection(QWidget):
    """Nothing is asked of the network before somebody presses."""

    def __init__(self, bridge: Bridge, kind: InstallKind, service: EngineInstallService) -> None:
        super().__init__()
        self._bridge = bridge
        self._kind = kind
        self._service = service
        self._found: Installs | None = None
        self._operation: Operation[InstalledEngine] | None = None
        self._phase: InstallPhase | None = None
        self._problem: BaseException | None = None
        self.rows: list[InstalledRow] = []
        self._begun: set[str] = set()
        self._whole: set[str] = set()
        self._name = Label(weight=MEDIUM)
        self.facts = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self.advice = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self.kind = Select(small=True)
        self.install = Button(small=True, icon="download")
        self.progress = ProgressRow()
        self.problem = Label(size=TextSize.SMALL, tone="bad", wrap=True)
        self._rows = QVBoxLayout()
        self._arrange()
        self.kind.currentIndexChanged.connect(self._show)
        self.install.clicked.connect(self._on_install)
        self.progress.cancelled.connect(self._on_cancel)
        bridge.happened.connect(self._on_event)
        self._show()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self._show()
        super().changeEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        """The computer and the folder are looked at when somebody looks."""
        super().showEvent(event)
        if self._found is None:
            self._look()

    def offer(self) -> InstallOffer | None:
        """The one that is chosen."""
        offers = self._found.offers if self._found is not None else ()
        place = max(self.kind.currentIndex(), 0)
        return offers[place] if place < len(offers) else None

    def _look(self) -> None:
        self._bridge.watch(self._service.look(), self._on_found, self._bridge.navigation.report)

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self._name)
        head.addStretch(1)
        head.addWidget(self.kind)
        head.addWidget(self.install)
        self._rows.setSpacing(8)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*MARGINS)
        layout.setSpacing(4)
        layout.addLayout(self._rows)
        layout.addLayout(head)
        for widget in (self.facts, self.advice, self.progress, self.problem):
            layout.addWidget(widget)

    def _on_found(self, found: Installs) -> None:
        self._found = found
        self.kind.blockSignals(True)
        self.kind.clear()
        for offer in found.offers:
            self.kind.addItem(kind_of(offer), offer.id)
        self.kind.blockSignals(False)
        self._fill(found.installed)

    def _fill(self, installed: tuple[InstalledEngine, ...]) -> None:
        for row in self.rows:
            self._rows.removeWidget(row)
            row.hide()
            row.deleteLater()
        self.rows = [InstalledRow(each) for each in installed if each.is_whole]
        for row in self.rows:
            row.use_wanted.connect(self._on_use)
            row.remove_wanted.connect(self._on_remove)
            self._rows.addWidget(row)
        self._begun = {each.id for each in installed if not each.is_whole}
        self._whole = {each.id for each in installed if each.is_whole}
        self._show()

    def _show(self) -> None:
        """Everything that can be said."""
        busy, offer = self._operation is not None, self.offer()
        self._name.setText(self.tr("Install {name}").format(name=self._kind.title))
        self.kind.set_label(self.tr("Kind of build"))
        self.kind.setVisible(self._found is not None and len(self._found.offers) > 1 and not busy)
        begun = offer is not None and offer.id in self._begun
        here = offer is not None and offer.id in self._whole
        self.install.setText(self.tr("Go on") if begun else self.tr("Install"))
        self.install.setVisible(offer is not None and not busy and not here)
        self.facts.setText(self._facts(offer, here=here))
        self._show_advice(offer)
        self.progress.setVisible(busy)
        text = " ".join(describe_error(self._problem, language())) if self._problem else ""
        self.problem.setText(text)
        self.problem.setVisible(bool(text))

    def _facts(self, offer: InstallOffer | None, *, here: bool) -> str:
        if offer is None:
            none = message(f"installs.none_here.{self._kind.name}", language())
            return none if self._found is not None else ""
        if here:
            return self.tr("{name} is here.").format(name=offer.name)
        words = self.tr(
            "{name} in an environment of its own · {fetched} to fetch, about {kept} on disk · "
            "licence {licence}"
        )
        text = words.format(
            name=offer.name,
            fetched=format_file_size(offer.size_bytes),
            kept=format_file_size(offer.installed_bytes),
            licence=", ".join(offer.licences),
        )
        if not offer.compiles:
            return text
        return text + " · " + self.tr("compiled here: 10 to 20 minutes, and a C++ compiler")

    def _show_advice(self, offer: InstallOffer | None) -> None:
        lacks = self._found is not None and self._found.lacks_gpu and offer is not None
        self.advice.setText(
            message(f"installs.lacks_gpu.{self._kind.name}", language()) if lacks else ""
        )
        self.advice.setVisible(lacks)

    def _on_install(self) -> None:
        offer = self.offer()
        if offer is None or self._operation is not None:
            return
        self._problem, self._phase = None, None
        self._operation = self._service.install(offer)
        self.progress.begin(message("installs.phase.preparing", language()))
        self._show()
        self._bridge.watch(self._operation, self._on_installed, self._on_failed)

    def _on_cancel(self) -> None:
        if self._operation is not None:
            self._operation.cancel()

    def _on_installed(self, engine: InstalledEngine) -> None:
        self._operation = None
        words = self.tr("{build} is used when the engine is started the next time.")
        self._bridge.navigation.tell(words.format(build=engine.name))
        self._look()

    def _on_failed(self, error: BaseException) -> None:
        self._operation = None
        self._problem = None if isinstance(error, Cancelled) else error
        self._look()

    def _on_use(self, install_id: str) -> None:
        self._bridge.watch(
            self._service.use(install_id),
            on_error=self._bridge.navigation.report,
        )
        self._bridge.navigation.tell(self.tr("Used when the engine is started the next time."))

    def _on_remove(self, install_id: str) -> None:
        self._bridge.watch(
            self._service.remove(install_id),
            on_error=self._bridge.navigation.report,
        )

    def _on_event(self, event: Event) -> None:
        if isinstance(event, InstallProgressed):
            if self._operation is not None and event.kind == self._kind:
                self._show_progress(event)
        elif isinstance(event, InstallsChanged) and event.kind == self._kind:
            self._fill(event.installed)
        elif isinstance(event, SettingsChanged) and self._found is not None:
            self._look()  # the field above may name another Python now

    def _show_progress(self, event: InstallProgressed) -> None:
        title = message(f"installs.phase.{event.phase.value}", language())
        if event.phase is not self._phase:
            self._phase = event.phase
            self.progress.begin(title)
        if event.package:
            self.progress.set_title(f"{title}: {event.package}")
        if event.phase is InstallPhase.FETCHING:
            self.progress.show_bytes(event.done_bytes, event.total_bytes)


class InstalledRow(QWidget):
    """An environment that is here."""

    use_wanted = Signal(str)
    remove_wanted = Signal(str)

    def __init__(self, engine: InstalledEngine) -> None:
        super().__init__()
        self.engine = engine
        self._name = Label(weight=MEDIUM)
        self.chip = Chip()
        self._size = Label(size=TextSize.SMALL, tone="muted")
        self.use, self.remove = Button(small=True), Button(small=True)
        self.use.clicked.connect(partial(self.use_wanted.emit, engine.id))
        self.remove.clicked.connect(partial(self.remove_wanted.emit, engine.id))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        for widget in (self._name, self.chip, self._size):
            layout.addWidget(widget)
        layout.addStretch(1)
        for button in (self.use, self.remove):
            layout.addWidget(button)
        self.retranslate()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        engine = self.engine
        self._name.setText(engine.name)
        self.chip.show_verdict(Verdict.OK, self.tr("In use"))
        self.chip.setVisible(engine.in_use)
        self._size.setText(format_file_size(engine.size_bytes))
        self.use.setText(self.tr("Use"))
        self.use.setAccessibleName(self.tr("Use {build}").format(build=engine.name))
        self.use.setVisible(not engine.in_use)
        self.remove.setText(self.tr("Remove"))
        self.remove.setAccessibleName(self.tr("Remove {build}").format(build=engine.name))


def kind_of(offer: InstallOffer) -> str:
    """What it computes with, in a word."""
    word = message(f"builds.accelerator.{offer.accelerator}", language())
    return f"{offer.version} · {word}"
