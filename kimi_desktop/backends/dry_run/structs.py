"""Memory layouts of llama.cpp and ggml that a dry run needs. Data only.

They are those of llama.cpp b11549. ``Library`` compares them with what the library's own defaults
look like, and refuses a build where they differ.
"""

from __future__ import annotations

import ctypes as c
from typing import Any, ClassVar

Fields = list[tuple[str, Any]]

POINTER = c.c_void_p
SIZE = c.c_size_t


class ModelParams(c.Structure):
    """``llama_model_params``."""

    _fields_: ClassVar[Fields] = [
        ("devices", POINTER),
        ("tensor_buft_overrides", POINTER),
        ("n_gpu_layers", c.c_int32),
        ("split_mode", c.c_int32),
        ("load_mode", c.c_int32),
        ("lazy_mode", c.c_int32),
        ("main_gpu", c.c_int32),
        ("tensor_split", POINTER),
        ("progress_callback", POINTER),
        ("progress_callback_user_data", POINTER),
        ("kv_overrides", POINTER),
        ("vocab_only", c.c_bool),
        ("check_tensors", c.c_bool),
        ("use_extra_bufts", c.c_bool),
        ("no_host", c.c_bool),
        ("no_alloc", c.c_bool),
        ("load_mtp", c.c_bool),
    ]


class ContextParams(c.Structure):
    """``llama_context_params``."""

    _fields_: ClassVar[Fields] = [
        ("n_ctx", c.c_uint32),
        ("n_batch", c.c_uint32),
        ("n_ubatch", c.c_uint32),
        ("n_seq_max", c.c_uint32),
        ("n_rs_seq", c.c_uint32),
        ("n_outputs_max", c.c_uint32),
        ("n_outputs_max_per_seq", c.c_uint32),
        ("n_threads", c.c_int32),
        ("n_threads_batch", c.c_int32),
        ("ctx_type", c.c_int32),
        ("rope_scaling_type", c.c_int32),
        ("pooling_type", c.c_int32),
        ("attention_type", c.c_int32),
        ("flash_attn_type", c.c_int32),
        ("rope_freq_base", c.c_float),
        ("rope_freq_scale", c.c_float),
        ("yarn_ext_factor", c.c_float),
        ("yarn_attn_factor", c.c_float),
        ("yarn_beta_fast", c.c_float),
        ("yarn_beta_slow", c.c_float),
        ("yarn_orig_ctx", c.c_uint32),
        ("defrag_thold", c.c_float),
        ("cb_eval", POINTER),
        ("cb_eval_user_data", POINTER),
        ("type_k", c.c_int32),
        ("type_v", c.c_int32),
        ("moe_cache_size", SIZE),
        ("abort_callback", POINTER),
        ("abort_callback_data", POINTER),
        ("embeddings", c.c_bool),
        ("offload_kqv", c.c_bool),
        ("no_perf", c.c_bool),
        ("op_offload", c.c_bool),
        ("swa_full", c.c_bool),
        ("kv_unified", c.c_bool),
        ("samplers", POINTER),
        ("n_samplers", SIZE),
        ("ctx_other", POINTER),
    ]


class BufferOverride(c.Structure):
    """``llama_model_tensor_buft_override``: a pattern of tensor names and where they go."""

    _fields_: ClassVar[Fields] = [("pattern", c.c_char_p), ("buft", POINTER)]


class Tensor(c.Structure):
    """``ggml_tensor``."""

    _fields_: ClassVar[Fields] = [
        ("type", c.c_int32),
        ("buffer", POINTER),
        ("ne", c.c_int64 * 4),
        ("nb", SIZE * 4),
        ("op", c.c_int32),
        ("op_params", c.c_int32 * 16),
        ("flags", c.c_int32),
        ("src", POINTER * 10),
        ("view_src", POINTER),
        ("view_offs", SIZE),
        ("data", POINTER),
        ("name", c.c_char * 64),
        ("extra", POINTER),
        ("padding", c.c_char * 8),
    ]


class Graph(c.Structure):
    """The beginning of ``ggml_cgraph``."""

    _fields_: ClassVar[Fields] = [
        ("size", c.c_int),
        ("n_nodes", c.c_int),
        ("n_leafs", c.c_int),
        ("nodes", c.POINTER(POINTER)),
    ]


class OptimizeParams(c.Structure):
    """How a backend tells the allocator that a tensor must live longer."""

    _fields_: ClassVar[Fields] = [
        ("add_alloc_dep", POINTER),
        ("user_data", POINTER),
    ]


def _table(*names: str) -> Fields:
    return [(name, POINTER) for name in names]


class BufferTypeTable(c.Structure):
    """Functions of a ``ggml_backend_buffer_type``."""

    _fields_: ClassVar[Fields] = _table(
        "get_name", "alloc_buffer", "alloc_buffer_n", "get_alignment", "get_max_size",
        "get_alloc_size", "get_alloc_size_n", "is_host",
    )  # fmt: skip


class BufferType(c.Structure):
    """``ggml_backend_buffer_type``."""

    _fields_: ClassVar[Fields] = [
        ("table", BufferTypeTable),
        ("device", POINTER),
        ("context", POINTER),
    ]


class BufferTable(c.Structure):
    """Functions of a ``ggml_backend_buffer``."""

    _fields_: ClassVar[Fields] = _table(
        "free_buffer", "get_base", "init_tensor", "memset_tensor", "set_tensor", "get_tensor",
        "set_tensor_2d", "get_tensor_2d", "cpy_tensor", "clear", "reset",
    )  # fmt: skip


class Buffer(c.Structure):
    """``ggml_backend_buffer``."""

    _fields_: ClassVar[Fields] = [
        ("table", BufferTable),
        ("buft", POINTER),
        ("context", POINTER),
        ("size", SIZE),
        ("usage", c.c_int),
    ]


class BackendTable(c.Structure):
    """Functions of a ``ggml_backend``."""

    _fields_: ClassVar[Fields] = _table(
        "get_name", "free", "set_tensor_async", "get_tensor_async", "set_tensor_2d_async",
        "get_tensor_2d_async", "cpy_tensor_async", "synchronize", "graph_plan_create",
        "graph_plan_free", "graph_plan_update", "graph_plan_compute", "graph_compute",
        "event_record", "event_wait", "graph_optimize",
    )  # fmt: skip


class Backend(c.Structure):
    """``ggml_backend``."""

    _fields_: ClassVar[Fields] = [
        ("guid", POINTER),
        ("table", BackendTable),
        ("device", POINTER),
        ("context", POINTER),
    ]


class DeviceTable(c.Structure):
    """Functions of a ``ggml_backend_device``."""

    _fields_: ClassVar[Fields] = _table(
        "get_name", "get_description", "get_memory", "get_type", "get_props", "init_backend",
        "get_buffer_type", "get_host_buffer_type", "buffer_from_host_ptr", "supports_op",
        "supports_buft", "offload_op", "event_new", "event_free", "event_synchronize",
    )  # fmt: skip


class Device(c.Structure):
    """``ggml_backend_device``."""

    _fields_: ClassVar[Fields] = [
        ("table", DeviceTable),
        ("reg", POINTER),
        ("context", POINTER),
    ]


class RegistryTable(c.Structure):
    """Functions of a ``ggml_backend_reg``."""

    _fields_: ClassVar[Fields] = _table(
        "get_name", "get_device_count", "get_device", "get_proc_address"
    )


class Registry(c.Structure):
    """``ggml_backend_reg``."""

    _fields_: ClassVar[Fields] = [
        ("api_version", c.c_int),
        ("table", RegistryTable),
        ("context", POINTER),
    ]


class Capabilities(c.Structure):
    """``ggml_backend_dev_caps``."""

    _fields_: ClassVar[Fields] = [
        (name, c.c_bool)
        for name in ("async_", "host_buffer", "buffer_from_host_ptr", "events", "mmap_support")
    ]


class DeviceProperties(c.Structure):
    """``ggml_backend_dev_props``."""

    _fields_: ClassVar[Fields] = [
        ("name", POINTER),
        ("description", POINTER),
        ("memory_free", SIZE),
        ("memory_total", SIZE),
        ("type", c.c_int),
        ("device_id", POINTER),
        ("caps", Capabilities),
    ]


API_VERSION = 3
"""``GGML_BACKEND_API_VERSION``."""
GPU_DEVICE = 1
"""``GGML_BACKEND_DEVICE_TYPE_GPU``."""
