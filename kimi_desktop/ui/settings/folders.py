"""Settings: the models folders, the engine's program, where the app keeps things. Qt thread."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.backends.install import types as install
from kimi_desktop.backends.types import EngineKind
from kimi_desktop.base.events import Event
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import Settings
from kimi_desktop.downloads.engine_builds.types import BuildsChanged
from kimi_desktop.models.types import LibraryChanged
from kimi_desktop.ui.bridge import Bridge, SettingsChanged
from kimi_desktop.ui.settings.installs import InstallsSection
from kimi_desktop.ui.settings.rows import SettingRow, SettingsCard
from kimi_desktop.ui.widgets.button import Button, IconButton
from kimi_desktop.ui.widgets.field import Field
from kimi_desktop.ui.widgets.label import MEDIUM, ElidedLabel, Label, TextSize
from kimi_desktop.ui.widgets.segmented import Segmented
from kimi_desktop.ui.widgets.toggle import Switch

VLLM, SGLANG = EngineKind.VLLM.value, EngineKind.SGLANG.value


class PathRow(QWidget):
    """A name, a path that can be selected by its tooltip, and a control."""

    def __init__(self, *controls: QWidget) -> None:
        super().__init__()
        self._name = Label(size=TextSize.SMALL, tone="muted")
        self._path = ElidedLabel(weight=MEDIUM)
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(self._path)
        texts.addWidget(self._name)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 10, 16, 10)
        layout.setSpacing(8)
        layout.addLayout(texts, 1)
        for control in controls:
            layout.addWidget(control)

    def set_texts(self, path: str, name: str) -> None:
        """The path, and what it is."""
        self._path.setText(path)
        self._name.setText(name)

    def path(self) -> str:
        """The path shown."""
        return self._path.full_text()


class FoldersCard(SettingsCard):
    """The default folder cannot be removed; the files in a removed one stay."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__()
        self._bridge = bridge
        self.add_button = Button(icon="plus")
        self.add_button.clicked.connect(self._choose)
        self._add_row = SettingRow(self.add_button)
        self.rows: list[PathRow] = []
        self.remove_buttons: list[IconButton] = []
        bridge.happened.connect(self._on_event)
        self.retranslate()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        self.add_button.setText(self.tr("Add a folder…"))
        self._add_row.set_texts(self.tr("More folders"), self.tr("Models are used where they are."))
        self._fill(self._bridge.services.models.folders)

    def add_folder(self, folder: Path) -> None:
        """Look into one more folder."""
        models = self._bridge.services.models
        self._bridge.watch(models.add_folder(folder), on_error=self._bridge.navigation.report)

    def _fill(self, folders: tuple[Path, ...]) -> None:
        self.rows, self.remove_buttons = [], []
        for number, folder in enumerate(folders):
            remove = IconButton("close", self.tr("Remove the folder from the list"))
            remove.clicked.connect(partial(self._remove, folder))
            controls = [remove] if number else []
            row = PathRow(*controls)
            kind = self.tr("Default: new models go here") if number == 0 else self.tr("Added")
            row.set_texts(str(folder), kind)
            self.rows.append(row)
            self.remove_buttons += controls
        self.show_rows((*self.rows, self._add_row))

    def _remove(self, folder: Path) -> None:
        models = self._bridge.services.models
        self._bridge.watch(models.remove_folder(folder), on_error=self._bridge.navigation.report)

    def _choose(self) -> None:
        name = QFileDialog.getExistingDirectory(self, self.tr("Folder with models"))
        if name:
            self.add_folder(Path(name))

    def _on_event(self, event: Event) -> None:
        if isinstance(event, LibraryChanged):
            self._fill(event.folders)


class ProgramRow(SettingRow):
    """A path to a program: typed, chosen, or none. ``name`` is its field of the engine settings."""

    def __init__(self, bridge: Bridge, name: str) -> None:
        self._bridge = bridge
        self._field_name = name
        self._question = ""
        self.field = Field()
        self.field.setMinimumWidth(280)
        self.choose_button = Button()
        self.clear_button = IconButton("close")
        super().__init__(self.field, self.choose_button, self.clear_button)
        self.field.editingFinished.connect(self._on_edited)
        self.choose_button.clicked.connect(self._choose)
        self.clear_button.clicked.connect(lambda: self._change(""))

    def set_words(self, placeholder: str, question: str, clear: str) -> None:
        """What stands in the empty field, over the file dialog, and on the cross."""
        self.field.setPlaceholderText(placeholder)
        self._question = question
        self.choose_button.setText(self.tr("Choose…"))
        self.clear_button.set_label(clear)
        self.show_path()

    @property
    def path(self) -> str:
        """In the settings."""
        return str(getattr(self._bridge.settings.engine, self._field_name))

    def show_path(self) -> None:
        """What the settings say."""
        if self.field.text() != self.path:
            self.field.setText(self.path)
        self.clear_button.setEnabled(bool(self.path))

    def _on_edited(self) -> None:
        path = self.field.text().strip()
        if path != self.path:
            self._change(path)

    def _choose(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self, self._question)
        if name:
            self._change(name)

    def _change(self, path: str) -> None:
        def change(settings: Settings) -> Settings:
            engine = dataclasses.replace(settings.engine, **{self._field_name: path})  # type: ignore[arg-type]
            return dataclasses.replace(settings, engine=engine)

        self._bridge.save_settings(change)
        self._bridge.navigation.tell(self.tr("Used when the engine is started the next time."))


class EngineCard(SettingsCard):
    """The embedded llama.cpp or a llama-server of the user's, and the Python that has vLLM."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__()
        self._bridge = bridge
        self.llama = ProgramRow(bridge, "llama_server")
        self.python = ProgramRow(bridge, "llama_python")
        self.vllm = ProgramRow(bridge, "vllm_python")
        services = bridge.services
        self.installs = InstallsSection(bridge, install.VLLM, services.installs)
        self.python_installs = InstallsSection(
            bridge, install.LLAMA_CPP_PYTHON, services.python_installs
        )
        self.sglang = ProgramRow(bridge, "sglang_python")
        self.server_engine = Segmented([(VLLM, "vLLM"), (SGLANG, "SGLang")])
        self.server_engine.chosen.connect(self._on_server_engine)
        self._server_row = SettingRow(self.server_engine)
        self.first_question = Switch()
        self.first_question.clicked.connect(self._on_first_question)
        self._question_row = SettingRow(self.first_question)
        python = (self.python, self.python_installs)
        servers = (self._server_row, self.vllm, self.installs, self.sglang)
        self.show_rows((self.llama, *python, *servers, self._question_row))
        bridge.happened.connect(self._on_event)
        self.retranslate()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        self.llama.set_texts(
            self.tr("llama-server"),
            self.tr("A program of your own. Empty: the llama.cpp that comes with the app."),
        )
        self.llama.set_words(
            self.tr("Embedded llama.cpp"),
            self.tr("llama-server program"),
            self.tr("Use the embedded engine"),
        )
        self.python.set_texts(
            self.tr("llama-cpp-python"),
            self.tr("The Python of an environment that has it; serves GGUF files instead of both."),
        )
        self.python.set_words(
            self.tr("Not used"), self.tr("Python with llama-cpp-python"), self.tr("Do not use it")
        )
        self.vllm.set_texts(
            self.tr("vLLM"),
            self.tr("The Python of an environment that has vLLM, for folders of safetensors."),
        )
        self.vllm.set_words(
            self.tr("vllm on PATH"), self.tr("Python with vLLM"), self.tr("Use the one on PATH")
        )
        self.sglang.set_texts(
            self.tr("SGLang"),
            self.tr("The Python of an environment that has SGLang, for the same folders."),
        )
        self.sglang.set_words(
            self.tr("sglang on PATH"), self.tr("Python with SGLang"), self.tr("Use the one on PATH")
        )
        self._server_row.set_texts(
            self.tr("Folders of safetensors"), self.tr("Which engine serves them.")
        )
        self._question_row.set_texts(
            self.tr("Try a loaded model"),
            self.tr(
                "One short question after loading; an answer that is none is told with its likely "
                "causes. Gives way to your first message."
            ),
        )
        self._show_question()

    def _on_server_engine(self, name: str) -> None:
        self._bridge.save_settings(
            lambda before: dataclasses.replace(
                before, engine=dataclasses.replace(before.engine, server_engine=name)
            )
        )

    def _show_question(self) -> None:
        chosen = self._bridge.settings.engine.server_engine
        self.server_engine.choose(SGLANG if chosen == SGLANG else VLLM)
        self.first_question.setChecked(self._bridge.settings.engine.first_question)

    def _on_first_question(self, wanted: bool) -> None:
        self._bridge.save_settings(
            lambda before: dataclasses.replace(
                before, engine=dataclasses.replace(before.engine, first_question=wanted)
            )
        )

    def _on_event(self, event: Event) -> None:
        if isinstance(event, SettingsChanged | BuildsChanged | install.InstallsChanged):
            self.llama.show_path()
            self.python.show_path()
            self.vllm.show_path()
            self.sglang.show_path()
            self._show_question()


class DataCard(SettingsCard):
    """The folders of the profile, to look into."""

    def __init__(self, paths: AppPaths | None = None) -> None:
        super().__init__()
        self._paths = paths or AppPaths.default()
        self._buttons = [Button(icon="folder", small=True) for _ in range(3)]
        self._rows = [PathRow(button) for button in self._buttons]
        places = (self._paths.data, self._paths.config, self._paths.logs)
        for button, place in zip(self._buttons, places, strict=True):
            button.clicked.connect(partial(self._open, place))
        self.show_rows(tuple(self._rows))
        self.retranslate()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        names = (self.tr("Chats and models"), self.tr("Settings"), self.tr("Logs"))
        places = (self._paths.data, self._paths.config, self._paths.logs)
        for row, button, place, name in zip(self._rows, self._buttons, places, names, strict=True):
            row.set_texts(str(place), name)
            button.setText(self.tr("Open"))
            button.setAccessibleName(self.tr("Open the folder: {name}").format(name=name))

    def _open(self, folder: Path) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
