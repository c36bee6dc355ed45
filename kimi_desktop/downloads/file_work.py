"""The state of one file of a transfer, from "not begun" to "proven". Guarded by the transfer."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from kimi_desktop.base.errors import DownloadError
from kimi_desktop.downloads.part_file import PartFile
from kimi_desktop.downloads.proving import Proof
from kimi_desktop.downloads.repair import Repair
from kimi_desktop.downloads.types import FileJob, Source


class FileState(StrEnum):
    """Where a file stands."""

    PENDING = "pending"
    CHECKING = "checking"
    """A file of that name is there: perhaps it is the right one."""
    ACTIVE = "active"
    DONE = "done"
    FAILED = "failed"


@dataclass(slots=True, eq=False)
class FileWork:
    """One file."""

    index: int
    job: FileJob
    state: FileState = FileState.PENDING
    part: PartFile | None = None
    proof: Proof | None = None
    reuse_from: Path | None = None
    """Another program's file that is being hashed: perhaps it is the one."""
    hashing: bool = False
    """A hasher has it in hand."""
    connections: int = 0
    repair: Repair = field(default_factory=Repair)
    used: set[Source] = field(default_factory=set)
    """Who its bytes came from since the last repair."""
    avoid: frozenset[Source] = frozenset()
    """Who sent bytes that were wrong."""
    error: DownloadError | None = None

    @property
    def is_over(self) -> bool:
        """Nothing more happens to it."""
        return self.state in (FileState.DONE, FileState.FAILED)

    @property
    def free_bytes(self) -> int:
        """Bytes that nobody fetches yet."""
        if self.state is FileState.PENDING:
            return self.job.size_bytes
        return self.part.free_bytes if self.state is FileState.ACTIVE and self.part else 0

    @property
    def written_bytes(self) -> int:
        """Bytes on the disk; all of them while it is looked at or a repair fetches some again."""
        if self.reuse_from is not None and self.proof is not None:
            return self.proof.done_bytes
        if self.state in (FileState.DONE, FileState.CHECKING) or self.repair.rounds:
            return self.job.size_bytes
        return self.part.coverage.written_bytes if self.part else 0

    @property
    def durable_bytes(self) -> int:
        """Of them, those that another run would find, whatever happens now."""
        if self.part is None or self.is_over or self.repair.rounds:
            return self.written_bytes
        return self.part.durable_bytes

    @property
    def unreserved_bytes(self) -> int:
        """Of space that it still needs."""
        if self.state is FileState.PENDING:
            return self.job.size_bytes
        is_open = self.state is FileState.ACTIVE and self.part is not None
        return self.part.unreserved_bytes if is_open and self.part else 0

    @property
    def hashed_bytes(self) -> int:
        """Bytes whose hash has been taken."""
        if self.state is FileState.DONE:
            return self.job.size_bytes
        return self.proof.done_bytes if self.proof else 0

    @property
    def shown(self) -> tuple[str, float]:
        """For the strip, as ``queue_types.PartStatus`` has it: state, and how much is done."""
        size = max(self.job.size_bytes, 1)
        if self.state is FileState.DONE:
            return "done", 1.0
        if self.state is FileState.FAILED:
            return "damaged", 1.0
        if self.is_verifying or self.state is FileState.CHECKING:
            return "checking", round(self.hashed_bytes / size, 4)
        written = self.written_bytes
        state = "coming" if written or self.connections else "waiting"
        return state, round(written / size, 4)

    @property
    def is_verifying(self) -> bool:
        """Everything has come, its hash has not been taken to the end."""
        if self.state is FileState.CHECKING:
            return True
        return self.state is FileState.ACTIVE and self.part is not None and self.part.complete
