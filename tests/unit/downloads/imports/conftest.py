"""Files of other programs, and a look at them that sees every change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

GGUF = b"GGUF" + bytes(200)


def content(name: str, size: int = 2000) -> bytes:
    """A GGUF as far as its first bytes tell, different for every name."""
    return GGUF + hashlib.sha256(name.encode()).digest() * (size // 32)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def git_sha1(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def put(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def look(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything of a tree that an import must not change."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        body = path.read_bytes() if path.is_file() else b""
        link = str(path.readlink()) if path.is_symlink() else ""
        found[str(path)] = (status.st_mode, status.st_mtime_ns, status.st_ino, link, body)
    return found


@pytest.fixture
def untouched() -> Callable[[Path], Callable[[], None]]:
    """``check = untouched(folder)``; later ``check()``."""

    def begin(folder: Path) -> Callable[[], None]:
        before = look(folder)
        assert before

        def check() -> None:
            assert look(folder) == before

        return check

    return begin


def hf_repo(cache: Path, name: str, files: dict[str, bytes], commit: str = "c" * 40) -> Path:
    """As the Hugging Face client writes it: links of a snapshot into the blobs."""
    repo = cache / f"models--{name.replace('/', '--')}"
    for path, data in files.items():
        lfs = path.endswith((".gguf", ".safetensors"))
        blob = put(repo / "blobs" / (sha256(data) if lfs else git_sha1(data)), data)
        link = repo / "snapshots" / commit / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(Path("../" * (path.count("/") + 2)) / "blobs" / blob.name)
    put(repo / "refs" / "main", commit)
    return repo


def ollama_store(folder: Path, models: dict[str, dict[str, bytes]]) -> Path:
    """``{"llama3/8b": {"model": ..., "projector": ...}}`` as Ollama writes it."""
    for name, layers in models.items():
        listed = []
        for kind, data in layers.items():
            digest = sha256(data)
            put(folder / "blobs" / f"sha256-{digest}", data)
            media = f"application/vnd.ollama.image.{kind}"
            listed.append({"mediaType": media, "digest": f"sha256:{digest}", "size": len(data)})
        manifest = folder / "manifests" / "registry.ollama.ai" / "library" / name
        put(manifest, json.dumps({"schemaVersion": 2, "layers": listed}))
    return folder
