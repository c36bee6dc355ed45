"""Reads the catalogue: one JSON file per model under ``assets/catalogue``. Any thread, once.

To add a model, add a file; to add a template, one under ``templates``. Every key is checked, and a
slip names the file, the place in it and what stands there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import NoReturn, TypeVar

from kimi_desktop.base.assets import asset
from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.base.units import GB, GIB
from kimi_desktop.models.catalogue_types import (
    Catalogue,
    CatalogueModel,
    ChatTemplate,
    Engine,
    EngineFloor,
    Holds,
    Hub,
    License,
    Native,
    Note,
    Projector,
    Quality,
    Quantization,
    Repo,
    SamplingPreset,
    Thinking,
)

SCHEMA = 1
_ID = re.compile(r"[a-z0-9][a-z0-9.-]*")
_REPO = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_DATE = re.compile(r"20\d\d-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?")
_ANY = re.compile(r"\S(?:.*\S)?", re.DOTALL)
_MODALITIES = frozenset({"text", "image", "video"})

Item = TypeVar("Item")
Choice = TypeVar("Choice", bound=StrEnum)


def read_catalogue(folder: Path) -> Catalogue:
    """All models of a folder, the newest first.

    Raises:
        ModelError: CATALOGUE_DAMAGED (file, field and value), or MODEL_UNREADABLE.
    """
    templates = {}
    for path in sorted((folder / "templates").glob("*.json")):
        template = _template(_Fields.of_file(path))
        templates[template.id] = template
    models: dict[str, CatalogueModel] = {}
    for path in sorted(folder.glob("*.json")):
        fields = _Fields.of_file(path)
        model = _model(fields, templates)
        if model.id in models or model.id != path.stem:
            fields.refuse("id", model.id)
        models[model.id] = model
    newest = sorted(models.values(), key=lambda model: model.id)
    newest.sort(key=lambda model: model.released, reverse=True)
    return Catalogue(tuple(newest))


@cache
def shipped_catalogue() -> Catalogue:
    """What ships with this version.

    Raises:
        ModelError: the installation is damaged.
    """
    return read_catalogue(asset("catalogue"))


class _Fields:
    """One JSON object, read key by key; what nobody asked for is refused at the end."""

    def __init__(self, path: Path, values: object, place: str = "") -> None:
        self._path = path
        self._place = place
        self._asked: set[str] = set()
        self._values: Mapping[str, object] = {}
        if not isinstance(values, dict):
            self.refuse("", values)
        self._values = values

    @classmethod
    def of_file(cls, path: Path) -> _Fields:
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            detail = error.strerror or str(error)
            raise ModelError(
                ErrorCode.MODEL_UNREADABLE, {"path": str(path), "detail": detail}, cause=error
            ) from error
        except ValueError as error:
            raise _damaged(path, "JSON", str(error), error) from error
        fields = cls(path, values)
        if fields.whole("schema", 1) != SCHEMA:
            fields.refuse("schema", fields._values["schema"])
        return fields

    def refuse(self, key: str, value: object) -> NoReturn:
        place = ".".join(filter(None, (self._place, key))) or "JSON"
        raise _damaged(self._path, place, json.dumps(value, ensure_ascii=False)[:80])

    def done(self) -> None:
        """No key is left over."""
        if unknown := sorted(set(self._values) - self._asked):
            self.refuse(unknown[0], self._values[unknown[0]])

    def get(self, key: str) -> object:
        """The raw value; None when it is missing or null."""
        self._asked.add(key)
        return self._values.get(key)

    def text(self, key: str, pattern: re.Pattern[str] = _ANY) -> str:
        value = self.get(key)
        if not isinstance(value, str) or not pattern.fullmatch(value):
            self.refuse(key, value)
        return value

    def text_or_none(self, key: str) -> str | None:
        return None if self.get(key) is None else self.text(key)

    def flag(self, key: str) -> bool:
        value = self.get(key)
        if not isinstance(value, bool):
            self.refuse(key, value)
        return value

    def number(self, key: str, least: float, most: float) -> float:
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse(key, value)
        if not least <= value <= most:  # not a number is in no range
            self.refuse(key, value)
        return float(value)

    def number_or_none(self, key: str, least: float, most: float) -> float | None:
        return None if self.get(key) is None else self.number(key, least, most)

    def whole(self, key: str, least: int) -> int:
        value = self.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            self.refuse(key, value)
        return value

    def whole_or_none(self, key: str, least: int) -> int | None:
        return None if self.get(key) is None else self.whole(key, least)

    def choice(self, key: str, kind: type[Choice]) -> Choice:
        value = self.get(key)
        for member in kind:
            if member.value == value:
                return member
        self.refuse(key, value)

    def choice_or_none(self, key: str, kind: type[Choice]) -> Choice | None:
        return None if self.get(key) is None else self.choice(key, kind)

    def texts(self, key: str, allowed: frozenset[str] | None = None) -> tuple[str, ...]:
        value = self.get(key)
        if not isinstance(value, list) or not all(
            isinstance(item, str) and item and (allowed is None or item in allowed)
            for item in value
        ):
            self.refuse(key, value)
        return tuple(value)

    def inner(self, key: str) -> _Fields:
        value = self.get(key)
        return _Fields(self._path, value, ".".join(filter(None, (self._place, key))))

    def each(self, key: str, make: Callable[[_Fields], Item]) -> tuple[Item, ...]:
        """A list of objects."""
        value = self.get(key)
        if not isinstance(value, list):
            self.refuse(key, value)
        items = []
        for index, item in enumerate(value):
            fields = _Fields(self._path, item, f"{key}[{index}]")
            items.append(make(fields))
            fields.done()
        return tuple(items)

    def size_bytes(self) -> int | None:
        """``size_gb`` (10^9) or ``size_gib`` (2^30), not both."""
        gb, gib = self.number_or_none("size_gb", 0.001, 1e5), None
        if gb is None:
            gib = self.number_or_none("size_gib", 0.001, 1e5)
        if gb is not None and self.get("size_gib") is not None:
            self.refuse("size_gib", self.get("size_gib"))
        if gb is not None:
            return round(gb * GB)
        return None if gib is None else round(gib * GIB)

    def note(self) -> Note | None:
        if self.get("note") is None:
            return None
        fields = self.inner("note")
        found = Note(fields.text("en"), fields.text("zh"))
        fields.done()
        return found


def _damaged(path: Path, field: str, value: str, cause: Exception | None = None) -> ModelError:
    return ModelError(
        ErrorCode.CATALOGUE_DAMAGED,
        {"path": str(path), "field": field, "value": value},
        cause=cause,
    )


def _model(fields: _Fields, templates: Mapping[str, ChatTemplate]) -> CatalogueModel:
    parameters, architecture = fields.inner("parameters"), fields.inner("architecture")
    terms, native = fields.inner("license"), fields.inner("native")
    repos = fields.each("repos", _repo)
    known = frozenset(repo.id for repo in repos)
    total = parameters.whole("total", 1)
    active = parameters.whole("active", 1)
    if active > total:
        fields.refuse("parameters.active", active)
    template_id = fields.text_or_none("chat_template")
    if template_id is not None and template_id not in templates:
        fields.refuse("chat_template", template_id)
    found = CatalogueModel(
        id=fields.text("id", _ID),
        name=fields.text("name"),
        family=fields.text("family", _ID),
        released=fields.text("released", _DATE),
        total_parameters=total,
        active_parameters=active,
        context_tokens=fields.whole_or_none("context_tokens", 256),
        modalities=fields.texts("modalities", _MODALITIES),
        thinking=fields.choice_or_none("thinking", Thinking),
        hf_architecture=architecture.text_or_none("hf"),
        gguf_architecture=architecture.text_or_none("gguf"),
        projector_architecture=architecture.text_or_none("projector"),
        chat_template=templates[template_id] if template_id else None,
        license=License(terms.text("name"), terms.flag("confirmed"), terms.note()),
        native=Native(
            format=native.text("format"),
            size_bytes=native.size_bytes(),
            size_is_rounded=bool(native.get("size_is_rounded")),
            shards=native.whole_or_none("shards", 1),
        ),
        repos=repos,
        quantizations=fields.each("quantizations", lambda item: _quantization(item, known)),
        projector=_projector(fields, known),
        sampling=fields.each("sampling", _preset),
        engines=fields.each("engines", _floor),
        sources=fields.texts("sources"),
    )
    for part in (fields, parameters, architecture, terms, native):
        part.done()
    return found


def _repo(fields: _Fields) -> Repo:
    return Repo(
        hub=fields.choice("hub", Hub),
        id=fields.text("id", _REPO),
        holds=fields.choice("holds", Holds),
        confirmed=fields.flag("confirmed"),
        variant=fields.text_or_none("variant"),
    )


def _known_repo(fields: _Fields, known: frozenset[str]) -> str:
    repo = fields.text("repo", _REPO)
    if repo not in known:
        fields.refuse("repo", repo)
    return repo


def _quantization(fields: _Fields, known: frozenset[str]) -> Quantization:
    names = fields.texts("engines", frozenset(Engine))
    return Quantization(
        name=fields.text("name"),
        repo=_known_repo(fields, known),
        size_bytes=fields.size_bytes(),
        size_is_rounded=bool(fields.get("size_is_rounded")),
        shards=fields.whole_or_none("shards", 1),
        quality=fields.choice_or_none("quality", Quality),
        engines=tuple(Engine(name) for name in names),
        perplexity=fields.number_or_none("perplexity", 1, 1e6),
        kl_divergence=fields.number_or_none("kl_divergence", 0, 100),
        note=fields.note(),
    )


def _projector(fields: _Fields, known: frozenset[str]) -> Projector | None:
    if fields.get("projector") is None:
        return None
    inner = fields.inner("projector")
    found = Projector(_known_repo(inner, known), inner.text("format"), inner.size_bytes())
    inner.done()
    return found


def _preset(fields: _Fields) -> SamplingPreset:
    return SamplingPreset(
        mode=fields.text("mode"),
        temperature=fields.number("temperature", 0, 2),
        top_p=fields.number("top_p", 0, 1),
        min_p=fields.number_or_none("min_p", 0, 1),
        confirmed=fields.flag("confirmed"),
        source=fields.text("source"),
    )


def _floor(fields: _Fields) -> EngineFloor:
    return EngineFloor(
        engine=fields.choice("engine", Engine),
        min_version=fields.text_or_none("min_version"),
        broken_versions=fields.texts("broken_versions"),
        flags=fields.texts("flags"),
        min_vram_gb=fields.number_or_none("min_vram_gb", 0, 1e5),
        note=fields.note(),
        source=fields.text("source"),
    )


def _template(fields: _Fields) -> ChatTemplate:
    tags = fields.texts("thinking_tags") if fields.get("thinking_tags") is not None else None
    if tags is not None and len(tags) != 2:
        fields.refuse("thinking_tags", tags)
    found = ChatTemplate(
        id=fields.text("id", _ID),
        turns=fields.text_or_none("turns"),
        stop_token=fields.text_or_none("stop_token"),
        stop_token_id=fields.whole_or_none("stop_token_id", 0),
        uses_bos=None if fields.get("uses_bos") is None else fields.flag("uses_bos"),
        tool_id=fields.text_or_none("tool_id"),
        thinking_tags=(tags[0], tags[1]) if tags else None,
        thinking_switch=fields.text_or_none("thinking_switch"),
        keeps_reasoning_in_tool_loop=fields.flag("keeps_reasoning_in_tool_loop"),
        image_tag=fields.text_or_none("image_tag"),
        tool_parser=fields.text_or_none("tool_parser"),
        reasoning_parser=fields.text_or_none("reasoning_parser"),
        source=fields.text("source"),
    )
    fields.done()
    return found
