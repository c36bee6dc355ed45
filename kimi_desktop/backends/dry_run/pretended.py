"""Pretended CUDA devices, registered with llama.cpp through ctypes.

llama.cpp sizes everything for a device by asking its backend a few questions: how buffers are
aligned, what a tensor takes, which operations it runs, whether it wants a weight of main memory.
These devices answer as ggml-cuda does (``operations``, ``fusions``) and compute nothing. The few
things that a dry run allocates all the same, recurrent states, get anonymous memory that is never
touched.
"""

from __future__ import annotations

import ctypes as c
import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kimi_desktop.backends.dry_run.fusions import Fusions
from kimi_desktop.backends.dry_run.library import Library
from kimi_desktop.backends.dry_run.operations import ALIGNMENT, CudaRules, tensor
from kimi_desktop.backends.dry_run.structs import (
    API_VERSION,
    GPU_DEVICE,
    POINTER,
    SIZE,
    Backend,
    BackendTable,
    Buffer,
    BufferTable,
    BufferType,
    Capabilities,
    Device,
    DeviceProperties,
    DeviceTable,
    OptimizeParams,
    Registry,
)

HOST_ALIGNMENT = 32
SMALLEST_BYTES = 4096
_DESCRIPTION = b"pretended NVIDIA GPU"


@dataclass(frozen=True, slots=True)
class GpuSize:
    """The memory of one device, in bytes."""

    total: int
    free: int


class PretendedGpus:
    """Devices named CUDA0, CUDA1 ... They live as long as the process."""

    def __init__(self, library: Library, gpus: Sequence[GpuSize]) -> None:
        """Register the devices."""
        self._library = library
        self._gpus = tuple(gpus)
        self._names = [c.create_string_buffer(f"CUDA{n}".encode()) for n in range(len(gpus))]
        self._texts = {
            text: c.create_string_buffer(text) for text in (b"CUDA", b"CUDA_Host", _DESCRIPTION)
        }
        self._kept: list[object] = []  # whatever C may still point at
        self._memory: list[mmap.mmap] = []
        self._buffer_types = [BufferType() for _ in gpus]
        self._devices = [Device() for _ in gpus]
        self._host_type = BufferType()
        self._registry = Registry()
        self._type_at = [c.addressof(one) for one in self._buffer_types]
        self.addresses = [c.addressof(one) for one in self._devices]
        self._number_of_type = {address: n for n, address in enumerate(self._type_at)}
        self._number_of = {address: n for n, address in enumerate(self.addresses)}
        self._rules = CudaRules(library, frozenset(self._type_at))
        self._fusions = Fusions(library)
        self._buffers()
        self._device_table()
        self._register()

    def _callback(
        self,
        result: type[c._SimpleCData[Any]] | None,
        *arguments: type[c._CData],
    ) -> Callable[[Callable[..., Any]], int | None]:
        """Makes a C function of a Python one and keeps it alive."""

        def make(function: Callable[..., Any]) -> int | None:
            made = c.CFUNCTYPE(result, *arguments)(function)
            self._kept.append(made)
            return c.cast(made, POINTER).value

        return make

    def _untouched(self, size: int) -> int:
        """Addresses without memory behind them until somebody writes."""
        area = mmap.mmap(-1, max(size, SMALLEST_BYTES))
        self._memory.append(area)
        return c.addressof(c.c_char.from_buffer(area))

    def _text(self, text: bytes) -> int:
        return c.addressof(self._texts[text])

    def _buffers(self) -> None:
        pointer, size = POINTER, SIZE
        new_buffer = self._library.function(
            "ggml_backend_buffer_init", pointer, pointer, BufferTable, pointer, size
        )
        table = BufferTable()
        table.free_buffer = self._callback(None, pointer)(_nothing)
        table.get_base = self._callback(pointer, pointer)(
            lambda buffer: Buffer.from_address(buffer).context
        )
        table.clear = self._callback(None, pointer, c.c_uint8)(_nothing)
        table.set_tensor = self._callback(None, pointer, pointer, pointer, size, size)(_nothing)
        table.memset_tensor = self._callback(None, pointer, pointer, c.c_uint8, size, size)(
            _nothing
        )
        self._kept.append(table)

        def allocate(kind: int, count: int) -> int:
            made: int = new_buffer(kind, table, self._untouched(count), count)
            return made

        def allocate_host(kind: int, count: int) -> int:
            made: int = self._library.cpu_buffer_from(self._untouched(count), count)
            Buffer.from_address(made).buft = kind
            return made

        name = self._callback(pointer, pointer)(
            lambda kind: c.addressof(self._names[self._number_of_type[kind]])
        )
        alloc = self._callback(pointer, pointer, size)(allocate)
        alignment = self._callback(size, pointer)(lambda _kind: ALIGNMENT)
        alloc_size = self._callback(size, pointer, pointer)(
            lambda _kind, one: self._rules.alloc_bytes(one)
        )
        for one, device in zip(self._buffer_types, self.addresses, strict=True):
            one.table.get_name, one.table.alloc_buffer = name, alloc
            one.table.get_alignment, one.table.get_alloc_size = alignment, alloc_size
            one.device = device
        host = self._host_type
        host.table.get_name = self._callback(pointer, pointer)(lambda _: self._text(b"CUDA_Host"))
        host.table.alloc_buffer = self._callback(pointer, pointer, size)(allocate_host)
        host.table.get_alignment = self._callback(size, pointer)(lambda _: HOST_ALIGNMENT)
        host.table.is_host = self._callback(c.c_bool, pointer)(lambda _: True)
        host.device = self.addresses[0]

    def _backend_table(self) -> BackendTable:
        pointer = POINTER
        table = BackendTable()
        table.get_name = self._callback(pointer, pointer)(
            lambda one: c.addressof(self._names[self._number_of[Backend.from_address(one).device]])
        )
        table.free = self._callback(None, pointer)(_nothing)
        table.synchronize = self._callback(None, pointer)(_nothing)
        table.graph_compute = self._callback(c.c_int, pointer, pointer)(lambda *_: -1)
        table.graph_optimize = self._callback(None, pointer, pointer, c.POINTER(OptimizeParams))(
            lambda _backend, graph, params: self._fusions.extend_lives(
                graph, c.addressof(params.contents)
            )
        )
        self._kept.append(table)
        return table

    def _device_table(self) -> None:
        pointer, size = POINTER, SIZE
        backends = self._backend_table()
        identity = (c.c_uint8 * 16)(*range(16))
        self._kept.append(identity)
        host = c.addressof(self._host_type)

        def memory(device: int, free: Any, total: Any) -> None:  # noqa: ANN401
            gpu = self._gpus[self._number_of[device]]
            free[0], total[0] = gpu.free, gpu.total

        def properties(device: int, address: int) -> None:
            number = self._number_of[device]
            one = DeviceProperties.from_address(address)
            one.name = c.addressof(self._names[number])
            one.description = self._text(_DESCRIPTION)
            one.memory_free, one.memory_total = self._gpus[number].free, self._gpus[number].total
            one.type, one.device_id = GPU_DEVICE, None
            one.caps = Capabilities(
                async_=True, host_buffer=True, buffer_from_host_ptr=False, events=True,
                mmap_support=False,
            )  # fmt: skip

        def new_backend(device: int, _params: bytes | None) -> int:
            one = Backend()
            one.guid, one.table, one.device = c.addressof(identity), backends, device
            self._kept.append(one)
            return c.addressof(one)

        table = DeviceTable()
        table.get_name = self._callback(pointer, pointer)(
            lambda device: c.addressof(self._names[self._number_of[device]])
        )
        table.get_description = self._callback(pointer, pointer)(lambda _: self._text(_DESCRIPTION))
        table.get_memory = self._callback(None, pointer, c.POINTER(size), c.POINTER(size))(memory)
        table.get_type = self._callback(c.c_int, pointer)(lambda _: GPU_DEVICE)
        table.get_props = self._callback(None, pointer, pointer)(properties)
        table.init_backend = self._callback(pointer, pointer, c.c_char_p)(new_backend)
        table.get_buffer_type = self._callback(pointer, pointer)(self._type_of)
        table.get_host_buffer_type = self._callback(pointer, pointer)(lambda _: host)
        table.supports_op = self._callback(c.c_bool, pointer, pointer)(
            lambda device, one: self._rules.supports(self._type_of(device), tensor(one))
        )
        table.supports_buft = self._callback(c.c_bool, pointer, pointer)(
            lambda device, kind: kind == self._type_of(device)
        )
        table.offload_op = self._callback(c.c_bool, pointer, pointer)(
            lambda _device, one: self._rules.wants(tensor(one))
        )
        for one in self._devices:
            one.table, one.reg = table, c.addressof(self._registry)

    def _type_of(self, device: int) -> int:
        return self._type_at[self._number_of[device]]

    def _register(self) -> None:
        pointer = POINTER
        one = self._registry
        one.api_version = API_VERSION
        one.table.get_name = self._callback(pointer, pointer)(lambda _: self._text(b"CUDA"))
        one.table.get_device_count = self._callback(SIZE, pointer)(lambda _: len(self._gpus))
        one.table.get_device = self._callback(pointer, pointer, SIZE)(
            lambda _, number: self.addresses[number]
        )
        one.table.get_proc_address = self._callback(pointer, pointer, c.c_char_p)(lambda *_: None)
        self._library.register(c.addressof(one))


def _nothing(*_arguments: object) -> None:
    """Freeing, clearing, copying: there is nothing behind these buffers."""
