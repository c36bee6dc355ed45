"""What could be fetched and how it would run here, for the window (``ui.bridge.DiscoverService``).

Called from the Qt thread; the arithmetic and the network run in the pool of the IO loop. What waits
for a network ends at once when it is cancelled; the answer that comes later is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath

from kimi_desktop.base.errors import ErrorCode, HardwareError, ModelError
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language
from kimi_desktop.base.operation import Operation
from kimi_desktop.downloads.discover_types import SearchRow
from kimi_desktop.downloads.remote_models import RemoteModels, choose_set
from kimi_desktop.downloads.remote_pricing import priced_sets
from kimi_desktop.downloads.remote_sets import gguf_sets
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.models.catalogue_types import CatalogueModel, License
from kimi_desktop.models.references import RepoReference, parse_reference
from kimi_desktop.models.types import LocalModel, ModelState
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.offer_types import (
    FileWords,
    OfferedFile,
    OfferedModel,
    PlannedFile,
)
from kimi_desktop.planner.offer_words import file_words, planned_words
from kimi_desktop.planner.offers import best_file, offer_of, offers_for
from kimi_desktop.planner.plan_types import Sibling, Wishes
from kimi_desktop.planner.report import plan_model, plan_speed
from kimi_desktop.planner.speed_factors import Factors
from kimi_desktop.planner.speed_setup import speed_rule


class Discover:
    """The catalogue and the hubs, priced for this machine."""

    def __init__(
        self,
        io: IoLoop,
        machine: Callable[[], Machine | None],
        remote: RemoteModels,
        gpu_engine: Callable[[], bool] = lambda: True,
        factors: Callable[[], Factors | None] = lambda: None,
    ) -> None:
        """A view of models that are elsewhere.

        Args:
            io: whose pool works.
            machine: the last look at it.
            remote: asks the hubs.
            gpu_engine: the chosen engine was built for GPUs.
            factors: of speed, as learned on this machine.
        """
        self._factors = factors
        self._io = io
        self._machine = machine
        self._remote = remote
        self._gpu_engine = gpu_engine

    @property
    def lacks_gpu_engine(self) -> bool:
        """There are GPUs, and the chosen engine does not use them."""
        machine = self._machine()
        return machine is not None and machine.vram_total_bytes > 0 and not self._gpu_engine()

    def offers(self) -> Operation[tuple[OfferedModel, ...]]:
        """Every model of the catalogue, the most useful here first; () before a look."""
        return self._io.pool(self._offers)

    def search(self, text: str) -> Operation[tuple[SearchRow, ...]]:
        """Repositories with GGUF files that fit the words.

        Raises (from the operation):
            DownloadError: no hub answers.
        """
        return self._io.submit(lambda: self._io.in_pool(self._search, text))

    def is_reference(self, text: str) -> bool:
        """The text names one repository, by its name or address, rather than words to search."""
        return parse_reference(text) is not None

    def look(self, text: str) -> Operation[OfferedModel]:
        """One repository by its name or address, its GGUF files priced.

        Raises (from the operation):
            DownloadError: no hub has it, or none answers.
            ModelError: it has no GGUF file, or the text names no repository.
        """
        return self._io.submit(lambda: self._io.in_pool(self._look, text))

    def plan(self, repo: str, quantization: str) -> Operation[PlannedFile]:
        """Read the headers of a file on the hub and plan it, exactly as one that is here.

        Raises (from the operation):
            DownloadError, ModelError: there is no header to be had.
            PlanError: the header does not say enough.
        """
        return self._io.submit(lambda: self._io.in_pool(self._plan, repo, quantization))

    def words(self, file: OfferedFile, language: Language) -> FileWords:
        """A file in words."""
        return file_words(file, language)

    def planned_words(
        self, file: OfferedFile, planned: PlannedFile, language: Language
    ) -> FileWords:
        """The same by its header instead of its size."""
        return planned_words(file, planned, language)

    # in the pool

    def _offers(self) -> tuple[OfferedModel, ...]:
        machine = self._machine()
        return (
            ()
            if machine is None
            else offers_for(shipped_catalogue(), machine, factors=self._factors())
        )

    def _search(self, text: str) -> tuple[SearchRow, ...]:
        catalogue = shipped_catalogue()
        rows = []
        for found in self._remote.search(text):
            model = catalogue.find_repo(found.repo)
            rows.append(
                SearchRow(
                    repo=found.repo,
                    downloads=found.downloads,
                    likes=found.likes,
                    licence=found.licence,
                    is_gated=found.gated,
                    changed=found.changed,
                    catalogue_name=model.name if model else "",
                )
            )
        return tuple(rows)

    def _look(self, text: str) -> OfferedModel:
        reference = parse_reference(text)
        if reference is None:
            raise ModelError(ErrorCode.MODEL_BAD_ADDRESS, {"address": text[:200]})
        machine = self._looked()
        listing = self._remote.listing(reference)
        model = shipped_catalogue().find_repo(listing.repo)
        sets = gguf_sets(listing.files)
        if not sets:
            if model is not None:  # the maker's own repository: its GGUF files are in others
                return offer_of(model, machine, factors=self._factors())
            raise ModelError(ErrorCode.MODEL_NO_GGUF, {"repo": listing.repo})
        name = model.name if model else PurePosixPath(listing.repo).name
        factors = self._factors()
        files = priced_sets(
            self._remote, listing, sets, name=name, machine=machine, factors=factors
        )
        return OfferedModel(
            id=listing.repo,
            name=listing.repo,
            released="",
            total_parameters=model.total_parameters if model else None,
            active_parameters=model.active_parameters if model else None,
            context_tokens=model.context_tokens if model else None,
            modalities=model.modalities if model else (),
            license=License(listing.licence, confirmed=bool(listing.licence), note=None),
            files=files,
            best=best_file(files),
            is_catalogued=False,
        )

    def _plan(self, repo: str, quantization: str) -> PlannedFile:
        machine = self._looked()
        model = shipped_catalogue().find_repo(repo)
        reference = _reference(repo, quantization, model)
        listing = self._remote.listing(reference)
        one = choose_set(listing, reference)
        assert one is not None  # a quantization was named
        facts = self._remote.facts(listing, one)
        siblings = [
            Sibling(other.quantization, other.size_bytes)
            for other in gguf_sets(listing.files)
            if other.quantization != one.quantization
        ]
        factors = self._factors()
        rule = speed_rule(shape_of(facts), machine, factors=factors)
        plan = plan_model(facts, machine, Wishes(), rule=rule, siblings=siblings)
        speed = plan_speed(shape_of(facts), plan, machine, factors=factors)
        local = LocalModel(
            id=f"{listing.repo}:{one.quantization}",
            path=Path(PurePosixPath(one.path).name),
            title=model.name if model else facts.name,
            size_bytes=one.size_bytes,
            parts_present=0,
            parts_total=one.total,
            state=ModelState.PARTIAL,
            facts=facts,
            problem=None,
        )
        return PlannedFile(local, plan, speed)

    def _looked(self) -> Machine:
        machine = self._machine()
        if machine is None:
            raise HardwareError(ErrorCode.MACHINE_PROBE_FAILED, {"part": "RAM"})
        return machine


def _reference(repo: str, quantization: str, model: CatalogueModel | None) -> RepoReference:
    parsed = parse_reference(repo)
    if parsed is None:
        raise ModelError(ErrorCode.MODEL_BAD_ADDRESS, {"address": repo[:200]})
    hubs = [one.hub for one in model.repos if one.id.casefold() == repo.casefold()] if model else []
    return RepoReference(hubs[0] if hubs else parsed.hub, parsed.repo, quantization=quantization)
