"""The model that the cursor is on: what its header says, and what can be done with it. Qt."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from kimi_desktop.backends.types import EngineState, EngineStatus
from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.units import (
    format_context,
    format_count,
    format_file_size,
    format_gib,
    format_parameters,
)
from kimi_desktop.models.hash_record import Witness
from kimi_desktop.models.types import LocalModel, ModelFacts, ModelFormat, ModelState
from kimi_desktop.models.will_load import LoadVerdict, load_sentences
from kimi_desktop.ui.dates import day_text, time_text
from kimi_desktop.ui.language import language
from kimi_desktop.ui.models.library_table import RowAction
from kimi_desktop.ui.models.model_chats import ModelChats
from kimi_desktop.ui.models.rows import (
    Row,
    companion_sentence,
    companion_word,
    is_bad,
    is_running,
    note_of,
    problem_of,
    state_of,
)
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.card import Surface
from kimi_desktop.ui.widgets.chip import Chip
from kimi_desktop.ui.widgets.label import MEDIUM, SEMIBOLD, ElidedLabel, Label, TextSize


class DetailsPane(Surface):
    """``wanted`` fires with an action and the model shown, ``chat_wanted`` with a chat's id."""

    wanted = Signal(object, object)
    chat_wanted = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, tone="panel", edges="l")
        self._row: Row | None = None
        self._status = EngineStatus(EngineState.STOPPED)
        self.title = Label(size=TextSize.HEADING, weight=SEMIBOLD, wrap=True)
        self._quantization = Label(size=TextSize.SMALL, tone="muted", mono=True)
        self._note = ElidedLabel(size=TextSize.SMALL, tone="muted")
        self.chip = Chip()
        self.problem = Label(wrap=True)
        self.advice = Label(wrap=True, tone="muted")
        self.loads = Label(wrap=True)
        self._verdict: LoadVerdict | None = None
        self.start = Button(kind=ButtonKind.PRIMARY, icon="play")
        self.plan = Button(icon="plan")
        self.folder = Button(icon="folder", kind=ButtonKind.QUIET, small=True)
        self.copy = Button(icon="copy", kind=ButtonKind.QUIET, small=True)
        self.verify = Button(icon="check", kind=ButtonKind.QUIET, small=True)
        self.move_button = Button(icon="disk", kind=ButtonKind.QUIET, small=True)
        self.remove = Button(icon="trash", kind=ButtonKind.QUIET, small=True)
        self.newer_label = Label(wrap=True)
        self.newer = Button(icon="download", small=True)
        self.chats = ModelChats()
        self.chats.chat_wanted.connect(self.chat_wanted)
        self._facts = QGridLayout()
        self._cells: list[tuple[Label, Label]] = []
        self._companions_title = Label(size=TextSize.SMALL, tone="muted")
        self._companions = Label(wrap=True)
        self._path_title = Label(size=TextSize.SMALL, tone="muted")
        self.path = Label(size=TextSize.SMALL, mono=True, wrap=True)
        self._arrange()
        for button, action in (
            (self.start, RowAction.START),
            (self.plan, RowAction.PLAN),
            (self.folder, RowAction.SHOW),
            (self.copy, RowAction.COPY),
            (self.verify, RowAction.VERIFY),
            (self.move_button, RowAction.MOVE),
            (self.remove, RowAction.REMOVE),
            (self.newer, RowAction.NEWER),
        ):
            button.clicked.connect(lambda _=False, a=action: self._ask(a))
        self.retranslate()

    def show_row(self, row: Row | None) -> None:
        """Show a model; None empties the pane."""
        if self._row is None or row is None or row.model != self._row.model:
            self._verdict = None
        self._row = row
        self.setVisible(row is not None)
        if row is not None:
            self._show()

    def show_loads(self, verdict: LoadVerdict | None) -> None:
        """Whether the chosen engine would load the model that is shown; None: nobody can say."""
        self._verdict = verdict
        self._show_loads()

    def shown_model(self) -> LocalModel | None:
        """The model that is shown."""
        return self._row.model if self._row else None

    def show_status(self, status: EngineStatus) -> None:
        """The engine's state changes the first button and the chip."""
        self._status = status
        if self._row is not None:
            self._show_state(self._row)

    def facts(self) -> dict[str, str]:
        """What the grid says."""
        return {name.text(): value.text() for name, value in self._cells if not name.isHidden()}

    def retranslate(self) -> None:
        """Set the words."""
        self.plan.setText(self.tr("Open in Plan"))
        self.folder.setText(self.tr("Show in folder"))
        self.copy.setText(self.tr("Copy path"))
        self.verify.setText(self.tr("Verify again"))
        self.newer.setText(self.tr("See the newer version…"))
        self.move_button.setText(self.tr("Move…"))
        self.move_button.setAccessibleName(self.tr("Move to another folder"))
        self.remove.setText(self.tr("Delete…"))
        self.chats.retranslate()
        self._companions_title.setText(self.tr("Comes with"))
        self._path_title.setText(self.tr("Path"))
        self.path.setAccessibleName(self.tr("Path"))
        self.show_row(self._row)

    def _arrange(self) -> None:
        self._facts.setHorizontalSpacing(12)
        self._facts.setVerticalSpacing(4)
        self._facts.setColumnStretch(1, 1)
        under = _row(self.chip, self._quantization)
        under.addWidget(self._note, 1)
        head = _column(4, self.title)
        head.addLayout(under)
        buttons = _row(self.start, self.plan)
        buttons.addStretch(1)
        small = QVBoxLayout()
        small.setSpacing(4)
        for pair in ((self.folder, self.copy), (self.verify, self.move_button), (self.remove,)):
            line = _row(*pair, spacing=4)
            line.addStretch(1)
            line.setContentsMargins(-8, 0, 0, 0)  # the quiet buttons' icons in line with the rest
            small.addLayout(line)
        inside = QWidget()
        layout = QVBoxLayout(inside)
        layout.setContentsMargins(16, 16, 16, 16)
        layout.setSpacing(12)
        for part in (
            head,
            _column(2, self.problem, self.advice, self.loads),
            _column(4, self.newer_label, self.newer),
            buttons,
            self._facts,
            _column(2, self._companions_title, self._companions),
            _column(2, self.chats),
            _column(2, self._path_title, self.path),
        ):
            layout.addLayout(part)
        layout.addSpacing(-8)
        layout.addLayout(small)
        layout.addStretch(1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.viewport().setAutoFillBackground(False)
        area.setWidget(inside)
        inside.setAutoFillBackground(False)  # setWidget switches it on
        outer = QVBoxLayout(self)
        outer.setContentsMargins(1, 0, 0, 0)
        outer.addWidget(area)

    def _show(self) -> None:
        row = self._row
        assert row is not None
        model, facts = row.model, row.model.facts
        self.title.setText(model.title)
        self._quantization.setText(facts.quantization if facts else "")
        self._quantization.setVisible(bool(facts and facts.quantization))
        self._note.setText(self.tr("demo, a base model") if model.is_starter else note_of(row))
        problem, advice = problem_of(model)
        if model.companion is not None and not problem:
            advice = companion_sentence(model.companion)
        self.problem.setText(_breakable(problem))
        if model.format is ModelFormat.SAFETENSORS and not problem:
            needs = ModelError(ErrorCode.MODEL_NEEDS_SERVER, {"name": model.title})
            advice = " ".join(describe_error(needs, language()))
        self.folder.setVisible(model.state is not ModelState.MISSING)
        self.problem.set_tone("bad" if is_bad(model) else "warn")
        self.problem.setVisible(bool(problem))
        self.advice.setText(advice)
        self.advice.setVisible(bool(advice))
        self._show_newer(row)
        self._show_loads()
        self._show_state(row)
        self._show_facts(model)
        self._companions_title.setVisible(bool(row.companions))
        self._companions.setVisible(bool(row.companions))
        self._companions.setText("\n".join(_companion_line(one) for one in row.companions))
        self.path.setText(_breakable(str(model.path)))

    def _show_newer(self, row: Row) -> None:
        """That a hub has another version, and the way to it."""
        newer = row.newer
        self.newer_label.setVisible(newer is not None)
        self.newer.setVisible(newer is not None)
        if newer is not None:
            text = self.tr("A newer version exists: commit {there}; here is {here}.")
            self.newer_label.setText(text.format(there=newer.there, here=newer.here))

    def _show_loads(self) -> None:
        """What the engine says; a problem of the file itself is said already."""
        verdict = self._verdict
        told = verdict is not None and verdict.will_load is not None and self.problem.isHidden()
        self.loads.setVisible(told)
        if verdict is None or not told:
            return
        pairs = load_sentences(verdict, language())
        self.loads.setText(" ".join(part for pair in pairs for part in pair if part))
        self.loads.set_tone("muted" if verdict.will_load and not verdict.warns else "warn")

    def _show_state(self, row: Row) -> None:
        ready = row.model.is_startable or row.model.is_served
        gone = row.model.state is ModelState.MISSING
        self.verify.setVisible(not gone)
        for button in (self.move_button, self.remove):
            button.setVisible(not gone)
            button.setEnabled(not is_running(row.model, self._status))
        running = is_running(row.model, self._status)
        self.chip.show_verdict(*state_of(row, self._status))
        self.start.setText(self.tr("Chat with it") if running else self.tr("Start"))
        self.start.set_icon("chat" if running else "play")
        self.start.setVisible(ready)
        self.plan.setVisible(row.model.is_startable and row.model.facts is not None)

    def _show_facts(self, model: LocalModel) -> None:
        rows = [(self.tr("File size"), format_file_size(model.size_bytes))]
        if model.parts_total > 1:
            of = self.tr("{count} of {total}")
            parts = of.format(count=model.parts_present, total=model.parts_total)
            rows.append((self.tr("Parts"), parts))
        rows.append((self.tr("Verified"), self._verified(model)))
        if model.facts is not None:
            rows += self._header_facts(model.facts, model.format)
        while len(self._cells) < len(rows):
            name = Label(size=TextSize.SMALL, tone="muted")
            value = Label(size=TextSize.SMALL, weight=MEDIUM, wrap=True)
            value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
            line = len(self._cells)
            self._facts.addWidget(name, line, 0, Qt.AlignmentFlag.AlignTop)
            self._facts.addWidget(value, line, 1)
            self._cells.append((name, value))
        for number, (name, value) in enumerate(self._cells):
            there = number < len(rows)
            name.setVisible(there)
            value.setVisible(there)
            name.setText(rows[number][0] if there else "")
            value.setText(rows[number][1] if there else "")

    def _verified(self, model: LocalModel) -> str:
        """When all of it was compared, and with what."""
        if model.verified is None:
            return self.tr("not yet")
        when = f"{day_text(model.verified.at)}, {time_text(model.verified.at)}"
        if model.verified.witness is Witness.NOBODY:
            return self.tr("{when}, against nothing but itself").format(when=when)
        return when

    def _header_facts(self, facts: ModelFacts, kind: ModelFormat) -> list[tuple[str, str]]:
        rows = [(self.tr("Weights"), format_gib(facts.weights_bytes))]
        if facts.parameter_count:
            rows.append((self.tr("Parameters"), format_parameters(facts.parameter_count)))
        rows.append((self.tr("Architecture"), facts.architecture))
        if facts.n_layer:
            rows.append((self.tr("Layers"), format_count(facts.n_layer)))
        if facts.n_expert:
            experts = self.tr("{count}, {used} per token")
            text = experts.format(count=format_count(facts.n_expert), used=facts.n_expert_used)
            rows.append((self.tr("Experts"), text))
        if facts.context_train:
            tokens = self.tr("{count} tokens").format(count=format_context(facts.context_train))
            rows.append((self.tr("Trained context"), tokens))
        if facts.kv_bytes_per_token:
            size = self.tr("{count} bytes per token").format(
                count=format_count(facts.kv_bytes_per_token)
            )
            rows.append((self.tr("KV cache (f16)"), size))
        if kind is not ModelFormat.GGUF or not facts.n_layer:
            return rows
        template = self.tr("in the file") if facts.chat_template else self.tr("none in the file")
        rows.append((self.tr("Chat template"), template))
        if facts.chat_template:
            rows.append(
                (self.tr("Thinking"), self.tr("yes") if facts.has_thinking else self.tr("no"))
            )
        return rows

    def _ask(self, action: RowAction) -> None:
        if self._row is not None:
            self.wanted.emit(action, self._row.model)


def _row(*widgets: QWidget, spacing: int = 8) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(spacing)
    for widget in widgets:
        row.addWidget(widget)
    return row


def _column(spacing: int, *widgets: QWidget) -> QVBoxLayout:
    column = QVBoxLayout()
    column.setSpacing(spacing)
    for widget in widgets:
        column.addWidget(widget)
    return column


def _companion_line(companion: LocalModel) -> str:
    assert companion.companion is not None
    kind = companion_word(companion.companion)
    return f"{companion.title} · {kind} · {format_file_size(companion.size_bytes)}"


def _breakable(path: str) -> str:
    """A path that may wrap after its separators (zero-width spaces, invisible)."""
    return path.replace("/", "/\u200b").replace("\\", "\\\u200b").replace("-", "-\u200b")
