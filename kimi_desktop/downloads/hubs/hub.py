"""A hub that can be asked, whichever protocol it speaks; the hubs that there are. Blocking calls.

Which hubs: those of ``hubs.json``, the one that ``HF_ENDPOINT`` names (asked first, as people who
set it expect), and those that the user added.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.base.assets import asset
from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads.hubs import huggingface, modelscope
from kimi_desktop.downloads.hubs.addresses import origin_of
from kimi_desktop.downloads.hubs.control import ControlClient, Pauses
from kimi_desktop.downloads.hubs.entries import FoundRepo, is_repo_name
from kimi_desktop.downloads.types import HubKind, RepoListing

ENDPOINT_VARIABLE = "HF_ENDPOINT"
"""The variable by which people name their Hugging Face mirror."""
SEARCH_ROWS = 30

TokenOf = Callable[[str], str | None]
"""The token that belongs to an origin."""


@dataclass(frozen=True, slots=True)
class Hub:
    """Where models come from."""

    id: str
    """"huggingface", "hf-mirror", "modelscope", or the origin of one that a person named."""
    name: str
    kind: HubKind
    endpoint: str
    """Scheme and host, without a slash at the end."""
    is_mirror: bool = False
    """It passes on what another hub publishes: its hashes are believed last."""
    is_private: bool = False
    """Named by ``HF_ENDPOINT`` and none of those that ship: a hub of one's own."""


class HubClient:
    """Asks hubs. Share one: it remembers who wants to be left alone. Thread-safe."""

    def __init__(self, token_of: TokenOf = lambda _origin: None) -> None:
        self._token_of = token_of
        self._pauses = Pauses()

    def token_for(self, endpoint: str) -> str | None:
        """The token that requests to this endpoint carry."""
        return self._token_of(origin_of(endpoint))

    def list_repo(self, hub: Hub, repo: str, revision: str | None = None) -> RepoListing:
        """Every file of a repository; ``revision`` None = the default branch.

        Raises:
            DownloadError: see ``huggingface.list_repo``.
        """
        check_repo_name(repo)
        with self._open(hub, repo) as client:
            try:
                if hub.kind is HubKind.MODELSCOPE:
                    return modelscope.list_repo(client, revision or "master")
                return huggingface.list_repo(client, revision or "main")
            except DownloadError as error:
                if error.code is ErrorCode.HUB_NO_REVISION:
                    raise client.no_revision(revision or "main") from error
                raise

    def search(
        self, hub: Hub, text: str, *, limit: int = SEARCH_ROWS, gguf: bool = False
    ) -> tuple[FoundRepo, ...]:
        """Repositories that fit; ``gguf`` is not known to every hub and then has no effect."""
        with self._open(hub) as client:
            if hub.kind is HubKind.MODELSCOPE:
                return modelscope.search(client, text, limit=limit)
            return huggingface.search(client, text, limit=limit, gguf=gguf)

    def check_token(self, hub: Hub, token: str) -> str:
        """Whose token it is.

        Raises:
            DownloadError: HUB_BAD_TOKEN and whatever else a control call can meet.
        """
        with ControlClient(hub.kind, hub.endpoint, token=token, pauses=self._pauses) as client:
            if hub.kind is HubKind.MODELSCOPE:
                return modelscope.who_am_i(client)
            return huggingface.who_am_i(client)

    def _open(self, hub: Hub, repo: str = "") -> ControlClient:
        token = self.token_for(hub.endpoint)
        return ControlClient(hub.kind, hub.endpoint, repo, token=token, pauses=self._pauses)


def check_repo_name(repo: str) -> None:
    """Refuse what cannot be a repository before anybody is asked.

    Raises:
        DownloadError: HUB_BAD_NAME.
    """
    if not is_repo_name(repo):
        raise DownloadError(ErrorCode.HUB_BAD_NAME, {"name": repo[:100]})


def known_hubs(
    added: Sequence[Hub] = (),
    *,
    endpoint: str = "",
    data_file: Path | None = None,
    environment: bool = True,
) -> tuple[Hub, ...]:
    """All hubs, in the order in which they are asked.

    Args:
        added: those that the user named.
        endpoint: what the settings say; ``HF_ENDPOINT`` goes before it.
        data_file: instead of the one that ships.
        environment: whether ``HF_ENDPOINT`` counts.
    """
    data = json.loads((data_file or asset("hubs.json")).read_text(encoding="utf-8"))
    hubs = [
        Hub(h["id"], h["name"], HubKind(h["kind"]), h["endpoint"], h.get("mirror", False))
        for h in data["hubs"]
    ]
    named = named_endpoint() if environment else ""
    named = named or endpoint.strip().rstrip("/")
    if named:
        hubs.insert(0, dataclasses.replace(custom_hub(named), is_private=True))
    hubs += added
    first: dict[str, Hub] = {}
    for hub in hubs:
        origin = origin_of(hub.endpoint)
        known = next((h for h in hubs if origin_of(h.endpoint) == origin and h.id != origin), hub)
        first.setdefault(origin, known)
    return tuple(first.values())


def named_endpoint() -> str:
    """What ``HF_ENDPOINT`` says; "" when it is not set."""
    return os.environ.get(ENDPOINT_VARIABLE, "").strip().rstrip("/")


def hubs_to_ask(hubs: Sequence[Hub], kind: HubKind) -> list[Hub]:
    """Those that may be asked for a repository of this kind, the preferred first.

    Whoever works with a hub of their own does not want the names on it told to others.
    """
    if hubs and hubs[0].is_private:
        hubs = [hub for hub in hubs if hub.is_private]
    return sorted(hubs, key=lambda hub: hub.kind is not kind)


def custom_hub(endpoint: str, kind: HubKind = HubKind.HUGGINGFACE) -> Hub:
    """A hub that a person named by its address."""
    endpoint = endpoint.strip().rstrip("/")
    return Hub(origin_of(endpoint), endpoint.partition("//")[2], kind, endpoint)
