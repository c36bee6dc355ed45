"""What could be fetched and how it would run here, for the window (``ui.bridge.DiscoverService``).

Called from the Qt thread; the arithmetic and the network run in the pool of the IO loop.
"""

from __future__ import annotations

from collections.abc import Callable

from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language
from kimi_desktop.base.operation import Operation
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.planner.offer_types import FileWords, OfferedFile, OfferedModel
from kimi_desktop.planner.offer_words import file_words
from kimi_desktop.planner.offers import offers_for


class Discover:
    """The catalogue, priced for this machine."""

    def __init__(self, io: IoLoop, machine: Callable[[], Machine | None]) -> None:
        """``machine``: the last look at it."""
        self._io = io
        self._machine = machine

    def offers(self) -> Operation[tuple[OfferedModel, ...]]:
        """Every model of the catalogue, the most useful here first; () before a look."""
        return self._io.pool(self._offers)

    def words(self, file: OfferedFile, language: Language) -> FileWords:
        """A file in words."""
        return file_words(file, language)

    def _offers(self) -> tuple[OfferedModel, ...]:
        machine = self._machine()
        return () if machine is None else offers_for(shipped_catalogue(), machine)
