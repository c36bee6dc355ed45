"""The Python files that a model brings along, and the user's word that they may run. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from kimi_desktop.backends.model_code import ModelCode
from kimi_desktop.ui.widgets.label import Label, TextSize
from kimi_desktop.ui.widgets.toggle import CheckBox

SHOWN_HASH = 12
MOST_FILES = 8


class CodeConsent(QWidget):
    """Hidden for a model without code of its own."""

    allowed = Signal(bool)
    shut_in = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.files = Label(wrap=True, tone="warn", size=TextSize.SMALL)
        self.allow = CheckBox()
        self.sandbox = CheckBox()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self.files)
        layout.addWidget(self.allow)
        layout.addWidget(self.sandbox)
        self.allow.clicked.connect(self.allowed)
        self.sandbox.clicked.connect(self.shut_in)
        self.hide()

    def show_code(
        self, code: ModelCode, *, is_allowed: bool, has_sandbox: bool, is_shut_in: bool
    ) -> None:
        """List the files with their hashes.

        Args:
            code: the files.
            is_allowed: they may run.
            has_sandbox: they could run shut in on this system.
            is_shut_in: they will.
        """
        files = code.files
        self.allow.setText(self.tr("I trust these files: they may run on this computer"))
        lines = [f"{file.name}  {file.sha256[:SHOWN_HASH]}…" for file in files[:MOST_FILES]]
        if len(files) > MOST_FILES:
            lines.append(self.tr("and {count} more").format(count=len(files) - MOST_FILES))
        intro = self.tr("The model's own Python files, with their SHA-256:")
        self.files.setText("\n".join([intro, *lines]))
        self.allow.setChecked(is_allowed)
        self.sandbox.setText(self.tr("In a sandbox: without network, files read-only"))
        self.sandbox.setVisible(has_sandbox or is_shut_in)
        self.sandbox.setEnabled(is_allowed)
        self.sandbox.setChecked(is_shut_in)
        self.setVisible(bool(files))
