"""Flag names out of the help that Python's argparse prints (vLLM, SGLang). Pure."""

from __future__ import annotations

import re

_HEAD = re.compile(r"^  (-{1,2}[A-Za-z].*?)(?:\s{2,}|$)")
_FLAG = re.compile(r"(-{1,2}[A-Za-z][\w-]*)(?: (\{[^}]*\}|[A-Z\[][\w, .\[\]]*))?")


def parse_argparse_help(text: str) -> dict[str, str]:
    """Every name of every flag -> its metavar or its choices in braces, "" for a switch."""
    flags: dict[str, str] = {}
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head is None:
            continue
        for name, metavar in _FLAG.findall(head[1]):
            flags[name] = metavar.rstrip(", ")
    return flags


def choices_of(metavar: str) -> frozenset[str]:
    """The values of "{auto,fp8}"; empty when anything goes."""
    if not metavar.startswith("{"):
        return frozenset()
    return frozenset(metavar.strip("{}").split(","))
