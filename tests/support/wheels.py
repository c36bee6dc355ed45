"""Tiny packages for real installers: a wheel, and source that waits while it is built."""

from __future__ import annotations

import base64
import hashlib
import io as io_module
import tarfile
import zipfile
from pathlib import Path


def make_wheel(folder: Path, name: str, version: str) -> tuple[str, int]:
    """A package of one module; (hash, size)."""
    facts = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": f"__version__ = {version!r}\n",
        f"{facts}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{facts}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = []
    for place, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        rows.append(f"{place},sha256={digest.decode()},{len(text)}")
    files[f"{facts}/RECORD"] = "\n".join([*rows, f"{facts}/RECORD,,"]) + "\n"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for place, text in files.items():
            wheel.writestr(zipfile.ZipInfo(place), text)
    return hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_size


BACKEND = """\
import base64, hashlib, os, sys, time, zipfile

def prepare_metadata_for_build_wheel(directory, settings=None):
    facts = "{name}-{version}.dist-info"
    os.mkdir(os.path.join(directory, facts))
    with open(os.path.join(directory, facts, "METADATA"), "w") as out:
        out.write("Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    return facts

def build_wheel(directory, settings=None, metadata=None):
    deadline = time.monotonic() + 60
    while not os.path.exists(os.environ["KD_TOLD"]) and time.monotonic() < deadline:
        time.sleep(0.01)
    if os.environ.get("KD_SAYS"):
        sys.exit(os.environ["KD_SAYS"])
    name, version = "{name}", "{version}"
    facts = name + "-" + version + ".dist-info"
    files = {{
        name + "/__init__.py": "",
        facts + "/METADATA": "Metadata-Version: 2.1\\nName: %s\\nVersion: %s\\n" % (name, version),
        facts + "/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        facts + "/RECORD": "",
    }}
    wheel = name + "-" + version + "-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, wheel), "w") as out:
        for place, text in files.items():
            out.writestr(place, text)
    return wheel
"""


def make_source(folder: Path, name: str, version: str) -> tuple[str, int]:
    """The same as source, which waits while it is built until KD_TOLD is there; (hash, size)."""
    project = f"[project]\nname = '{name}'\nversion = '{version}'\n[build-system]\nrequires = []\n"
    files = {
        "pyproject.toml": project + "build-backend = 'backend'\nbackend-path = ['.']\n",
        "backend.py": BACKEND.format(name=name, version=version),
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
    }
    path = folder / f"{name}-{version}.tar.gz"
    with tarfile.open(path, "w:gz") as out:
        for place, text in files.items():
            data = text.encode()
            entry = tarfile.TarInfo(f"{name}-{version}/{place}")
            entry.size = len(data)
            out.addfile(entry, io_module.BytesIO(data))
    return hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_size
