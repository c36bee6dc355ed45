"""Why pip or uv gave up, by the last lines of its output. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kimi_desktop.backends.install.types import InstallOffer
from kimi_desktop.base.errors import BackendError, DownloadError, ErrorCode, KimiError

LONGEST_DETAIL = 300

_NO_SPACE = re.compile(r"No space left on device|os error 28|Errno 28|Disk quota exceeded", re.I)
_NO_VENV = re.compile(r"ensurepip is not\s+available|No module named venv", re.I)
_NO_COMPILER = re.compile(
    r"No CMAKE_C(?:XX)?_COMPILER could be found|CMAKE_C(?:XX)?_COMPILER not set"
    r"|not a full path to an existing compiler|could not find any instance of Visual Studio"
    r"|Microsoft Visual C\+\+ [\d.]+ or greater is required|xcrun: error: invalid active developer",
    re.I,
)
_HASH = re.compile(r"DO NOT MATCH THE HASHES|Hash mismatch", re.I)
_NO_NETWORK = re.compile(
    r"dns error|failed to lookup address|name resolution|Name or service not known"
    r"|getaddrinfo|Network is unreachable|Connection refused|Failed to establish a new connection"
    r"|error sending request|Connection reset|timed out|tcp connect error|No route to host"
    r"|Could not connect|Failed to fetch|SSLError|CERTIFICATE_VERIFY|invalid peer certificate",
    re.I,
)
_NO_WHEEL = re.compile(
    r"No matching distribution found for ([A-Za-z0-9._-]+)"
    r"|no version of ([A-Za-z0-9._-]+)=="
    r"|Because ([A-Za-z0-9._-]+)==\S+ has no wheels"
    r"|Because ([A-Za-z0-9._-]+) was not found in",
    re.I,
)
_NO_WHEELS = re.compile(
    r"no wheels with a matching|is not a supported wheel|not compatible with this Python", re.I
)

_SIMPLE = (
    (_NO_COMPILER, ErrorCode.INSTALL_NO_COMPILER),
    (_HASH, ErrorCode.INSTALL_BAD_HASH),
    # Without a network pip also says that it found no distribution: the network is the reason.
    (_NO_NETWORK, ErrorCode.INSTALL_NO_NETWORK),
)


def explain_install(
    lines: Sequence[str], offer: InstallOffer, *, python: str, path: str, needed: str, free: str
) -> KimiError:
    """The failure in one error.

    Args:
        lines: the last of its output.
        offer: what was being installed.
        python: the version that it was for.
        path: where to.
        needed: room that it takes, in words.
        free: room that is left, in words.
    """
    text = "\n".join(lines)
    if _NO_SPACE.search(text):
        return DownloadError(
            ErrorCode.DOWNLOAD_NO_SPACE, {"path": path, "needed": needed, "free": free}
        )
    if _NO_VENV.search(text):
        return BackendError(ErrorCode.INSTALL_NO_VENV, {"python": python})
    for pattern, code in _SIMPLE:
        if pattern.search(text):
            return BackendError(code, {"name": offer.name})
    if (missing := _no_wheel(text, offer, python)) is not None:
        return missing
    said = [line.strip() for line in lines if line.strip()][-1:] or ["?"]
    params = {"name": offer.name, "detail": said[0][:LONGEST_DETAIL]}
    return BackendError(ErrorCode.INSTALL_FAILED, params)


def _no_wheel(text: str, offer: InstallOffer, python: str) -> BackendError | None:
    """The index has a package, but not for this system and this Python."""
    wheel = _NO_WHEEL.search(text)
    if wheel is None and not _NO_WHEELS.search(text):
        return None
    package = next((name for name in wheel.groups() if name), "") if wheel else offer.title
    if offer.links and package == "torch":
        params = {"package": package, "variable": offer.links}
        return BackendError(ErrorCode.INSTALL_NO_TORCH, params)
    return BackendError(ErrorCode.INSTALL_NO_WHEEL, {"package": package, "python": python})
