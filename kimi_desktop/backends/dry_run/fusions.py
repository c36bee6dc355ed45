"""The fusions of ggml-cuda that keep tensors alive for longer, llama.cpp b11549.

Where several operations run as one kernel, what goes in must stay until the last of them. Three
patterns of mixture-of-experts models do that: the routed and the shared experts' first half, the
weighted sum of the experts' outputs, and the router. They lengthen lives in the compute buffer by
up to 100 MiB; nothing else about them matters to a dry run.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kimi_desktop.backends.dry_run.library import Library
from kimi_desktop.backends.dry_run.operations import tensor
from kimi_desktop.backends.dry_run.structs import POINTER, Graph, OptimizeParams, Tensor
from kimi_desktop.models.ggml import TYPES_BY_NAME

_F32 = TYPES_BY_NAME["F32"].id
_SIGMOID, _SOFTPLUS = 7, 15
"""``ggml_unary_op``."""
_MOST_SUMMED = 15
_ROUTER_SIZES = frozenset({288, 576})
"""Numbers of experts that the router's kernel takes besides powers of two up to 512."""

_KeepAlive = c.CFUNCTYPE(None, POINTER, POINTER, POINTER)
_Ints = Sequence[int]


@dataclass(frozen=True, slots=True)
class _WeightedSum:
    experts: int
    scale: int
    """0 = there is none."""
    weights: int
    result: int
    count: int
    """Nodes of the pattern."""


class Fusions:
    """Looks through graphs of one library."""

    def __init__(self, library: Library) -> None:
        """Use the library's own test of whether nodes may be fused."""
        number, pointer = c.c_int, POINTER
        self._may_fuse = library.function(
            "ggml_can_fuse_subgraph_ext", c.c_bool, pointer, pointer, number, pointer, pointer,
            number,
        )  # fmt: skip
        self._library = library

    def extend_lives(self, graph: int, params: int) -> None:
        """What a CUDA backend's ``graph_optimize`` does with a graph."""
        given = OptimizeParams.from_address(params)
        keep = _KeepAlive(given.add_alloc_dep)

        def until(what: int, node: int) -> None:
            keep(given.user_data, what, node)

        look = _Look(self._library, self._may_fuse, graph)
        look.shared_experts(until)
        look.sums_and_routers(until)


class _Look:
    """One pass over one graph."""

    def __init__(self, library: Library, may_fuse: Callable[..., bool], graph: int) -> None:
        self._ids = library.operations
        self._may_fuse = may_fuse
        self._is_contiguous = library.is_contiguous
        self._is_quantized = library.is_quantized
        self._graph = graph
        self._view = Graph.from_address(graph)
        count = self._view.n_nodes
        self.nodes = list(self._view.nodes[:count])
        self.ops = [tensor(node).op for node in self.nodes]

    def _fuses(self, at: _Ints, ops: _Ints, outputs: _Ints) -> bool:
        n, m = len(at), len(outputs)
        places, kinds = (c.c_int * n)(*at), (c.c_int * n)(*ops)
        return bool(self._may_fuse(self._graph, places, n, kinds, (c.c_int * m)(*outputs), m))

    # routed and shared experts

    def shared_experts(self, until: Callable[[int, int], None]) -> None:
        """The shared expert's three nodes move behind the routed ones; both run as one."""
        routed, plain = self._ids["MUL_MAT_ID"], self._ids["MUL_MAT"]
        first = 0
        while first + 5 < len(self.ops):
            other = first + 3
            while self.ops[first] == routed and other + 2 < len(self.ops):
                if self.ops[other] == self.ops[other + 1] == routed:
                    break
                if self.ops[other] == plain and self._is_shared(first, other):
                    self._move(first + 3, other)
                    up = tensor(tensor(self.nodes[first + 2]).src[1])
                    until(up.src[1], self.nodes[first + 5])
                    until(up.src[2], self.nodes[first + 5])
                    first += 5
                    break
                other += 1
            first += 1

    def _move(self, to: int, start: int) -> None:
        for row in (self.nodes, self.ops):
            row[to : start + 3] = row[start : start + 3] + row[to:start]
        for index in range(to, start + 3):
            self._view.nodes[index] = self.nodes[index]

    def _is_shared(self, first: int, other: int) -> bool:
        ids = self._ids
        wanted = [ids["MUL_MAT_ID"]] * 2 + [ids["GLU"]] + [ids["MUL_MAT"]] * 2 + [ids["GLU"]]
        at = [first, first + 1, first + 2, other, other + 1, other + 2]
        if [self.ops[index] for index in at] != wanted:
            return False
        if not self._fuses(at, wanted, [first + 2, other + 2]):
            return False
        routed, shared = tensor(self.nodes[first + 2]), tensor(self.nodes[other + 2])
        if {routed.src[0], routed.src[1]} != {self.nodes[first], self.nodes[first + 1]}:
            return False
        if {shared.src[0], shared.src[1]} != {self.nodes[other], self.nodes[other + 1]}:
            return False
        up, shared_up = tensor(routed.src[1]), tensor(shared.src[1])
        weights, inputs = tensor(up.src[0]), tensor(up.src[1])
        alike = _same_rows(weights, tensor(shared_up.src[0]))
        gate = tensor(tensor(shared.src[0]).src[0])
        return (
            alike
            and self._is_quantized(weights.type)
            and self._reshapes(inputs, shared_up.src[1])
            and tensor(shared_up.src[0]).op == gate.op == self._ids["NONE"]
            and routed.op_params[0] == shared.op_params[0]
            and routed.op_params[3] == shared.op_params[3]
        )

    def _reshapes(self, inputs: Tensor, source: int) -> bool:
        return bool(
            inputs.op == self._ids["RESHAPE"]
            and inputs.src[0] == source
            and inputs.ne[1] == 1
            and inputs.ne[3] == 1
        )

    # sums and routers

    def sums_and_routers(self, until: Callable[[int, int], None]) -> None:
        """What goes into a sum lives to its end, what a router reads to the node behind it."""
        at = 0
        while at < len(self.nodes):
            if found := self._weighted_sum(at):
                for one in (found.experts, found.weights, found.scale):
                    if one:
                        until(one, found.result)
                at += found.count - 1
            count = self._router(at)
            if count and at + count < len(self.nodes):
                end = self.nodes[at + count]
                for node in self.nodes[at : at + count]:
                    until(node, end)
                    for source in tensor(node).src:
                        if source:
                            until(source, end)
            at += max(count - 1, 0) + 1

    def _weighted_sum(self, at: int) -> _WeightedSum | None:
        """One or two MUL, then as many VIEW and ADD as there are experts."""
        multiplies, nodes = self._ids["MUL"], self.nodes
        if self.ops[at] != multiplies or not self._is_plain(nodes[at]):
            return None
        first, second = self._factors(nodes[at]), None
        if at + 1 < len(nodes) and self.ops[at + 1] == multiplies and self._is_plain(nodes[at + 1]):
            second = self._factors(nodes[at + 1])
        twice = bool(first and second and second[0] == nodes[at])
        if first is None:
            return None
        experts, weights, scale = first[0], first[1], 0
        if twice and second is not None:
            weights, scale = second[1], first[1]
        muls = 2 if twice else 1
        product = nodes[at + muls - 1]
        used = tensor(product).ne[1]
        count = 2 * used + muls - 1
        if not 2 <= used <= _MOST_SUMMED or at + count > len(nodes):
            return None
        if not self._sums_up(product, nodes[at + muls : at + count]):
            return None
        places = list(range(at, at + count))
        if not self._fuses(places, self.ops[at : at + count], [at + count - 1]):
            return None
        return _WeightedSum(experts, scale, weights, nodes[at + count - 1], count)

    def _is_plain(self, node: int) -> bool:
        return bool(tensor(node).type == _F32 and self._is_contiguous(node))

    def _factors(self, node: int) -> tuple[int, int] | None:
        """(the experts' outputs, one weight for each of them), in either order."""
        product = tensor(node)
        for one, other in (product.src[:2], product.src[1::-1]):
            if not one or not other:
                continue
            outputs, weights = tensor(one), tensor(other)
            fits = (
                list(outputs.ne) == list(product.ne)
                and weights.ne[0] == 1
                and list(weights.ne)[1:] == list(product.ne)[1:]
            )
            if fits and self._is_plain(one) and self._is_plain(other):
                return one, other
        return None

    def _sums_up(self, product: int, nodes: Sequence[int]) -> bool:
        """The nodes are views of every expert's part, and their sum from the first to the last."""
        whole = tensor(product)
        views: list[int] = []
        sums: list[int] = []
        for node in nodes:
            one = tensor(node)
            if one.op == self._ids["VIEW"]:
                if not _is_part(one, product, whole, len(views)):
                    return False
                views.append(node)
                continue
            so_far = sums[-1] if sums else (views[0] if views else 0)
            is_next = len(views) > len(sums) + 1 and one.op == self._ids["ADD"]
            if not is_next or one.type != _F32:
                return False
            if (one.src[0], one.src[1]) != (so_far, views[len(sums) + 1]):
                return False
            sums.append(node)
        return bool(len(views) == whole.ne[1] and len(sums) == whole.ne[1] - 1)

    def _router(self, at: int) -> int:
        """How many nodes a router takes that is a kernel of its own, 0 for none."""
        walk = _Walk(self._ids, self.nodes, self.ops, at)
        if at >= len(self.nodes) or not walk.scores():
            return 0
        scores = self.nodes[walk.end]
        if not walk.step("RESHAPE", scores):
            return 0
        reshaped = self.nodes[walk.end]
        chosen = self.nodes[walk.end] if walk.step("ADD", scores) else scores
        if not walk.step("ARGSORT", chosen) or not walk.step("VIEW", self.nodes[walk.end]):
            return 0
        experts = self.nodes[walk.end]
        outputs = [walk.end]
        if not walk.step("GET_ROWS", reshaped) or tensor(self.nodes[walk.end]).src[1] != experts:
            return 0
        walk.normalize()
        walk.step("SCALE", self.nodes[walk.end])
        outputs.append(walk.end)
        if not self._fuses(list(range(at, walk.end + 1)), walk.ops, outputs):
            return 0
        sorted_ids = tensor(experts)
        n_expert = sorted_ids.nb[1] // sorted_ids.nb[0]
        power = n_expert & (n_expert - 1) == 0 and n_expert <= 512
        first = tensor(self.nodes[at])
        fits = (
            (power or n_expert in _ROUTER_SIZES)
            and self._is_contiguous(self.nodes[walk.end])
            and self._is_contiguous(first.src[0])
            and not self._is_scaled(at)
        )
        return walk.end + 1 - at if fits else 0

    def _is_scaled(self, at: int) -> bool:
        first = tensor(self.nodes[at])
        if self.ops[at] != self._ids["SOFT_MAX"]:
            return False
        scale, bias = (
            c.c_float.from_buffer_copy(c.c_int32(first.op_params[index])).value for index in (0, 1)
        )
        return scale != 1.0 or bias != 0.0 or bool(first.src[1]) or bool(first.src[2])


class _Walk:
    """A chain of nodes, each reading the one before."""

    def __init__(self, ids: dict[str, int], nodes: Sequence[int], ops: _Ints, at: int) -> None:
        self._ids = ids
        self._nodes = nodes
        self._all = ops
        self.end = at
        self.ops: list[int] = []

    def scores(self) -> bool:
        """Softmax or sigmoid, or the square root of softplus."""
        op = self._all[self.end]
        self.ops = [op]
        if op == self._ids["SOFT_MAX"]:
            return True
        if op != self._ids["UNARY"]:
            return False
        kind = tensor(self._nodes[self.end]).op_params[0]
        if kind == _SIGMOID:
            return True
        return kind == _SOFTPLUS and self.step("SQRT", self._nodes[self.end])

    def step(self, name: str, source: int) -> bool:
        """Go on when the next node is this operation of ``source``."""
        following = self.end + 1
        if following >= len(self._nodes) or self._all[following] != self._ids[name]:
            return False
        if tensor(self._nodes[following]).src[0] != source:
            return False
        self.end = following
        self.ops.append(self._ids[name])
        return True

    def normalize(self) -> None:
        """Go over the division by the sum, when all of it is there."""
        start, kept = self.end, list(self.ops)
        done = (
            self.step("RESHAPE", self._nodes[self.end])
            and self.step("SUM_ROWS", self._nodes[self.end])
            and self.step("CLAMP", self._nodes[self.end])
            and self.step("DIV", self._nodes[start + 1])
            and tensor(self._nodes[self.end]).src[1] == self._nodes[self.end - 1]
            and self.step("RESHAPE", self._nodes[self.end])
        )
        if not done:
            self.end, self.ops = start, kept


def _same_rows(weights: Tensor, shared: Tensor) -> bool:
    """Both matrices have rows of one format and length, and the shared one is a single expert."""
    rows = ((one.type, one.ne[0], one.ne[1], one.nb[1]) for one in (weights, shared))
    first, second = rows
    return bool(
        weights.buffer
        and first == second
        and weights.ne[3] == 1
        and shared.ne[2] * shared.ne[3] == 1
    )


def _is_part(view: Tensor, product: int, whole: Tensor, expert: int) -> bool:
    tokens = whole.ne[2] * whole.ne[3]
    return bool(
        expert < whole.ne[1]
        and view.src[0] == product
        and view.view_src == product
        and view.type == _F32
        and list(view.ne) == [whole.ne[0], tokens, 1, 1]
        and view.nb[0] == whole.nb[0]
        and view.nb[1] == whole.nb[2]
        and view.view_offs == expert * whole.nb[1]
    )
