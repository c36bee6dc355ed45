"""The Models page: the local library and Discover, each behind a tab. Qt thread.

The library has its folders and the models that are one press away; Discover is made when it is
first shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, Qt, QUrl
from PySide6.QtGui import (
    QDesktopServices,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from kimi_desktop.backends.types import EngineStateChanged
from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.base.events import Event
from kimi_desktop.base.units import format_file_size
from kimi_desktop.chat.types import AnswerFinished, ChatListChanged
from kimi_desktop.downloads.imports.types import FoundModel
from kimi_desktop.downloads.newer_types import NewerVersion, NewerVersionsFound
from kimi_desktop.downloads.queue_types import DownloadsChanged, DownloadState
from kimi_desktop.models.companions import is_companion
from kimi_desktop.models.types import (
    LibraryChanged,
    LocalModel,
    ModelFormat,
    ModelState,
    ScanProgressed,
    StarterProgress,
)
from kimi_desktop.models.will_load import LoadVerdict
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.latest import LatestOnly
from kimi_desktop.ui.model_picker import select_model
from kimi_desktop.ui.models.details import DetailsPane
from kimi_desktop.ui.models.discover_view import DiscoverView
from kimi_desktop.ui.models.downloads_view import DownloadsView
from kimi_desktop.ui.models.drop import DropVeil, dropped_file, dropped_folders
from kimi_desktop.ui.models.import_actions import ImportActions
from kimi_desktop.ui.models.library_table import RowAction
from kimi_desktop.ui.models.library_view import LibraryView
from kimi_desktop.ui.models.rows import Row, is_running, rows_of
from kimi_desktop.ui.models.serve_sheet import ServeSheet
from kimi_desktop.ui.models.shelf_actions import ShelfActions
from kimi_desktop.ui.models.verify_actions import VerifyActions
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label, TextSize
from kimi_desktop.ui.widgets.tabs import Tabs

DETAILS_WIDTH, LEAST_DETAILS = 320, 280
DETAILS_SHARE = 0.3
LIBRARY, DISCOVER, DOWNLOADS = "library", "discover", "downloads"


class ModelsPage(QWidget):
    """See the module."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._scanning = False
        self.library = LibraryView(bridge)
        self.details = DetailsPane()
        self._loads = LatestOnly(bridge, self)
        self.veil = DropVeil(self)
        self.discover: DiscoverView | None = None
        self.downloads: DownloadsView | None = None
        self.verification = VerifyActions(bridge, self.library.tasks, self)
        self.imports = ImportActions(bridge, self.library.tasks, self)
        self.import_button = Button(icon="link")
        self.import_button.clicked.connect(self._import)
        self.shelf = ShelfActions(bridge, self.library.tasks, self.library.table.select, self)
        self._title = Label(size=TextSize.TITLE, weight=SEMIBOLD)
        self.tabs = Tabs()
        self.tabs.chosen.connect(self.show_tab)
        self._library = QWidget()
        side_by_side = QHBoxLayout(self._library)
        side_by_side.setContentsMargins(0, 0, 0, 0)
        side_by_side.setSpacing(0)
        side_by_side.addWidget(self.library, 1)
        side_by_side.addWidget(self.details)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._library)
        top = QVBoxLayout()
        top.setContentsMargins(24, 16, 24, 0)
        top.setSpacing(4)
        head = QHBoxLayout()
        head.addWidget(self._title, 1)
        head.addWidget(self.import_button)
        top.addLayout(head)
        top.addWidget(self.tabs)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(top)
        layout.addWidget(self._stack, 1)
        self.setAcceptDrops(True)
        self._connect()
        self.retranslate()
        self.library.table.select(bridge.settings.models.selected)
        self._take_library()
        self._take_status()
        self._count_downloads()
        if not bridge.services.models.models:
            self.refresh()  # an empty list may only mean that nobody has looked yet

    # Qt

    def showEvent(self, event: QShowEvent) -> None:
        """What changed on the disk meanwhile is noticed."""
        super().showEvent(event)
        if not self._scanning:
            self._bridge.services.models.freshen()
            self._look_for_newer()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The details take their share."""
        super().resizeEvent(event)
        wanted = round(self.width() * DETAILS_SHARE)
        self.details.setFixedWidth(max(LEAST_DETAILS, min(DETAILS_WIDTH, wanted)))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """GGUF files and folders may be dropped."""
        if dropped_folders(event.mimeData()):
            event.setDropAction(Qt.DropAction.LinkAction)
            event.accept()
            self.veil.appear()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Gone again."""
        del event
        self.veil.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        """Add the folders; a dropped file's row is shown when it was read."""
        self.veil.hide()
        event.accept()
        file = dropped_file(event.mimeData())
        if file is not None:
            self.library.table.select(str(file))
        for folder in dropped_folders(event.mimeData()):
            self.add_folder(folder)

    def retranslate(self) -> None:
        """Set the words."""
        self._title.setText(self.tr("Models"))
        self.import_button.setText(self.tr("Import…"))
        self.import_button.setToolTip(
            self.tr("Take in what Hugging Face, LM Studio, Jan, Ollama or ModelScope have here")
        )
        self.tabs.set_tabs(
            (
                (LIBRARY, self.tr("Library")),
                (DISCOVER, self.tr("Discover")),
                (DOWNLOADS, self.tr("Downloads")),
            )
        )
        self.tabs.set_label(self.tr("Models"))
        self.library.retranslate()
        self.details.retranslate()
        if self.discover is not None:
            self.discover.retranslate()
        if self.downloads is not None:
            self.downloads.retranslate()
        self._say_note()

    def show_tab(self, key: str) -> None:
        """Bring one of the views to the front."""
        self.tabs.choose(key)
        if self.downloads is not None:
            self.downloads.limit.setVisible(key == DOWNLOADS)
        if key == DOWNLOADS:
            self._show_downloads()
        elif key == DISCOVER:
            if self.discover is None:
                self.discover = DiscoverView(self._bridge)
                self.discover.copy_wanted.connect(self._copy_text)
                self._stack.addWidget(self.discover)
            self._stack.setCurrentWidget(self.discover)
            self.discover.appear()
        else:
            self._stack.setCurrentWidget(self._library)

    def _take_in(self, found: FoundModel) -> None:
        self.show_tab(LIBRARY)
        self.imports.start((found,))

    def _show_downloads(self) -> None:
        if self.downloads is None:
            view = self.downloads = DownloadsView(self._bridge)
            view.folder_wanted.connect(self._open)
            view.copy_wanted.connect(self._copy_text)
            view.model_wanted.connect(self._show_folder)
            view.discover_wanted.connect(lambda: self.show_tab(DISCOVER))
            self._stack.addWidget(view)
            self.tabs.add(view.limit)
        self._stack.setCurrentWidget(self.downloads)

    def _show_model(self, model_id: str) -> None:
        self.show_tab(LIBRARY)
        if model_id:
            self.library.table.select(model_id)

    def _verify(self, model_id: str) -> None:
        """Show a model and verify it."""
        self._show_model(model_id)
        models = self._bridge.services.models.models
        if (model := next((one for one in models if one.id == model_id), None)) is not None:
            self.verification.verify(model)

    def _show_folder(self, folder: Path) -> None:
        """The library, with the cursor on a model of a folder."""
        self.show_tab(LIBRARY)
        models = self._bridge.services.models.models
        inside = (model for model in models if model.path.is_relative_to(folder))
        if (model := next(inside, None)) is not None:
            self.library.table.select(model.id)

    # what the user does

    def refresh(self) -> None:
        """Read the folders again."""
        self._begin_scan()
        self._bridge.watch(
            self._bridge.services.models.scan(), self._on_scanned, self._on_scan_failed
        )

    def add_folder(self, folder: Path) -> None:
        """Look into one more folder; one that is looked into already is read again."""
        models = self._bridge.services.models
        if any(folder == known or folder.is_relative_to(known) for known in models.folders):
            self._bridge.navigation.tell(
                self.tr("{path} is in the library already; it is read again.").format(path=folder)
            )
            self.refresh()
            return
        self._begin_scan()
        self._bridge.watch(models.add_folder(folder), self._on_scanned, self._on_scan_failed)

    def _import(self) -> None:
        """Ask what to import; how it goes is shown in the library."""
        self.show_tab(LIBRARY)
        self.imports.ask()

    def act(self, action: RowAction, model: LocalModel) -> None:
        """Carry out an action of a row."""
        {
            RowAction.START: self._start,
            RowAction.PLAN: self._plan,
            RowAction.SHOW: lambda one: self._open(one.path.parent),
            RowAction.COPY: self._copy,
            RowAction.VERIFY: self.verification.verify,
            RowAction.MOVE: self.shelf.move,
            RowAction.REMOVE: self.shelf.remove,
            RowAction.LOOK: lambda _model: self._look_again(),
            RowAction.NEWER: self._open_newer,
        }[action](model)

    def _start(self, model: LocalModel) -> None:
        go = self._bridge.navigation
        engine = self._bridge.services.engine
        if model.problem is not None:
            go.report(model.problem)
        elif model.is_served and is_running(model, engine.status):
            go.new_chat()
        elif model.is_served:
            go.open_overlay(lambda window: ServeSheet(window, self._bridge, model))
        elif model.format is not ModelFormat.GGUF:
            go.report(ModelError(ErrorCode.MODEL_NEEDS_SERVER, {"name": model.title}))
        elif model.state is not ModelState.READY:
            go.tell(
                self.tr("{name} goes with a model; it is not started by itself.").format(
                    name=model.title
                )
            )
        elif is_running(model, engine.status):
            go.new_chat()
        else:
            select_model(self._bridge, model)
            go.start_engine(engine.settings_for(model))

    def _look_for_newer(self) -> None:
        """The service asks a hub once a day at most, and not where the settings say so."""
        services = self._bridge.services
        if services.models.models:
            self._bridge.watch(services.newer.look(services.models.models))

    def _look_again(self) -> None:
        services = self._bridge.services
        operation = services.newer.look(services.models.models, again=True)
        self._bridge.watch(operation, self._tell_newer, self._bridge.navigation.report)

    def _tell_newer(self, versions: Sequence[NewerVersion]) -> None:
        text = self.tr("Models with a newer version: {count}.").format(count=len(versions))
        if not versions:
            text = self.tr("There is no newer version of the models whose origin is known.")
        self._bridge.navigation.tell(text)

    def _open_newer(self, model: LocalModel) -> None:
        found = self._bridge.services.newer.found
        newer = next((one for one in found if one.model_id == model.id), None)
        if newer is not None:
            self._bridge.navigation.download(newer.wanted)

    def _plan(self, model: LocalModel) -> None:
        self._bridge.navigation.open_plan(model.id)

    def _open(self, folder: Path) -> None:
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            text = self.tr("This system has no file manager that opens {path}.")
            self._bridge.navigation.tell(text.format(path=folder))

    def _copy(self, model: LocalModel) -> None:
        self._copy_text(str(model.path))

    def _copy_text(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self._bridge.navigation.tell(self.tr("Copied: {path}").format(path=text))

    def _choose_folder(self) -> None:
        name = QFileDialog.getExistingDirectory(self, self.tr("Folder with models"))
        if name:
            self.add_folder(Path(name))

    def _forget(self, folder: Path) -> None:
        self._begin_scan()
        operation = self._bridge.services.models.remove_folder(folder)
        self._bridge.watch(operation, self._on_scanned, self._on_scan_failed)

    # what happened

    def _connect(self) -> None:
        view = self.library
        view.table.wanted.connect(self.act)
        view.table.selected.connect(self._on_selected)
        view.add_wanted.connect(self._choose_folder)
        view.refresh_wanted.connect(self.refresh)
        view.folders.open_wanted.connect(self._open)
        view.folders.forget_wanted.connect(self._forget)
        view.offers.finished.connect(self._on_offer_finished)
        self.details.wanted.connect(self.act)
        self.details.chat_wanted.connect(self._bridge.navigation.open_chat)
        self._bridge.happened.connect(self._on_event)
        self._bridge.navigation.library_wanted.connect(self._show_model)
        self._bridge.navigation.verify_wanted.connect(self._verify)
        self._bridge.navigation.import_wanted.connect(self._take_in)
        self._bridge.navigation.downloads_wanted.connect(lambda: self.show_tab(DOWNLOADS))

    def _on_event(self, event: Event) -> None:
        if isinstance(event, LibraryChanged | NewerVersionsFound):
            self._take_library()
        elif isinstance(event, EngineStateChanged):
            self._take_status()
        elif isinstance(event, DownloadsChanged):
            self._count_downloads()
        elif isinstance(event, ChatListChanged | AnswerFinished):
            self._show_chats()
        elif isinstance(event, ScanProgressed) and self._scanning:
            text = self.tr("{done} of {total} models read")
            self.library.header.set_note(text.format(done=event.done, total=event.total))
        elif isinstance(event, StarterProgress):
            self.library.offers.show_progress(event)

    def _on_selected(self, row: Row | None) -> None:
        self.details.show_row(row)
        self._show_chats()
        self._ask_loads()

    def _ask_loads(self) -> None:
        """Whether the engine would load what is shown: asked once a model, it remembers."""
        model = self.details.shown_model()
        if model is None or not model.is_startable or model.facts is None:
            return

        def take(verdict: LoadVerdict) -> None:
            if self.details.shown_model() == model:
                self.details.show_loads(verdict)

        self._loads.ask(
            lambda: self._bridge.services.checks.will_load(model), take, lambda _error: None
        )

    def _show_chats(self) -> None:
        model = self.details.shown_model()
        chats = self._bridge.services.chats.chats_of(model.id) if model is not None else ()
        self.details.chats.show_chats(chats)

    def _on_offer_finished(self, model: LocalModel) -> None:
        self.library.table.select(model.id)
        self._bridge.navigation.tell(self.tr("{name} is ready.").format(name=model.title))

    def _begin_scan(self) -> None:
        self._scanning = True
        self.library.refresh.setEnabled(False)
        self._say_note()

    def _on_scanned(self, models: Sequence[LocalModel]) -> None:
        del models  # LibraryChanged brings them, whoever asked for the scan
        self._end_scan()
        self._look_for_newer()

    def _on_scan_failed(self, error: BaseException) -> None:
        self._end_scan()
        self._bridge.navigation.report(error)

    def _end_scan(self) -> None:
        self._scanning = False
        self.library.refresh.setEnabled(True)
        self._say_note()

    def _take_library(self) -> None:
        services = self._bridge.services.models
        rows = rows_of(services.models, self._bridge.services.newer.found)
        self.library.show_library(rows, services.models, services.folders, services.missing_folders)
        self._say_note()

    def _take_status(self) -> None:
        status = self._bridge.services.engine.status
        self.library.table.show_status(status)
        self.details.show_status(status)

    def _count_downloads(self) -> None:
        downloads = self._bridge.services.downloads.downloads
        open_ones = [one for one in downloads if one.state is not DownloadState.READY]
        self.tabs.set_count(DOWNLOADS, len(open_ones))

    def _say_note(self) -> None:
        """What there is, or what is being looked at."""
        services = self._bridge.services.models
        self.library.show_scanning(scanning=self._scanning)
        if self._scanning:
            count = len(services.folders)
            one = self.tr("Looking for models")
            several = self.tr("Looking through {count} folders for models")
            self.library.header.set_note((one if count == 1 else several).format(count=count))
            return
        whole = [model for model in services.models if not is_companion(model)]
        self.tabs.set_count(LIBRARY, len(whole))
        size = format_file_size(sum(model.size_bytes for model in services.models))
        one, several = self.tr("One model, {size}"), self.tr("{count} models, {size}")
        text = (one if len(whole) == 1 else several).format(count=len(whole), size=size)
        self.library.header.set_note(text if whole else "")
