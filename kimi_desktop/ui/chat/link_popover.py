"""Shows where a link leads before it is opened. Only http and https are ever opened. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QPoint, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QWidget

from kimi_desktop.ui.overlay import Overlay
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label, TextSize

WIDTH = 420
OPENED_SCHEMES = ("http", "https")
LONGEST = 600


def can_open(address: str) -> bool:
    """A web address with a host; files, mail and programs are none."""
    url = QUrl(address, QUrl.ParsingMode.StrictMode)
    return url.isValid() and url.scheme().lower() in OPENED_SCHEMES and bool(url.host())


class LinkPopover(Overlay):
    """Near the link: its whole address, Open and Copy."""

    def __init__(self, window: QWidget, address: str, where: QPoint) -> None:
        """``where`` is in global coordinates."""
        super().__init__(window, width=WIDTH, top=0)
        self._where = window.mapFromGlobal(where)
        self._address = address
        opens = can_open(address)
        translate = QCoreApplication.translate
        title = (
            translate("LinkPopover", "Open this address in the browser?")
            if opens
            else translate("LinkPopover", "Addresses of this kind are not opened.")
        )
        self.address = Label(_shown(address), mono=True, size=TextSize.SMALL, wrap=True)
        self.open_button = Button(
            translate("LinkPopover", "Open"), kind=ButtonKind.PRIMARY, icon="globe", small=True
        )
        self.copy_button = Button(translate("LinkPopover", "Copy address"), icon="copy", small=True)
        self.open_button.setVisible(opens)
        self.open_button.clicked.connect(lambda _checked: self._open())
        self.copy_button.clicked.connect(lambda _checked: self._copy())
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.open_button)
        buttons.addWidget(self.copy_button)
        buttons.addStretch(1)
        self.body.setContentsMargins(12, 12, 12, 12)
        self.body.setSpacing(8)
        self.body.addWidget(Label(title, weight=SEMIBOLD))
        self.body.addWidget(self.address)
        self.body.addLayout(buttons)

    def _cover(self) -> None:
        """Stand below the link, or above it when there is no room."""
        super()._cover()
        left = min(max(self._where.x() - 24, 16), self.width() - self.panel.width() - 16)
        top = self._where.y() + 16
        if top + self.panel.height() > self.height() - 16:
            top = max(self._where.y() - 16 - self.panel.height(), 16)
        self.panel.move(left, top)

    def _open(self) -> None:
        QDesktopServices.openUrl(QUrl(self._address))
        self.dismiss()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._address)
        self.dismiss()


def _shown(address: str) -> str:
    """Line breaks may fall anywhere in a long address; a very long one is cut in the middle."""
    if len(address) > LONGEST:
        address = f"{address[: LONGEST // 2]} … {address[-LONGEST // 2 :]}"
    return "\u200b".join(address)
