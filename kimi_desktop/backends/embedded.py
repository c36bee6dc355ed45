"""The embedded engine: llama.cpp's own server out of the xllamacpp wheel, in its own process.

``python -m kimi_desktop.backends.embedded -m MODEL --host PATH.sock ...`` takes llama-server's
flags (``embedded_flags``) and serves the same HTTP API; the log goes to stderr. llama.cpp never
runs in the app's own process: it holds the interpreter's lock while it loads (measured: no other
Python thread ran in 1.6 s), it may die of a wrong instruction, and the system may kill it for its
memory.

Single-threaded Python that sleeps once the server is up. SIGTERM and SIGINT keep their default
action: the process ends at once, which it could not do from a handler while it loads.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import signal
import socket
import stat
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kimi_desktop.backends.embedded_flags import (
    CLOSED_ORIGIN,
    EXPERTS,
    BadArgumentError,
    help_text,
    parse_flags,
)
from kimi_desktop.machine.visible import VARIABLE, shown

DISTRIBUTION = "xllamacpp"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
ENTRIES_OF_SPLIT = 128
"""``tensor_split`` has one entry for each device that llama.cpp could ever have."""
MAX_SOCKET_PATH_BYTES = 103
"""The least of the systems (macOS: 104 with the closing zero)."""


def version() -> str:
    """``version: 11549 (xllamacpp 2026.10.11549)``; the last number is llama.cpp's build."""
    installed = importlib.metadata.version(DISTRIBUTION)
    return f"version: {installed.rpartition('.')[2]} ({DISTRIBUTION} {installed})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal ends the process. Returns 1 for a failed start, 2 for bad arguments."""
    try:
        flags = parse_flags(sys.argv[1:] if arguments is None else arguments)
        if flags.help or flags.version or flags.list_devices:
            _inform(flags)
            return 0
        return _serve(flags)
    except (BadArgumentError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2


def _inform(flags: argparse.Namespace) -> None:
    if flags.help:
        sys.stdout.write(help_text())
    elif flags.version:
        sys.stdout.write(version() + "\n")
    else:
        _list_devices()


def _serve(flags: argparse.Namespace) -> int:
    host = _checked_host(flags.host or LOOPBACK[0])
    keys = _read_keys(flags.api_key_file)
    _settle_process()
    if flags.device is not None:  # CommonParams has no list of devices
        os.environ[VARIABLE] = shown(flags.device, os.environ.get(VARIABLE))
    import xllamacpp  # noqa: PLC0415 - 100 MB that --help does not need

    params = xllamacpp.CommonParams()
    try:
        fill_params(params, flags, xllamacpp)
    except ValueError as error:
        raise BadArgumentError(f"--override-tensor: {error}") from error
    params.hostnames = [host]
    params.api_keys = keys
    try:
        server = xllamacpp.Server(params)
    except RuntimeError:  # it has said why on stderr
        return 1
    sys.stderr.write(f"embedded: {version()}, listening on {server.listening_address}\n")
    sys.stderr.flush()
    _sleep_for_ever()
    return 0


def fill_params(params: Any, flags: argparse.Namespace, library: Any) -> None:  # noqa: ANN401
    """Move the flags into llama.cpp's parameter structure.

    Args:
        params: an ``xllamacpp.CommonParams``.
        flags: what ``parse_flags`` gave.
        library: the ``xllamacpp`` module, for its enums.

    Raises:
        ValueError: ``-ot`` names a buffer type that this build does not have.
    """
    params.model.path = flags.model
    params.model_alias = {flags.alias or Path(flags.model).name}
    params.port = flags.port or 0
    params.cors_origins = flags.cors_origins or CLOSED_ORIGIN
    params.cors_origins_explicit = True
    params.cors_credentials = False
    params.endpoint_slots = bool(flags.slots)
    params.endpoint_metrics = bool(flags.metrics)
    params.ui = False
    params.offline = True
    plain = {
        "ctx_size": "n_ctx",
        "batch_size": "n_batch",
        "ubatch_size": "n_ubatch",
        "parallel": "n_parallel",
        "gpu_layers": "n_gpu_layers",
        "main_gpu": "main_gpu",
        "swa_full": "swa_full",
        "kv_unified": "kv_unified",
        "cache_ram": "cache_ram_mib",
        "warmup": "warmup",
        "check_tensors": "check_tensors",
        "jinja": "use_jinja",
        "chat_template": "chat_template",
        "reverse_prompt": "antiprompt",
        "embedding": "embedding",
        "verbosity": "verbosity",
    }
    for key, attribute in plain.items():
        if (value := getattr(flags, key)) is not None:
            setattr(params, attribute, value)
    if flags.threads is not None:
        params.cpuparams.n_threads = flags.threads
        params.cpuparams_batch.n_threads = flags.threads
    if flags.threads_batch is not None:
        params.cpuparams_batch.n_threads = flags.threads_batch
    for key, attribute in (
        ("kv_offload", "no_kv_offload"),
        ("op_offload", "no_op_offload"),
        ("repack", "no_extra_bufts"),
    ):
        if getattr(flags, key) is False:
            setattr(params, attribute, True)
    if flags.fit is not None:
        params.fit_params = flags.fit == "on"
    if flags.chat_template_file is not None:
        params.chat_template = Path(flags.chat_template_file).read_text(encoding="utf-8")
    _fill_models(params, flags, library)
    if flags.tensor_split is not None:
        rest = ENTRIES_OF_SPLIT - len(flags.tensor_split)
        params.tensor_split = flags.tensor_split + [0.0] * rest
    if rules := placement_rules(flags):
        params.tensor_buft_overrides = ",".join(rules)
    _fill_enums(params, flags, library)


def _fill_models(params: Any, flags: argparse.Namespace, library: Any) -> None:  # noqa: ANN401
    """Files besides the model's own."""
    if flags.mmproj is not None:
        params.mmproj.path = flags.mmproj
    if flags.lora is not None:
        params.lora_adapters = [library.CommonAdapterLoraInfo(flags.lora, 1.0)]
    if flags.spec_type is not None:
        name = flags.spec_type.upper().replace("-", "_")
        params.speculative.types = [
            library.common_speculative_type["COMMON_SPECULATIVE_TYPE_" + name]
        ]
    if flags.spec_draft_model is not None:
        params.speculative.draft.mparams.path = flags.spec_draft_model
    if flags.spec_draft_n_max is not None:
        params.speculative.draft.n_max = flags.spec_draft_n_max


def _fill_enums(params: Any, flags: argparse.Namespace, library: Any) -> None:  # noqa: ANN401
    names = {
        "flash_attn": {"on": "ENABLED", "off": "DISABLED", "auto": "AUTO"},
        "load_mode": {"mmap+mlock": "MMAP_MLOCK", "dio": "DIRECT_IO"},
    }
    enums = (
        ("cache_type_k", "cache_type_k", library.ggml_type, "GGML_TYPE_"),
        ("cache_type_v", "cache_type_v", library.ggml_type, "GGML_TYPE_"),
        ("load_mode", "load_mode", library.llama_load_mode, "LLAMA_LOAD_MODE_"),
        ("split_mode", "split_mode", library.llama_split_mode, "LLAMA_SPLIT_MODE_"),
        ("pooling", "pooling_type", library.llama_pooling_type, "LLAMA_POOLING_TYPE_"),
        ("numa", "numa", library.ggml_numa_strategy, "GGML_NUMA_STRATEGY_"),
        (
            "reasoning_format",
            "reasoning_format",
            library.common_reasoning_format,
            "COMMON_REASONING_FORMAT_",
        ),
        ("flash_attn", "flash_attn_type", library.llama_flash_attn_type, "LLAMA_FLASH_ATTN_TYPE_"),
    )
    for key, attribute, enum, prefix in enums:
        if (value := getattr(flags, key)) is not None:
            word = names.get(key, {}).get(value) or value.upper().replace("-", "_")
            setattr(params, attribute, enum[prefix + word])


def placement_rules(flags: argparse.Namespace) -> list[str]:
    """``--override-tensor``, ``--cpu-moe`` and ``--n-cpu-moe`` as buffer-type rules, in order."""
    rules = [rule for rules in flags.override_tensor or () for rule in rules.split(",") if rule]
    if flags.cpu_moe:
        rules.append(f"{EXPERTS}=CPU")
    rules += [rf"blk\.{block}{EXPERTS}=CPU" for block in range(flags.n_cpu_moe or 0)]
    return rules


def _checked_host(host: str) -> str:
    if not host.endswith(".sock"):
        if host not in LOOPBACK:
            raise BadArgumentError(
                f"--host: {host} is reachable for others; only 127.0.0.1 or a .sock"
            )
        return host
    if not hasattr(socket, "AF_UNIX"):
        raise BadArgumentError("--host: Python has no Unix sockets on this system; use 127.0.0.1")
    if len(os.fsencode(host)) > MAX_SOCKET_PATH_BYTES:
        raise BadArgumentError(f"--host: more than {MAX_SOCKET_PATH_BYTES} bytes: {host}")
    path = Path(host)
    if path.exists():  # llama.cpp cannot bind over what a crash left behind
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise BadArgumentError(f"--host: {host} exists and is not a socket")
        if _answers(host):
            raise BadArgumentError(f"--host: another server listens on {host}")
        path.unlink()
    return host


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(path)
        except OSError:
            return False
        return True


def _read_keys(file: str | None) -> list[str]:
    if file is None:
        return []
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    keys = [line.strip() for line in lines if line.strip()]
    if not keys:
        raise BadArgumentError(f"--api-key-file: no key in {file}")
    return keys


def _settle_process() -> None:
    """Default signals, private files, no memory dumps with other people's words in them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - POSIX only

        os.umask(0o077)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _list_devices() -> None:
    import xllamacpp  # noqa: PLC0415

    sys.stdout.write("Available devices:\n")
    for device in xllamacpp.get_device_info():
        if "CPU" in device["type"].name:
            continue
        mib = 2**20
        total, free = device["memory_total"] // mib, device["memory_free"] // mib
        sys.stdout.write(
            f"  {device['name']}: {device['description']} ({total} MiB, {free} MiB free)\n"
        )


def _sleep_for_ever() -> None:
    if hasattr(signal, "pause"):
        while True:
            signal.pause()
    threading.Event().wait()


if __name__ == "__main__":
    raise SystemExit(main())
