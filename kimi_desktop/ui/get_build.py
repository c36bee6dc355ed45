"""Gets an official llama.cpp build: asks what fits, shows it, fetches it. Qt thread.

In the settings and in the set-up; nothing is asked of the network before somebody presses.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import describe_error, message
from kimi_desktop.base.operation import Cancelled, Operation
from kimi_desktop.base.units import format_file_size
from kimi_desktop.downloads.engine_builds.types import (
    BuildOffer,
    BuildOffers,
    BuildPhase,
    BuildProgressed,
    InstalledBuild,
)
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.field import Select
from kimi_desktop.ui.widgets.label import MEDIUM, Label, TextSize
from kimi_desktop.ui.widgets.progress_row import ProgressRow

MARGINS = (16, 12, 16, 12)


class GetBuild(QWidget):
    """Asks what there is, shows it before anything is fetched, fetches it."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__()
        self._bridge = bridge
        self._found: BuildOffers | None = None
        self._problem: BaseException | None = None
        self._looking = False
        self._operation: Operation[InstalledBuild] | None = None
        self._phase = BuildPhase.DOWNLOADING
        self._name = Label(weight=MEDIUM)
        self._note = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self.look = Button(icon="search")
        self.look.clicked.connect(self.ask)
        self.kind = Select(small=True)
        self.kind.currentIndexChanged.connect(self._show_offer)
        self.facts = Label(size=TextSize.SMALL, wrap=True)
        self.advice = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self.download = Button(kind=ButtonKind.PRIMARY, small=True)
        self.download.clicked.connect(self._install)
        self.progress = ProgressRow()
        self.progress.cancelled.connect(self._cancel)
        self.problem = Label(size=TextSize.SMALL, tone="bad", wrap=True)
        self._offer = QWidget()
        self._arrange()
        bridge.happened.connect(self._on_event)
        self.retranslate()

    def ask(self) -> None:
        """Look what the newest release has for this computer."""
        if self._looking or self._operation is not None:
            return
        self._looking, self._problem = True, None
        self._bridge.watch(self._bridge.services.builds.look(), self._on_found, self._on_failed)
        self.retranslate()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        busy = self._operation is not None
        self._name.setText(self.tr("Get an official build"))
        self._note.setText(
            self.tr("llama.cpp for your GPUs. The place of its releases is asked when you press.")
        )
        self.look.setText(self.tr("Looking") if self._looking else self.tr("See what fits"))
        self.look.setEnabled(not self._looking and not busy)
        self.kind.set_label(self.tr("Kind of build"))
        self.download.setText(self.tr("Download and use"))
        self._offer.setVisible(self._found is not None and not busy)
        self.progress.setVisible(busy)
        if busy:
            self.progress.set_title(message(f"builds.phase.{self._phase.value}", language()))
        text = " ".join(describe_error(self._problem, language())) if self._problem else ""
        self.problem.setText(text)
        self.problem.setVisible(bool(text))
        self._show_offer()

    def offer(self) -> BuildOffer | None:
        """The one that is chosen."""
        if self._found is None or not 0 <= self.kind.currentIndex() < len(self._found.offers):
            return None
        return self._found.offers[self.kind.currentIndex()]

    def _arrange(self) -> None:
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(self._name)
        texts.addWidget(self._note)
        head = QHBoxLayout()
        head.setSpacing(16)
        head.addLayout(texts, 1)
        head.addWidget(self.look)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self.kind)
        line.addWidget(self.facts, 1)
        line.addWidget(self.download)
        offer = QVBoxLayout(self._offer)
        offer.setContentsMargins(0, 8, 0, 0)
        offer.setSpacing(4)
        offer.addLayout(line)
        offer.addWidget(self.advice)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*MARGINS)
        layout.setSpacing(4)
        layout.addLayout(head)
        for widget in (self._offer, self.progress, self.problem):
            layout.addWidget(widget)

    def _on_found(self, found: BuildOffers) -> None:
        self._looking, self._found = False, found
        self.kind.blockSignals(True)
        self.kind.clear()
        for offer in found.offers:
            self.kind.addItem(accelerator_name(offer), offer.id)
        self.kind.blockSignals(False)
        self.kind.choose(found.offers[0].id)
        self.retranslate()

    def _show_offer(self) -> None:
        offer, found = self.offer(), self._found
        if offer is None or found is None:
            return
        for index, one in enumerate(found.offers):
            self.kind.setItemText(index, accelerator_name(one))
        self.facts.setText(
            self.tr("{version} · {size} · licence {licence} · from {host}").format(
                version=" ".join(filter(None, (offer.tag, offer.version))),
                size=format_file_size(offer.size_bytes),
                licence=", ".join(offer.licences),
                host=offer.host,
            )
        )
        notes = {"lacks_cuda": found.lacks_cuda, "lacks_vulkan": found.lacks_vulkan}
        keys = [key for key, holds in notes.items() if holds]
        self.advice.setText(" ".join(message(f"builds.{key}", language()) for key in keys))
        self.advice.setVisible(bool(keys))

    def _install(self) -> None:
        offer = self.offer()
        if offer is None or self._operation is not None:
            return
        self._problem, self._phase = None, BuildPhase.DOWNLOADING
        self._operation = self._bridge.services.builds.install(offer)
        self.progress.begin("")
        self.retranslate()
        self._bridge.watch(self._operation, self._on_installed, self._on_failed)

    def _cancel(self) -> None:
        if self._operation is not None:
            self._operation.cancel()

    def _on_installed(self, build: InstalledBuild) -> None:
        self._operation, self._found = None, None
        if build.sees_no_gpu:
            self._bridge.navigation.tell(no_gpu_words(build))
        else:
            self._bridge.navigation.tell(
                self.tr("{build} is used when the engine is started the next time.").format(
                    build=build.id
                )
            )
        self.retranslate()

    def _on_failed(self, error: BaseException) -> None:
        self._looking, self._operation = False, None
        self._problem = None if isinstance(error, Cancelled) else error
        self.retranslate()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, BuildProgressed) and self._operation is not None:
            if event.phase is not self._phase:
                self._phase = event.phase
                self.progress.begin(message(f"builds.phase.{event.phase.value}", language()))
            self.progress.show_bytes(event.done_bytes, event.total_bytes)


def accelerator_name(build: BuildOffer | InstalledBuild) -> str:
    """What it computes with."""
    return message(f"builds.accelerator.{build.accelerator.value}", language())


def no_gpu_words(build: InstalledBuild) -> str:
    """That it finds no GPU, and why."""
    key = "builds.sees_no_gpu_lacking" if build.lacking else "builds.sees_no_gpu"
    return message(key, language(), library=build.lacking)
