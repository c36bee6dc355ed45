"""Users at once on several engines, in one table. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kimi_desktop.monitor.experiment_types import Experiment, Point, Variable


def family(engine: str) -> str:
    """An engine without its version: "vllm" of "vLLM 0.24.0"."""
    return engine.split(" ", 1)[0].casefold()


def other_engine(
    shown: Experiment, kept: Iterable[Experiment], wanted: str = ""
) -> Experiment | None:
    """What to put beside users at once: another engine's, of the same model if there is one.

    Args:
        shown: of which engine and model.
        kept: the newest first.
        wanted: a part of the engine's name; "" = any other one.
    """
    found = [
        one
        for one in kept
        if one.variable is Variable.USERS
        and one.id != shown.id
        and (
            wanted.casefold() in one.engine.casefold()
            if wanted
            else family(one.engine) != family(shown.engine)
        )
    ]
    return next((one for one in found if one.title == shown.title), found[0] if found else None)


def users_rows(each: Sequence[Experiment]) -> tuple[tuple[str, tuple[Point | None, ...]], ...]:
    """One row for each number of users that any of them has: the number, and a point of each."""
    columns = [{point.value: point for point in one.points} for one in each]
    counts = sorted({value for column in columns for value in column}, key=int)
    return tuple((count, tuple(column.get(count) for column in columns)) for count in counts)
