"""Where a file of a hub is fetched from. Pure."""

from __future__ import annotations

import urllib.parse

from kimi_desktop.downloads.types import HubKind, Source


def file_url(source: Source) -> str:
    """The address that never expires; it leads to the bytes by redirects.

    Ask it again for every new connection: the signed addresses behind it live about an hour.
    """
    revision = urllib.parse.quote(source.revision, safe="")
    if source.kind is HubKind.MODELSCOPE:
        path = urllib.parse.quote(source.path, safe="")
        base = f"{source.endpoint}/api/v1/models/{source.repo}/repo"
        return f"{base}?Revision={revision}&FilePath={path}"
    path = urllib.parse.quote(source.path)
    if source.kind is HubKind.GITHUB:
        return f"{source.endpoint}/{source.repo}/releases/download/{revision}/{path}"
    return f"{source.endpoint}/{source.repo}/resolve/{revision}/{path}"


def page_url(kind: HubKind, endpoint: str, repo: str) -> str:
    """The page of a model for people: its card, its licence, its terms."""
    return f"{endpoint}/models/{repo}" if kind is HubKind.MODELSCOPE else f"{endpoint}/{repo}"


def token_headers(url: str, token: str | None) -> dict[str, str]:
    """How a hub is told the token. ModelScope's older interface reads it from a cookie."""
    if not token:
        return {}
    headers = {"Authorization": f"Bearer {token}"}
    if urllib.parse.urlsplit(url).path.startswith("/api/v1/models/"):
        headers["Cookie"] = f"m_session_id={token}"
    return headers


def origin_of(url: str) -> str:
    """Scheme, host and port: what a token belongs to. The usual port is left out."""
    parts = urllib.parse.urlsplit(url)
    usual = {"https": 443, "http": 80}.get(parts.scheme)
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, usual) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"
