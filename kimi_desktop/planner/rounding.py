"""How llama.cpp's buffers round a tensor up. Pure; proven byte-exact on measured allocations."""

from __future__ import annotations

import struct

from kimi_desktop.models.ggml import GgmlType

HOST_ALIGNMENT = 32
GPU_ALIGNMENT = 128
GPU_ROW_ELEMENTS = 512  # MATRIX_ROW_PADDING of ggml-cuda
CONTEXT_PADDING = 256

_F32 = struct.Struct("f")


def pad(size: int, alignment: int) -> int:
    """``size`` rounded up to a multiple of ``alignment``."""
    return -(-size // alignment) * alignment


def f32(number: float) -> float:
    """The nearest single-precision number: llama.cpp splits layers in that."""
    rounded: float = _F32.unpack(_F32.pack(number))[0]
    return rounded


def host_bytes(kind: GgmlType, shape: tuple[int, ...]) -> int:
    """What a tensor takes in a CPU or pinned buffer."""
    return pad(kind.tensor_bytes(shape), HOST_ALIGNMENT)


def gpu_bytes(kind: GgmlType, shape: tuple[int, ...]) -> int:
    """What a tensor takes in a CUDA buffer: quantized rows end on a multiple of 512 elements."""
    size = kind.tensor_bytes(shape)
    rest = shape[0] % GPU_ROW_ELEMENTS
    if rest and not kind.is_float:
        size += kind.row_bytes(GPU_ROW_ELEMENTS - rest)
    return pad(size, GPU_ALIGNMENT)


def device_bytes(kind: GgmlType, shape: tuple[int, ...], *, on_gpu: bool) -> int:
    """What a tensor takes on a GPU or on the host."""
    return gpu_bytes(kind, shape) if on_gpu else host_bytes(kind, shape)
