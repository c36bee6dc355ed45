"""Where the app keeps things: one place per kind, made on first use, private to the user."""

from __future__ import annotations

import contextlib
import os
import platform
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

APP_NAME = "kimi-desktop"
HOME_VARIABLE = "KIMI_DESKTOP_HOME"

# Linux: sun_path holds 108 bytes, macOS 104, with the closing zero. A socket name takes about 24.
MAX_SOCKET_FOLDER_BYTES = 76


@dataclass(frozen=True, slots=True)
class AppPaths:
    """The folders of one profile. ``KIMI_DESKTOP_HOME`` puts all of them under one folder."""

    config: Path
    data: Path
    logs: Path
    runtime: Path
    """Sockets, pid files, the instance lock: gone after a restart of the machine."""

    @classmethod
    def default(cls) -> AppPaths:
        """The user's own folders, or those under ``KIMI_DESKTOP_HOME`` when that is set."""
        home = os.environ.get(HOME_VARIABLE)
        if home:
            return cls.under(Path(home).expanduser().absolute())
        return cls(
            config=Path(platformdirs.user_config_dir(APP_NAME, appauthor=False, roaming=True)),
            data=Path(platformdirs.user_data_dir(APP_NAME, appauthor=False)),
            logs=Path(platformdirs.user_log_dir(APP_NAME, appauthor=False)),
            runtime=_runtime_folder(),
        )

    @classmethod
    def under(cls, home: Path) -> AppPaths:
        """All folders inside ``home``: for tests, portable use and second profiles."""
        return cls(home / "config", home / "data", home / "logs", home / "run")

    @property
    def settings_file(self) -> Path:
        """Typed settings as JSON."""
        return self.config / "settings.json"

    @property
    def database_file(self) -> Path:
        """Chats."""
        return self.data / "kimi-desktop.sqlite3"

    @property
    def measured_file(self) -> Path:
        """Bandwidths measured on the machines that this profile is used on."""
        return self.data / "measured.json"

    @property
    def runs_file(self) -> Path:
        """Every start of an engine: planned, measured, how it ended."""
        return self.data / "runs.sqlite3"

    @property
    def newer_file(self) -> Path:
        """What hubs said of newer versions of models that are here."""
        return self.data / "newer.json"

    @property
    def learned_file(self) -> Path:
        """What finished runs taught about the speed of those machines."""
        return self.data / "learned.json"

    @property
    def inventory_file(self) -> Path:
        """What the models folders held at the last look."""
        return self.data / "library.json"

    @property
    def downloads_file(self) -> Path:
        """The queue of downloads."""
        return self.data / "downloads.sqlite3"

    @property
    def engine_builds_folder(self) -> Path:
        """Official llama.cpp builds that were fetched."""
        return self.data / "engines" / "llama.cpp"

    @property
    def llama_python_folder(self) -> Path:
        """Environments with llama-cpp-python that were installed from the app."""
        return self.data / "engines" / "llama-cpp-python"

    @property
    def vllm_folder(self) -> Path:
        """Environments that vLLM was installed into."""
        return self.data / "engines" / "vllm"

    @property
    def sandbox_folder(self) -> Path:
        """The home of engines that are shut in: their caches and temporary files."""
        return self.data / "engines" / "sandbox"

    @property
    def default_models_folder(self) -> Path:
        """Where models go until the user chooses another folder."""
        return self.data / "models"

    def make(self) -> None:
        """Create the folders, readable by the owner alone: they hold keys, chats and sockets.

        Raises:
            OSError: a folder cannot be made (read-only or full disk).
        """
        for folder in (self.config, self.data, self.logs, self.runtime):
            folder.mkdir(parents=True, exist_ok=True)
            _make_private(folder)

    def socket_folder(self) -> Path:
        """A 0700 folder short enough for Unix sockets: ``runtime``, else a new temporary one.

        Raises:
            OSError: it cannot be made.
        """
        if len(os.fsencode(self.runtime)) <= MAX_SOCKET_FOLDER_BYTES:
            self.runtime.mkdir(parents=True, exist_ok=True)
            _make_private(self.runtime)
            return self.runtime
        return Path(tempfile.mkdtemp(prefix="kimi-"))


def _runtime_folder() -> Path:
    """The login session's own folder; without a session (a server, a container) the user's cache.

    platformdirs would fall back to a folder in /tmp whose name anybody can guess and take first.
    """
    if platform.system() in ("Darwin", "Windows"):
        return Path(platformdirs.user_runtime_dir(APP_NAME, appauthor=False))
    session = os.environ.get("XDG_RUNTIME_DIR")
    if session and Path(session).is_dir():
        return Path(session) / APP_NAME
    return Path(platformdirs.user_cache_dir(APP_NAME, appauthor=False)) / "run"


def _make_private(folder: Path) -> None:
    """Where the file system knows permissions (exFAT and network drives refuse)."""
    if os.name == "posix":
        with contextlib.suppress(OSError):
            folder.chmod(0o700)
