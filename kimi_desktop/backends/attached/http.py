"""HTTP to other servers, and what can go wrong with it, in our words. IO thread.

Certificates are always verified. A redirect is never followed: it would take the key along.
Proxies of the system are used for hosts of the internet only.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import urllib.parse
from typing import TYPE_CHECKING

from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.hosts import is_private
from kimi_desktop.base.tls import certificate_problem, tls_context
from kimi_desktop.models.facts import clean_text

if TYPE_CHECKING:
    import httpx

CONNECT_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 15.0
LONGEST_DETAIL = 300
MOST_BYTES = 8 * 2**20
"""Of a list of models: some hosts have hundreds, each with a description."""


def server_http(url: str, key: str) -> httpx.AsyncClient:
    """A client for one server; its requests name the path below ``url``."""
    import httpx  # noqa: PLC0415 - 0.1 s that the first window does not wait for

    parts = urllib.parse.urlsplit(url)
    return httpx.AsyncClient(
        base_url=url,
        # Streams are read as they come, so they must not be compressed.
        headers={"Accept-Encoding": "identity"}
        | ({"Authorization": f"Bearer {key}"} if key else {}),
        verify=tls_context() if parts.scheme == "https" else False,
        # Servers close kept connections without a word, and a request that meets that would fail.
        limits=httpx.Limits(max_keepalive_connections=0),
        timeout=httpx.Timeout(ANSWER_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
        follow_redirects=False,
        trust_env=not is_private(parts.hostname),
    )


def not_reached(name: str, url: str, error: BaseException) -> BackendError:
    """No HTTP answer came."""
    import httpx  # noqa: PLC0415 - see above

    if problem := certificate_problem(error):
        params = {"name": name, "detail": problem}
        return BackendError(ErrorCode.SERVER_BAD_CERTIFICATE, params, cause=error)
    if tls := _tls_error(error):
        return BackendError(ErrorCode.SERVER_NO_TLS, {"name": name, "detail": tls}, cause=error)
    if isinstance(error, httpx.ConnectTimeout):
        detail = f"no connection within {CONNECT_TIMEOUT_S:g} s"
    elif isinstance(error, httpx.TimeoutException):
        detail = f"no answer within {ANSWER_TIMEOUT_S:g} s"
    elif isinstance(error, httpx.RemoteProtocolError):
        params = {"url": url, "detail": str(error)}
        return BackendError(ErrorCode.SERVER_NOT_OPENAI, params, cause=error)
    else:
        detail = _system_reason(error) or str(error) or type(error).__name__
    params = {"name": name, "url": url, "detail": detail}
    return BackendError(ErrorCode.SERVER_UNREACHABLE, params, cause=error)


def refused(name: str, url: str, status: int, text: str, key: str) -> BackendError:
    """An answer that is not 200.

    Args:
        name: of the entry.
        url: that was asked.
        status: of HTTP.
        text: the body, or a redirect's target; a server may put the key into it.
        key: that was sent, "" for none.
    """
    said = without(key, said_in(text))
    detail = f"{status}: {said}" if said else str(status)
    if status == 401 or (status == 403 and not key):
        code = ErrorCode.SERVER_BAD_KEY if key else ErrorCode.SERVER_NEEDS_KEY
        return BackendError(code, {"name": name, "detail": detail})
    if status == 403:
        return BackendError(ErrorCode.SERVER_BAD_KEY, {"name": name, "detail": detail})
    if status == 429 or status >= 500:
        return BackendError(ErrorCode.SERVER_TROUBLE, {"name": name, "detail": detail})
    return BackendError(ErrorCode.SERVER_NOT_OPENAI, {"url": url, "detail": detail})


def said_in(body: str) -> str:
    """The message of an error's body, fit to be shown; "" for a page of HTML."""
    try:
        answer = json.loads(body)
    except ValueError:
        return "" if "<" in body[:200] else clean_text(body)[:LONGEST_DETAIL]
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or ""
    return clean_text(str(error))[:LONGEST_DETAIL]


def without(key: str, text: str) -> str:
    """The text with the key taken out."""
    return text.replace(key, "…") if key else text


def _tls_error(error: BaseException | None) -> str:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return (error.reason or "TLS").replace("_", " ").lower()
        error = error.__cause__ or error.__context__
    return ""


def _system_reason(error: BaseException | None) -> str:
    """The system's own words behind it: Connection refused."""
    while error is not None:
        if isinstance(error, BaseExceptionGroup):  # one for each address of the name
            error = error.exceptions[0]
        if isinstance(error, socket.gaierror):
            return error.strerror or ""
        if isinstance(error, OSError) and error.errno:
            return os.strerror(error.errno)
        error = error.__cause__ or error.__context__
    return ""
