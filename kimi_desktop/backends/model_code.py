"""The Python files that a model brings along and that a server engine would run. Blocking (pool).

Consent is bound to their contents: the digest covers every file's name and hash, so that a changed,
added or removed file asks again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.base.errors import ErrorCode, ModelError

MOST_FILES = 500
BLOCK_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class CodeFile:
    """One of them."""

    name: str
    """Below the model's folder, with slashes."""
    sha256: str


@dataclass(frozen=True, slots=True)
class ModelCode:
    """All of them."""

    files: tuple[CodeFile, ...] = ()

    @property
    def digest(self) -> str:
        """Stands for just these files; "" for none."""
        if not self.files:
            return ""
        lines = "".join(f"{file.sha256}  {file.name}\n" for file in self.files)
        return hashlib.sha256(lines.encode()).hexdigest()


def code_of(folder: Path) -> ModelCode:
    """Hash every .py file in a model's folder and below.

    Raises:
        ModelError: MODEL_UNREADABLE, one of them cannot be read, or there are absurdly many.
    """
    found: list[CodeFile] = []
    try:
        for file in sorted(folder.rglob("*.py")):
            if len(found) >= MOST_FILES:
                detail = f"> {MOST_FILES} .py"
                raise ModelError(
                    ErrorCode.MODEL_UNREADABLE, {"path": str(folder), "detail": detail}
                )
            name = file.relative_to(folder).as_posix()
            found.append(CodeFile(name, _sha256(file)))
    except OSError as error:
        params = {"path": str(folder), "detail": error.strerror or str(error)}
        raise ModelError(ErrorCode.MODEL_UNREADABLE, params, cause=error) from error
    return ModelCode(tuple(found))


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
