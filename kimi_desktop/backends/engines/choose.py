"""Which engines there are, and which one some load settings mean. IO thread for the questions."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

from kimi_desktop.backends.command import EngineBuild
from kimi_desktop.backends.engines import llama_cpp_python, sglang, vllm
from kimi_desktop.backends.engines.interface import Engine
from kimi_desktop.backends.engines.llama_cpp import LlamaCpp
from kimi_desktop.backends.engines.llama_cpp_python import LlamaCppPython
from kimi_desktop.backends.engines.python_probe import find_program
from kimi_desktop.backends.probe import embedded_build, find_llama_server
from kimi_desktop.backends.types import EngineKind, LoadSettings, ServerProgram
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import EngineSettings, SettingsStore
from kimi_desktop.models.types import LocalModel, ModelFormat

PYTHON_TITLES = {
    EngineKind.VLLM: vllm.TITLE,
    EngineKind.SGLANG: sglang.TITLE,
    EngineKind.LLAMA_CPP_PYTHON: llama_cpp_python.TITLE,
}
"""Engines that are found in a Python."""
_PROGRAMS: Mapping[EngineKind, tuple[str, ...]] = {
    EngineKind.VLLM: (vllm.PACKAGE,),
    EngineKind.SGLANG: (sglang.PACKAGE,),
    EngineKind.LLAMA_CPP_PYTHON: ("python", *llama_cpp_python.MODULE_WORDS),
}
"""How they are shown before they were asked."""


PROBED = "engines"
"""A folder for what engines have said about themselves."""


def engines_of(paths: AppPaths, store: SettingsStore) -> Engines:
    """The engines as the settings choose them now."""
    return Engines(lambda: store.settings.engine, paths.data / PROBED)


class Engines:
    """One of each; they remember what installations have answered."""

    def __init__(self, settings: Callable[[], EngineSettings], memory: Path | None) -> None:
        """Join it to the settings.

        Args:
            settings: where the user says what to use.
            memory: a folder for what is slow to ask.
        """
        self._settings = settings
        self.llama = LlamaCpp()
        self.vllm = vllm.Vllm(memory)
        self.sglang = sglang.Sglang(memory)
        self.python = LlamaCppPython(memory)

    def engine(self, settings: LoadSettings) -> Engine:
        """What drives these settings."""
        return self._in_python.get(settings.kind, self.llama)

    def behind(self, program: ServerProgram) -> Engine | None:
        """Who reads the counters of a server that is not ours."""
        engines: Mapping[ServerProgram, Engine] = {
            ServerProgram.LLAMA_CPP: self.llama,
            ServerProgram.VLLM: self.vllm,
            ServerProgram.SGLANG: self.sglang,
        }
        return engines.get(program)

    @property
    def _in_python(self) -> Mapping[EngineKind, vllm.Vllm | sglang.Sglang | LlamaCppPython]:
        return {
            EngineKind.VLLM: self.vllm,
            EngineKind.SGLANG: self.sglang,
            EngineKind.LLAMA_CPP_PYTHON: self.python,
        }

    def chosen(self, model: LocalModel | None = None) -> tuple[EngineKind, Path | None]:
        """What a start of this model would use; None for a GGUF file."""
        if model is not None and model.format is ModelFormat.SAFETENSORS:
            chosen = self._settings()
            if chosen.server_engine == EngineKind.SGLANG.value:
                return EngineKind.SGLANG, find_program(chosen.sglang_python, sglang.PACKAGE)
            return EngineKind.VLLM, find_program(chosen.vllm_python, vllm.PACKAGE)
        if self._settings().llama_python:
            python = Path(self._settings().llama_python).expanduser()
            return EngineKind.LLAMA_CPP_PYTHON, python
        binary = find_llama_server(self._settings().llama_server)
        if binary is None:
            return EngineKind.EMBEDDED, None
        return EngineKind.LLAMA_SERVER, binary

    async def build(self, settings: LoadSettings) -> EngineBuild:
        """The build that these settings mean.

        Raises:
            BackendError: there is none, or it cannot be asked.
        """
        return await self._probed(settings.kind, settings.binary)

    async def chosen_build(self) -> EngineBuild:
        """The build that a start of a GGUF file would use now: the one place that chooses it.

        Raises:
            BackendError: there is none, or it cannot be asked.
        """
        return await self._probed(*self.chosen())

    async def _probed(self, kind: EngineKind, program: Path | None) -> EngineBuild:
        if kind is EngineKind.EMBEDDED:
            return embedded_build()
        if program is None:
            name = PYTHON_TITLES.get(kind, "llama-server")
            raise BackendError(ErrorCode.ENGINE_NOT_FOUND, {"path": name})
        engine: Engine = self._in_python.get(kind, self.llama)
        return await engine.probe(program)

    def known(self, settings: LoadSettings) -> EngineBuild | None:
        """What has been found out about it; asks nothing."""
        if settings.kind in PYTHON_TITLES:
            asked = self._in_python[settings.kind]
            return asked.known(settings.binary) if settings.binary is not None else None
        if settings.kind is EngineKind.EMBEDDED or settings.binary is None:
            with contextlib.suppress(BackendError):
                return embedded_build()
            return None
        return self.llama.prober.known(settings.binary)

    def shown(self, settings: LoadSettings) -> EngineBuild:
        """For showing a command: a build that was not asked yet is taken for a current one.

        Raises:
            BackendError: ENGINE_NOT_FOUND, there is nothing to show it with.
        """
        known = self.known(settings)
        if known is not None:
            return known
        if settings.kind in PYTHON_TITLES:
            title = PYTHON_TITLES[settings.kind]
            program = _PROGRAMS[settings.kind]
            return EngineBuild(settings.kind, program, _Everything(), name=title)
        program = (str(settings.binary),)
        return dataclasses.replace(embedded_build(), program=program)


class _Everything(dict[str, str]):
    """The flags of a build that was not asked: any."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return ""
