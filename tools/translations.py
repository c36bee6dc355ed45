"""The window's translations: collect the strings, check them, compile them.

    python tools/translations.py update    collect the strings of every part into its .ts file
    python tools/translations.py check     say what is missing, stale or wrong; exit 1 if anything
    python tools/translations.py release   compile all .ts files into the one .qm that ships

One .ts file per part (the frame and each page), so that two people seldom touch the same one. The
.qm is committed; after a rebase that conflicts in it, run ``release`` again.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import string
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UI = ROOT / "kimi_desktop" / "ui"
FOLDER = ROOT / "assets" / "translations"
CATALOGUE = FOLDER / "kimi_desktop_zh_CN.qm"
PAGES = ("chat", "models", "monitor", "plan", "serve", "settings", "wizard")
PARTS = ("frame", *PAGES)
TRANSLATING = ("tr", "translate")
APPLICATION = "QCoreApplication"


@dataclass(frozen=True)
class Entry:
    """One string of a .ts file."""

    part: str
    context: str
    source: str
    translations: tuple[str, ...]
    """One, or one per plural form of Chinese (which has one)."""
    finished: bool
    plural: bool

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.part}: {self.context}: {self.source!r}"


def sources(part: str) -> list[Path]:
    """The Python files of a part: a page's folder, or everything else under ui."""
    if part in PAGES:
        return sorted((UI / part).rglob("*.py"))
    others = {path for page in PAGES for path in (UI / page).rglob("*.py")}
    return sorted(path for path in UI.rglob("*.py") if path not in others)


def ts_file(part: str, folder: Path = FOLDER) -> Path:
    """Where a part keeps its strings."""
    return folder / f"{part}_zh_CN.ts"


def _qt_tool(name: str) -> str:
    """Lupdate and lrelease come with PySide6-Essentials."""
    import PySide6

    folder = Path(PySide6.__file__).parent
    return str(folder / (f"{name}.exe" if sys.platform == "win32" else name))


def _run(command: list[str]) -> None:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{Path(command[0]).name} failed:\n{done.stdout}{done.stderr}")


def update(folder: Path = FOLDER) -> None:
    """Collect the strings; translations are kept, strings that are gone are dropped."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        _run(
            [
                _qt_tool("lupdate"),
                *(os.path.relpath(path, ROOT) for path in sources(part)),
                *("-no-obsolete", "-locations", "none", "-source-language", "en"),
                *("-target-language", "zh_CN", "-disable-heuristic", "sametext"),
                *("-disable-heuristic", "similartext", "-ts", str(ts_file(part, folder))),
            ]
        )


def release(target: Path = CATALOGUE) -> None:
    """Compile all parts into one catalogue."""
    files = [str(ts_file(part)) for part in PARTS]
    _run([_qt_tool("lrelease"), "-silent", "-nounfinished", *files, "-qm", str(target)])


def entries(folder: Path = FOLDER) -> Iterator[Entry]:
    """Every string of every part."""
    for part in PARTS:
        for context in ET.parse(ts_file(part, folder)).getroot().iter("context"):
            name = context.findtext("name") or ""
            for message in context.iter("message"):
                yield _entry(part, name, message)


def _entry(part: str, context: str, message: ET.Element) -> Entry:
    translation = message.find("translation")
    forms: list[str] = []
    finished = False
    if translation is not None:
        finished = translation.get("type") is None
        numerus = translation.findall("numerusform")
        forms = [form.text or "" for form in numerus] if numerus else [translation.text or ""]
    plural = message.get("numerus") == "yes"
    return Entry(part, context, message.findtext("source") or "", tuple(forms), finished, plural)


def fields(text: str) -> set[str]:
    """The format fields of a text: ``{name}`` and Qt's ``%n``.

    Raises:
        ValueError: it cannot be formatted.
    """
    found = {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
    return found | set(re.findall(r"%(?:L?\d+|n)", text))


def wrong_entries(found: list[Entry]) -> list[str]:
    """Strings that are missing, unfinished, or whose fields differ from the source's."""
    problems = []
    for entry in found:
        # Between sentences English has a space, Chinese nothing.
        missing = bool(entry.source.strip()) and not all(entry.translations)
        if not entry.finished or not entry.translations or missing:
            problems.append(f"{entry.name} is not translated")
            continue
        for text in entry.translations:
            try:
                if fields(text) != fields(entry.source):
                    problems.append(f"{entry.name} has other fields than {text!r}")
            except ValueError as error:
                problems.append(f"{entry.name} cannot be formatted: {error}")
    return problems


def wrong_calls(path: Path, code: str) -> list[str]:
    """Calls of tr() that lupdate cannot collect: no plain text, or inside an f-string."""
    problems = []
    tree = ast.parse(code)
    hidden = {
        id(inner)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.JoinedStr)
        for inner in ast.walk(outer)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        owner = called.value if isinstance(called, ast.Attribute) else None
        moves = name == "translate" and owner is not None and ast.unparse(owner) != APPLICATION
        if name not in TRANSLATING or moves:  # painters translate, too
            continue
        if id(node) in hidden:
            problems.append(f"{path.name}:{node.lineno}: {name}() inside an f-string is not seen")
        texts = node.args[:2] if name == "translate" else node.args[:1]
        for text in texts:
            if not (isinstance(text, ast.Constant) and isinstance(text.value, str)):
                problems.append(f"{path.name}:{node.lineno}: {name}() needs a plain text")
    return problems


def stale_parts() -> list[str]:
    """Parts whose .ts file a fresh update would change."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for part in PARTS:
            if ts_file(part).exists():
                shutil.copy(ts_file(part), folder)
        update(folder)
        return [
            f"{ts_file(part).name} is stale: run `python tools/translations.py update`"
            for part in PARTS
            if not ts_file(part).exists()
            or ts_file(part).read_bytes() != ts_file(part, folder).read_bytes()
        ]


def stale_catalogue() -> list[str]:
    """The .qm file, when a fresh release differs from it."""
    with tempfile.TemporaryDirectory() as temporary:
        fresh = Path(temporary) / CATALOGUE.name
        release(fresh)
        if CATALOGUE.exists() and CATALOGUE.read_bytes() == fresh.read_bytes():
            return []
    return [f"{CATALOGUE.name} is stale: run `python tools/translations.py release`"]


def check() -> list[str]:
    """Everything that is wrong, in words."""
    problems = []
    for path in sorted(UI.rglob("*.py")):
        problems += wrong_calls(path, path.read_text(encoding="utf-8"))
    problems += stale_parts()
    if not problems:
        problems += wrong_entries(list(entries()))
        problems += stale_catalogue()
    return problems


def main(arguments: list[str]) -> int:
    """Run one command."""
    commands = {"update": update, "release": release}
    if len(arguments) != 1 or arguments[0] not in (*commands, "check"):
        print(__doc__, file=sys.stderr)
        return 2
    if arguments[0] in commands:
        commands[arguments[0]]()
        return 0
    problems = check()
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
