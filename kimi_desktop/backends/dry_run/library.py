"""A ctypes view of the llama.cpp inside the installed wheel, as wide as a dry run needs it.

Runs in a process of its own: a wrong layout can end it. Before it is used, the layouts, the names
of operations and the sizes of number formats are compared with what the library says itself.
"""

from __future__ import annotations

import ctypes as c
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kimi_desktop.backends.dry_run.structs import POINTER, SIZE, ContextParams, ModelParams
from kimi_desktop.models.ggml import TYPES_BY_ID

WHEEL = "xllamacpp"
LAST_OPERATION = "GLU"
MOST_OPERATIONS = 160
LOG_LINES = 200

# C++ names, as GCC and Clang write them.
_BREAKDOWN = "_Z26llama_get_memory_breakdownPK13llama_context"

_LogCallback = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)


class UnknownBuildError(Exception):
    """The library is not laid out as this code expects."""


@dataclass(frozen=True, slots=True)
class BufferBytes:
    """What one kind of buffer holds."""

    buffer_type: str
    device: str
    """"" for the CPU's own."""
    is_host: bool
    model: int
    context: int
    compute: int


class Library:
    """The functions of one shared object."""

    def __init__(self, path: Path) -> None:
        """Load and check it.

        Raises:
            UnknownBuildError: functions are missing, or layouts differ.
            OSError: it cannot be loaded.
        """
        self.handle = c.CDLL(str(path), mode=c.RTLD_GLOBAL)
        self.log: list[str] = []
        p, size, text = POINTER, SIZE, c.c_char_p
        self.model_defaults = self.function("llama_model_default_params", ModelParams)
        self.context_defaults = self.function("llama_context_default_params", ContextParams)
        self.load = self.function("llama_model_load_from_file", p, text, ModelParams)
        self.free_model = self.function("llama_model_free", None, p)
        self.new_context = self.function("llama_init_from_model", p, p, ContextParams)
        self.free_context = self.function("llama_free", None, p)
        self.max_devices = self.function("llama_max_devices", size)
        self.device_count = self.function("ggml_backend_dev_count", size)
        self.device_at = self.function("ggml_backend_dev_get", p, size)
        self.device_name = self.function("ggml_backend_dev_name", text, p)
        self.device_buffer_type = self.function("ggml_backend_dev_buffer_type", p, p)
        self.buffer_type_name = self.function("ggml_backend_buft_name", text, p)
        self.buffer_type_is_host = self.function("ggml_backend_buft_is_host", c.c_bool, p)
        self.buffer_type_device = self.function("ggml_backend_buft_get_device", p, p)
        self.cpu_buffer_type = self.function("ggml_backend_cpu_buffer_type", p)
        self.cpu_buffer_from = self.function("ggml_backend_cpu_buffer_from_ptr", p, p, size)
        self.register = self.function("ggml_backend_register", None, p)
        self.tensor_bytes = self.function("ggml_nbytes", size, p)
        self.row_bytes = self.function("ggml_row_size", size, c.c_int, c.c_int64)
        self.is_quantized = self.function("ggml_is_quantized", c.c_bool, c.c_int)
        self.is_contiguous = self.function("ggml_is_contiguous", c.c_bool, p)
        self._breakdown = self.function(_BREAKDOWN, p, p, p)
        self._listen()
        self.function("llama_backend_init", None)()
        self._check_layouts()
        self._check_formats()
        self.operations = self._operations()

    @classmethod
    def of_wheel(cls) -> Library:
        """The one of the installed wheel.

        Raises:
            UnknownBuildError: it is not installed, or is another build.
            OSError: it cannot be loaded.
        """
        spec = importlib.util.find_spec(WHEEL)
        folders = (spec.submodule_search_locations if spec else None) or []
        for folder in folders:
            for path in sorted(Path(folder).glob(f"{WHEEL}*.so")):
                return cls(path)
        raise UnknownBuildError(WHEEL)

    def function(self, name: str, result: Any, *arguments: Any) -> Any:  # noqa: ANN401
        """One function with its types.

        Raises:
            UnknownBuildError: there is none of this name.
        """
        try:
            found = getattr(self.handle, name)
        except AttributeError as error:
            raise UnknownBuildError(name) from error
        found.restype, found.argtypes = result, list(arguments)
        return found

    def buffers(self, context: int) -> list[BufferBytes]:
        """What a context and its model hold, by kind of buffer.

        llama.cpp returns a ``std::map`` from a buffer type to three sizes; its tree is walked in
        libstdc++'s layout.
        """
        memory = (c.c_uint8 * 64)()
        base = c.addressof(memory)
        self._breakdown(base, context)
        header = base + 8
        node, found = _word(header + 16), []
        for _ in range(_word(header + 32)):
            kind, model, cache, compute = (_word(node + 32 + 8 * index) for index in range(4))
            device = self.buffer_type_device(kind)
            found.append(
                BufferBytes(
                    buffer_type=self.buffer_type_name(kind).decode(),
                    device=self.device_name(device).decode() if device else "",
                    is_host=bool(self.buffer_type_is_host(kind)),
                    model=model,
                    context=cache,
                    compute=compute,
                )
            )
            node = _next_node(node)
        return found

    def said(self, words: Sequence[str] = ("error", "failed", "unknown", "missing")) -> str:
        """The last log line that has one of the words."""
        lines = [line.strip() for line in "".join(self.log).splitlines()]
        found = [line for line in lines if any(word in line.casefold() for word in words)]
        return (found or lines or [""])[-1]

    def _listen(self) -> None:
        def keep(_level: int, text: bytes | None, _data: int | None) -> None:
            if text:
                self.log.append(text.decode("utf-8", "replace"))
                del self.log[:-LOG_LINES]

        self._callback = _LogCallback(keep)
        self.function("llama_log_set", None, _LogCallback, POINTER)(self._callback, None)

    def _check_layouts(self) -> None:
        model, context = self.model_defaults(), self.context_defaults()
        plain = (
            model.n_gpu_layers == -1,
            model.split_mode == 1,
            model.main_gpu == 0,
            model.use_extra_bufts,
            not model.no_alloc,
            not model.vocab_only,
            not model.tensor_split,
            context.n_ctx == 512,
            context.n_batch == 2048,
            context.n_ubatch == 512,
            context.n_seq_max == 1,
            context.flash_attn_type == -1,
            (context.type_k, context.type_v) == (1, 1),
            context.offload_kqv,
            context.op_offload,
            not context.embeddings,
        )
        if not all(plain):
            raise UnknownBuildError("layout of parameters")

    def _check_formats(self) -> None:
        name = self.function("ggml_type_name", c.c_char_p, c.c_int)
        block = self.function("ggml_blck_size", c.c_int64, c.c_int)
        size = self.function("ggml_type_size", SIZE, c.c_int)
        for kind in TYPES_BY_ID.values():
            said = name(kind.id)
            if said is None or said.decode().upper() != kind.name:
                raise UnknownBuildError(f"type {kind.id}")
            if (block(kind.id), size(kind.id)) != (kind.block, kind.block_bytes):
                raise UnknownBuildError(kind.name)

    def _operations(self) -> dict[str, int]:
        """The numbers of operations by name; the last one is looked for, since nobody counts."""
        name = self.function("ggml_op_name", c.c_char_p, c.c_int)
        found: dict[str, int] = {}
        for number in range(MOST_OPERATIONS):
            found[name(number).decode("ascii", "replace")] = number
            if LAST_OPERATION in found:
                return found
        raise UnknownBuildError("operations")


def _word(address: int) -> int:
    return c.c_uint64.from_address(address).value


def _next_node(node: int) -> int:
    """The next one in order of a red-black tree: parent at 8, left at 16, right at 24."""
    right = _word(node + 24)
    if right:
        while left := _word(right + 16):
            right = left
        return right
    parent = _word(node + 8)
    while node == _word(parent + 24):
        node, parent = parent, _word(parent + 8)
    return parent if _word(node + 24) != parent else node
