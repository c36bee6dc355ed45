"""The flags of the embedded engine: llama-server's names for what the app uses.

Standard library only, so that ``--help`` answers in some 30 ms without loading llama.cpp. The help
has the shape of llama-server's own (names, metavar, description), so one probe reads both.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
LOAD_MODES = ("auto", "none", "mmap", "mlock", "mmap+mlock", "dio")
REASONING_FORMATS = ("none", "auto", "deepseek", "deepseek-legacy")
SPLIT_MODES = ("none", "layer", "row", "tensor")
SPEC_TYPES = ("none", "draft-simple", "draft-mtp", "ngram-simple", "ngram-mod")
POOLINGS = ("none", "mean", "cls", "last", "rank")
NUMA_MODES = ("distribute", "isolate", "numactl")

CLOSED_ORIGIN = "http://closed.invalid"
"""No page has this origin: llama.cpp's default lets every page in."""
EXPERTS = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
"""llama.cpp's own pattern of expert tensors, which --n-cpu-moe stands for."""

COLUMN = 40


@dataclass(frozen=True, slots=True)
class Flag:
    """One option. Without a metavar it is a switch."""

    names: tuple[str, ...]
    key: str
    """Attribute of the parsed namespace."""
    help: str
    metavar: str = ""
    convert: Callable[[str], object] = str
    choices: tuple[str, ...] = ()
    repeat: bool = False
    store: bool = True
    """What a switch stores."""


def _layers(text: str) -> int:
    """A number of layers, "all", or "auto" (the model decides)."""
    return {"auto": -1, "all": -2}.get(text) or _count(text)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}")
    return int(text)


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}") from None


def _port(text: str) -> int:
    port = _count(text)
    if port > 65535:  # llama.cpp would take it modulo 65536
        raise argparse.ArgumentTypeError(f"a port is 0 ... 65535, got {text}")
    return port


def _batch(text: str) -> int:
    size = _count(text)
    if size < 1:
        raise argparse.ArgumentTypeError("a batch has at least 1 token")
    return size


def _proportions(text: str) -> list[float]:
    try:
        parts = [float(part) for part in text.replace("/", ",").split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected N0,N1,N2,..., got {text!r}") from None
    if any(part < 0 for part in parts):
        raise argparse.ArgumentTypeError("a share cannot be negative")
    return parts


def _gpus(text: str) -> str:
    """Numbers of the devices named: "" for none."""
    if text == "none":
        return ""
    if not re.fullmatch(r"CUDA\d+(?:,CUDA\d+)*", text):
        raise argparse.ArgumentTypeError(f"expected CUDA0,CUDA2,... or none, got {text!r}")
    return text.replace("CUDA", "")


FLAGS: tuple[Flag, ...] = (
    Flag(("-h", "--help", "--usage"), "help", "print usage and exit"),
    Flag(("--version",), "version", "show version and build info"),
    Flag(("--list-devices",), "list_devices", "print the devices and exit"),
    Flag(("-m", "--model"), "model", "model file to load", "FNAME"),
    Flag(("-a", "--alias"), "alias", "model name in the API", "STRING"),
    Flag(("--host",), "host", "127.0.0.1, or a Unix socket: a path that ends in .sock", "HOST"),
    Flag(("--port",), "port", "port to listen on, 0 = any free one", "PORT", _port),
    Flag(("--api-key-file",), "api_key_file", "file with the API keys, one a line", "FNAME"),
    Flag(("--cors-origins",), "cors_origins", "origin that web pages may call from", "ORIGIN"),
    Flag(("--metrics",), "metrics", "offer /metrics"),
    Flag(("--slots",), "slots", "offer /slots"),
    Flag(("--no-slots",), "slots", "do not offer /slots (default)", store=False),
    Flag(("--no-ui", "--no-webui"), "ui", "no web page (there is none)", store=False),
    Flag(("--offline",), "offline", "fetch nothing from the network (always so)"),
    Flag(("-t", "--threads"), "threads", "threads for decode", "N", _integer),
    Flag(("-tb", "--threads-batch"), "threads_batch", "threads for prefill", "N", _integer),
    Flag(("--numa",), "numa", "NUMA strategy", "TYPE", choices=NUMA_MODES),
    Flag(("-c", "--ctx-size"), "ctx_size", "context in tokens, 0 = the model's", "N", _count),
    Flag(("-b", "--batch-size"), "batch_size", "logical batch in tokens", "N", _batch),
    Flag(("-ub", "--ubatch-size"), "ubatch_size", "physical batch in tokens", "N", _batch),
    Flag(("-np", "--parallel"), "parallel", "number of slots", "N", _batch),
    Flag(
        ("-ngl", "--gpu-layers", "--n-gpu-layers"),
        "gpu_layers",
        "layers in VRAM: a number, 'auto' or 'all'",
        "N",
        _layers,
    ),
    Flag(("-cmoe", "--cpu-moe"), "cpu_moe", "keep all expert weights in RAM"),
    Flag(
        ("-ncmoe", "--n-cpu-moe"),
        "n_cpu_moe",
        "keep the expert weights of the first N layers in RAM",
        "N",
        _count,
    ),
    Flag(
        ("-ot", "--override-tensor"),
        "override_tensor",
        "<tensor name pattern>=<buffer type>,...",
        "RULES",
        repeat=True,
    ),
    Flag(("-sm", "--split-mode"), "split_mode", "split over GPUs", "MODE", choices=SPLIT_MODES),
    Flag(("-ts", "--tensor-split"), "tensor_split", "share of each GPU", "N0,N1,...", _proportions),
    Flag(
        ("-dev", "--device"), "device", "GPUs to use: CUDA0,CUDA2 or none", "<dev1,dev2,..>", _gpus
    ),
    Flag(("-mg", "--main-gpu"), "main_gpu", "GPU for small tensors", "INDEX", _count),
    Flag(
        ("-fa", "--flash-attn"),
        "flash_attn",
        "flash attention",
        "FA",
        choices=("on", "off", "auto"),
    ),
    Flag(("-ctk", "--cache-type-k"), "cache_type_k", "type of K", "TYPE", choices=CACHE_TYPES),
    Flag(("-ctv", "--cache-type-v"), "cache_type_v", "type of V", "TYPE", choices=CACHE_TYPES),
    Flag(("-nkvo", "--no-kv-offload"), "kv_offload", "keep K and V in RAM", store=False),
    Flag(("--no-op-offload",), "op_offload", "do not bring weights in RAM to the GPU", store=False),
    Flag(("-nr", "--no-repack"), "repack", "do not rearrange weights for the CPU", store=False),
    Flag(("--swa-full",), "swa_full", "full-size cache for sliding windows"),
    Flag(("-kvu", "--kv-unified"), "kv_unified", "one cache for all slots"),
    Flag(("-cram", "--cache-ram"), "cache_ram", "prompt cache in MiB", "N", _integer),
    Flag(("--load-mode",), "load_mode", "how to read the file", "MODE", choices=LOAD_MODES),
    Flag(
        ("-fit", "--fit"),
        "fit",
        "let llama.cpp shrink what does not fit",
        "FIT",
        choices=("on", "off"),
    ),
    Flag(("--no-warmup",), "warmup", "skip the warm-up run", store=False),
    Flag(("--check-tensors",), "check_tensors", "look for invalid values in the weights"),
    Flag(("--jinja",), "jinja", "use the Jinja template (default)"),
    Flag(("--no-jinja",), "jinja", "use a built-in template", store=False),
    Flag(("--chat-template",), "chat_template", "template text", "TEMPLATE"),
    Flag(("--chat-template-file",), "chat_template_file", "file with the template", "FNAME"),
    Flag(
        ("--reasoning-format",),
        "reasoning_format",
        "where thoughts go",
        "FORMAT",
        choices=REASONING_FORMATS,
    ),
    Flag(
        ("-r", "--reverse-prompt"),
        "reverse_prompt",
        "text that ends an answer unless the request names its own",
        "PROMPT",
        repeat=True,
    ),
    Flag(("-mm", "--mmproj"), "mmproj", "file that lets the model see images", "FILE"),
    Flag(("--embedding", "--embeddings"), "embedding", "answer with embeddings, not with text"),
    Flag(("--pooling",), "pooling", "how embeddings are joined", "TYPE", choices=POOLINGS),
    Flag(("--lora",), "lora", "file of an adapter", "FNAME"),
    Flag(("--spec-type",), "spec_type", "how tokens are guessed", "TYPE", choices=SPEC_TYPES),
    Flag(
        ("--spec-draft-model", "-md", "--model-draft"),
        "spec_draft_model",
        "model that guesses",
        "FNAME",
    ),
    Flag(("--spec-draft-n-max",), "spec_draft_n_max", "tokens guessed at once", "N", _batch),
    Flag(("-lv", "--verbosity", "--log-verbosity"), "verbosity", "0 ... 5", "N", _count),
)


class BadArgumentError(Exception):
    """The command line cannot be used; the message says why."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadArgumentError(message)


def parse_flags(arguments: Sequence[str]) -> argparse.Namespace:
    """The settings by key; None where a flag was not given.

    Raises:
        BadArgumentError: an unknown flag, a value that is not allowed, or no model.
    """
    parser = _Parser(prog="embedded", add_help=False, allow_abbrev=False)
    for flag in FLAGS:
        if flag.metavar:
            parser.add_argument(
                *flag.names,
                dest=flag.key,
                type=flag.convert,
                choices=flag.choices or None,
                action="append" if flag.repeat else "store",
            )
        else:
            action = "store_true" if flag.store else "store_false"
            parser.add_argument(*flag.names, dest=flag.key, action=action, default=None)
    parsed, unknown = parser.parse_known_args(arguments)
    if unknown:
        raise BadArgumentError(f"invalid argument: {unknown[0]}")
    if not (parsed.help or parsed.version or parsed.list_devices or parsed.model):
        raise BadArgumentError("no model: give -m FNAME")
    return parsed


def help_text() -> str:
    """Names, metavar and description of every flag, in llama-server's layout."""
    lines = ["usage: python -m kimi_desktop.backends.embedded -m FNAME [options]", ""]
    for flag in FLAGS:
        head = ", ".join(flag.names)
        head = f"{head} {flag.metavar}" if flag.metavar else head
        text = f"{flag.help} ({', '.join(flag.choices)})" if flag.choices else flag.help
        if len(head) < COLUMN - 1:
            lines.append(f"{head:<{COLUMN}}{text}")
        else:
            lines += [head, f"{'':<{COLUMN}}{text}"]
    return "\n".join(lines) + "\n"
