"""The files of a repository with what each would do on a machine. Blocking (pool).

A model whose geometry is known needs no header. Of any other one header is read, of the set with
the fewest files: the others are the same model in their size.
"""

from __future__ import annotations

from collections.abc import Sequence

from kimi_desktop.base.errors import KimiError
from kimi_desktop.downloads.remote_models import RemoteModels
from kimi_desktop.downloads.remote_sets import RemoteSet
from kimi_desktop.downloads.types import RepoListing
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.offer_types import OfferedFile
from kimi_desktop.planner.offers import offered_file
from kimi_desktop.planner.report import shape_to_plan
from kimi_desktop.planner.sized_shapes import has_geometry
from kimi_desktop.planner.speed_factors import Factors
from kimi_desktop.planner.types import ModelShape


def priced_sets(
    remote: RemoteModels,
    listing: RepoListing,
    sets: Sequence[RemoteSet],
    *,
    name: str,
    machine: Machine,
    factors: Factors | None = None,
) -> tuple[OfferedFile, ...]:
    """Every set of a repository, in order.

    Args:
        remote: reads and remembers headers.
        listing: of the repository.
        sets: its models.
        name: of the model; its geometry is found by it.
        machine: as it is now.
        factors: of speed, as learned on this machine; None = as shipped.
    """
    like = None
    if not all(has_geometry(name, one.size_bytes) for one in sets):
        like = _shape_of_one(remote, listing, sets)
    return tuple(
        offered_file(
            name,
            one.quantization,
            listing.repo,
            one.size_bytes,
            machine,
            factors=factors,
            like=like,
        )
        for one in sets
    )


def _shape_of_one(
    remote: RemoteModels, listing: RepoListing, sets: Sequence[RemoteSet]
) -> ModelShape | None:
    """None when no header can be had: what a name says has to do."""
    one = min(sets, key=lambda one: (len(one.parts), one.size_bytes))
    try:
        return shape_to_plan(remote.facts(listing, one))
    except KimiError:
        return None
