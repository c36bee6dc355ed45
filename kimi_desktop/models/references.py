"""What a person calls a model that is elsewhere: repository ids, hub addresses, names. Pure."""

from __future__ import annotations

import re
import urllib.parse
from dataclasses import dataclass

from kimi_desktop.models.catalogue_types import Hub

_PART = r"[A-Za-z0-9][\w.-]{0,95}"
_REPO = re.compile(rf"({_PART})/({_PART}?)(?::([\w.-]{{1,64}}))?")
_HOSTS = {
    "huggingface.co": Hub.HUGGINGFACE,
    "www.huggingface.co": Hub.HUGGINGFACE,
    "hf.co": Hub.HUGGINGFACE,
    "hf-mirror.com": Hub.HUGGINGFACE,
    "modelscope.cn": Hub.MODELSCOPE,
    "www.modelscope.cn": Hub.MODELSCOPE,
    "modelscope.ai": Hub.MODELSCOPE,
    "www.modelscope.ai": Hub.MODELSCOPE,
}
_FILE_VERBS = frozenset({"blob", "resolve", "raw", "tree", "file", "files"})
# What stands where an owner would, and is none.
_NOT_OWNERS = frozenset({"models", "datasets", "spaces", "docs", "api", "collections", "papers"})
_SUFFIX = ".gguf"


@dataclass(frozen=True, slots=True)
class RepoReference:
    """A repository, and what of it is meant as far as the text said."""

    hub: Hub
    repo: str
    """"owner/name"."""
    revision: str | None = None
    """None = the default branch."""
    path: str | None = None
    """A file or a folder inside it."""
    quantization: str | None = None


def parse_reference(text: str) -> RepoReference | None:
    """The repository that a text names; None when it names none.

    Understood are ``owner/name``, ``owner/name:UD-Q2_K_XL``, the addresses of Hugging Face, its
    mirror and ModelScope as a browser shows them (model page, folder, file), with or without
    ``https://``, and ``hf://owner/name``.
    """
    text = text.strip()
    scheme, _, rest = text.partition("://")
    if rest and scheme.casefold() in ("hf", "ms"):
        return _repo(rest, Hub.HUGGINGFACE if scheme.casefold() == "hf" else Hub.MODELSCOPE)
    head = text.partition("/")[0].casefold()
    if rest and scheme.casefold() in ("http", "https"):
        return _address(text)
    if head in _HOSTS:
        return _address(f"https://{text}")
    return None if rest else _repo(text, Hub.HUGGINGFACE)


def split_quantization(text: str) -> tuple[str, str | None]:
    """``kimi-k2.6:UD-Q2_K_XL`` as name and quantization; a drive's letter is no name."""
    name, colon, quantization = text.rpartition(":")
    if not colon or len(name) < 2 or "/" in quantization or "\\" in quantization:
        return text, None
    return name, quantization or None


def _repo(text: str, hub: Hub) -> RepoReference | None:
    match = _REPO.fullmatch(text.rstrip("/"))
    if match is None or not match[2] or match[1].casefold() in _NOT_OWNERS:
        return None
    if match[2].casefold().endswith(_SUFFIX):
        return None  # models/file.gguf is a file of this computer
    return RepoReference(hub, f"{match[1]}/{match[2]}", quantization=match[3])


def _address(url: str) -> RepoReference | None:
    """One of the addresses that a browser shows."""
    try:
        parts = urllib.parse.urlsplit(url)
        host = (parts.hostname or "").casefold()
    except ValueError:
        return None
    hub = _HOSTS.get(host)
    if hub is None:
        return None
    steps = [urllib.parse.unquote(step) for step in parts.path.split("/") if step]
    if steps[:1] == ["models"]:
        del steps[0]
    if len(steps) < 2:
        return None
    found = _repo("/".join(steps[:2]), hub)
    if found is None or len(steps) < 4 or steps[2] not in _FILE_VERBS:
        return found
    path = "/".join(steps[4:]) or None
    if steps[2] == "file":  # modelscope.cn/models/a/b/file/view/master/x.gguf
        path = "/".join(steps[5:]) or None
        steps[3] = steps[4] if len(steps) > 4 else "master"
    safe = path is None or not any(step in ("", ".", "..") for step in path.split("/"))
    return RepoReference(
        found.hub, found.repo, steps[3], path if safe else None, found.quantization
    )
