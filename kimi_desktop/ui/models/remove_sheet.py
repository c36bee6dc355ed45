"""Asks before a model goes: what goes, what the drive gets back, and how. Qt thread."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QHBoxLayout, QWidget

from kimi_desktop.base.errors import ErrorCode, KimiError
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.base.units import format_count, format_file_size
from kimi_desktop.downloads.keeping.types import Removal, Removed
from kimi_desktop.models.types import LocalModel
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.model_names import full_name
from kimi_desktop.ui.overlay import Overlay
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label, TextSize


class RemoveSheet(Overlay):
    """``on_removed`` runs when it is in the trash, or deleted."""

    def __init__(
        self,
        window: QWidget,
        bridge: Bridge,
        model: LocalModel,
        on_removed: Callable[[Removed], None],
    ) -> None:
        super().__init__(window, width=480)
        self._bridge = bridge
        self._model = model
        self._on_removed = on_removed
        self._removal: Removal | None = None
        self._for_good = False
        self.heading = Label(size=TextSize.HEADING, weight=SEMIBOLD, wrap=True)
        self.detail = Label(wrap=True)
        self.more = Label(wrap=True, tone="muted")
        self.failure = Label(wrap=True, tone="bad")
        self.advice = Label(wrap=True, tone="muted")
        self.cancel_button = Button(self.tr("Cancel"))
        self.confirm_button = Button(kind=ButtonKind.DANGER, icon="trash")
        self.cancel_button.clicked.connect(self.dismiss)
        self.confirm_button.clicked.connect(self._confirm)
        for label in (self.heading, self.detail, self.more, self.failure, self.advice):
            self.body.addWidget(label)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.confirm_button)
        self.body.addLayout(buttons)
        self.failure.hide()
        self.advice.hide()
        self._say()
        look = bridge.services.keeper.look_at_removal(model)
        self._operation = bridge.watch(look, self._on_looked, self._on_failed)

    def _say(self) -> None:
        name = full_name(self._model)
        removal = self._removal
        if self._for_good:
            self.heading.setText(self.tr("Delete {name} for good?").format(name=name))
            self.confirm_button.setText(self.tr("Delete for good"))
        else:
            self.heading.setText(self.tr("Move {name} to the trash?").format(name=name))
            self.confirm_button.setText(self.tr("Move to trash"))
        self.confirm_button.setEnabled(removal is not None)
        if removal is None:
            self.detail.setText(self.tr("Looking at its files"))
            self.more.hide()
            return
        space = "" if language() is Language.ZH_CN else " "
        self.detail.setText(f"{self._files(removal)}{space}{self._freed(removal)}")
        more = []
        if removal.companions:
            names = ", ".join(removal.companions)
            more.append(self.tr("{names} goes with it.").format(names=names))
        if chats := self._bridge.services.chats.chats_of(self._model.id):
            one = self.tr("It answered in one chat, which stays.")
            several = self.tr("It answered in {count} chats. They stay.")
            more.append(one if len(chats) == 1 else several.format(count=len(chats)))
        self.more.setText("\n".join(more))
        self.more.setVisible(bool(more))
        self.panel.setAccessibleName(f"{self.heading.text()} {self.detail.text()}")

    def _files(self, removal: Removal) -> str:
        size = format_file_size(removal.size_bytes)
        if removal.n_files == 1:
            return self.tr("One file, {size}.").format(size=size)
        return self.tr("{count} files, {size}.").format(
            count=format_count(removal.n_files), size=size
        )

    def _freed(self, removal: Removal) -> str:
        """What the drive gets back, and when."""
        size = format_file_size(removal.freed_bytes)
        if removal.freed_bytes == 0:
            return self.tr(
                "It frees no space: another program has the same files under other names."
            )
        if removal.freed_bytes < removal.size_bytes // 100 * 99:
            if self._for_good:
                return self.tr("It frees {size}; the rest belongs to another program, too.").format(
                    size=size
                )
            return self.tr(
                "It frees {size} when the trash is emptied; the rest belongs to another program, "
                "too."
            ).format(size=size)
        if self._for_good:
            return self.tr("It frees {size} at once.").format(size=size)
        return self.tr("It frees {size} when the trash is emptied.").format(size=size)

    def _confirm(self) -> None:
        removal = self._removal
        if removal is None:
            return
        self.confirm_button.setEnabled(False)
        self.failure.hide()
        self.advice.hide()
        keeper = self._bridge.services.keeper
        run = keeper.remove_for_good if self._for_good else keeper.remove
        self._bridge.watch(run(removal), self._on_done, self._on_failed)

    def _on_looked(self, removal: Removal) -> None:
        self._removal = removal
        self._say()
        self._cover()

    def _on_done(self, removed: Removed) -> None:
        self.dismiss()
        self._on_removed(removed)

    def _on_failed(self, error: BaseException) -> None:
        """In place; where there is no trash, the other way is offered and not taken."""
        if isinstance(error, KimiError) and error.code is ErrorCode.MODEL_NO_TRASH:
            self._for_good = True
        self._say()
        text, advice = describe_error(error, language())
        self.failure.setText(text)
        self.advice.setText(advice)
        self.failure.show()
        self.advice.show()
        self._cover()
        self.cancel_button.setFocus()
