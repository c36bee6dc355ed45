"""A repository in Hugging Face's layout, read by its config, index and headers alone. Blocking.

Of a native checkpoint of 594 GB this takes 31 MB, because it has a tensor for every matrix of every
expert: two requests for each of its parts, several parts at once.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from kimi_desktop.downloads.hubs.addresses import file_url
from kimi_desktop.downloads.remote_header import RemoteSource, read_remote_file
from kimi_desktop.downloads.types import RepoListing, Source
from kimi_desktop.models.gguf import HeaderSource
from kimi_desktop.models.hf_folder import CONFIG, HfModel, read_model

AT_ONCE = 6


class RemoteFiles:
    """``HfFiles`` of a repository."""

    workers = AT_ONCE

    def __init__(self, listing: RepoListing) -> None:
        self._listing = listing
        self._paths = {file.path for file in listing.files}

    @property
    def title(self) -> str:
        """``owner/name``."""
        return self._listing.repo

    def label(self, name: str) -> str:
        """The repository and the file."""
        return f"{self._listing.repo}/{name}"

    def small(self, name: str, most: int) -> bytes | None:
        """The file's bytes, one more than ``most`` of a larger one."""
        return read_remote_file(self._url(name), most) if name in self._paths else None

    def open(self, name: str) -> AbstractContextManager[HeaderSource]:
        """The file over ranges."""
        if name not in self._paths:
            raise FileNotFoundError(name)
        return RemoteSource(self._url(name))

    def _url(self, name: str) -> str:
        one = self._listing
        return file_url(Source(one.kind, one.endpoint, one.repo, one.commit, name))


def is_checkpoint(listing: RepoListing) -> bool:
    """The repository is one that server engines load: a config and safetensors."""
    paths = [file.path for file in listing.files]
    return CONFIG in paths and any(path.endswith(".safetensors") for path in paths)


def read_remote_model(listing: RepoListing) -> HfModel:
    """What the repository holds.

    Raises:
        DownloadError: a file cannot be fetched.
        ModelError: no config or weights, or one of the files is damaged.
    """
    return read_model(RemoteFiles(listing))
