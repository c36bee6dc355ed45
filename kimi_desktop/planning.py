"""The verb ``plan``: which model is meant, its header from wherever it is, the plan in words.

No Qt, on the caller's thread. A model is a file, a name in the library, a name of the catalogue, a
repository or an address of a hub. Where no header can be read, the estimate by size is told as one.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TextIO

from kimi_desktop.base.errors import DownloadError, ErrorCode, KimiError, ModelError, PlanError
from kimi_desktop.base.messages import Language, describe_error, message
from kimi_desktop.base.terminal import json_text, printable
from kimi_desktop.base.units import format_file_size
from kimi_desktop.downloads.remote_copies import copy_remote_header, copy_remote_headers
from kimi_desktop.downloads.remote_models import RemoteModels, choose_set
from kimi_desktop.downloads.remote_pricing import priced_sets
from kimi_desktop.downloads.remote_sets import RemoteSet, gguf_sets
from kimi_desktop.downloads.types import RepoListing
from kimi_desktop.engine_questions import check_lines, check_object, loads_lines, loads_object
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.catalogue_types import Catalogue, CatalogueModel, Engine, Holds
from kimi_desktop.models.choose import choose_model, names_of
from kimi_desktop.models.header_copy import HeaderCopy, copy_file_header
from kimi_desktop.models.library import Library, existing_path, find_named
from kimi_desktop.models.references import (
    RepoReference,
    parse_reference,
    split_quantization,
)
from kimi_desktop.models.types import LocalModel, ModelFacts, ModelFormat
from kimi_desktop.models.will_load import LoadVerdict
from kimi_desktop.planner import report
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.offers import best_file, offer_of
from kimi_desktop.planner.placement import find_plan
from kimi_desktop.planner.plan_types import Plan, Sibling, Wishes
from kimi_desktop.planner.sized_shapes import shape_by_size
from kimi_desktop.planner.speed_factors import Factors
from kimi_desktop.planner.speed_setup import speed_rule
from kimi_desktop.planner.types import ExactCheck, ModelShape

NEAREST = 5
_SEPARATORS = ("/", "\\")


@dataclass(frozen=True, slots=True)
class Target:
    """The model that is meant, as far as it is known."""

    name: str
    quantization: str
    size_bytes: int | None
    place: str
    """A path, or "owner/name:QUANTIZATION"."""
    file: str
    """What stands after ``-m``."""
    facts: ModelFacts | None = None
    why: KimiError | None = None
    """Why there is no header."""
    siblings: tuple[Sibling, ...] = ()
    was_chosen: bool = False
    """The quantization is our choice for the machine."""
    header: Callable[[], HeaderCopy] | None = None
    """Reads the first part's header once more, with its bytes. Blocking."""
    whole: Callable[[], Path | Sequence[HeaderCopy]] | None = None
    """The file, or the headers of all parts. Blocking."""


class Finder:
    """Finds the model that a text names. Blocking."""

    def __init__(
        self,
        library: Library,
        local: Sequence[LocalModel],
        catalogue: Catalogue,
        remote: RemoteModels,
        machine: Machine,
    ) -> None:
        """``local``: the library's models; ``machine``: what a quantization is chosen for."""
        self._library = library
        self._local = local
        self._catalogue = catalogue
        self._remote = remote
        self._machine = machine

    def find(self, text: str) -> Target:
        """The model that ``text`` names.

        Raises:
            ModelError: there is none, several fit, or the file is broken.
            DownloadError: the hub does not have it, or cannot be asked and nothing is known.
        """
        exact = [
            model
            for model in self._local
            if model.format is ModelFormat.GGUF and text.casefold() in names_of(model)
        ]
        if exact and existing_path(text) is None:
            return self._of_local(choose_model(exact, text))
        if _is_path(text):
            return self._of_file(_existing(text))
        reference = parse_reference(text)
        if reference is None and "://" in text:
            raise ModelError(ErrorCode.MODEL_BAD_ADDRESS, {"address": text[:200]})
        if reference is not None:
            return self._of_repo(reference)
        name, quantization = split_quantization(text)
        model = self._catalogue.find(name)
        if model is not None:
            return self._of_catalogue(model, quantization)
        try:
            return self._of_local(find_named(self._local, text, self._library))
        except ModelError as error:
            if error.code not in (ErrorCode.MODEL_UNKNOWN, ErrorCode.NO_MODEL):
                raise
        near = ", ".join(self._nearest(text))
        if not near:
            raise ModelError(ErrorCode.MODEL_LIKE_NONE, {"name": text[:200]})
        raise ModelError(ErrorCode.MODEL_UNKNOWN_ANYWHERE, {"name": text[:200], "near": near})

    # files of this computer

    def _of_file(self, path: Path) -> Target:
        if path.is_dir():
            rows = self._library.scan((path,), depth=1)
            return self._of_local(_only(rows, path))
        return self._of_local(find_named(self._local, str(path), self._library))

    def _of_local(self, model: LocalModel) -> Target:
        if model.problem is not None:
            raise model.problem
        if model.is_served:
            raise ModelError(ErrorCode.MODEL_NEEDS_SERVER, {"name": model.title})
        if model.facts is None:
            raise PlanError(ErrorCode.PLAN_NO_HEADER, {"name": model.title})
        others = [
            Sibling(
                other.facts.quantization,
                other.size_bytes,
                shape_of(other.facts) if other.facts.geometry and other.facts.tensors else None,
            )
            for other in self._local
            if other.facts and other.id != model.id and other.family == model.family
            and other.is_startable
        ]  # fmt: skip
        entry = self._catalogue.find(model.facts.name)
        return Target(
            name=model.title,
            quantization=model.facts.quantization,
            size_bytes=model.size_bytes,
            place=str(model.path),
            file=str(model.path),
            facts=model.facts,
            header=lambda: copy_file_header(model.path),
            whole=lambda: model.path,
            siblings=_merged(others, _siblings_of(entry) if entry else ()),
        )

    # the catalogue

    def _of_catalogue(self, model: CatalogueModel, quantization: str | None) -> Target:
        offer = offer_of(model, self._machine)
        readable = [file for file in offer.files if Engine.LLAMA_CPP in file.engines]
        if quantization is not None:
            wanted = quantization.casefold()
            named = [file for file in offer.files if file.quantization.casefold() == wanted]
            file = next((one for one in named if one in readable), next(iter(named), None))
        else:
            file = best_file(offer.files) or next(iter(readable), None)
        if file is None:
            names = ", ".join(dict.fromkeys(one.quantization for one in readable)) or "–"
            params = {"repo": model.name, "name": quantization or "GGUF", "names": names}
            raise ModelError(ErrorCode.MODEL_NO_QUANTIZATION, params)
        if here := self._library_file(model, file.quantization):
            return replace(self._of_local(here), was_chosen=quantization is None)
        target = Target(
            name=model.name,
            quantization=file.quantization,
            size_bytes=file.size_bytes,
            place=file.id,
            file=f"{model.name.replace(' ', '-')}-{file.quantization}.gguf",
            siblings=_siblings_of(model, but=file.quantization),
            was_chosen=quantization is None and len(readable) > 1,
        )
        repo = next(repo for repo in model.repos if repo.id == file.repo)
        reference = RepoReference(repo.hub, repo.id, quantization=file.quantization)
        try:
            listing = self._remote.listing(reference)
            one = choose_set(listing, reference)
            assert one is not None  # a quantization was named
            return self._with_header(target, listing, one)
        except KimiError as error:
            return replace(target, why=error)

    def _library_file(self, model: CatalogueModel, quantization: str) -> LocalModel | None:
        for local in self._local:
            facts = local.facts
            if facts is None or not local.is_startable:
                continue
            known = self._catalogue.find(facts.name)
            if known is model and facts.quantization.casefold() == quantization.casefold():
                return local
        return None

    # repositories

    def _of_repo(self, reference: RepoReference) -> Target:
        model = self._catalogue.find_repo(reference.repo)
        held = {repo.id: repo.holds for repo in model.repos} if model else {}
        if model is not None and held[_spelled(reference.repo, held)] is not Holds.GGUF:
            # The maker's own repository: its GGUF files are in others.
            return self._of_catalogue(model, reference.quantization)
        try:
            listing = self._remote.listing(reference)
        except DownloadError:
            if model is None or reference.path is not None:
                raise
            return self._of_catalogue(model, reference.quantization)
        one = choose_set(listing, reference)
        sets = gguf_sets(listing.files)
        name = model.name if model else PurePosixPath(listing.repo).name
        if one is None:
            files = priced_sets(self._remote, listing, sets, name=name, machine=self._machine)
            best = best_file(files)
            one = sets[files.index(best)] if best is not None else sets[0]
        siblings = tuple(
            Sibling(other.quantization, other.size_bytes) for other in sets if other != one
        )
        wanted = reference.path or reference.quantization
        target = Target(
            name=name,
            quantization=one.quantization,
            size_bytes=one.size_bytes,
            place=f"{listing.repo}:{one.quantization}",
            file=PurePosixPath(one.path).name,
            siblings=siblings,
            was_chosen=wanted is None and len(sets) > 1,
        )
        return self._with_header(target, listing, one)

    def _with_header(self, target: Target, listing: RepoListing, one: RemoteSet) -> Target:
        facts = self._remote.facts(listing, one)
        return replace(
            target,
            facts=facts,
            size_bytes=one.size_bytes,
            file=PurePosixPath(one.path).name,
            header=lambda: copy_remote_header(listing, one.parts[0]),
            whole=lambda: copy_remote_headers(listing, one),
        )

    def _nearest(self, text: str) -> Iterable[str]:
        known = {name: model.path.name for model in self._local for name in names_of(model)}
        for model in self._catalogue:
            known[model.id] = known[model.name.casefold()] = model.id
            for item in model.quantizations:
                known[f"{model.id}:{item.name.casefold()}"] = f"{model.id}:{item.name}"
        near = difflib.get_close_matches(text.casefold(), known, n=4 * NEAREST, cutoff=0.5)
        return list(dict.fromkeys(known[name] for name in near))[:NEAREST]


def write_plan(
    target: Target,
    machine: Machine,
    wishes: Wishes,
    language: Language,
    out: TextIO,
    *,
    json_output: bool,
    factors: Factors | None = None,
    loads: LoadVerdict | None = None,
    wants_check: bool = False,
    check: Callable[[Plan], ExactCheck | None] | None = None,
) -> bool:
    """Plan the model and print it: exact with a header, else as an estimate by its size.

    Returns:
        An engine would load it; what is short has been told.

    Args:
        target: what is meant.
        machine: where it would run.
        wishes: what the user wants.
        language: of the sentences.
        out: where to write.
        json_output: one object instead of lines.
        factors: the speeds of this machine as runs have corrected them; None = as shipped.
        loads: whether the installed engine would load it, when it was asked.
        wants_check: the engine's word was asked for.
        check: asks the engine what a plan would hold; None without a header.

    Raises:
        PlanError: a wish that no engine can fulfil, or neither the header nor size and geometry
            are known.
    """
    shape = _shape(target)
    rule = speed_rule(shape, machine, factors=factors)
    plan = find_plan(shape, machine, wishes, rule=rule, siblings=target.siblings)
    speed = report.plan_speed(shape, plan, machine, factors=factors)
    checked = check(plan) if check is not None else None
    found = report.plan_object(plan, machine, language, speed=speed)
    program = ("llama-server", "-m", target.file)
    lines = report.plan_lines(plan, machine, language, program=program, speed=speed)
    if shape.by_size:
        why = describe_error(target.why, language)[0] if target.why else ""
        estimate = message("plan.estimate", language, why=why)
        found["sentences"].insert(0, estimate)
        lines.insert(1, estimate)
    unchecked = "plan.check.none" if check is not None else "plan.check.no_header"
    if json_output:
        found["model"] = {
            "name": target.name,
            "quantization": target.quantization,
            "size": target.size_bytes,
            "place": target.place,
            "chosen": target.was_chosen,
        }
        if loads is not None:
            found["loads"] = loads_object(loads, language)
        if wants_check:
            found["exact_check"] = check_object(checked)
            if checked is None:
                found["exact_check_refused"] = message(unchecked, language)
        out.write(json_text(found, indent=1) + "\n")
        return plan.can_start
    if factors is not None:
        lines.append("")
        lines.append(message("plan.learned", language, runs=f"{factors.runs:,}"))
    told = loads_lines(loads, language) if loads is not None else []
    if wants_check:
        told += check_lines(checked, unchecked, language)
    lines = [lines[0], *told, *lines[1:]]
    if target.was_chosen:
        size = format_file_size(target.size_bytes or 0)
        chosen = {"name": target.name, "quantization": target.quantization, "size": size}
        lines = [message("plan.chosen", language, **chosen), "", *lines]
    out.writelines(f"{printable(line)}\n" for line in lines)
    return plan.can_start


def _shape(target: Target) -> ModelShape:
    """By the header, else by the size.

    Raises:
        PlanError: the header does not say enough, or there is none and nothing else is known.
    """
    facts = target.facts
    if facts is not None:
        return report.shape_to_plan(facts)
    if not target.size_bytes:
        raise PlanError(ErrorCode.PLAN_NO_SIZE, {"name": target.place}, cause=target.why)
    shape = shape_by_size(target.name, target.quantization, target.size_bytes)
    if shape is None:
        raise PlanError(ErrorCode.PLAN_NO_GEOMETRY, {"name": target.name}, cause=target.why)
    return shape


def tell_asking(text: str, language: Language) -> None:
    """On a terminal: a header is on its way over the network."""
    if sys.stderr.isatty() and not _is_path(text):
        sys.stderr.write(message("plan.asking", language, name=text) + "\n")


def _is_path(text: str) -> bool:
    """Something of the file system: it exists, or is written like nothing else."""
    if existing_path(text) is not None:
        return True
    written = text.startswith((".", "~", *_SEPARATORS)) or "\\" in text
    return "://" not in text and (written or text.casefold().endswith(".gguf"))


def _existing(text: str) -> Path:
    path = existing_path(text)
    if path is None:
        raise ModelError(ErrorCode.MODEL_NOT_FOUND, {"path": text[:200]})
    return path


def _only(rows: Sequence[LocalModel], folder: Path) -> LocalModel:
    """The only model of a folder that can be started.

    Raises:
        ModelError: there is none, or there are several.
    """
    ready = [row for row in rows if row.is_startable]
    if len(ready) == 1:
        return ready[0]
    if ready:
        names = ", ".join(sorted(row.path.name for row in ready))
        raise ModelError(ErrorCode.MODEL_AMBIGUOUS, {"name": str(folder), "names": names})
    problem = next((row.problem for row in rows if row.problem), None)
    raise problem or ModelError(ErrorCode.MODEL_NONE_IN_FOLDER, {"path": str(folder.absolute())})


def _siblings_of(model: CatalogueModel, *, but: str = "") -> tuple[Sibling, ...]:
    """The other files that llama.cpp reads, by size alone."""
    return tuple(
        Sibling(item.name, item.size_bytes)
        for item in model.quantizations
        if item.size_bytes and Engine.LLAMA_CPP in item.engines and item.name != but
    )


def _merged(first: Sequence[Sibling], second: Sequence[Sibling]) -> tuple[Sibling, ...]:
    """Every name once; what has a header goes first."""
    by_name: dict[str, Sibling] = {}
    for sibling in (*first, *second):
        by_name.setdefault(sibling.name.casefold(), sibling)
    return tuple(by_name.values())


def _spelled(repo: str, known: Iterable[str]) -> str:
    """The catalogue's spelling of a repository."""
    return next(name for name in known if name.casefold() == repo.casefold())
