"""Nothing is written outside a model's folder, whatever links lie in it. Blocking."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kimi_desktop.base.errors import DownloadError, ErrorCode


def check_inside(folder: Path, targets: Iterable[str]) -> None:
    """Whether the places of all targets really lie in the folder.

    A link that stays inside is somebody's own arrangement; the folder itself may be one, too.

    Args:
        folder: the model's.
        targets: relative, forward slashes, files or folders; they need not be there.

    Raises:
        DownloadError: DOWNLOAD_LEADS_OUT: a folder on the way is a link that leads elsewhere.
    """
    home = folder.resolve()
    seen: set[Path] = set()
    for target in targets:
        for place in [*(folder / target).parents, folder / target]:
            if place in seen or not place.is_relative_to(folder) or place == folder:
                continue
            seen.add(place)
            if _is_link(place) and not place.resolve().is_relative_to(home):
                if place == folder / target and not place.is_dir():
                    continue  # a file that is a link is replaced, never written through
                params = {"path": str(place), "place": str(place.resolve())}
                raise DownloadError(ErrorCode.DOWNLOAD_LEADS_OUT, params)


def _is_link(place: Path) -> bool:
    try:
        return place.is_symlink()
    except OSError:  # a name that is too long is told where it is written
        return False
