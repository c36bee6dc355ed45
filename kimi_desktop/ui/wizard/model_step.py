"""Step 2: the first model: one that is here, the demo, a small one from the network. Qt thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.operation import Cancelled, Operation
from kimi_desktop.base.units import format_file_size
from kimi_desktop.models.types import LibraryChanged, LocalModel, StarterProgress
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.model_picker import select_model
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.card import Card
from kimi_desktop.ui.widgets.label import Label
from kimi_desktop.ui.widgets.message_bar import MessageBar
from kimi_desktop.ui.widgets.option_card import OptionCard
from kimi_desktop.ui.widgets.progress_row import ProgressRow
from kimi_desktop.ui.wizard.step import Step

STARTER, SMALL_CHAT = "starter", "small-chat"
MOST_MODELS = 4


class ModelStep(Step):
    """Offers what is possible here; Next fetches it where needed and chooses it."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._operation: Operation[LocalModel] | None = None
        self._options: dict[str, OptionCard] = {}
        self._intro = Label(tone="muted", wrap=True)
        self._list = QWidget()
        self._list_layout = QVBoxLayout(self._list)
        self._list_layout.setContentsMargins(0, 0, 0, 0)
        self._list_layout.setSpacing(8)
        self.folder_button = Button(icon="folder")
        self.folder_button.clicked.connect(self._choose_folder)
        self._folder_note = Label(tone="muted", wrap=True)
        folder = QHBoxLayout()
        folder.setSpacing(12)
        folder.addWidget(self.folder_button)
        folder.addWidget(self._folder_note, 1)
        self.problem = MessageBar("bad")
        self.problem.hide()
        self.progress = ProgressRow()
        self.progress.cancelled.connect(self._cancel)
        self.busy_control = self.progress.cancel_button
        self._progress_card = Card()
        self._progress_card.body.addWidget(self.progress)
        self._progress_card.hide()
        self.body.addWidget(self._intro)
        self.body.addWidget(self._list)
        self.body.addLayout(folder)
        self.body.addWidget(self.problem)
        self.body.addWidget(self._progress_card)
        self.body.addStretch(1)
        bridge.happened.connect(self._on_event)
        self._fill()
        self.retranslate()

    def title(self) -> str:
        """The step's name."""
        return self.tr("First model")

    def next_text(self) -> str:
        """The words on Next."""
        chosen = self.chosen()
        if chosen == STARTER and self._starter() is None:
            return self.tr("Install and go on")
        if chosen == SMALL_CHAT:
            return self.tr("Download and go on")
        return self.tr("Next: start")

    def can_go_on(self) -> bool:
        """Something is chosen and nothing is under way."""
        return bool(self.chosen()) and self._operation is None

    def chosen(self) -> str:
        """``STARTER``, ``SMALL_CHAT``, the id of a local model, or ""."""
        for key, option in self._options.items():
            if option.isChecked():
                return key
        return ""

    def option(self, key: str) -> OptionCard:
        """One of the offers."""
        return self._options[key]

    def leave(self) -> None:
        """Nothing goes on behind the user's back."""
        self._cancel()

    def go_on(self) -> None:
        """Fetch what is chosen where needed, choose it, go on."""
        chosen = self.chosen()
        starter = self._starter()
        self.problem.hide()
        if chosen == STARTER and starter is None:
            title = self.tr("Putting the demo model together")
            self._fetch(self.bridge.services.models.install_starter, title)
        elif chosen == SMALL_CHAT:
            title = self.tr("Downloading the small chat model")
            self._fetch(self.bridge.services.models.fetch_first_chat, title)
        else:
            model = starter if chosen == STARTER else self._model(chosen)
            if model is not None:
                self._take(model)

    def retranslate(self) -> None:
        """Set the words."""
        super().retranslate()
        self._intro.setText(
            self.tr("A model is a file. Start with a small one; large ones come later.")
        )
        self.folder_button.setText(self.tr("I have models in a folder…"))
        self._folder_note.setText(self.tr("GGUF files are used where they are, nothing is copied."))
        self._name_options()
        self.changed.emit()

    def _fill(self) -> None:
        """One card per offer; the choice is kept when it is still there."""
        before = self.chosen()
        for old in self._options.values():
            self._list_layout.removeWidget(old)
            old.hide()
            old.deleteLater()
        self._options = {}
        keys = [model.id for model in self._local_models()[:MOST_MODELS]]
        if self.bridge.services.models.starter_available or self._starter() is not None:
            keys.append(STARTER)
        keys.append(SMALL_CHAT)
        for key in keys:
            option = OptionCard(self._list)
            option.toggled.connect(lambda _checked: self.changed.emit())
            self._options[key] = option
            self._list_layout.addWidget(option)
        preferred = before or self.bridge.settings.models.selected
        self._options[preferred if preferred in self._options else keys[0]].setChecked(True)
        self._name_options()
        self.changed.emit()

    def _name_options(self) -> None:
        for key, option in self._options.items():
            if key == STARTER:
                starter = self._starter()
                size = "" if starter is None else format_file_size(starter.size_bytes)
                option.set_texts(
                    self.tr("Demo model: Gemma 3 270M"),
                    self.tr(
                        "Comes with the app. A base model: it continues text and is no assistant."
                    ),
                    size or self.tr("no download"),
                )
            elif key == SMALL_CHAT:
                option.set_texts(
                    self.tr("Small chat model: Qwen3 0.6B"),
                    self.tr(
                        "Answers questions. Downloaded from Hugging Face, hf-mirror or "
                        "ModelScope, whichever answers, and checked by its SHA-256."
                    ),
                    self.tr("needs a network"),
                )
            elif (model := self._model(key)) is not None:
                quantization = model.facts.quantization if model.facts else ""
                option.set_texts(
                    f"{model.title} {quantization}".strip(),
                    str(model.path),
                    format_file_size(model.size_bytes),
                )

    def _local_models(self) -> list[LocalModel]:
        return [
            model
            for model in self.bridge.services.models.models
            if model.is_startable and not model.is_starter
        ]

    def _model(self, key: str) -> LocalModel | None:
        return next((m for m in self.bridge.services.models.models if m.id == key), None)

    def _starter(self) -> LocalModel | None:
        """The demo model, if it is in the library already."""
        return next((m for m in self.bridge.services.models.models if m.is_starter), None)

    def _fetch(self, command: Callable[[], Operation[LocalModel]], title: str) -> None:
        self.progress.begin(title)
        self._progress_card.show()
        self._operation = command()
        self._list.setEnabled(False)
        self.folder_button.setEnabled(False)
        self.changed.emit()
        self.bridge.watch(self._operation, self._on_fetched, self._on_failed)

    def _on_fetched(self, model: LocalModel) -> None:
        self._ended()
        self._take(model)

    def _on_failed(self, error: BaseException) -> None:
        self._ended()
        if not isinstance(error, Cancelled):
            self.problem.show_message(*describe_error(error, language()))
            self.problem.show()

    def _ended(self) -> None:
        self._operation = None
        self.changed.emit()  # takes the keyboard from Cancel before that goes
        self._progress_card.hide()
        self._list.setEnabled(True)
        self.folder_button.setEnabled(True)

    def _cancel(self) -> None:
        if self._operation is not None:
            self._operation.cancel()

    def _take(self, model: LocalModel) -> None:
        select_model(self.bridge, model)
        self.finished.emit()

    def _choose_folder(self) -> None:
        name = QFileDialog.getExistingDirectory(self, self.tr("Folder with GGUF files"))
        if name:
            self.add_folder(name)

    def add_folder(self, name: str) -> None:
        """Look into a folder of the user's."""
        self.folder_button.setEnabled(False)
        self.bridge.watch(
            self.bridge.services.models.add_folder(Path(name)), self._on_folder, self._on_failed
        )

    def _on_folder(self, models: tuple[LocalModel, ...]) -> None:
        self._ended()
        found = [model for model in models if model.is_startable]
        if found:
            self._options.get(found[-1].id, next(iter(self._options.values()))).setChecked(True)
        else:
            self.problem.show_message(
                self.tr("No GGUF model that can be started is in this folder."),
                self.tr("Choose another folder, or one of the models above."),
            )
            self.problem.show()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, LibraryChanged):
            self._fill()
        elif isinstance(event, StarterProgress) and self._operation is not None:
            titles = {
                "assembling": self.tr("Putting the demo model together"),
                "checking": self.tr("Checking every byte (SHA-256)"),
                "downloading": self.tr("Downloading the small chat model"),
            }
            title = titles.get(event.phase, self.progress.title())
            if title != self.progress.title():
                self.progress.begin(title)
            self.progress.show_bytes(event.done_bytes, event.total_bytes)
