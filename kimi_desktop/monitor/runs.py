"""The run notebook on disk: one SQLite file in WAL mode. Thread-safe; each call is short.

A file that cannot be used is set aside and a new one begun: the notebook is worth keeping, but
never worth keeping an engine from starting.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import sqlite3
import threading
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kimi_desktop.monitor.experiment_types import Experiment, experiment_of, experiment_text
from kimi_desktop.monitor.history import Row
from kimi_desktop.monitor.run_samples import row_of, row_text
from kimi_desktop.monitor.run_types import (
    Band,
    Outcome,
    RunFacts,
    RunForecast,
    RunMeasures,
    RunRecord,
)

log = logging.getLogger(__name__)

SCHEMA = 3
"""1 had no samples and experiments, 2 no facts; tables are made when such a file is opened."""
MOST_EXPERIMENTS = 200
MOST_RUNS = 2_000
"""Older ones go, but for those that have a star or a note."""
MOST_FACTS = 200
"""Of all runs together, some 10 MB at most; older ones go, but for runs with a star or a note."""
MOST_FACTS_OF_A_RUN = 8
"""The first and the newest ones."""

_TABLE = """
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY,
    started_at REAL NOT NULL,
    ended_at REAL,
    model_path TEXT NOT NULL,
    title TEXT NOT NULL,
    quantization TEXT NOT NULL,
    engine TEXT NOT NULL,
    settings TEXT NOT NULL,
    forecast TEXT NOT NULL,
    measured TEXT NOT NULL,
    outcome TEXT NOT NULL,
    cause TEXT NOT NULL DEFAULT '',
    note TEXT NOT NULL DEFAULT '',
    starred INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS runs_by_time ON runs (started_at);
CREATE TABLE IF NOT EXISTS samples (
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    at REAL NOT NULL,
    sample TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS facts (
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    at REAL NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS facts_by_run ON facts (run_id, id);
CREATE TABLE IF NOT EXISTS experiments (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    data TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS samples_by_run ON samples (run_id, at);
"""
_PASSING = tuple(
    f"SQLITE_{name}" for name in ("IOERR", "CANTOPEN", "BUSY", "LOCKED", "READONLY", "FULL", "PERM")
)
"""The disk or another program is in the way: that says nothing about the file."""
_COLUMNS = (
    "id, started_at, ended_at, model_path, title, quantization, engine, settings, forecast, "
    "measured, outcome, cause, note, starred"
)
_N_FACTS = "(SELECT COUNT(*) FROM facts WHERE run_id = runs.id)"


class RunStore:
    """Rows of the notebook. ``close`` it at the end."""

    def __init__(self, file: Path, *, is_owner: bool = True) -> None:
        """Open or make it.

        Args:
            file: of the profile.
            is_owner: no other program writes runs now. One that only reads leaves alone what
                goes on in another.
        """
        self._lock = threading.Lock()
        self._db = _opened(file)
        if not is_owner:
            return
        # What still ran when the app ended without a word, ran into that end.
        self._change("UPDATE runs SET outcome = ? WHERE outcome = ?", Outcome.LOST, Outcome.RUNNING)

    def close(self) -> None:
        """The file is complete without its WAL afterwards."""
        with self._lock:
            self._db.close()

    def add(self, run: RunRecord) -> int:
        """Keep a new run; its ``id`` is made here and returned."""
        with self._lock, self._db:
            row = self._db.execute(
                "INSERT INTO runs (started_at, ended_at, model_path, title, quantization, engine, "
                "settings, forecast, measured, outcome, cause, note, starred) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                _values(run)[1:],
            )
            self._db.execute(
                "DELETE FROM runs WHERE starred = 0 AND note = '' AND id <= "
                "(SELECT id FROM runs ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (MOST_RUNS,),
            )
        return int(row.lastrowid or 0)

    def update(self, run: RunRecord) -> None:
        """What is known of a run now; its note and its star are left as they are."""
        self._change(
            "UPDATE runs SET ended_at = ?, engine = ?, measured = ?, outcome = ?, cause = ? "
            "WHERE id = ?",
            run.ended_at,
            run.engine,
            json.dumps(dataclasses.asdict(run.measured)),
            run.outcome.value,
            run.cause,
            run.id,
        )

    def annotate(
        self, run_id: int, *, note: str | None = None, starred: bool | None = None
    ) -> None:
        """The user's own words, and the star."""
        if note is not None:
            self._change("UPDATE runs SET note = ? WHERE id = ?", note, run_id)
        if starred is not None:
            self._change("UPDATE runs SET starred = ? WHERE id = ?", int(starred), run_id)

    def delete(self, run_id: int) -> None:
        """Forget it."""
        self._change("DELETE FROM runs WHERE id = ?", run_id)

    def add_samples(self, run_id: int, rows: Sequence[Row]) -> None:
        """What the machine did during a run, later than what is there; nothing for a lost run."""
        with self._lock, self._db:
            if self._db.execute("SELECT 1 FROM runs WHERE id = ?", (run_id,)).fetchone():
                self._db.executemany(
                    "INSERT INTO samples (run_id, at, sample) VALUES (?, ?, ?)",
                    [(run_id, row.sample.at, row_text(row)) for row in rows],
                )

    def samples(self, run_id: int) -> tuple[Row, ...]:
        """All of a run, oldest first."""
        with self._lock:
            found = self._db.execute(
                "SELECT sample FROM samples WHERE run_id = ? ORDER BY at", (run_id,)
            ).fetchall()
        rows = (row_of(text) for (text,) in found)
        return tuple(row for row in rows if row is not None)

    def add_facts(self, run_id: int, facts: RunFacts) -> None:
        """What was seen of a run; nothing for a lost one."""
        packed = zlib.compress(facts.text.encode("utf-8"))
        with self._lock, self._db:
            if not self._db.execute("SELECT 1 FROM runs WHERE id = ?", (run_id,)).fetchone():
                return
            self._db.execute(
                "INSERT INTO facts (run_id, at, data) VALUES (?, ?, ?)", (run_id, facts.at, packed)
            )
            self._db.execute(
                "DELETE FROM facts WHERE run_id = ? AND id > "
                "(SELECT MIN(id) FROM facts WHERE run_id = ?) AND id <= "
                "(SELECT id FROM facts WHERE run_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (run_id, run_id, run_id, MOST_FACTS_OF_A_RUN - 1),
            )
            self._db.execute(
                "DELETE FROM facts WHERE id <= "
                "(SELECT id FROM facts ORDER BY id DESC LIMIT 1 OFFSET ?) AND run_id IN "
                "(SELECT id FROM runs WHERE starred = 0 AND note = '')",
                (MOST_FACTS,),
            )

    def facts(self, run_id: int) -> tuple[RunFacts, ...]:
        """All that is kept of a run, oldest first."""
        with self._lock:
            rows = self._db.execute(
                "SELECT at, data FROM facts WHERE run_id = ? ORDER BY id", (run_id,)
            ).fetchall()
        return tuple(RunFacts(at, zlib.decompress(data).decode("utf-8")) for at, data in rows)

    def add_experiment(self, experiment: Experiment) -> int:
        """Keep a curve; its ``id`` is made here and returned."""
        with self._lock, self._db:
            row = self._db.execute(
                "INSERT INTO experiments (at, data) VALUES (?, ?)",
                (experiment.at, experiment_text(experiment)),
            )
            self._db.execute(
                "DELETE FROM experiments WHERE id <= "
                "(SELECT id FROM experiments ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (MOST_EXPERIMENTS,),
            )
        return int(row.lastrowid or 0)

    def experiments(self) -> tuple[Experiment, ...]:
        """The newest first."""
        with self._lock:
            rows = self._db.execute("SELECT id, at, data FROM experiments ORDER BY id DESC")
            found = [experiment_of(*row) for row in rows]
        return tuple(one for one in found if one is not None)

    def get(self, run_id: int) -> RunRecord | None:
        """One run."""
        with self._lock:
            row = self._db.execute(
                f"SELECT {_COLUMNS}, {_N_FACTS} FROM runs WHERE id = ?", (run_id,)
            )
            found = row.fetchone()
        return _record(found) if found else None

    def list(self, limit: int = 200) -> tuple[RunRecord, ...]:
        """The newest first."""
        with self._lock:
            rows = self._db.execute(
                f"SELECT {_COLUMNS}, {_N_FACTS} FROM runs "
                "ORDER BY started_at DESC, id DESC LIMIT ?",
                (limit,),
            ).fetchall()
        return tuple(map(_record, rows))

    def _change(self, statement: str, *values: object) -> None:
        with self._lock, self._db:
            self._db.execute(statement, values)


def _opened(file: Path) -> sqlite3.Connection:
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _connected(file)
    except sqlite3.DatabaseError as error:
        if str(getattr(error, "sqlite_errorname", "")).startswith(_PASSING):
            raise
        aside = file.with_name(f"{file.stem}.damaged-{int(time.time())}{file.suffix}")
        log.exception("the run notebook is damaged; it is kept as %s", aside.name)
        for ending in ("", "-wal", "-shm"):
            part = file.with_name(file.name + ending)
            if part.exists():
                part.replace(aside.with_name(aside.name + ending))
        return _connected(file)


def _connected(file: Path) -> sqlite3.Connection:
    db = sqlite3.connect(file, check_same_thread=False, timeout=2.0)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA foreign_keys = ON")
        _check_version(db)
        with db:
            db.executescript(_TABLE)
            db.execute(f"PRAGMA user_version = {SCHEMA}")
        db.execute(f"SELECT {_COLUMNS} FROM runs LIMIT 1")
    except BaseException:
        db.close()
        raise
    return db


def _check_version(db: sqlite3.Connection) -> None:
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version > SCHEMA:
        raise sqlite3.DatabaseError(f"schema {version} of a newer version")


def _values(run: RunRecord) -> tuple[object, ...]:
    return (
        run.id,
        run.started_at,
        run.ended_at,
        run.model_path,
        run.title,
        run.quantization,
        run.engine,
        json.dumps(dict(run.settings)),
        json.dumps(dataclasses.asdict(run.forecast)),
        json.dumps(dataclasses.asdict(run.measured)),
        run.outcome.value,
        run.cause,
        run.note,
        int(run.starred),
    )


def _record(row: tuple[Any, ...]) -> RunRecord:
    identity, started, ended, path, title, quantization, engine, *texts = row
    settings, forecast, measured, outcome, cause, note, starred, n_facts = texts
    return RunRecord(
        id=identity,
        started_at=started,
        ended_at=ended,
        model_path=path,
        title=title,
        quantization=quantization,
        engine=engine,
        settings=json.loads(settings),
        forecast=_forecast(json.loads(forecast)),
        measured=RunMeasures(**json.loads(measured)),
        outcome=Outcome(outcome),
        cause=cause,
        note=note,
        starred=bool(starred),
        n_facts=n_facts,
    )


def _forecast(raw: Mapping[str, Any]) -> RunForecast:
    def band(name: str) -> Band | None:
        value = raw.get(name)
        return Band(**value) if value else None

    return RunForecast(band("decode_tps"), band("load_s"), raw.get("device_bytes", {}))
