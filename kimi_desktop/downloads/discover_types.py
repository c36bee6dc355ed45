"""What a search of the hubs finds, as frozen data for the window."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SearchRow:
    """A repository with GGUF files."""

    repo: str
    """"owner/name"."""
    downloads: int
    likes: int
    licence: str
    """"" when it names none."""
    is_gated: bool
    """Terms are to be accepted on its page first."""
    changed: str
    """ISO 8601, or ""."""
    catalogue_name: str = ""
    """Its model in the catalogue."""
