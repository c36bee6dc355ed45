"""Which refusals of a hub an access token mends, and the button that leads there. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from kimi_desktop.base.errors import ErrorCode, KimiError
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.widgets.button import Button

MENDED = (
    ErrorCode.HUB_GATED,
    ErrorCode.HUB_GATED_NO_TOKEN,
    ErrorCode.HUB_BAD_TOKEN,
    ErrorCode.HUB_NO_REPO,
)
"""Private repositories look like missing ones to who has no token."""


def token_helps(error: BaseException | None) -> bool:
    """A token, or another one, may mend this."""
    return isinstance(error, KimiError) and error.code in MENDED


class TokenButton(Button):
    """Leads to the tokens in the settings; hidden unless one may help."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__("", parent, icon="key", small=True)
        self.clicked.connect(lambda: bridge.navigation.open_settings("hubs"))
        self.retranslate()
        self.hide()

    def show_for(self, error: BaseException | None) -> None:
        """Show it if a token may mend this."""
        self.setVisible(token_helps(error))

    def retranslate(self) -> None:
        """Set the words."""
        self.setText(QCoreApplication.translate("TokenButton", "Access tokens…"))
