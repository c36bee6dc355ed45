"""Command lines for llama.cpp: what a build knows (from its own help), and how to say what we want.

Pure; ``probe.py`` runs the programs. Flags that a build does not know are never sent; where it has
another name for the same thing, that name is used. The flags of a placement are the planner's own
(``planner.flags``).
"""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from kimi_desktop.backends.embedded_flags import CLOSED_ORIGIN
from kimi_desktop.backends.placed import launch_of_settings
from kimi_desktop.backends.types import EngineKind, EngineOptions, LoadSettings
from kimi_desktop.base.errors import BackendError, ErrorCode, Param
from kimi_desktop.planner.flags import DEVICE, Said, launch_flags
from kimi_desktop.planner.plan_types import Launch, Numa

NEEDS_DRAFT = "draft-simple"
"""The kind of speculation that another model guesses for."""

PROMPT_CACHE_MIB = 1024
"""llama.cpp keeps up to 8 GiB of old prompts in RAM by default, which no forecast counts."""
LOG_VERBOSITY = 4
"""Names the size of every buffer; prompts are logged from 5 on only."""

FORBIDDEN = frozenset(
    {
        "--agent", "--api-key", "--api-key-file", "--cors-origins", "--host", "--log-prompts-dir",
        "--mcp-servers-config", "--mcp-servers-json", "--media-path", "--path", "--port", "--props",
        "--reuse-port", "--slot-save-path", "--slots", "--tools", "--tools-runtime",
        "--ui-mcp-proxy", "--webui-mcp-proxy", "-v", "--verbose", "--log-verbose",
    }
)  # fmt: skip
"""Extra flags that would open the engine to others, give the model tools, or log prompts."""
NEVER_TYPED = FORBIDDEN | {
    "--api-prefix", "--docker-repo", "--hf-file", "--hf-file-v", "--hf-repo",
    "--hf-repo-draft", "--hf-repo-v", "--hf-token", "--log-file", "--mmproj-url", "--model-url",
    "--models-dir", "--models-preset", "--rpc", "-dr", "-hf", "-hfd", "-hff", "-hffv", "-hfr",
    "-hfrd", "-hfrv", "-hft", "-hfv", "-mmu", "-mu",
}  # fmt: skip
"""And of those that are typed: what fetches files that nobody proved or writes outside the log.

A plan may name workers of other machines, whose addresses were looked at; typed ones were not.
"""

_REMOVED = "the argument has been removed"
"""What llama.cpp's help says of flags that only tell what took their place."""
_HEAD = re.compile(r"^(-{1,2}[A-Za-z][\w-]*(?:,\s*-{1,2}[A-Za-z][\w-]*)*)(?: (\S.*?))?(?:\s{2,}|$)")


@dataclass(frozen=True, slots=True)
class EngineBuild:
    """One installed build of an engine and what its help says."""

    kind: EngineKind
    program: tuple[str, ...]
    """How it is started, without flags."""
    flags: Mapping[str, str]
    """Every name of every flag -> its metavar, "" for a switch."""
    other_names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Name -> all names of the same flag and of its opposite, where the help groups them."""
    name: str = "llama.cpp"
    """"llama.cpp b11549"."""
    unix_sockets: bool = False
    devices: tuple[str, ...] = field(default=())
    """GPUs that this build can use."""
    version: str = ""
    """"0.32.0+cpu", of engines that have such."""
    architectures: frozenset[str] = frozenset()
    """Models that it knows, where its files tell."""

    @property
    def device_prefix(self) -> str:
        """How it names its GPUs, without the number: CUDA, ROCm, Vulkan ..."""
        match = re.match(r"([A-Za-z]+)\d", self.devices[0]) if self.devices else None
        return match[1] if match else DEVICE

    @property
    def is_without_gpus(self) -> bool:
        """It was asked for its devices and named none."""
        return not self.devices and "--list-devices" in self.flags

    @property
    def is_router_child(self) -> bool:
        """It can run as a router's child, which reports its progress.

        Builds before ``--load-mode`` would call the router over HTTP, and end when nobody answers.
        """
        return "--load-mode" in self.flags


@dataclass(frozen=True, slots=True)
class Listening:
    """Where the engine shall listen; no socket means a port of its own choice on 127.0.0.1."""

    socket_path: Path | None
    key_file: Path
    port: int = 0
    """For programs that cannot choose one."""


def parse_other_names(text: str) -> dict[str, frozenset[str]]:
    """Which names of a llama-server's ``--help`` mean one flag (or its opposite)."""
    found: dict[str, frozenset[str]] = {}
    for line in text.splitlines():
        if match := _HEAD.match(line):
            names = frozenset(re.split(r",\s*", match[1]))
            found |= dict.fromkeys(names, names)
    return found


def parse_help(text: str) -> dict[str, str]:
    """Flag names and metavars of a llama-server's ``--help``."""
    flags: dict[str, str] = {}
    lines = text.splitlines()
    for line, below in pairwise([*lines, ""]):
        if match := _HEAD.match(line):
            described = line if line[match.end() :].strip() else line + below
            if _REMOVED in described:
                continue
            metavar = match[2] or ""
            for name in re.split(r",\s*", match[1]):
                flags[name] = metavar
    return flags


def parse_version(text: str) -> str:
    """``llama.cpp b11549`` from what ``--version`` prints; no number where it has none."""
    match = re.search(r"^version: (\d+)(?![\d.])", text, re.MULTILINE)
    match = match or re.search(r"\(build (\d+)", text)
    number = int(match[1]) if match else 0
    return f"llama.cpp b{number}" if number > 1 else "llama.cpp"


def parse_devices(text: str) -> tuple[str, ...]:
    """The devices of ``--list-devices`` that are not the processor."""
    found = re.findall(r"^ {2}(\w+): (.*?) \(\d+ MiB", text, re.MULTILINE)
    return tuple(f"{name}: {what}" for name, what in found if not name.startswith("CPU"))


def build_command(
    build: EngineBuild,
    settings: LoadSettings,
    *,
    listening: Listening | None,
    n_threads: int,
) -> tuple[str, ...]:
    """The command that loads ``settings`` with ``build``.

    Args:
        build: what is installed.
        settings: what to load and how.
        listening: where; None for showing: no address and no key file in it, and nothing is
            refused (the start will say what is wrong).
        n_threads: used when the settings name none.

    Raises:
        BackendError: ENGINE_BAD_ARGUMENT, the build lacks a flag that cannot be done without, or
            an extra flag is unknown or not allowed.
    """
    line = _Line(build, strict=listening is not None)
    line.need(("-m", "--model"), str(settings.model_path))
    line.want(("-a", "--alias"), settings.model_path.stem)
    if listening is not None:
        line.need(("--host",), str(listening.socket_path or "127.0.0.1"))
        if listening.socket_path is None:
            line.need(("--port",), "0")
        line.need(("--api-key-file",), str(listening.key_file))
    launch = _with_options(launch_of_settings(settings, n_threads), settings)
    if build.is_without_gpus and not launch.workers:
        launch = dataclasses.replace(launch, gpus=None)  # it has none to name
    for said in launch_flags(launch, build.device_prefix):
        line.say(said)
    if settings.options.template_file:
        line.need(("--chat-template-file",), settings.options.template_file)
    elif settings.chat_template is not None:
        line.need(("--chat-template",), settings.chat_template)
    _say_options(line, settings)
    for stop in settings.stop:
        line.want(("-r", "--reverse-prompt"), stop)
    line.want(("--jinja",))
    line.want(("--metrics",))
    line.want(("--no-slots",))
    line.want(("--no-ui", "--no-webui"))
    line.want(("--offline",))
    line.want(("--cors-origins",), CLOSED_ORIGIN)
    line.want(("--cache-ram",), str(PROMPT_CACHE_MIB))
    line.want(("-lv", "--verbosity", "--log-verbosity"), str(LOG_VERBOSITY))
    line.add_extra(settings.extra, FORBIDDEN)
    line.add_extra(_typed(settings, strict=listening is not None), NEVER_TYPED)
    return (*build.program, *line.words)


def _with_options(launch: Launch, settings: LoadSettings) -> Launch:
    numa = settings.options.numa
    if not numa:
        return launch
    return dataclasses.replace(launch, numa=Numa.OFF if numa == "off" else Numa(numa))


def _say_options(line: _Line, settings: LoadSettings) -> None:
    """What the user chose besides the placement.

    Raises:
        BackendError: ENGINE_BAD_ARGUMENT, ENGINE_FLAG_CONFLICT.
    """
    options = settings.options
    flash = options.flash_attention
    if flash == "off" and settings.cache_type not in ("f16", "bf16", "f32"):
        params = {"flag": "-fa off", "other": f"-ctv {settings.cache_type}"}
        raise BackendError(ErrorCode.ENGINE_FLAG_CONFLICT, params)
    if flash and not line.says("-fa", "--flash-attn"):
        spellings: list[tuple[str, ...]] = [("-fa", flash), ("--flash-attn", flash)]
        if flash == "on":  # it was a switch once
            spellings += [("-fa",), ("--flash-attn",)]
        line.say(Said(tuple(spellings)))
    if options.projector:
        line.need(("-mm", "--mmproj"), options.projector)
    if options.lora:
        line.need(("--lora",), options.lora)
    if options.speculation:
        _say_speculation(line, options)


def _say_speculation(line: _Line, options: EngineOptions) -> None:
    needs_draft = options.speculation == NEEDS_DRAFT
    if needs_draft and not options.draft_model:
        params = {"flag": f"--spec-type {NEEDS_DRAFT}", "other": "--spec-draft-model"}
        raise BackendError(ErrorCode.ENGINE_FLAG_LACKS, params)
    # Before there was a choice, a draft model was the whole of it.
    say = line.want if needs_draft else line.need
    say(("--spec-type",), options.speculation)
    if needs_draft:
        line.need(("--spec-draft-model", "-md", "--model-draft"), options.draft_model)
    if options.draft_tokens:
        names: tuple[str, ...] = ("--spec-draft-n-max", "--draft-max", "--draft")
        if options.speculation == "ngram-mod":
            names = ("--spec-ngram-mod-n-max", *names)
        line.want(names, str(options.draft_tokens))


def split_extra(text: str) -> tuple[str, ...]:
    """Arguments as a shell takes them apart.

    Raises:
        BackendError: ENGINE_FLAG_QUOTES, a quotation mark is left open.
    """
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise BackendError(ErrorCode.ENGINE_FLAG_QUOTES, {}, cause=error) from error


def _typed(settings: LoadSettings, *, strict: bool) -> tuple[str, ...]:
    try:
        return split_extra(settings.options.extra)
    except BackendError:
        if strict:
            raise
        return (settings.options.extra,)


class _Line:
    """Words of a command line, each flag by a name that the build knows."""

    def __init__(self, build: EngineBuild, *, strict: bool) -> None:
        self.build = build
        self._strict = strict
        self._said: dict[str, str] = {}
        """Every name of a flag that is on the line -> how it stands there."""
        self.words: list[str] = []

    def says(self, *names: str) -> bool:
        """One of these is on the line."""
        return any(name in self._said for name in names)

    def want(self, names: Sequence[str], *values: str) -> bool:
        """Add the flag if the build has it; says whether."""
        known = next((name for name in names if name in self.build.flags), None)
        if known is None:
            return False
        self._add(names, known, values)
        return True

    def need(self, names: Sequence[str], *values: str) -> None:
        """Add the flag.

        Raises:
            BackendError: the build lacks it.
        """
        if self.want(names, *values):
            return
        if self._strict:
            raise _bad_argument(names[0])
        self.words += [names[0], *values]

    def say(self, said: Said) -> None:
        """Add what is decided, in the first spelling that the build knows.

        Raises:
            BackendError: it knows none, and cannot do without.
        """
        for name, *values in said.spellings:
            # A switch of one build may want a value in another (-fa).
            if name in self.build.flags and bool(self.build.flags[name]) == bool(values):
                self._add([spelling[0] for spelling in said.spellings], name, values)
                return
        first = said.spellings[0]
        if said.needed and self._strict:
            raise _bad_argument(first[0])
        if said.needed:
            self.words += first

    def add_extra(self, words: Sequence[str], forbidden: frozenset[str]) -> None:
        """What a plan or the user added.

        Raises:
            BackendError: ENGINE_FLAG_UNKNOWN, _FORBIDDEN or _CONFLICT.
        """
        for word in words if self._strict else ():
            name = word.partition("=")[0]
            if re.fullmatch(r"-{1,2}[A-Za-z][\w-]*", name) is None:
                continue  # a value
            if name in forbidden or self._means_one_of(forbidden, name):
                raise BackendError(ErrorCode.ENGINE_FLAG_FORBIDDEN, {"flag": name})
            if name not in self.build.flags:
                params: dict[str, Param] = {"flag": name, "engine": self.build.name}
                raise BackendError(ErrorCode.ENGINE_FLAG_UNKNOWN, params)
            if (other := self._said.get(name) or self._said.get(_opposite(name))) is not None:
                raise BackendError(ErrorCode.ENGINE_FLAG_CONFLICT, {"flag": name, "other": other})
            self._said[name] = word
        self.words += words

    def _means_one_of(self, forbidden: frozenset[str], name: str) -> bool:
        """Another name of it is in ``forbidden``; its opposite may be said."""
        is_opposite = name.startswith(("-no-", "--no-"))
        return not is_opposite and bool(self.build.other_names.get(name, frozenset()) & forbidden)

    def _add(self, names: Sequence[str], known: str, values: Sequence[str]) -> None:
        self._said |= dict.fromkeys(names, " ".join((known, *values)))
        self.words += [known, *values]


def _opposite(name: str) -> str:
    """``--no-jinja`` of ``--jinja``, and back."""
    if name.startswith("--no-"):
        return "--" + name.removeprefix("--no-")
    return "--no-" + name.removeprefix("--") if name.startswith("--") else name


def _bad_argument(flag: str) -> BackendError:
    return BackendError(ErrorCode.ENGINE_BAD_ARGUMENT, {"detail": flag})
