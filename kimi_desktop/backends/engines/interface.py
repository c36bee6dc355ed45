"""What every engine can be asked, whichever program it is: ``EngineRun`` drives any of them.

An engine has no state of its own: it reads what a program says and words what we want of it. What
changes during one load is its ``LoadReader``. IO thread; everything but ``probe`` is pure.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kimi_desktop.backends.command import EngineBuild, Listening
from kimi_desktop.backends.failures import EngineEnd
from kimi_desktop.backends.types import EngineMetrics, LoadSettings, LoadStep
from kimi_desktop.base.errors import BackendError
from kimi_desktop.machine.types import Gpu

KEY_NAME = "key"
"""In the run's folder: the key alone."""
CONFIG_NAME = "key.yaml"
"""The same for an engine that reads it out of a configuration."""


@dataclass(frozen=True, slots=True)
class StopRules:
    """How a program is brought to its end; its process group is killed after the grace time."""

    grace_s: float
    interrupts: bool = False
    """SIGINT to the program alone instead of SIGTERM to its group."""
    clears_shared_memory: bool = False
    """It leaves files in /dev/shm when it is killed."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A line of the log says that the program listens."""

    port: int | None = None
    """Where it says so."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A request that is answered with 200 to our key and with 401 to any other."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RunPlace:
    """What one run has for itself."""

    folder: Path
    """0700, removed at the end."""
    key: str
    gpus: tuple[Gpu, ...] | None = None
    """The machine's own, in the order of plans; None where they are not known."""


class LoadReader(Protocol):
    """Follows one load by what the program prints."""

    is_ready: bool
    """The program has said so."""
    step: LoadStep | None
    """What it is doing, where it tells."""

    def take_output(self, line: str) -> None:
        """A line of its stdout."""

    def take_log(self, line: str) -> None:
        """A line of its log."""

    def fraction(self) -> float | None:
        """0 ... 1 and never back; None when nothing is known."""


class Engine(Protocol):
    """One kind of program."""

    @property
    def stopping(self) -> StopRules:
        """How it ends."""

    @property
    def logs_to_stdout(self) -> bool:
        """Its stdout is log like its stderr."""

    @property
    def picks_port(self) -> bool:
        """Asked for port 0 it binds a free one and says which."""

    @property
    def proof(self) -> Proof:
        """What only the program that was started answers well."""

    async def probe(self, program: Path) -> EngineBuild:
        """Ask an installation what it is and what it can.

        Raises:
            BackendError: it is not there, not this engine, too old, or does not run.
        """

    def command(
        self,
        build: EngineBuild,
        settings: LoadSettings,
        *,
        listening: Listening | None,
        n_threads: int,
    ) -> tuple[str, ...]:
        """The command line; ``listening`` None for showing: no address and no key in it.

        Raises:
            BackendError: ENGINE_BAD_ARGUMENT.
        """

    def environment(
        self, build: EngineBuild, settings: LoadSettings, place: RunPlace
    ) -> Mapping[str, str]:
        """Variables besides those of the allow-list."""

    def write_files(self, place: RunPlace) -> None:
        """Put what it reads at its start (a key) into the folder. Blocking.

        Raises:
            OSError: the disk is full.
        """

    def farewell(self, build: EngineBuild) -> str:
        """A line for its stdin before it is asked to end; "" for none."""

    def reader(
        self, settings: LoadSettings, total_bytes: int, arrived_bytes: Callable[[], int | None]
    ) -> LoadReader:
        """For one load.

        Args:
            settings: what is loaded.
            total_bytes: of the weights' files.
            arrived_bytes: read or mapped by its processes so far; None if unknown.
        """

    def heard(self, line: str) -> Heard | None:
        """A line of its log tells that it listens."""

    def read_metrics(self, text: str) -> EngineMetrics:
        """Its /metrics page."""

    def explain(self, end: EngineEnd) -> BackendError:
        """Why it ended unasked."""


def write_private(file: Path, text: str) -> None:
    """A new file that only the owner can read. Blocking.

    Raises:
        OSError: it cannot be written, or is there already.
    """
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(text)
