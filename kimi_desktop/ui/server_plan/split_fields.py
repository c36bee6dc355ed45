"""How a model is divided over GPUs: five choices, each legal beside the rest. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from kimi_desktop.backends.server_facts import FLAGS_OF, BuildFacts
from kimi_desktop.base.messages import message
from kimi_desktop.planner.vllm_choices import AXES, Choice, SplitChoices
from kimi_desktop.planner.vllm_types import Problem, Split
from kimi_desktop.ui.language import language
from kimi_desktop.ui.widgets.field import LabeledField
from kimi_desktop.ui.widgets.label import Label, TextSize
from kimi_desktop.ui.widgets.legal_select import LegalItem, LegalSelect
from kimi_desktop.ui.widgets.toggle import CheckBox


def problem_words(problem: Problem | None) -> str:
    """Why something is not possible; "" when it is."""
    if problem is None:
        return ""
    return message(f"vllm.problem.{problem.kind.value}", language(), **problem.params)


class SplitFields(QWidget):
    """``chosen`` has a split, or None: the planner divides the model."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._split = Split()
        self._facts: BuildFacts | None = None
        self.selects = {axis: LegalSelect() for axis in AXES}
        self._fields = {axis: LabeledField(select) for axis, select in self.selects.items()}
        self.experts = CheckBox()
        self.experts_note = Label(tone="muted", size=TextSize.SMALL, wrap=True)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(12)
        for place, field in enumerate(self._fields.values()):
            grid.addWidget(field, place // 2, place % 2)
            grid.setColumnStretch(place % 2, 1)
        grid.addWidget(self.experts, 2, 0, 1, 2)
        grid.addWidget(self.experts_note, 3, 0, 1, 2)
        for select in self.selects.values():
            select.picked.connect(self.chosen)
        self.experts.clicked.connect(self._on_experts)

    def show_choices(
        self, choices: SplitChoices, wished: Split | None, facts: BuildFacts | None
    ) -> None:
        """Show what can be chosen.

        Args:
            choices: beside the split as it is planned.
            wished: of the user; None = the planner's.
            facts: what the engine can do, as far as it was asked.
        """
        self._split, self._facts = choices.split, facts
        unknown = facts.unknown if facts is not None else frozenset()
        for axis, select in self.selects.items():
            missing = self._lacks(axis) if axis in unknown else ""
            now = getattr(choices.split, axis)
            automatic = self.tr("Automatic")
            if wished is None:
                automatic = self.tr("Automatic ({value})").format(value=now)
            values: tuple[Choice, ...] = getattr(choices, axis)
            items = [LegalItem(automatic, None)]
            items += [self._item(axis, choice, missing) for choice in values]
            places = [choice.value for choice in values]
            chosen = 0 if wished is None or now not in places else 1 + places.index(now)
            select.show_items(items, chosen)
            self._fields[axis].setVisible(len(values) > 1)
        self._show_experts(choices, missing="experts" in unknown)

    def retranslate(self) -> None:
        """Set the words; the choices are shown again afterwards."""
        names = {
            "tensor": self.tr("Tensor parallel"),
            "pipeline": self.tr("Pipeline parallel"),
            "data": self.tr("Data parallel"),
            "decode_context": self.tr("Decode-context parallel"),
        }
        tips = {
            "tensor": self.tr("Every layer over so many GPUs: all work on every token."),
            "pipeline": self.tr("Runs of layers on so many groups of GPUs, one after the other."),
            "data": self.tr("So many copies of attention, each with users of its own."),
            "decode_context": self.tr("The cache of every sequence over so many GPUs."),
        }
        for axis, field in self._fields.items():
            field.set_label(names[axis])
            field.setToolTip(tips[axis])
        self.experts.setText(self.tr("Deal experts out whole (expert parallel)"))

    def _item(self, axis: str, choice: Choice, missing: str) -> LegalItem:
        why = problem_words(choice.problem)
        if missing and choice.value > 1:
            why = missing
        brings = [
            f"{name} {getattr(choice.split, other)}"
            for other, name in self._short_names().items()
            if other != axis and getattr(choice.split, other) != getattr(self._split, other)
        ]
        tip = self.tr("Then: {changes}").format(changes=", ".join(brings)) if brings else ""
        return LegalItem(str(choice.value), choice.split, why, "" if why else tip)

    def _show_experts(self, choices: SplitChoices, *, missing: bool) -> None:
        why = self._lacks("experts") if missing else problem_words(choices.experts_problem)
        can = choices.experts and (not why or choices.split.experts)
        self.experts.setVisible(choices.experts)
        self.experts.setEnabled(can)
        self.experts.setChecked(choices.split.experts)
        self.experts_note.setText(why)
        self.experts_note.setVisible(choices.experts and bool(why))

    def _on_experts(self, checked: bool) -> None:
        split = self._split
        self.chosen.emit(Split(split.tensor, split.pipeline, split.data, checked,
                               split.decode_context))  # fmt: skip

    def _lacks(self, key: str) -> str:
        facts = self._facts
        if facts is None:
            return ""
        words = self.tr("{engine} has no {flag}.")
        return words.format(engine=facts.name, flag=facts.names.get(key, FLAGS_OF[key]))

    def _short_names(self) -> dict[str, str]:
        return {
            "tensor": self.tr("tensor"),
            "pipeline": self.tr("pipeline"),
            "data": self.tr("data"),
            "decode_context": self.tr("decode-context"),
        }
