"""What llama.cpp is told besides the placement: files, guessing ahead, arguments. Qt thread."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QFileDialog, QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.backends.types import SPECULATIONS, EngineOptions
from kimi_desktop.ui.widgets.button import IconButton
from kimi_desktop.ui.widgets.field import Field, LabeledField, Select
from kimi_desktop.ui.widgets.fold import Fold

DRAFT_COUNTS = (0, 2, 3, 4, 8, 16, 32, 64)
NEEDS_DRAFT = SPECULATIONS[0]


class FileField(QWidget):
    """A path that can be typed or chosen; ``changed`` when it is another one."""

    changed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._path = ""
        self._title = ""
        self.field = Field()
        self.field.editingFinished.connect(self._on_edited)
        self.button = IconButton("folder")
        self.button.clicked.connect(self._choose)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.field, 1)
        layout.addWidget(self.button)

    def show_path(self, path: str) -> None:
        """Without telling."""
        self._path = path
        self.field.setText(path)
        self.field.set_error("" if not path or Path(path).is_file() else path)

    def set_texts(self, title: str, none: str, choose: str) -> None:
        """What it is, what stands there when there is none, what the button does."""
        self._title = title
        self.field.setAccessibleName(title)
        self.field.setPlaceholderText(none)
        self.button.set_label(choose)

    def _on_edited(self) -> None:
        path = self.field.text().strip()
        if path != self._path:
            self.show_path(path)
            self.changed.emit(path)

    def _choose(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self, self._title, str(Path(self._path).parent))
        if name and name != self._path:
            self.show_path(name)
            self.changed.emit(name)


class OptionsSection(QWidget):
    """``changed`` has the options as they are wanted now."""

    changed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._options = EngineOptions()
        self._problem = ""
        self.fold = Fold()
        self.flash, self.numa, self.speculation, self.draft_tokens = (Select() for _ in range(4))
        self.projector, self.template, self.lora, self.draft = (FileField() for _ in range(4))
        self.extra = Field()
        self._fields: dict[str, LabeledField] = {
            "flash_attention": LabeledField(self.flash),
            "numa": LabeledField(self.numa),
            "projector": LabeledField(self.projector),
            "template_file": LabeledField(self.template),
            "lora": LabeledField(self.lora),
            "speculation": LabeledField(self.speculation),
            "draft_model": LabeledField(self.draft),
            "draft_tokens": LabeledField(self.draft_tokens),
            "extra": LabeledField(self.extra),
        }
        self._body = QWidget()
        self._arrange()
        self._connect()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def show_options(self, options: EngineOptions, problem: str) -> None:
        """What is chosen, and why the engine would refuse it ("" when it would not)."""
        self._options, self._problem = options, problem
        for select, value in self._selects():
            select.blockSignals(True)
            select.choose(value)
            select.blockSignals(False)
        for name, field in self._files().items():
            field.show_path(getattr(options, name))
        if not self.extra.hasFocus() or not problem:
            self.extra.setText(options.extra)
        self._fields["draft_model"].setVisible(options.speculation == NEEDS_DRAFT)
        self._fields["draft_tokens"].setVisible(bool(options.speculation))
        self.extra.set_error(problem)
        self._fields["extra"].set_note(problem, error=bool(problem))
        self._say()

    def retranslate(self) -> None:
        """Set the words."""
        names = {
            "flash_attention": self.tr("Flash attention"),
            "numa": self.tr("Memory nodes (NUMA)"),
            "projector": self.tr("Projector, for images"),
            "template_file": self.tr("Chat template"),
            "lora": self.tr("LoRA adapter"),
            "speculation": self.tr("Guess ahead (speculative decoding)"),
            "draft_model": self.tr("Draft model"),
            "draft_tokens": self.tr("Tokens guessed at once"),
            "extra": self.tr("More arguments for llama-server"),
        }
        for name, field in self._fields.items():
            field.set_label(names[name])
        none = self.tr("None")
        for name, file in self._files().items():
            own = self.tr("The model’s own") if name == "template_file" else none
            file.set_texts(names[name], own, self.tr("Choose a file"))
        self.extra.setPlaceholderText("--cache-reuse 256")
        self._fill()
        self.show_options(self._options, self._problem)

    def _fill(self) -> None:
        automatic = self.tr("Automatic")
        self._items(self.flash, [(automatic, ""), (self.tr("On"), "on"), (self.tr("Off"), "off")])
        nodes = [
            (automatic, ""),
            (self.tr("Off"), "off"),
            (self.tr("Keep to one node"), "isolate"),
            (self.tr("Spread over all nodes"), "distribute"),
        ]
        self._items(self.numa, nodes)
        kinds = {
            "draft-simple": self.tr("With a draft model"),
            "ngram-simple": self.tr("From the text so far"),
            "ngram-mod": self.tr("From the text so far, shared table"),
            "draft-mtp": self.tr("By the model’s own extra layer (MTP)"),
        }
        self._items(
            self.speculation,
            [(self.tr("Off"), ""), *((kinds[kind], kind) for kind in SPECULATIONS)],
        )
        counts = [(str(count) if count else automatic, count) for count in DRAFT_COUNTS]
        self._items(self.draft_tokens, counts)

    def _items(self, select: Select, items: Sequence[tuple[str, object]]) -> None:
        select.blockSignals(True)
        select.clear()
        for text, key in items:
            select.addItem(text, key)
        select.blockSignals(False)

    def _selects(self) -> tuple[tuple[Select, object], ...]:
        options = self._options
        return (
            (self.flash, options.flash_attention),
            (self.numa, options.numa),
            (self.speculation, options.speculation),
            (self.draft_tokens, options.draft_tokens),
        )

    def _files(self) -> dict[str, FileField]:
        return {
            "projector": self.projector,
            "template_file": self.template,
            "lora": self.lora,
            "draft_model": self.draft,
        }

    def _arrange(self) -> None:
        grid = QGridLayout(self._body)
        grid.setContentsMargins(0, 4, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(12)
        places = ("flash_attention", "numa", "projector", "template_file", "lora", "speculation",
                  "draft_model", "draft_tokens")  # fmt: skip
        for place, name in enumerate(places):
            grid.addWidget(self._fields[name], place // 2, place % 2, Qt.AlignmentFlag.AlignTop)
            grid.setColumnStretch(place % 2, 1)
        grid.addWidget(self._fields["extra"], len(places) // 2, 0, 1, 2)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.fold)
        layout.addWidget(self._body)
        self._body.hide()

    def _connect(self) -> None:
        self.fold.toggled.connect(self._body.setVisible)
        for name, select in (
            ("flash_attention", self.flash),
            ("numa", self.numa),
            ("speculation", self.speculation),
            ("draft_tokens", self.draft_tokens),
        ):
            select.activated.connect(lambda _, n=name, s=select: self._change(n, s.currentData()))
        for name, field in self._files().items():
            field.changed.connect(lambda path, n=name: self._change(n, path))
        self.extra.editingFinished.connect(lambda: self._change("extra", self.extra.text().strip()))

    def _change(self, name: str, value: object) -> None:
        if value != getattr(self._options, name):
            self._options = dataclasses.replace(self._options, **{name: value})  # type: ignore[arg-type]
            self.changed.emit(self._options)

    def _say(self) -> None:
        options = self._options
        said = [
            (self.tr("images"), options.projector),
            (self.tr("own template"), options.template_file),
            (self.tr("LoRA"), options.lora),
            (self.tr("guesses ahead"), options.speculation),
            (options.extra, options.extra),
        ]
        self.fold.set_texts(
            self.tr("Engine options"), " · ".join(word for word, chosen in said if chosen)
        )
