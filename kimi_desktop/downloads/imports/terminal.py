"""The verb ``import``: what is found, how far it is, what became of it. Main thread."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.terminal import columns_of, display_width, json_text, one_line
from kimi_desktop.base.units import format_file_size
from kimi_desktop.downloads.imports.importer import Importer
from kimi_desktop.downloads.imports.layouts import find_in_places, find_models, find_of_ollama
from kimi_desktop.downloads.imports.places import Place, usual_places
from kimi_desktop.downloads.imports.types import FoundModel, ImportedFile, ImportedModel

SHORT_HASH = 16


def import_path(
    path: Path,
    models_folder: Path,
    language: Language,
    *,
    json_output: bool,
    out: TextIO = sys.stdout,
    progress_out: TextIO = sys.stderr,
) -> None:
    """Import what is at ``path``.

    Raises:
        DownloadError: nothing is there, or (IMPORT_INCOMPLETE) a file of it has a problem.
    """
    teller = _Teller(language, json_output, out, progress_out)
    _import(find_models(path), models_folder, teller)


def import_of_ollama(
    name: str,
    models_folder: Path,
    language: Language,
    *,
    json_output: bool,
    places: Iterable[Place] | None = None,
    out: TextIO = sys.stdout,
    progress_out: TextIO = sys.stderr,
) -> None:
    """Import the file behind a model of Ollama's list.

    Raises:
        DownloadError: SERVER_NOT_IN_STORE, or IMPORT_INCOMPLETE.
    """
    teller = _Teller(language, json_output, out, progress_out)
    model = find_of_ollama(name, usual_places() if places is None else places)
    _import((model,), models_folder, teller)


def _import(models: Sequence[FoundModel], models_folder: Path, teller: _Teller) -> None:
    teller.found(models)
    results = Importer(models_folder, teller.progress).run(models)
    teller.results(results)
    files = [file for model in results for file in model.files]
    missing = sum(len(model.model.missing) for model in results)
    bad = sum(not file.outcome.is_good for file in files) + missing
    if bad:
        params = {"bad": bad, "count": len(files) + missing}
        raise DownloadError(ErrorCode.IMPORT_INCOMPLETE, params)


def list_places(
    language: Language,
    *,
    json_output: bool,
    places: Iterable[Place] | None = None,
    out: TextIO = sys.stdout,
) -> None:
    """What other programs keep in their usual places; nothing is read but names and sizes."""
    models = find_in_places(usual_places() if places is None else places)
    teller = _Teller(language, json_output, out, sys.stderr)
    teller.found(models)
    if not models and not json_output:
        out.write(message("imports.no_places", language) + "\n")
    elif not json_output:
        out.write(message("imports.how", language) + "\n")


def describe(one: ImportedModel) -> dict[str, Any]:
    """A model as an object: paths, sizes in bytes, hashes."""
    return {
        "event": "model",
        "name": one.model.name,
        "origin": one.model.origin.value,
        "folder": str(one.folder),
        "size_bytes": one.model.size_bytes,
        "whole": one.is_whole,
        "missing": list(one.model.missing),
        "files": [
            {
                "from": str(file.file.path),
                "target": file.file.target,
                "size_bytes": file.file.size_bytes,
                "outcome": file.outcome.value,
                "sha256": file.sha256 or None,
                "expected": file.file.sha256 or file.file.git_sha1,
                "witness": file.file.witness.value,
                "link": file.link.value if file.link else None,
                "detail": file.detail or None,
            }
            for file in one.files
        ],
    }


def problem_line(file: ImportedFile, language: Language) -> str:
    """Why a file is not in the library."""
    expected = file.file.sha256 or file.file.git_sha1 or ""
    return message(
        f"imports.{file.outcome.value}",
        language,
        file=file.file.target,
        found=file.sha256[:SHORT_HASH] + "…",
        expected=expected[:SHORT_HASH] + "…",
        detail=file.detail,
    )


class _Teller:
    """Text for people, or JSON lines."""

    def __init__(
        self, language: Language, json_output: bool, out: TextIO, progress_out: TextIO
    ) -> None:
        self._language = language
        self._json = json_output
        self._out = out
        self._progress_out = progress_out
        self._bar = not json_output and progress_out.isatty()

    def found(self, models: Sequence[FoundModel]) -> None:
        for model in models:
            origin = message(f"imports.origin.{model.origin.value}", self._language)
            size = format_file_size(model.size_bytes)
            if self._json:
                found = {"event": "found", "name": model.name, "origin": model.origin.value}
                self._line(found | {"size_bytes": model.size_bytes, "place": str(model.place)})
            else:
                place = str(model.place)
                self._say("found", name=model.name, size=size, origin=origin, place=place)

    def progress(self, done: int, total: int, name: str) -> None:
        if self._json:
            self._line({"event": "progress", "done": done, "total": total, "file": name})
        elif self._bar:
            percent = 100 * done // total if total else 100
            size = format_file_size(total)
            text = message(
                "imports.checking", self._language, percent=percent, size=size, file=name
            )
            width = columns_of(self._progress_out) - 1
            while display_width(text) > width:
                text = text[:-1]
            self._progress_out.write(f"\r{one_line(text)}\x1b[K")
            self._progress_out.flush()

    def results(self, results: Iterable[ImportedModel]) -> None:
        if self._bar:
            self._progress_out.write("\r\x1b[K")
        for one in results:
            if self._json:
                self._line(describe(one))
                continue
            size = format_file_size(one.model.size_bytes)
            proven = all(file.is_proven for file in one.files)
            key = "partial" if not one.is_whole else "whole" if proven else "unproven"
            self._say(key, name=one.model.name, size=size, count=len(one.files))
            for name in one.model.missing:
                self._say("missing", indent="  ", file=name)
            for file in one.files:
                if not file.outcome.is_good:
                    self._out.write(f"  {one_line(problem_line(file, self._language))}\n")

    def _say(self, key: str, *, indent: str = "", **params: str | int) -> None:
        self._out.write(indent + message(f"imports.{key}", self._language, **params) + "\n")

    def _line(self, found: dict[str, Any]) -> None:
        self._out.write(json_text(found) + "\n")
        self._out.flush()
