"""The downloads on disk: one SQLite file, so that updates, crashes and restarts forget none.

Blocking; called from the pool of the IO loop under a lock of its own. No token and no signed
address is ever in it: jobs hold the addresses that never expire.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from kimi_desktop.base.errors import DownloadError, ErrorCode, KimiError
from kimi_desktop.downloads.queue_types import DownloadState, MeasuredSource
from kimi_desktop.downloads.types import DownloadSpec

BUSY_TIMEOUT_S = 5.0
_SCHEMA = 1
_TABLE = """
CREATE TABLE IF NOT EXISTS downloads (
    id TEXT PRIMARY KEY,
    spec TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    priority INTEGER NOT NULL,
    position REAL NOT NULL,
    preferred TEXT,
    done_bytes INTEGER NOT NULL,
    shards_done INTEGER NOT NULL,
    patience_s REAL NOT NULL,
    added_at REAL NOT NULL,
    asked_at REAL,
    rested_at REAL,
    measured TEXT
)
"""
_COLUMNS = (
    "id, spec, state, reason, priority, position, preferred, done_bytes, shards_done, patience_s, "
    "added_at, asked_at, rested_at, measured"
)
_ADDED_LATER = {"asked_at": "REAL", "rested_at": "REAL", "measured": "TEXT"}
"""Columns that tables of earlier versions lack."""
DAY_S = 86_400.0
ID_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Job:
    """One download as it is kept."""

    id: str
    spec: DownloadSpec
    state: DownloadState = DownloadState.QUEUED
    reason: KimiError | None = None
    priority: int = 0
    """Higher goes first, also before one that is running."""
    position: float = 0.0
    """Lower goes first among equals."""
    preferred: str | None = None
    done_bytes: int = 0
    shards_done: int = 0
    patience_s: float = DAY_S
    added_at: float = field(default_factory=time.time)
    asked_at: float = field(default_factory=time.time)
    """When somebody last asked for these files: what was proven later is not replaced."""
    rested_at: float | None = None
    """When it was paused, or ended; None while it is to go on, or when that was not kept."""
    measured: tuple[MeasuredSource, ...] = ()
    """How fast its sources were when somebody last looked."""


def job_id(spec: DownloadSpec) -> str:
    """The same for the same files in the same folder, whatever their sources."""
    names = sorted(f"{job.target}\0{job.sha256 or job.git_sha1}" for job in spec.files)
    return sha256("\0".join((spec.folder, *names)).encode()).hexdigest()[:ID_DIGITS]


class JobStore:
    """The open file.

    Raises (every method):
        DownloadError: QUEUE_UNREADABLE or QUEUE_NOT_SAVED.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    def load(self) -> tuple[Job, ...]:
        """All of them, first in the queue first. A damaged file is set aside."""
        try:
            with self._open() as db:
                rows = db.execute(f"SELECT {_COLUMNS} FROM downloads ORDER BY position").fetchall()
        except DownloadError as error:
            cause = error.__cause__
            name = str(getattr(cause, "sqlite_errorname", ""))
            if not name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
                raise
            self._set_aside()
            return ()
        jobs = (_job(row) for row in rows)
        return tuple(job for job in jobs if job is not None)

    def save(self, jobs: Sequence[Job]) -> None:
        """Insert or replace, all or nothing."""
        marks = ", ".join("?" * len(_COLUMNS.split(",")))
        with self._open() as db:
            db.executemany(
                f"INSERT OR REPLACE INTO downloads ({_COLUMNS}) VALUES ({marks})",
                [_row(job) for job in jobs],
            )

    def remove(self, job_id: str) -> None:
        """Forget one."""
        with self._open() as db:
            db.execute("DELETE FROM downloads WHERE id = ?", (job_id,))

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._db is None:
                    self._db = self._connect()
                with self._db:
                    yield self._db
            except (sqlite3.Error, OSError) as error:
                detail = getattr(error, "strerror", None) or str(error)
                params = {"path": str(self.file), "detail": detail}
                raise DownloadError(ErrorCode.DOWNLOAD_QUEUE_FAILED, params, cause=error) from error

    def _connect(self) -> sqlite3.Connection:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(self.file, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.execute(_TABLE)
            _add_columns(db)
            db.execute(f"PRAGMA user_version = {_SCHEMA}")
        except BaseException:
            db.close()
            raise
        return db

    def _set_aside(self) -> None:
        """Keep a damaged file under another name and begin anew; partial files are found again."""
        self.close()
        self.file.replace(self.file.with_suffix(f".damaged-{time.time_ns()}"))
        for suffix in ("-wal", "-shm"):
            self.file.with_name(self.file.name + suffix).unlink(missing_ok=True)


def _add_columns(db: sqlite3.Connection) -> None:
    """What tables of earlier versions lack; those versions go on without it."""
    there = {row[1] for row in db.execute("PRAGMA table_info(downloads)")}
    for column, kind in _ADDED_LATER.items():
        if column not in there:
            db.execute(f"ALTER TABLE downloads ADD COLUMN {column} {kind}")


def kept_jobs(file: Path) -> tuple[Job, ...]:
    """All downloads of a profile, whoever is at work there; none when they cannot be read."""
    if not file.is_file():
        return ()
    store = JobStore(file)
    try:
        return store.load()
    except DownloadError:
        return ()
    finally:
        store.close()


def _row(job: Job) -> tuple[Any, ...]:
    reason = None
    if job.reason is not None:
        reason = json.dumps({"code": job.reason.code.value, "params": dict(job.reason.params)})
    return (
        job.id,
        json.dumps(job.spec.to_json()),
        job.state.value,
        reason,
        job.priority,
        job.position,
        job.preferred,
        job.done_bytes,
        job.shards_done,
        job.patience_s,
        job.added_at,
        job.asked_at,
        job.rested_at,
        json.dumps([asdict(one) for one in job.measured]),
    )


def _job(row: Sequence[Any]) -> Job | None:
    """A row as a job; None for one of a version that we do not understand."""
    (
        key,
        spec,
        state,
        reason,
        priority,
        position,
        preferred,
        done,
        shards,
        patience,
        added,
        asked,
        rested,
        measured,
    ) = row
    try:
        raw = json.loads(reason) if reason else None
        error = DownloadError(ErrorCode(raw["code"]), raw["params"]) if raw else None
        return Job(
            key, DownloadSpec.from_json(json.loads(spec)), DownloadState(state), error, priority,
            position, preferred, done, shards, patience, added, added if asked is None else asked,
            rested, tuple(MeasuredSource(**one) for one in json.loads(measured or "[]")),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError):
        return None


def next_of(jobs: Sequence[Job]) -> Job | None:
    """The queued job whose turn it is."""
    queued = [job for job in jobs if job.state is DownloadState.QUEUED]
    return min(queued, key=lambda job: (-job.priority, job.position), default=None)


def moved(jobs: Sequence[Job], key: str, index: int) -> tuple[Job, ...]:
    """All jobs in order with one at another place, their positions counted anew."""
    order = sorted(jobs, key=lambda job: job.position)
    one = next(job for job in order if job.id == key)
    order.remove(one)
    order.insert(max(index, 0), one)
    return tuple(replace(job, position=float(n)) for n, job in enumerate(order))
