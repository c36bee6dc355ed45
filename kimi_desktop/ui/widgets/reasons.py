"""Why a plan is as it is: one sentence per decision, below a line that folds them. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.ui.theme import tokens
from kimi_desktop.ui.widgets.card import Divider
from kimi_desktop.ui.widgets.fold import Fold
from kimi_desktop.ui.widgets.label import Label
from kimi_desktop.ui.widgets.painting import box, painter_on

DOT = 4


class Reasons(QWidget):
    """Open at first: the reasons are below everything that has to stay in sight."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._sentences: tuple[str, ...] = ()
        self.fold = Fold()
        self.fold.setChecked(True)
        self._body = QWidget()
        self._rows = QVBoxLayout(self._body)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(4)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(Divider())
        layout.addWidget(self.fold)
        layout.addWidget(self._body)
        self.fold.toggled.connect(self._body.setVisible)

    def show_reasons(self, sentences: Sequence[str]) -> None:
        """List them; lines that stay the same are not laid out anew."""
        before, self._sentences = self._sentences, tuple(sentences)
        self.setVisible(bool(sentences))
        if before == self._sentences:
            return
        while self._rows.count() < len(sentences):
            self._rows.addWidget(_Line())
        for at in range(self._rows.count()):
            item = self._rows.itemAt(at)
            line = item.widget() if item is not None else None
            if isinstance(line, _Line):
                line.setVisible(at < len(sentences))
                if at < len(sentences):
                    line.say(sentences[at])

    def sentences(self) -> tuple[str, ...]:
        """What it lists."""
        return self._sentences

    def retranslate(self) -> None:
        """Set the word of the fold."""
        self.fold.set_texts(self.tr("Why this plan"), "")


class _Line(QWidget):
    """A dot and a sentence that wraps."""

    def __init__(self) -> None:
        super().__init__()
        self._text = Label(tone="muted", wrap=True)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(_Dot(), 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self._text, 1)

    def say(self, sentence: str) -> None:
        if self._text.text() != sentence:
            self._text.setText(sentence)


class _Dot(QWidget):
    """Before each sentence, at the height of its first line."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedSize(16, 20)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A small disc."""
        del event
        painter = painter_on(self)
        place = QRectF((self.width() - DOT) / 2, (self.height() - DOT) / 2, DOT, DOT)
        box(painter, place, DOT / 2, fill=tokens().muted)
        painter.end()
