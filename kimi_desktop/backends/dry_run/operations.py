"""What a CUDA device says of operations and tensors: the rules of ggml-cuda in llama.cpp b11549.

Written from what that backend decides, not from its text; checked against a real one on an H200.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable, Collection

from kimi_desktop.backends.dry_run.library import Library
from kimi_desktop.backends.dry_run.structs import Buffer, Tensor
from kimi_desktop.models.ggml import TYPES_BY_NAME

ALIGNMENT = 128
ROW_ELEMENTS = 512
"""Quantized rows end on a multiple of this."""
OFFLOAD_BATCH = 32
"""From this batch on a weight is brought from main memory (``GGML_OP_OFFLOAD_MIN_BATCH``)."""

PRECISION_F32 = 10
"""``GGML_PREC_F32``: experts in that precision are left to the CPU."""


def _ids(*names: str) -> frozenset[int]:
    return frozenset(TYPES_BY_NAME[name].id for name in names)


_F32, _F16 = TYPES_BY_NAME["F32"].id, TYPES_BY_NAME["F16"].id
_PLAIN = _ids("F32", "F16", "BF16")
_SMALL_BLOCKS = _ids("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")
_MATRIX = (
    _PLAIN
    | _SMALL_BLOCKS
    | _ids(
        "MXFP4", "NVFP4", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q8_K", "IQ1_M", "IQ1_S",
        "IQ2_S", "IQ2_XS", "IQ2_XXS", "IQ3_S", "IQ3_XXS", "IQ4_NL", "IQ4_XS", "Q1_0", "Q2_0",
    )
)  # fmt: skip
_ATTENTION = _PLAIN | _SMALL_BLOCKS
_SET_ROWS = _ATTENTION | _ids("IQ4_NL")
_INDICES = _ids("I32", "I64")
_GET_ROWS = (_MATRIX | _ids("I32")) - _ids("Q8_K", "NVFP4")
_GET_ROWS_WIDE = _ids("IQ4_NL", "MXFP4")
_NEVER = frozenset({
    "DIAG_MASK_ZERO", "FLASH_ATTN_BACK", "WIN_PART", "WIN_UNPART", "GET_REL_POS", "ADD_REL_POS",
    "MAP_CUSTOM1", "MAP_CUSTOM2", "MAP_CUSTOM3", "CUSTOM", "IM2COL_BACK",
})  # fmt: skip
_EQUAL_HEADS = frozenset({40, 64, 72, 80, 96, 112, 128, 256})


def tensor(address: int) -> Tensor:
    """The tensor at an address."""
    return Tensor.from_address(address)


class CudaRules:
    """Answers for devices of one library."""

    def __init__(self, library: Library, own_buffer_types: Collection[int]) -> None:
        """Answer for the devices whose buffers have these types."""
        self._library = library
        self._own = own_buffer_types
        self._names = {number: name for name, number in library.operations.items()}
        self._special: dict[str, Callable[[Tensor], bool]] = {
            "MUL_MAT": self._multiplies,
            "MUL_MAT_ID": self._multiplies_experts,
            "FLASH_ATTN_EXT": self._attends,
            "SET_ROWS": _sets_rows,
            "GET_ROWS": _gets_rows,
            "CPY": _copies,
            "REPEAT": lambda t: tensor(t.src[0]).type in (_F32, _F16),
            "SSM_SCAN": _scans,
            "SSM_CONV": lambda t: tensor(t.src[0]).ne[1] % 128 == 0,
        }

    def supports(self, buffer_type: int, operation: Tensor) -> bool:
        """A device with this buffer type can run an operation."""
        for source in operation.src:
            buffer = tensor(source).buffer if source else None
            if buffer:
                kind = Buffer.from_address(buffer).buft
                if kind in self._own and kind != buffer_type:
                    return False
        name = self._names.get(operation.op, "")
        special = self._special.get(name)
        return special(operation) if special else name not in _NEVER

    def wants(self, operation: Tensor) -> bool:
        """The batch is large enough to bring a weight of main memory here."""
        name, ne = self._names.get(operation.op, ""), operation.ne
        if name == "GET_ROWS":
            batch = 0
        elif name == "MUL_MAT":
            batch = ne[1]
        elif name in ("MUL_MAT_ID", "ROPE", "ROPE_BACK"):
            batch = ne[2]
        else:
            batch = ne[1] * ne[2] * ne[3]
        return batch >= OFFLOAD_BATCH

    def alloc_bytes(self, address: int) -> int:
        """What a tensor takes in a device's buffer."""
        one = tensor(address)
        size: int = self._library.tensor_bytes(address)
        if self._names.get(one.op) == "FLASH_ATTN_EXT":
            size = self._with_conversions(one, size)
        rest = one.ne[0] % ROW_ELEMENTS
        if rest and self._library.is_quantized(one.type):
            size += self._library.row_bytes(one.type, ROW_ELEMENTS - rest)
        return size

    @staticmethod
    def _with_conversions(one: Tensor, size: int) -> int:
        """Tensor cores want K and V in F16: room for converted copies follows the result."""
        keys, values = tensor(one.src[1]), tensor(one.src[2])
        is_view = bool(values.view_src) and (
            values.view_src == one.src[1]
            or (values.view_src == keys.view_src and values.view_offs == keys.view_offs)
        )
        for part, is_copied in ((keys, True), (values, not is_view)):
            if part.type != _F16 and is_copied:
                elements = part.ne[0] * part.ne[1] * part.ne[2] * part.ne[3]
                size = -(-size // ALIGNMENT) * ALIGNMENT + 2 * elements
        return size

    # single operations

    def _multiplies(self, one: Tensor) -> bool:
        weights, inputs = tensor(one.src[0]), tensor(one.src[1])
        return not (inputs.type == _F16 and weights.type != _F16) and weights.type in _MATRIX

    def _multiplies_experts(self, one: Tensor) -> bool:
        return one.op_params[3] != PRECISION_F32 and self._multiplies(one)

    def _attends(self, one: Tensor) -> bool:
        queries, keys, values = (tensor(one.src[index]) for index in range(3))
        mask = tensor(one.src[3]) if one.src[3] else None
        if keys.type not in _ATTENTION or values.type not in _ATTENTION:
            return False
        if mask is not None and mask.ne[2] != 1:
            return False
        width_k, width_v = keys.ne[0], values.ne[0]
        if width_k in _EQUAL_HEADS:
            return bool(width_k == width_v)
        groups = queries.ne[2] // keys.ne[2]
        grouped = groups >= 2 and self._is_aligned(one, queries, keys, values, mask)
        wanted = {
            192: (128, groups % 8 == 0),
            320: (256, groups % 32 == 0),
            512: (512, True),
            576: (512, True),
        }.get(width_k)
        return wanted is not None and wanted[0] == width_v and wanted[1] and grouped

    def _is_aligned(self, one: Tensor, *parts: Tensor | None) -> bool:
        """Several queries can share a key's tile."""
        keys, mask = parts[1], parts[-1]
        bias = c.c_float.from_buffer_copy(c.c_int32(one.op_params[1])).value
        if mask is None or keys is None or bias != 0.0 or keys.ne[1] % 256:
            return False
        return not any(
            part.nb[index] % 16
            for part in parts
            if part is not None and not self._library.is_quantized(part.type)
            for index in (1, 2, 3)
        )


def _sets_rows(one: Tensor) -> bool:
    source, rows = tensor(one.src[0]).type, tensor(one.src[1]).type
    fits = (one.type in _SET_ROWS and source == _F32) or (one.type == source == _F16)
    return fits and rows in _INDICES


def _gets_rows(one: Tensor) -> bool:
    source = tensor(one.src[0])
    if source.type in _GET_ROWS_WIDE:
        return bool(source.ne[0] % 256 == 0)
    return source.type in _GET_ROWS


def _copies(one: Tensor) -> bool:
    source, target = tensor(one.src[0]).type, tensor(one.src[1]).type
    integer = TYPES_BY_NAME["I32"].id
    if source == target or (source in _PLAIN and target in _PLAIN):
        return True
    to_blocks = source == _F32 and target in (_SMALL_BLOCKS | _ids("IQ4_NL"))
    from_blocks = target == _F32 and source in _SMALL_BLOCKS
    return to_blocks or from_blocks or {source, target} == {_F32, integer}


def _scans(one: Tensor) -> bool:
    state, decay = tensor(one.src[0]), tensor(one.src[3])
    if decay.ne[0] == 1:
        return state.ne[0] in (96, 128, 256) and state.ne[1] % 16 == 0
    shape = state.ne[0] == 16 and state.ne[1] == 1 and state.ne[2] % 128 == 0
    return bool(shape and tensor(one.src[4]).ne[1] == 1)
