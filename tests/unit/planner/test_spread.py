"""Layers and experts over unequal GPUs: sums, order, nothing over a budget, little left unused."""

from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from kimi_desktop.planner.spread import FEW, STEPS, Reads, Spread, _Runs, fill, spread_whole
from kimi_desktop.planner.spread import spread_experts as spread_by_time

sizes = st.integers(1, 40)


def spread_experts(dense: list[int], experts: list[int], budgets: list[int]) -> Spread | None:
    """On GPUs that are equally fast, beside a slow main memory."""
    reads = Reads(dense, 0.5, [1.0] * len(budgets), 10.0)
    return spread_by_time(dense, experts, budgets, reads)


def test_a_faster_gpu_is_filled_first() -> None:
    assert spread_whole([10] * 10, [60, 80], [2.0, 1.0]) == (6, 4)


def test_equally_fast_gpus_share_evenly() -> None:
    assert spread_whole([10] * 10, [100, 100], [1.0, 1.0]) == (5, 5)
    assert spread_whole([10] * 9, [90, 45], [1.0, 1.0]) == (6, 3)


def test_what_does_not_fit_is_said() -> None:
    assert spread_whole([10] * 10, [49, 59], [1.0, 1.0]) is None
    assert spread_experts([10, 10, 10], [5, 5, 0], [25]) is None


def test_one_gpu_keeps_the_experts_of_the_last_blocks() -> None:
    found = spread_experts([1] * 6, [0, 10, 10, 10, 10, 0], [30])
    assert found is not None
    assert found.counts == (6,)
    assert found.experts_on_gpu == {3, 4}


def test_a_gpu_without_experts_takes_the_thin_layers() -> None:
    """Two GPUs that hold three layers with experts each, and a third one that holds none."""
    found = spread_experts([1] * 13, [0, *[30] * 11, 0], [100, 100, 10])
    assert found is not None
    assert sum(found.counts) == 13
    assert len(found.experts_on_gpu) == 6


@given(st.lists(sizes, min_size=1, max_size=30), st.lists(st.integers(0, 300), min_size=1))
def test_runs_hold_what_they_are_given(costs: list[int], budgets: list[int]) -> None:
    counts = fill(costs, budgets)
    if counts is None:
        return
    assert sum(counts) == len(costs)
    at = 0
    for count, budget in zip(counts, budgets, strict=True):
        assert sum(costs[at : at + count]) <= budget
        at += count


@given(
    st.lists(sizes, min_size=1, max_size=20),
    st.lists(st.integers(1, 300), min_size=1, max_size=5),
    st.lists(st.sampled_from([1.0, 2.0]), min_size=5, max_size=5),
)
def test_the_even_level_fits_wherever_filling_fits(
    costs: list[int], budgets: list[int], speeds: list[float]
) -> None:
    ordered = sorted(speeds[: len(budgets)], reverse=True)
    found = spread_whole(costs, budgets, ordered)
    assert (found is None) == (fill(costs, budgets) is None)
    if found is not None:
        at = 0
        for count, budget in zip(found, budgets, strict=True):
            assert sum(costs[at : at + count]) <= budget
            at += count
        assert at == len(costs)


@given(
    st.lists(st.tuples(sizes, st.integers(0, 200)), min_size=2, max_size=25),
    st.lists(st.integers(1, 600), min_size=1, max_size=6),
)
def test_no_gpu_is_over_its_budget(layers: list[tuple[int, int]], budgets: list[int]) -> None:
    dense = [size for size, _ in layers]
    experts = [*(size for _, size in layers[:-1]), 0]
    found = spread_experts(dense, experts, budgets)
    if found is None:
        return
    assert sum(found.counts) == len(layers)
    at = 0
    for count, budget in zip(found.counts, budgets, strict=True):
        held = sum(dense[at : at + count])
        held += sum(experts[i] for i in range(at, at + count) if i in found.experts_on_gpu)
        assert held <= budget
        at += count


@settings(max_examples=60)
@given(
    st.integers(1, 8),
    st.integers(1, 5),
    st.integers(10, 60),
    st.lists(st.integers(1, 250), min_size=2, max_size=3),
)
def test_alike_layers_are_spread_as_well_as_can_be(
    blocks: int, thin: int, experts: int, budgets: list[int]
) -> None:
    """Every split of a small model is tried by brute force; none holds more experts."""
    dense = [thin] * (blocks + 1)
    best = -1
    for borders in combinations(range(blocks + 1 + len(budgets) - 1), len(budgets) - 1):
        edges = [-1, *borders, blocks + len(budgets)]
        counts = [b - a - 1 for a, b in pairwise(edges)]
        left = [budget - thin * n for budget, n in zip(budgets, counts, strict=True)]
        if min(left) < 0:
            continue
        full = [n - (1 if at == len(counts) - 1 and n else 0) for at, n in enumerate(counts)]
        if counts[-1] == 0:  # the output layer, which has no experts, ends another run
            last = max(at for at, n in enumerate(counts) if n)
            full[last] -= 1
        held = sum(min(n, room // experts) for n, room in zip(full, left, strict=True))
        best = max(best, held)
    sizes = [*[experts] * blocks, 0]
    spreads = [spread_experts(dense, sizes, budgets[:n]) for n in range(1, len(budgets) + 1)]
    found = max((len(spread.experts_on_gpu) for spread in spreads if spread), default=-1)
    assert found == best


@st.composite
def runs_and_counts(draw: st.DrawFn) -> tuple[_Runs, list[int]]:
    counts = draw(st.lists(st.integers(0, 6), min_size=1, max_size=8))
    n = sum(counts)
    dense = draw(st.lists(sizes, min_size=n, max_size=n))
    alike = draw(st.booleans())
    kinds = st.sampled_from([0, 17]) if alike else st.integers(0, 60)
    experts = draw(st.lists(kinds, min_size=n, max_size=n))
    rooms = st.floats(0, 400, allow_nan=False)
    budgets = draw(st.lists(rooms, min_size=len(counts), max_size=len(counts)))
    prices = draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=len(counts),
                           max_size=len(counts)))  # fmt: skip
    return _Runs(dense, experts, budgets, Reads(dense, 0.3, prices, 10.0)), counts


@given(runs_and_counts())
def test_the_best_move_is_the_first_of_the_fastest(case: tuple[_Runs, list[int]]) -> None:
    """What is shared between moves changes none of them: all are priced beside it, one by one."""
    runs, counts = case
    now = runs.seconds(counts)
    best, least = counts, now
    for giver, count in enumerate(counts):
        for taker in range(len(counts)):
            for step in range(1, count + 1) if len(counts) <= FEW else STEPS:
                if giver == taker or step > count:
                    continue
                moved = list(counts)
                moved[giver] -= step
                moved[taker] += step
                if runs.seconds(moved) < least:
                    best, least = moved, runs.seconds(moved)
    assert runs.best_move(counts, now) == (best, least)


@given(st.integers(0, 12), st.lists(st.booleans(), min_size=12, max_size=12), st.floats(0, 90))
def test_experts_of_one_size_are_counted_as_they_are_laid_out(
    start: int, has: list[bool], budget: float
) -> None:
    experts = [7 if one else 0 for one in has]
    runs = _Runs([1] * 12, experts, [budget, 0.0], Reads([0.0] * 12, 1.0, [1.0, 1.0], 100.0))
    kept = runs.kept([start, 12 - start])
    on_host = sum(experts) - sum(experts[layer] for layer in kept)
    if runs.seconds([start, 12 - start]) < float("inf"):
        expected = sum(experts[layer] for layer in kept) + 100.0 * on_host
        assert runs.seconds([start, 12 - start]) == expected
