"""Files and folders dropped onto the page: which folders they mean, and the sign meanwhile. Qt."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData, QRectF, Qt
from PySide6.QtGui import QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import HEADING_PX, RADIUS
from kimi_desktop.ui.widgets.label import SEMIBOLD
from kimi_desktop.ui.widgets.painting import painter_on

SUFFIX = ".gguf"


def dropped_folders(data: QMimeData) -> tuple[Path, ...]:
    """The folders that are meant: folders themselves, and those of GGUF files."""
    found: list[Path] = []
    for url in data.urls():
        if not url.isLocalFile():
            continue
        path = Path(url.toLocalFile())
        if path.suffix.lower() == SUFFIX and not path.is_dir():
            found.append(path.parent)
        elif path.is_dir():
            found.append(path)
    return tuple(dict.fromkeys(found))


def dropped_file(data: QMimeData) -> Path | None:
    """The first GGUF file, whose row is shown afterwards."""
    for url in data.urls():
        path = Path(url.toLocalFile()) if url.isLocalFile() else None
        if path is not None and path.suffix.lower() == SUFFIX:
            return path
    return None


class DropVeil(QWidget):
    """Covers the page while something that can be dropped is over it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def appear(self) -> None:
        """Cover the page."""
        parent = self.parentWidget()
        if parent is not None:
            self.setGeometry(parent.rect())
        self.raise_()
        self.show()

    def paintEvent(self, event: QPaintEvent) -> None:
        """A dashed frame with the words in its middle."""
        del event
        t = tokens()
        painter = painter_on(self)
        ground = color(t.window)
        ground.setAlphaF(0.86)
        painter.fillRect(self.rect(), ground)
        painter.setPen(QPen(color(t.accent), 2, Qt.PenStyle.DashLine))
        painter.setBrush(color(t.accent_soft))
        frame = QRectF(self.rect()).adjusted(24, 24, -24, -24)
        painter.drawRoundedRect(frame, RADIUS, RADIUS)
        painter.setFont(ui_font(HEADING_PX, SEMIBOLD))
        painter.setPen(color(t.text))
        text = self.tr("Drop to add the folder to the library")
        painter.drawText(frame, Qt.AlignmentFlag.AlignCenter, text)
        painter.end()
