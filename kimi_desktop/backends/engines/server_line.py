"""Builds the command lines of server engines: only flags and values that the build knows. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kimi_desktop.backends.command import EngineBuild
from kimi_desktop.backends.engines.argparse_help import choices_of
from kimi_desktop.base.errors import BackendError, ErrorCode

ALIASES = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-dcp": "--decode-context-parallel-size",
    "-ep": "--enable-expert-parallel",
    "-q": "--quantization",
    "-n": "--nnodes",
    "-r": "--node-rank",
    "--tp": "--tp-size",
    "--pp": "--pp-size",
    "--dp": "--dp-size",
}
"""Short names of what the app says itself."""
_IS_FLAG = re.compile(r"-{1,2}[A-Za-z][\w-]*")


class ServerLine:
    """Words of a command line, each flag by a name that the build knows."""

    def __init__(
        self, build: EngineBuild, renamed: Mapping[str, Sequence[str]], *, strict: bool
    ) -> None:
        """Begin with the program.

        Args:
            build: what is installed.
            renamed: other names of a flag in other versions.
            strict: refuse what the build does not know; False for showing a command.
        """
        self._build = build
        self._renamed = renamed
        self._strict = strict
        self.words: list[str] = [*build.program]

    def want(self, flag: str, *values: str) -> bool:
        """Add the flag if the build has it and takes the values; says whether."""
        known = self._known(flag)
        if known is None or not self._takes(known, values):
            return False
        self.words += [known, *values]
        return True

    def need(self, flag: str, *values: str) -> None:
        """Add the flag.

        Raises:
            BackendError: ENGINE_BAD_ARGUMENT, the build does not have it or not with this value.
        """
        if not self.want(flag, *values):
            if self._strict:
                raise bad_argument(" ".join([flag, *values]))
            self.words += [flag, *values]

    def need_all(self, words: Sequence[str]) -> None:
        """Flags with their values in one row, each needed.

        Raises:
            BackendError: ENGINE_BAD_ARGUMENT.
        """
        for flag, values in grouped(words):
            self.need(flag, *values)

    def want_all(self, words: Sequence[str]) -> None:
        """Flags with their values in one row, as far as the build has them."""
        for flag, values in grouped(words):
            self.want(flag, *values)

    def add_extra(self, words: Sequence[str], forbidden: frozenset[str]) -> None:
        """What the user added by hand.

        Raises:
            BackendError: a flag is unknown to the build, or not allowed.
        """
        for word in words if self._strict else ():
            name = word.partition("=")[0]
            whole = name.partition(".")[0]  # --config.key sets a part of what --config is
            if _IS_FLAG.fullmatch(whole) is None:
                continue  # a value
            plain = _base(whole)
            if plain in forbidden or whole in forbidden or whole not in self._build.flags:
                raise bad_argument(name)
            said = {_base(flag) for flag, _ in grouped(self.words)}
            if plain in said or ALIASES.get(plain, plain) in said:
                raise BackendError(ErrorCode.ENGINE_FLAG_CONFLICT, {"flag": name, "other": plain})
        self.words += words

    def _known(self, flag: str) -> str | None:
        names = (flag, *self._renamed.get(flag, ()))
        return next((name for name in names if name in self._build.flags), None)

    def _takes(self, flag: str, values: Sequence[str]) -> bool:
        choices = choices_of(self._build.flags[flag])
        return not choices or not values or values[0] in choices


def grouped(words: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Each flag with the values that follow it."""
    groups: list[tuple[str, list[str]]] = []
    for word in words:
        if _IS_FLAG.fullmatch(word):
            groups.append((word, []))
        elif groups:
            groups[-1][1].append(word)
    return [(flag, tuple(values)) for flag, values in groups]


def bad_argument(flag: str) -> BackendError:
    """The build refuses a flag, or we do."""
    return BackendError(ErrorCode.ENGINE_BAD_ARGUMENT, {"detail": flag})


def _base(flag: str) -> str:
    """--middleware for --no-middleware; underscores as argparse of vLLM takes them."""
    name = flag.replace("_", "-")
    return "--" + name.removeprefix("--no-") if name.startswith("--no-") else name
