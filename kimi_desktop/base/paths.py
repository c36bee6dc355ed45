"""Where the app keeps things: one place per kind, made on first use, private to the user."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
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
        with warnings.catch_warnings():  # of a folder that is not taken, see below
            warnings.simplefilter("ignore")
            runtime = Path(platformdirs.user_runtime_dir(APP_NAME, appauthor=False))
        if not runtime.parent.is_dir():  # no login session: a server, a container
            runtime = Path(platformdirs.user_cache_dir(APP_NAME, appauthor=False)) / "run"
        return cls(
            config=Path(platformdirs.user_config_dir(APP_NAME, appauthor=False, roaming=True)),
            data=Path(platformdirs.user_data_dir(APP_NAME, appauthor=False)),
            logs=Path(platformdirs.user_log_dir(APP_NAME, appauthor=False)),
            runtime=runtime,
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
        """Chats and runs."""
        return self.data / "kimi-desktop.sqlite3"

    @property
    def default_models_folder(self) -> Path:
        """Where models go until the user chooses another folder."""
        return self.data / "models"

    def make(self) -> None:
        """Create the folders; config and runtime are readable by the owner alone.

        Raises:
            OSError: a folder cannot be made (read-only or full disk).
        """
        for folder in (self.config, self.data, self.logs, self.runtime):
            folder.mkdir(parents=True, exist_ok=True)
        if sys.platform != "win32":
            for folder in (self.config, self.runtime):
                folder.chmod(0o700)

    def socket_folder(self) -> Path:
        """A 0700 folder short enough for Unix sockets: ``runtime``, else a new temporary one.

        Raises:
            OSError: it cannot be made.
        """
        if len(os.fsencode(self.runtime)) <= MAX_SOCKET_FOLDER_BYTES:
            self.runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
            return self.runtime
        return Path(tempfile.mkdtemp(prefix="kimi-"))
