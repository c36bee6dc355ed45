"""The same model over several machines: who they are, what to run on each, copied. Qt thread."""

from __future__ import annotations

import re
from functools import partial

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.backends.nodes.checks import checked_words
from kimi_desktop.backends.nodes.offer import NodesOffer
from kimi_desktop.backends.nodes.types import NodeFacts
from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.messages import describe_error, message
from kimi_desktop.planner.vllm_flags import KEY_FILE
from kimi_desktop.planner.vllm_report import server_headline
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.latest import LatestOnly
from kimi_desktop.ui.server_plan.planning import ServerPlanning
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.code_block import CodeBlock
from kimi_desktop.ui.widgets.field import Field
from kimi_desktop.ui.widgets.fold import Fold
from kimi_desktop.ui.widgets.label import Label, TextSize

MOST_COLUMNS = 72

_BREAKS = re.compile(r" (?=--\w|[A-Z_]{4,}=|\S+ serve |\|\| |&& |read )")


class NodesView(QWidget):
    """Folded away until somebody has more than one machine."""

    def __init__(
        self, bridge: Bridge, planning: ServerPlanning, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._planning = planning
        self._latest = LatestOnly(bridge, self)
        self._offer: NodesOffer | None = None
        self._error: KimiError | None = None
        self.fold = Fold()
        self.nodes = Field()
        self.check = Button()
        self.checked = Label(size=TextSize.SMALL, wrap=True)
        self._facts: tuple[NodeFacts, ...] = ()
        self._checking = False
        self.sentence = Label(wrap=True)
        self.problem = Label(size=TextSize.SMALL, tone="bad", wrap=True)
        self._note = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self._warning = Label(size=TextSize.SMALL, tone="warn", wrap=True)
        self.blocks: list[CodeBlock] = []
        self._blocks = QVBoxLayout()
        self._blocks.setSpacing(8)
        self._inside = QWidget()
        inside = QVBoxLayout(self._inside)
        inside.setContentsMargins(0, 0, 0, 0)
        inside.setSpacing(8)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self.nodes, 1)
        line.addWidget(self.check)
        inside.addWidget(self._note)
        inside.addWidget(self._warning)
        inside.addLayout(line)
        for widget in (self.problem, self.checked, self.sentence):
            inside.addWidget(widget)
        inside.addLayout(self._blocks)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self.fold)
        layout.addWidget(self._inside)
        self._inside.hide()
        self.fold.toggled.connect(self._on_fold)
        self.nodes.textChanged.connect(self._on_typed)
        self.check.clicked.connect(self._check)
        planning.changed.connect(self._ask)
        self.retranslate()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        self.fold.set_texts(self.tr("Several machines"), self.tr("alike, with the same vLLM"))
        self.nodes.set_label(self.tr("Addresses of the machines, this one first"))
        self.nodes.setPlaceholderText("10.0.0.1 10.0.0.2=gpu2")
        self._note.setText(
            self.tr(
                "Addresses in your private network; the first machine answers requests. With "
                "=NAME, what ssh knows a machine as, the last line checks it, starts there and "
                "ends there."
            )
        )
        key = message("nodes.key", language(), path=KEY_FILE)
        self._warning.setText(f"{message('nodes.warning', language())} {key}")
        self._show()

    def _on_fold(self, opened: bool) -> None:
        self._inside.setVisible(opened)
        self._ask()

    def _on_typed(self) -> None:
        self._facts = ()  # of other machines
        self._ask()

    def _check(self) -> None:
        model = self._planning.model
        if model is None:
            return
        self._checking, self._facts, self._error = True, (), None
        typed = self.nodes.text().strip()
        operation = self._bridge.services.servers.check_nodes(model, typed)
        self._bridge.watch(
            operation,
            partial(self._on_checked, typed),
            partial(self._on_refused, typed),
            owner=self,
        )
        self._show()

    def _on_checked(self, typed: str, facts: tuple[NodeFacts, ...]) -> None:
        self._checking = False
        if typed == self.nodes.text().strip():
            self._facts = facts
        self._show()

    def _on_refused(self, typed: str, error: BaseException) -> None:
        self._checking = False
        if typed == self.nodes.text().strip() or not isinstance(error, KimiError):
            self._on_failed(error)
        self._show()

    def _ask(self) -> None:
        offer, model = self._planning.offer, self._planning.model
        typed = self.nodes.text().strip()
        self.setVisible(offer is not None and model is not None and not self._planning.on_cpu)
        if offer is None or model is None or not typed or not self.fold.isChecked():
            self._offer, self._error = None, None
            self._show()
            return
        make = partial(
            self._bridge.services.servers.for_nodes,
            model,
            offer,
            self._planning.wishes,
            typed,
            trusts_code=self._planning.allowed,
        )
        self._latest.ask(make, self._on_offer, self._on_no_offer)

    def _on_offer(self, offer: NodesOffer | None) -> None:
        self._offer, self._error = offer, None
        self._show()

    def _on_no_offer(self, error: BaseException) -> None:
        self._offer = None
        self._on_failed(error)

    def _on_failed(self, error: BaseException) -> None:
        if isinstance(error, KimiError):
            self._error = error
            self._show()
        else:
            self._bridge.navigation.report(error)

    def _show(self) -> None:
        offer = self._offer if self.nodes.text().strip() else None
        text = " ".join(describe_error(self._error, language())) if self._error else ""
        self.problem.setText(text)
        self.problem.setVisible(bool(text))
        self.sentence.setText(server_headline(offer.plan, language()) if offer else "")
        self.sentence.setVisible(offer is not None)
        self.check.setText(self.tr("Checking") if self._checking else self.tr("Check"))
        self.check.setAccessibleName(self.tr("Check the machines over ssh"))
        self.check.setEnabled(bool(self.nodes.text().strip()) and not self._checking)
        lines = checked_words(self._facts, language())
        if lines:
            lines = (*lines, message("nodes.checked", language()))
        self.checked.setText("\n".join(lines))
        self.checked.setVisible(bool(lines))
        shown = []
        if offer is not None:
            on = self.tr("On {machine}")
            shown = [(on.format(machine=each.name), each.line) for each in offer.lines]
            shown.append((self.tr("All of them from here, over ssh"), offer.verb))
        while len(self.blocks) < len(shown):
            self.blocks.append(CodeBlock())
            self._blocks.addWidget(self.blocks[-1])
        for number, block in enumerate(self.blocks):
            block.setVisible(number < len(shown))
            block.copy.set_words(self.tr("Copy"), self.tr("Copied"))
        for block, (name, line) in zip(self.blocks, shown, strict=False):
            block.show_code(name, line, wrapped(line))


def wrapped(line: str) -> str:
    """The same for a shell, broken between variables and flags."""
    rows = [""]
    for part in _BREAKS.split(line):
        if rows[-1] and len(rows[-1]) + len(part) >= MOST_COLUMNS:
            rows.append("")
        rows[-1] += f" {part}" if rows[-1] else part
    return " \\\n  ".join(rows)
