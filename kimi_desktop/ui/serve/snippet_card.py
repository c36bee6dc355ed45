"""Lines to try the endpoint with: one kind at a time, copied with the key in them. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from kimi_desktop.serve.types import Snippet, SnippetKind
from kimi_desktop.ui.widgets.card import Card, Heading
from kimi_desktop.ui.widgets.code_block import CodeBlock
from kimi_desktop.ui.widgets.label import Label, TextSize
from kimi_desktop.ui.widgets.segmented import Segmented

MASK = "•" * 8


class SnippetCard(Card):
    """The lines, or the sentence that says when there will be some."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._snippets: tuple[Snippet, ...] = ()
        self._key = ""
        self._revealed = False
        self._heading = Heading()
        self.kind = Segmented(small=True)
        self.block = CodeBlock()
        self.absent = Label(tone="muted", wrap=True)
        self._note = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        head = QHBoxLayout()
        head.addWidget(self._heading, 1)
        head.addWidget(self.kind)
        self.body.addLayout(head)
        self.body.addWidget(self.absent)
        self.body.addWidget(self.block)
        self.body.addWidget(self._note)
        self.kind.chosen.connect(lambda _key: self._refresh())
        self.retranslate()

    def show_snippets(self, snippets: Sequence[Snippet], key: str, absent: str) -> None:
        """Lines with this key in them; ``absent`` stands there when there are none."""
        self._snippets, self._key = tuple(snippets), key
        self.absent.setText(absent)
        self._refresh()

    def set_revealed(self, revealed: bool) -> None:
        """Whether the key can be read in the lines."""
        self._revealed = revealed
        self._refresh()

    def retranslate(self) -> None:
        """Set the words."""
        self._heading.setText(self.tr("Try it"))
        self.kind.set_label(self.tr("Lines for"))
        self._names = {
            SnippetKind.CURL: self.tr("curl"),
            SnippetKind.PYTHON: self.tr("Python"),
            SnippetKind.OPENAI: self.tr("openai package"),
        }
        self._notes = {
            SnippetKind.CURL: self.tr("For a terminal with bash or zsh."),
            SnippetKind.PYTHON: self.tr("For Python 3, without a package to install."),
            SnippetKind.OPENAI: self.tr("For Python 3 with the openai package."),
        }
        self.block.copy.set_words(self.tr("Copy the lines"), self.tr("Copied"))
        self._refresh()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def _refresh(self) -> None:
        found = {snippet.kind.value: snippet for snippet in self._snippets}
        there = bool(found)
        for part in (self.kind, self.block, self._note):
            part.setVisible(there)
        self.absent.setVisible(not there)
        if not there:
            return
        self.kind.set_options([(key, self._names[found[key].kind]) for key in found])
        chosen = found[self.kind.key()]
        shown = chosen.text
        if self._key and not self._revealed:
            shown = shown.replace(self._key, MASK)
        self.block.show_code(self._names[chosen.kind], chosen.text, shown)
        self._note.setText(self._notes[chosen.kind])
