"""One model of Discover: its head, and below it a row per quantization. Qt thread.

The rows are made when the card is first opened: a catalogue has some sixty of them.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPaintEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QSizePolicy, QWidget

from kimi_desktop.base.units import format_context, format_parameters
from kimi_desktop.planner.offer_types import FileWords, OfferedFile, OfferedModel
from kimi_desktop.ui import icons
from kimi_desktop.ui.offer_row import CHIPS, ROW_HEIGHT, SLIM_COLUMNS, OfferRow
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, RADIUS, SMALL_PX
from kimi_desktop.ui.widgets.card import Card, Divider
from kimi_desktop.ui.widgets.chip import Chip
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import SEMIBOLD
from kimi_desktop.ui.widgets.painting import box, painter_on

HEAD_HEIGHT = 56
ICON = 16


class ModelCard(Card):
    """``opened`` fires when it opens, ``picked`` with the file of a row."""

    opened = Signal()
    picked = Signal(object)

    def __init__(
        self,
        model: OfferedModel,
        words_of: Callable[[OfferedFile], FileWords],
        rows: QButtonGroup,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent, padding=1)
        self.model = model
        self._words_of = words_of
        self._group = rows
        self.rows: list[FileRow] = []
        self.body.setSpacing(0)
        self.head = _Head()
        self.head.clicked.connect(self._toggle)
        self.chip = Chip()
        inside = QHBoxLayout(self.head)
        inside.setContentsMargins(0, 0, 16, 0)
        inside.addStretch(1)
        inside.addWidget(self.chip)
        self.chip.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.body.addWidget(self.head)
        self.retranslate()

    @property
    def is_open(self) -> bool:
        """The rows are shown."""
        return self.head.is_open

    def set_open(self, *, is_open: bool) -> None:
        """Show or hide the rows."""
        if is_open and not self.rows:
            self._make_rows()
        self.head.is_open = is_open
        self.head.update()
        for number in range(1, self.body.count()):
            item = self.body.itemAt(number)
            if item is not None and (widget := item.widget()) is not None:
                widget.setVisible(is_open)
        self._say()
        if is_open:
            self.opened.emit()

    def pick(self, file: OfferedFile) -> None:
        """Select the row of a file."""
        for row in self.rows:
            if row.file == file:
                row.setChecked(True)

    def retranslate(self) -> None:
        """Set the words."""
        model = self.model
        parts = []
        if model.total_parameters:
            parts.append(format_parameters(model.total_parameters))
        if model.active_parameters and model.active_parameters != model.total_parameters:
            active = format_parameters(model.active_parameters)
            parts.append(self.tr("{count} active").format(count=active))
        if model.context_tokens:
            context = format_context(model.context_tokens)
            parts.append(self.tr("context {size}").format(size=context))
        if "image" in model.modalities:
            parts.append(self.tr("sees images"))
        if model.license.name:
            parts.append(model.license.name)
        self.head.set_texts(model.name, " · ".join(parts))
        if model.best is not None:
            self.chip.show_verdict(CHIPS[model.use], self._words_of(model.best).fit)
        else:
            self.chip.show_verdict(CHIPS[model.use], self.tr("No forecast"))
        for row in self.rows:
            row.show_words(self._words_of(row.file), best=row.file == model.best)
        self._say()

    def _make_rows(self) -> None:
        for file in self.model.files:
            row = FileRow(file)
            row.show_words(self._words_of(file), best=file == self.model.best)
            row.toggled.connect(lambda on, one=file: self.picked.emit(one) if on else None)
            self._group.addButton(row)
            self.rows.append(row)
            self.body.addWidget(Divider())
            self.body.addWidget(row)
        if not self.model.files:
            self.body.addWidget(Divider())
            row = FileRow(None)
            row.setEnabled(False)
            row.show_nothing(self.tr("No GGUF file is known yet; search the hub for one."))
            self.rows.append(row)
            self.body.addWidget(row)

    def _toggle(self) -> None:
        self.set_open(is_open=not self.is_open)

    def _say(self) -> None:
        state = self.tr("open") if self.is_open else self.tr("closed")
        said = (self.head.title, self.head.detail, self.chip.text(), state)
        self.head.setAccessibleName(". ".join(filter(None, said)))


class FileRow(Focusable, QPushButton):
    """A row that can be chosen, by mouse or keyboard."""

    def __init__(self, file: OfferedFile | None) -> None:
        super().__init__()
        self._file = file
        self._row = OfferRow(self, columns=SLIM_COLUMNS)
        self._row.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setCheckable(True)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setMinimumHeight(ROW_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        inside = QHBoxLayout(self)
        inside.setContentsMargins(0, 0, 0, 0)
        inside.addWidget(self._row)

    @property
    def file(self) -> OfferedFile:
        """What the row is about."""
        assert self._file is not None
        return self._file

    def show_words(self, words: FileWords, *, best: bool) -> None:
        """Fill it."""
        if self._file is None:
            return
        mark = self.tr("suits this machine best") if best else ""
        below = " · ".join(filter(None, (words.quality, mark)))
        self._row.show_offer(self._file.quantization, below, self._file, words)
        self.setAccessibleName(self._row.accessibleName())
        self.setToolTip(self._row.toolTip())

    def show_nothing(self, text: str) -> None:
        """A row without a file."""
        self._row.show_text(text)
        self.setAccessibleName(text)

    def title(self) -> str:
        """The quantization."""
        return self._row.title()

    def verdict_text(self) -> str:
        """What its chip says."""
        return self._row.chip.text()

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(400, ROW_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """It gives way."""
        return QSize(200, ROW_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The ground of the row."""
        del event
        t = tokens()
        painter = painter_on(self)
        if self.isChecked():
            painter.fillRect(self.rect(), color(t.accent_soft))
            painter.fillRect(QRect(0, 0, 2, self.height()), color(t.accent))
        elif self.isEnabled() and (self.underMouse() or self.isDown()):
            painter.fillRect(self.rect(), color(t.press if self.isDown() else t.hover))
        painter.end()


class _Head(Focusable, QPushButton):
    """Name, what it is, and whether the rows are shown."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open = False
        self.title = ""
        self.detail = ""
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setFixedHeight(HEAD_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_texts(self, title: str, detail: str) -> None:
        """Both lines."""
        self.title, self.detail = title, detail
        self.update()

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(400, HEAD_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """It gives way."""
        return QSize(200, HEAD_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Chevron and two lines."""
        del event
        t = tokens()
        painter = painter_on(self)
        if self.underMouse() or self.isDown():
            fill = t.press if self.isDown() else t.hover
            box(painter, QRectF(self.rect()), RADIUS, fill=fill)
        name = "chevron-down" if self.is_open else "chevron-right"
        icons.paint(painter, name, QPoint(14, (self.height() - ICON) // 2), ICON, t.muted)
        layout = self.layout()
        chip = layout.itemAt(1) if layout is not None else None
        taken = chip.sizeHint().width() + 24 if chip is not None else 16
        room = self.width() - 40 - taken
        for text, font, ink, top, height in (
            (self.title, ui_font(BODY_PX, SEMIBOLD), t.text, 9, 20),
            (self.detail, ui_font(SMALL_PX), t.muted, 29, 18),
        ):
            painter.setFont(font)
            painter.setPen(color(ink))
            shown = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, room)
            painter.drawText(QRect(40, top, room, height), Qt.AlignmentFlag.AlignVCenter, shown)
        painter.end()
