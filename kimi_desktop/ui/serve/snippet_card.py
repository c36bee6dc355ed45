"""Lines to try the endpoint with: one kind at a time, copied with the key in them. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QPaintEvent, QTextBlockFormat, QTextCursor
from PySide6.QtWidgets import QHBoxLayout, QTextBrowser, QVBoxLayout, QWidget

from kimi_desktop.serve.types import Snippet, SnippetKind
from kimi_desktop.ui.serve.copying import CopyButton
from kimi_desktop.ui.theme import color, mono_font, tokens
from kimi_desktop.ui.tokens import CODE_LINE_PX, CODE_PX, RADIUS
from kimi_desktop.ui.widgets.card import Card, Heading
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import Label, TextSize
from kimi_desktop.ui.widgets.painting import box, painter_on, rounded
from kimi_desktop.ui.widgets.segmented import Segmented

HEADER_HEIGHT = 32
PAD_X, PAD_Y = 12, 8
SCROLL_BAR = 12
MASK = "•" * 8


class _Lines(Focusable, QTextBrowser):
    """Code that can be selected but not edited; long lines scroll sideways."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setFont(mono_font(CODE_PX))
        self.document().setDocumentMargin(0)
        self.setLineWrapMode(QTextBrowser.LineWrapMode.NoWrap)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabChangesFocus(True)

    def focus_target(self) -> QWidget:
        """The ring goes around the whole block."""
        return self.parentWidget() or self

    def show_text(self, text: str) -> None:
        """Other code, in lines of one height."""
        if text == self.toPlainText():  # a selection stays
            return
        self.setPlainText(text)
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        line = QTextBlockFormat()
        line.setLineHeight(CODE_LINE_PX, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        cursor.setBlockFormat(line)


class CodeBlock(QWidget):
    """What runs the lines, a copy button, and the lines."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ""
        self._name = Label(size=TextSize.SMALL, tone="muted")
        self.lines = _Lines()
        self.copy = CopyButton(lambda: self._text)
        head = QHBoxLayout()
        head.setContentsMargins(PAD_X, 2, 2, 2)
        head.addWidget(self._name, 1)
        head.addWidget(self.copy)
        inner = QVBoxLayout()
        inner.setContentsMargins(PAD_X, PAD_Y, PAD_X, 0)
        inner.addWidget(self.lines)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(head)
        layout.addLayout(inner)

    def show_code(self, name: str, text: str, shown: str) -> None:
        """Other lines: ``text`` is copied, ``shown`` is read."""
        self._text = text
        count = shown.rstrip("\n").count("\n") + 1
        self.lines.setFixedHeight(count * CODE_LINE_PX + SCROLL_BAR)
        self._name.setText(name)
        self.lines.setAccessibleName(name)
        self.lines.show_text(shown.rstrip("\n"))

    def paintEvent(self, event: QPaintEvent) -> None:
        """A raised header over the code's own ground."""
        del event
        t = tokens()
        painter = painter_on(self)
        frame = QRectF(self.rect())
        box(painter, frame, RADIUS, fill=t.code)
        painter.setClipPath(rounded(frame, RADIUS))
        painter.fillRect(QRectF(0, 0, self.width(), HEADER_HEIGHT), color(t.raised))
        painter.setClipping(False)
        box(painter, frame, RADIUS, border=t.line)
        painter.end()


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
