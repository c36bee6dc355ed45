"""Screenshots of every page, English and Chinese, light and dark, into shots/.

    python tools/shots.py              all of them
    python tools/shots.py chat wizard  those whose name begins so

Scripted services stand behind the window, so the pictures are the same on every machine. Under
Xvfb where it is installed, else offscreen (the same pixels, as measured).
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "shots"
INSIDE = "KIMI_DESKTOP_SHOTS"
sys.path.insert(0, str(ROOT))


def _go_under_xvfb() -> None:
    """Start again inside a virtual display when there is one to be had."""
    if os.environ.get(INSIDE):
        return
    os.environ[INSIDE] = "1"
    runner = shutil.which("xvfb-run")
    if runner and sys.platform.startswith("linux"):
        command = [runner, "-a", "-s", "-screen 0 2000x1200x24", sys.executable, *sys.argv]
        os.environ["QT_QPA_PLATFORM"] = "xcb"
        raise SystemExit(subprocess.run(command, check=False).returncode)
    os.environ["QT_QPA_PLATFORM"] = "offscreen"


if __name__ == "__main__":
    _go_under_xvfb()

from PySide6.QtCore import QSize, Qt  # noqa: E402 - after the platform is chosen
from PySide6.QtGui import QPainter, QPixmap  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget  # noqa: E402

from kimi_desktop.backends.install.types import InstallPhase  # noqa: E402
from kimi_desktop.backends.types import EngineFacts, EngineState, EngineStatus  # noqa: E402
from kimi_desktop.base.errors import BackendError, DownloadError, ErrorCode  # noqa: E402
from kimi_desktop.base.settings import LanguageChoice, ThemeChoice  # noqa: E402
from kimi_desktop.diagnosis.types import SlownessSeen  # noqa: E402
from kimi_desktop.downloads.hubs.account_types import TokenPlace  # noqa: E402
from kimi_desktop.machine.types import Machine  # noqa: E402
from kimi_desktop.models.hash_record import Verified, Witness  # noqa: E402
from kimi_desktop.monitor.experiment_types import Variable  # noqa: E402
from kimi_desktop.monitor.types import Mark  # noqa: E402
from kimi_desktop.planner.types import ExactCheck  # noqa: E402
from kimi_desktop.ui.bridge import Bridge  # noqa: E402
from kimi_desktop.ui.language import LanguageSwitch  # noqa: E402
from kimi_desktop.ui.main_window import MainWindow  # noqa: E402
from kimi_desktop.ui.model_picker import select_model  # noqa: E402
from kimi_desktop.ui.models.download_row import DownloadAction  # noqa: E402
from kimi_desktop.ui.models.import_sheet import ImportSheet  # noqa: E402
from kimi_desktop.ui.models.library_table import RowAction  # noqa: E402
from kimi_desktop.ui.models.page import ModelsPage  # noqa: E402
from kimi_desktop.ui.monitor.page import MonitorPage  # noqa: E402
from kimi_desktop.ui.navigation import PAGES  # noqa: E402
from kimi_desktop.ui.overlay_host import OverlayHost  # noqa: E402
from kimi_desktop.ui.pages import standard_pages  # noqa: E402
from kimi_desktop.ui.plan.page import PlanPage  # noqa: E402
from kimi_desktop.ui.settings.page import SettingsPage  # noqa: E402
from kimi_desktop.ui.theme import Theme  # noqa: E402
from kimi_desktop.ui.wizard.page import WizardPage  # noqa: E402
from tests.support import hf_shapes, scripted_data  # noqa: E402
from tests.support.scripted_builds import installed_build  # noqa: E402
from tests.support.scripted_downloads import bad_report, busy_queue, preflight_rows  # noqa: E402
from tests.support.scripted_imports import FOUND  # noqa: E402
from tests.support.scripted_installs import installed_engine  # noqa: E402
from tests.support.scripted_other_servers import FOUND as OLLAMA_FOUND  # noqa: E402
from tests.support.scripted_other_servers import LAB, SILENT  # noqa: E402
from tests.support.scripted_services import ScriptedServices, lived_in  # noqa: E402
from tests.support.scripted_workers import ready_worker  # noqa: E402
from tools.component_sheet import ComponentSheet  # noqa: E402

SETTLE_S = 0.2
SEARCH_S = 1.0
"""Until a plan, its siblings, its changes and the engine's own word are there."""
NORMAL, LARGE = QSize(1280, 800), QSize(1920, 1080)


@dataclasses.dataclass(frozen=True)
class Look:
    """One language in one theme."""

    language: LanguageChoice
    theme: ThemeChoice

    @property
    def name(self) -> str:
        """``dark-en``."""
        return f"{self.theme.value}-{'zh' if self.chinese else 'en'}"

    @property
    def chinese(self) -> bool:
        """It is the Chinese one."""
        return self.language is LanguageChoice.ZH_CN


LOOKS = tuple(
    Look(language, theme)
    for theme in (ThemeChoice.DARK, ThemeChoice.LIGHT)
    for language in (LanguageChoice.EN, LanguageChoice.ZH_CN)
)


class Studio:
    """Builds a window over scripted services and takes its picture."""

    def __init__(self, app: QApplication, wanted: list[str]) -> None:
        self.app = app
        self.theme = Theme(app)
        self.language = LanguageSwitch(app)
        self._wanted = wanted
        self.taken = 0
        self._homes = tempfile.TemporaryDirectory(prefix="kimi-shots-")

    def home(self) -> Path:
        """A fresh profile's folder, gone at the end."""
        return Path(tempfile.mkdtemp(dir=self._homes.name))

    def wants(self, name: str) -> bool:
        """It was asked for, or everything was."""
        return not self._wanted or any(name.startswith(wish) for wish in self._wanted)

    def settle(self, seconds: float = SETTLE_S) -> None:
        """Let layouts, queued signals and the timers of a streaming answer come to rest."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.app.processEvents()
            time.sleep(0.005)

    def take(self, widget: QWidget, name: str, look: Look) -> None:
        """Save the picture."""
        self.settle()
        OUT.mkdir(exist_ok=True)
        widget.grab().save(str(OUT / f"{name}-{look.name}.png"))
        self.taken += 1

    @contextmanager
    def window(
        self,
        services: ScriptedServices,
        look: Look,
        page: str = "settings",
        size: QSize = NORMAL,
    ) -> Iterator[tuple[MainWindow, Bridge]]:
        """A window on ``page`` that is gone afterwards."""
        bridge = Bridge(services)
        bridge.save_settings(
            lambda s: dataclasses.replace(
                s,
                window=dataclasses.replace(
                    s.window, page=page, language=look.language, theme=look.theme
                ),
            )
        )
        window = MainWindow(bridge, standard_pages(), wizard=WizardPage)
        window.resize(size)
        window.show()
        self.settle()
        try:
            yield window, bridge
        finally:
            bridge.close()
            window.hide()
            window.deleteLater()
            self.settle()


def _answering(services: ScriptedServices, look: Look) -> None:
    """An answer is being written in the newest chat."""
    chat_id = services.chats.chats()[0].id
    question, answer = scripted_data.FOLLOW_UP, scripted_data.OPEN_ANSWER
    services.chats.send(chat_id, question.zh if look.chinese else question.en)
    services.chats.stream(reasoning="...")
    services.chats.stream(answer.zh if look.chinese else answer.en)


def shoot_pages(studio: Studio, look: Look) -> None:
    """The six pages of a profile in use, and Chat on a large screen."""
    for name in PAGES:
        if not studio.wants(name):
            continue
        sizes = (
            (("", NORMAL), ("-1920x1080", LARGE))
            if name in ("chat", "plan", "serve")
            else (("", NORMAL),)
        )
        for suffix, size in sizes:
            services = lived_in(studio.home(), zh=look.chinese, real=True)
            if name == "serve":
                services.serve.switch_on()
                services.serve.set_status(
                    dataclasses.replace(services.serve.status, **scripted_data.served())
                )
            if name == "plan":
                services.engine.exact_check = ExactCheck((), 0, "llama.cpp b11549")
            with studio.window(services, look, name, size) as (window, bridge):
                if name == "plan":  # what one change would bring is looked for afterwards
                    studio.settle(SEARCH_S)
                if name == "chat":
                    bridge.navigation.open_chat(services.chats.chats()[0].id)
                    _answering(services, look)
                studio.take(window, f"{name}{suffix}", look)


def shoot_open_network(studio: Studio, look: Look) -> None:
    """The Serve page while the local network can reach it, in the clear and encrypted."""
    for name, size, encrypted in (
        ("serve-open", QSize(1280, 1300), False),
        ("serve-open-tls", LARGE, True),
    ):
        if not studio.wants(name):
            continue
        services = lived_in(studio.home(), zh=look.chinese, real=True)
        services.serve.switch_on()
        services.serve.set_status(
            dataclasses.replace(services.serve.status, **scripted_data.served())
        )
        services.serve.set_address("192.168.1.20")
        services.serve.set_encrypted(encrypted=encrypted)
        with studio.window(services, look, "serve", size) as (window, _):
            studio.take(window, name, look)


def shoot_discover(studio: Studio, look: Look) -> None:
    """The second tab of the Models page: the family, a file planned, a search."""
    for name in ("discover", "discover-planned", "discover-search", "discover-small"):
        if not studio.wants(name):
            continue
        services = lived_in(studio.home(), zh=look.chinese)
        size = QSize(960, 600) if name == "discover-small" else NORMAL
        with studio.window(services, look, "models", size) as (window, _):
            page = window.stack.currentWidget()
            assert isinstance(page, ModelsPage)
            page.show_tab("discover")
            studio.settle()
            view = page.discover
            assert view is not None
            if name == "discover-planned":
                view.details.plan.click()
            elif name == "discover-search":
                view.search.setText("48B A3B")
                view.go.click()
            studio.take(window, name, look)


def _full_library(services: ScriptedServices) -> None:
    """Rows of every kind: verified, a checkpoint, a projector, a drive that is gone."""
    folder = services.models.folders[0]
    away = Path("/media/ada/archive")
    first, *others = services.models.models
    verified = Verified(scripted_data.NOW - 9 * 86_400, Witness.LISTING)
    services.models.folders = (folder, away)
    services.models.missing_folders = (away,)
    services.models.set_models(
        dataclasses.replace(first, verified=verified),
        *(dataclasses.replace(m, verified=verified) if m.is_startable else m for m in others),
        scripted_data.checkpoint_model(folder),
        scripted_data.missing_model(away),
        scripted_data.projector_model(folder),
    )
    chats = services.chats.chats()
    services.chats.answered[first.id] = tuple(chat.id for chat in chats)


def shoot_library(studio: Studio, look: Look) -> None:
    """The library with rows of every kind, and what is asked about one of them."""
    for name in ("library", "library-moving", "library-remove", "library-move"):
        if not studio.wants(name):
            continue
        services = lived_in(studio.home(), zh=look.chinese)
        _full_library(services)
        with studio.window(services, look, "models") as (window, _):
            page = window.page("models")
            assert isinstance(page, ModelsPage)
            model = services.models.models[0]
            page.library.table.select(model.id)
            if name == "library-moving":
                services.desk.hold.add("keeper.move")
                page.shelf.start_move(model, Path("/mnt/archive/models"))
                for done in range(1, 40):
                    services.keeper.progress(model, done * 10**9, done * 6 * 10**8)
                    studio.settle(0.05)
            elif name == "library-remove":
                page.shelf.remove(model)
            elif name == "library-move":
                page.shelf.move(model)
            studio.take(window, name, look)


def shoot_downloads(studio: Studio, look: Look) -> None:
    """The third tab of the Models page: one download of each kind, its sheets, and none."""
    names = ("downloads", "downloads-cancel", "downloads-details", "downloads-none")
    for name in (*names, "downloads-small"):
        if not studio.wants(name):
            continue
        services = lived_in(studio.home(), zh=look.chinese)
        size = QSize(960, 600) if name == "downloads-small" else NORMAL
        if name != "downloads-none":
            services.downloads.set_downloads(*busy_queue(services.models.folders[0]))
        with studio.window(services, look, "models", size) as (window, bridge):
            bridge.navigation.open_downloads()
            studio.settle()
            page = window.page("models")
            assert isinstance(page, ModelsPage)
            assert page.downloads is not None
            key = services.downloads.downloads[0].id if name != "downloads-none" else ""
            if name == "downloads-cancel":
                page.downloads.act(DownloadAction.CANCEL, key)
            elif name == "downloads-details":
                page.downloads.act(DownloadAction.DETAILS, key)
            studio.take(window, name, look)


def shoot_download_sheet(studio: Studio, look: Look) -> None:
    """Before the first byte: all is well, something stops it, a gated repository."""
    wanted = "unsloth/Kimi-K2.6-GGUF:UD-Q4_K_XL"
    for name in ("download-sheet", "download-sheet-stop", "download-sheet-gated"):
        if not studio.wants(name):
            continue
        services = lived_in(studio.home(), zh=look.chinese)
        services.downloads.rows = preflight_rows(stops=name.endswith("stop"))
        services.downloads.has_projector = True
        if name.endswith("gated"):
            params = {"repo": "org/gated", "page": "https://huggingface.co/org/gated"}
            services.downloads.prepare_error = DownloadError(ErrorCode.HUB_GATED_NO_TOKEN, params)
        else:
            services.downloads.set_downloads(*busy_queue(services.models.folders[0]))
        with studio.window(services, look, "models") as (window, bridge):
            bridge.navigation.download(wanted)
            studio.take(window, name, look)


def shoot_import(studio: Studio, look: Look) -> None:
    """What other programs have, what came out, and a verification that found something."""
    for name in ("import", "import-done", "verify-running", "verify-bad"):
        if not studio.wants(name):
            continue
        services = lived_in(studio.home(), zh=look.chinese)
        with studio.window(services, look, "models") as (window, _):
            page = window.page("models")
            assert isinstance(page, ModelsPage)
            model = services.models.models[0]
            page.library.table.select(model.id)
            if name == "import":
                page.imports.ask()
                studio.settle()
                overlay = window.overlays.current
                assert isinstance(overlay, ImportSheet)
                overlay.rows[1].box.setChecked(True)
            elif name == "import-done":
                page.imports.start(FOUND[:2])
            elif name == "verify-running":
                services.desk.hold.add("verify.verify")
                page.verification.verify(model)
                for step in range(1, 40):
                    services.verify.progress(model.path, step * 10**8, 340 * 10**9)
                    studio.settle(0.05)
            else:
                services.verify.report = bad_report(model.path.parent)
                page.verification.verify(model)
            studio.take(window, name, look)


def shoot_hubs(studio: Studio, look: Look) -> None:
    """Settings: accounts on model hubs, one of them being given a token."""
    if not studio.wants("settings-hubs"):
        return
    services = lived_in(studio.home(), zh=look.chinese)
    services.hubs.set_account("https://modelscope.cn", place=TokenPlace.KEYRING, owner="ada")
    services.hubs.set_account("https://huggingface.co", can_keep=False)
    with studio.window(services, look) as (window, bridge):
        bridge.navigation.open_settings("hubs")
        studio.settle()
        page = window.page("settings")
        assert isinstance(page, SettingsPage)
        row = page.hubs.rows["https://huggingface.co"]
        row.open_form()
        row.form.field.setText("hf_0123456789abcdef")
        bridge.navigation.open_settings("hubs")
        studio.take(window, "settings-hubs", look)


def shoot_builds(studio: Studio, look: Look) -> None:
    """Settings: official llama.cpp builds, one in use, another one offered."""
    if not studio.wants("settings-builds"):
        return
    services = lived_in(studio.home(), zh=look.chinese)
    blind = installed_build("b11400", devices=(), lacking="libvulkan.so.1")
    services.builds.set_builds(installed_build(in_use=True), blind)
    services.builds.builds = (installed_build(in_use=True), blind)
    with studio.window(services, look) as (window, bridge):
        bridge.navigation.open_settings("builds")
        studio.settle()
        studio.take(window, "settings-builds", look)


def shoot_workers(studio: Studio, look: Look) -> None:
    """Settings: workers of other machines, one ready, one of another version."""
    if not studio.wants("settings-workers"):
        return
    services = lived_in(studio.home(), zh=look.chinese)
    params = {"engine": "llama.cpp b11549", "address": "192.168.1.21:50052", "version": "6.1.0"}
    other = BackendError(ErrorCode.WORKER_OTHER_VERSION, params)
    old = dataclasses.replace(ready_worker(params["address"], "RTX 3090"), error=other)
    services.workers.workers = (ready_worker(), old)
    with studio.window(services, look) as (window, bridge):
        bridge.navigation.open_settings("workers")
        studio.settle()
        studio.take(window, "settings-workers", look)


def shoot_installs(studio: Studio, look: Look) -> None:
    """Settings, Engine: vLLM being installed, and one that is here."""
    for name in ("settings-vllm", "settings-vllm-here"):
        if not studio.wants(name):
            continue
        services = lived_in(studio.home(), zh=look.chinese)
        if name.endswith("here"):
            services.installs.installed = (installed_engine(in_use=True),)
        services.desk.hold.add("installs.install")
        with studio.window(services, look) as (window, bridge):
            bridge.navigation.open_settings("engine")
            studio.settle()
            page = window.page("settings")
            assert isinstance(page, SettingsPage)
            if not name.endswith("here"):
                page.engine.installs.install.click()
                for done in range(1, 40):
                    services.installs.tell(
                        InstallPhase.FETCHING, done * 50 * 10**6, 4_300_000_000, "torch"
                    )
                    studio.settle(0.05)
            studio.take(window, name, look)


def _eight_h200() -> Machine:
    """A server for a whole Kimi K2.6."""
    box = scripted_data.two_gpu_box()
    size = 143_771 * 2**20
    cards = tuple(
        dataclasses.replace(
            box.gpus[0],
            index=index,
            uuid=f"GPU-0000-{index}",
            name="NVIDIA H200",
            vram_total_bytes=size,
            vram_free_bytes=size - 500 * 2**20,
        )
        for index in range(8)
    )
    memory = dataclasses.replace(box.memory, total_bytes=2**41, available_bytes=2**41 - 2**35)
    return dataclasses.replace(box, gpus=cards, memory=memory)


def shoot_served(studio: Studio, look: Look) -> None:
    """A checkpoint for vLLM: the sheet of the library, and the Plan page."""
    for name in (
        "served-sheet",
        "served-plan",
        "served-plan-1920x1080",
        "served-none",
        "served-nodes",
        "served-code",
    ):
        if not studio.wants(name):
            continue
        services = lived_in(studio.home(), zh=look.chinese)
        checkpoint = scripted_data.checkpoint_model(services.models.folders[0])
        path = checkpoint.path.with_name("Kimi-K2.6")
        facts = checkpoint.facts
        assert facts is not None
        facts = dataclasses.replace(facts, name=path.name, quantization="INT4")
        model = dataclasses.replace(
            checkpoint,
            id=str(path),
            path=path,
            title=path.name,
            size_bytes=595 * 10**9,
            facts=facts,
        )
        services.models.set_models(*services.models.models, model)
        services.servers.shape = hf_shapes.kimi_k25
        if name == "served-code":
            services.servers.code = scripted_data.OWN_CODE
        if name == "served-none":
            services.engine.vllm = None
        else:
            services.machine.machine = _eight_h200()
        page = "models" if name == "served-sheet" else "plan"
        size = LARGE if name.endswith("1080") else NORMAL
        with studio.window(services, look, page, size) as (window, bridge):
            if page == "plan":
                bridge.navigation.open_plan(model.id)
            else:
                models = window.page("models")
                assert isinstance(models, ModelsPage)
                models.act(RowAction.START, model)
            studio.settle(SEARCH_S)
            plan = window.page("plan")
            if name == "served-nodes":
                assert isinstance(plan, PlanPage)
                plan.served.nodes.nodes.setText("10.0.0.1 10.0.0.2=gpu2")
                plan.served.nodes.fold.click()
                studio.settle(SEARCH_S)
                bar = plan._served_right.verticalScrollBar()
                bar.setValue(bar.maximum())
            if size is LARGE:
                assert isinstance(plan, PlanPage)
                plan.served.form.fold.click()
                plan.served.planning.take(plan.served.planning.offer.presets[1].wishes)  # type: ignore[union-attr]
                studio.settle(SEARCH_S)
            studio.take(window, name, look)


def shoot_servers(studio: Studio, look: Look) -> None:
    """Other servers: in Settings, in the list of models, attached, and lost."""
    for name in ("servers-settings", "servers-picker", "servers-chat", "servers-lost"):
        if not studio.wants(name):
            continue
        services = lived_in(studio.home(), zh=look.chinese)
        services.other_servers.set_servers(LAB, SILENT, OLLAMA_FOUND)
        services.other_servers.can_keep = False
        attached = services.other_servers.attachment("Lab", "moonshotai/Kimi-K2.6")
        page = "settings" if name.endswith("settings") else "chat"
        with studio.window(services, look, page) as (window, bridge):
            if name == "servers-settings":
                bridge.navigation.open_settings("servers")
                studio.settle()
                settings = window.page("settings")
                assert isinstance(settings, SettingsPage)
                settings.servers.open_form()
                bridge.navigation.open_settings("servers")
            elif name == "servers-picker":
                bridge.navigation.open_picker()
            elif name == "servers-chat":
                services.other_servers.attach("Lab", attached.model)
                bridge.navigation.new_chat()
            else:
                params = {"name": "Lab", "detail": "Connection refused"}
                error = BackendError(ErrorCode.SERVER_LOST, params)
                services.engine.set_status(
                    EngineStatus(EngineState.FAILED, attached=attached, error=error)
                )
            studio.take(window, name, look)


def shoot_network(studio: Studio, look: Look) -> None:
    """Serve, in the local network and encrypted."""
    if not studio.wants("serve-network"):
        return
    services = lived_in(studio.home(), zh=look.chinese)
    services.serve.set_address("192.168.1.20")
    services.serve.switch_on()
    services.serve.set_encrypted(encrypted=True)
    with studio.window(services, look, "serve") as (window, _bridge):
        studio.take(window, "serve-network", look)


def _eight_gpus() -> Machine:
    """A server with unequal cards, one of them too small to help."""
    box = scripted_data.two_gpu_box()
    card = box.gpus[0]
    names = ["NVIDIA RTX PRO 6000"] * 2 + ["NVIDIA L40S"] * 3 + ["NVIDIA GeForce RTX 4090"] * 2
    sizes = [96, 96, 48, 48, 48, 24, 24, 8]
    gpus = tuple(
        dataclasses.replace(
            card,
            index=index,
            uuid=f"GPU-0000-{index}",
            name=name,
            vram_total_bytes=size * 2**30,
            vram_free_bytes=size * 2**30 - 600 * 2**20,
        )
        for index, (name, size) in enumerate(
            zip([*names, "NVIDIA GeForce RTX 4060"], sizes, strict=True)
        )
    )
    return dataclasses.replace(box, gpus=gpus)


def _small_box() -> Machine:
    """One card of 24 GiB and 256 GiB of memory."""
    box = scripted_data.two_gpu_box()
    card = dataclasses.replace(
        box.gpus[0],
        name="NVIDIA GeForce RTX 4090",
        vram_total_bytes=24 * 2**30,
        vram_free_bytes=24 * 2**30 - 600 * 2**20,
    )
    memory = dataclasses.replace(box.memory, total_bytes=256 * 2**30, available_bytes=247 * 2**30)
    return dataclasses.replace(box, gpus=(card,), memory=memory)


def shoot_plan(studio: Studio, look: Look) -> None:
    """The Plan page where nothing fits, with eight GPUs, by hand, and after a failed start."""
    machines = {
        "plan-no-fit": _small_box(),
        "plan-8gpus": _eight_gpus(),
        "plan-manual": scripted_data.two_gpu_box(),
        "plan-failed": scripted_data.two_gpu_box(),
        "plan-options": scripted_data.two_gpu_box(),
    }
    for name, machine in machines.items():
        for suffix, size in (("", NORMAL), ("-1920x1080", LARGE)):
            if not studio.wants(name):
                continue
            services = lived_in(studio.home(), zh=look.chinese, real=True)
            services.machine.set_machine(machine)
            services.engine.set_state(EngineState.STOPPED)
            with studio.window(services, look, "plan", size) as (window, _):
                page = window.page("plan")
                assert isinstance(page, PlanPage)
                if name == "plan-manual":
                    page.choices.placement.expert_layers.set_value(20)
                    page.choices.advanced.fold.setChecked(True)
                if name == "plan-options":
                    services.engine.problem = BackendError(
                        ErrorCode.ENGINE_FLAG_CONFLICT, {"flag": "-c", "other": "-c 32768"}
                    )
                    _choose_options(page)
                if name == "plan-failed":
                    error = BackendError(
                        ErrorCode.ENGINE_OUT_OF_MEMORY,
                        {"detail": "GPU 0, 5,648 MiB could not be allocated"},
                    )
                    services.engine.set_failed(services.models.models[1], error)
                studio.settle(SEARCH_S)
                below = {
                    "plan-options": page.choices.options.extra,
                    "plan-manual": page.choices.advanced.split,
                }
                if shown := below.get(name):
                    for area in page.findChildren(QScrollArea):
                        area.ensureWidgetVisible(shown)
                studio.take(window, f"{name}{suffix}", look)


def _choose_options(page: PlanPage) -> None:
    options = page.choices.options
    options.fold.click()
    options.speculation.choose("ngram-simple")
    options.speculation.activated.emit(options.speculation.currentIndex())
    options.extra.setText("-c 4096")
    options.extra.editingFinished.emit()


def shoot_runs(studio: Studio, look: Look) -> None:
    """The run notebook, two runs side by side."""
    if studio.wants("runs"):
        services = lived_in(studio.home(), zh=look.chinese, real=True)
        services.notebook.set_rows(*scripted_data.notebook(services.models.models[1]))
        services.diagnosis.kept[3] = scripted_data.kept_facts()
        with studio.window(services, look, "monitor") as (window, _):
            page = window.page("monitor")
            assert isinstance(page, MonitorPage)
            page.view.segment("runs").click()
            studio.settle(SEARCH_S)
            for row in page.runs.rows()[2:]:
                row.tick.click()
            studio.take(window, "runs", look)
            for row in page.runs.rows()[2:]:
                row.tick.click()
            page.runs.rows()[1].reasons.click()
            studio.settle()
            studio.take(window, "runs-reason", look)


def shoot_experiments(studio: Studio, look: Look) -> None:
    """Two curves of users side by side."""
    if studio.wants("experiments"):
        services = lived_in(studio.home(), zh=look.chinese, real=True)
        services.experiments.rows = scripted_data.experiments(services.models.models[1].title)
        with studio.window(services, look, "monitor") as (window, _):
            page = window.page("monitor")
            assert isinstance(page, MonitorPage)
            page.view.segment("experiments").click()
            studio.settle(SEARCH_S)
            page.experiments.variable.choose(Variable.USERS)
            studio.take(window, "experiments", look)
            for area in page.experiments.findChildren(QScrollArea):
                area.verticalScrollBar().setValue(area.verticalScrollBar().maximum())
            studio.take(window, "experiments-table", look)


def shoot_slow(studio: Studio, look: Look) -> None:
    """An answer that was slower than forecast: the bar, and the mark in the graphs."""
    if studio.wants("slow"):
        services = lived_in(studio.home(), zh=look.chinese, real=True)
        samples = services.monitor.samples
        services.monitor.said.append(Mark(samples[-60].at, scripted_data.SLOW.finding.cause))
        with studio.window(services, look, "monitor") as (window, _):
            services.bus.publish(SlownessSeen(scripted_data.SLOW, samples[-1].at))
            page = window.page("monitor")
            assert isinstance(page, MonitorPage)
            page.board.setFocus()
            for _ in range(6):
                QTest.keyClick(page.board, Qt.Key.Key_Left, Qt.KeyboardModifier.ControlModifier)
            studio.settle(SEARCH_S)
            studio.take(window, "slow", look)


def shoot_wizard(studio: Studio, look: Look) -> None:
    """The steps of the set-up on the machine with two GPUs."""
    for number in range(4):
        name = f"wizard-{number + 1}"
        if not studio.wants(name):
            continue
        machine = scripted_data.two_gpu_box()
        services = ScriptedServices(studio.home(), machine=machine)
        with studio.window(services, look) as (window, bridge):
            services.machine.set_machine(services.machine.measured())
            if number == 3:
                services.models.install_starter()
                select_model(bridge, services.models.models[0])
            wizard = window.stack.currentWidget()
            assert isinstance(wizard, WizardPage)
            wizard.show_step(number)
            studio.take(window, name, look)


def shoot_failure(studio: Studio, look: Look) -> None:
    """The engine's failure over a page, and the log with the lines that decided."""
    if studio.wants("failure") or studio.wants("log"):
        services = lived_in(studio.home(), zh=look.chinese, real=True)
        line = (
            "E llama_init_from_model: failed to initialize the context: "
            "failed to allocate buffer for kv cache"
        )
        error = BackendError(ErrorCode.ENGINE_OUT_OF_MEMORY, {"detail": line})
        before = (f"I load_tensors: layer {n:3} assigned to device CUDA0" for n in range(61))
        decoy = "E common_init_result: failed to fit params to free device memory"
        facts = EngineFacts(code=1, phase="load", log=(*before, line, decoy))
        services.engine.set_failed(services.models.models[1], error, facts)
        with studio.window(services, look, "models") as (window, _):
            window.show_failure()
            studio.take(window, "failure", look)
            window.overlays.show_log()
            studio.take(window, "log", look)


def shoot_overlays(studio: Studio, look: Look) -> None:
    """What lies over the window for a moment."""
    overlays: tuple[tuple[str, Callable[[OverlayHost], None]], ...] = (
        ("picker", OverlayHost.open_picker),
        ("palette", OverlayHost.open_palette),
        ("shortcuts", OverlayHost.show_shortcuts),
    )
    for name, show in overlays:
        if studio.wants(name):
            with studio.window(lived_in(studio.home(), zh=look.chinese), look) as (window, _):
                show(window.overlays)
                studio.take(window, name, look)


def shoot_components(studio: Studio) -> None:
    """Both halves of the sheet side by side."""
    if not studio.wants("components"):
        return
    sheet = QPixmap(1280, 720)
    painter = QPainter(sheet)
    for place, theme in enumerate((ThemeChoice.DARK, ThemeChoice.LIGHT)):
        studio.theme.choose(theme)
        half = ComponentSheet(theme.value.title())
        half.show()
        studio.settle()
        half.show_focus()
        studio.settle()
        painter.drawPixmap(640 * place, 0, half.grab())
        half.close()
    painter.end()
    OUT.mkdir(exist_ok=True)
    sheet.save(str(OUT / "components-dark-light.png"))
    studio.taken += 1


def main(wanted: list[str]) -> int:
    """Take the pictures asked for."""
    os.environ["KIMI_DESKTOP_HOME"] = "/home/ada/.kimi-desktop"  # only shown
    app = QApplication(sys.argv[:1])
    studio = Studio(app, wanted)
    for look in LOOKS:
        studio.theme.choose(look.theme)
        studio.language.choose(look.language)
        shoot_pages(studio, look)
        shoot_open_network(studio, look)
        shoot_library(studio, look)
        shoot_downloads(studio, look)
        shoot_download_sheet(studio, look)
        shoot_import(studio, look)
        shoot_hubs(studio, look)
        shoot_builds(studio, look)
        shoot_workers(studio, look)
        shoot_served(studio, look)
        shoot_servers(studio, look)
        shoot_installs(studio, look)
        shoot_network(studio, look)
        shoot_discover(studio, look)
        shoot_plan(studio, look)
        shoot_wizard(studio, look)
        shoot_failure(studio, look)
        shoot_runs(studio, look)
        shoot_slow(studio, look)
        shoot_experiments(studio, look)
        shoot_overlays(studio, look)
    studio.language.choose(LanguageChoice.EN)
    shoot_components(studio)
    print(f"{studio.taken} pictures in {OUT}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
