"""Evidence as flat facts with one name each, and what follows from them. Pure.

Launchers, servers and people name one setting in many ways; rules know one name. ``derived.*`` are
conclusions that need more than one fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from kimi_desktop.chat.text_checks import TextLook, look_at
from kimi_desktop.diagnosis.conditions import number
from kimi_desktop.diagnosis.log_text import LogText
from kimi_desktop.diagnosis.patterns import pattern
from kimi_desktop.diagnosis.types import EngineExit, Evidence

NUMBERED_SIGNALS: Mapping[int, str] = {
    1: "SIGHUP", 2: "SIGINT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL",
    11: "SIGSEGV", 15: "SIGTERM", 25: "SIGXFSZ",
}  # fmt: skip

SETTING_NAMES: Mapping[str, str] = {
    "n_ctx": "ctx", "ctx_size": "ctx", "c": "ctx", "num_ctx": "ctx", "context": "ctx",
    "context_length": "ctx",
    "np": "parallel", "n_parallel": "parallel", "max_num_seqs": "parallel",
    "t": "threads", "n_threads": "threads", "num_thread": "threads",
    "temp": "temperature",
    "cache_type_k": "ctk", "cache_type_v": "ctv", "type_k": "ctk", "type_v": "ctv",
    "kv_cache_dtype": "ctk", "kv_type": "ctk", "OLLAMA_KV_CACHE_TYPE": "ctk",
    "cache_type": "ctk",
    "n_gpu_layers": "ngl", "gpu_layers": "ngl", "num_gpu": "ngl",
    "fa": "flash_attn", "flash_attention": "flash_attn", "OLLAMA_FLASH_ATTENTION": "flash_attn",
    "n_predict": "max_tokens", "num_predict": "max_tokens", "max_completion_tokens": "max_tokens",
    "tp": "tensor_parallel_size", "tp_size": "tensor_parallel_size",
    "ncmoe": "n_cpu_moe", "repetition_penalty": "repeat_penalty",
    "quantization": "quant",
}  # fmt: skip

SIGNALS_OF_CODES: Mapping[int, str] = {
    **{128 + number: name for number, name in NUMBERED_SIGNALS.items()},
    **{-number: name for number, name in NUMBERED_SIGNALS.items()},
}
"""Shells and Docker tell a signal as 128 + its number, Python as minus its number."""

_STATUS = r"(0xc0000[0-9a-f]{3}|-10737\d{5}|32212\d{5}|184467440\d{11})\b"
_TOLD_CODE = pattern(_STATUS + r"|ExceptionCode:? c0000")
_CODE = re.compile(rf"(?<![\w.]){_STATUS}|ExceptionCode:? (c0000[0-9a-f]{{3}})\b", re.IGNORECASE)
_EXIT = re.compile(r"exit(?:ed with)?(?: status| code):? -(4|6|7|8|11)\b", re.IGNORECASE)
_TOLD_EXIT = pattern(_EXIT.pattern)
NTSTATUSES = (
    0xC0000005, 0xC0000409, 0xC0000135, 0xC0000139, 0xC0000142, 0xC0000138, 0xC000007B, 0xC0000022,
    0xC000001D, 0xC0000006, 0xC0000017, 0xC0000025, 0xC0000094, 0xC00000FD, 0xC000012D, 0xC000013A,
    0xC0000374, 0xC0000428, 0x80000003, 0x40010004,
)  # fmt: skip
"""What Windows says of a program that ended badly; the commonest first, for codes that a
JavaScript program has rounded."""

_LOW_QUANT = re.compile(
    r"(?:^|[^A-Za-z0-9])(?:UD-)?"
    r"(?:IQ1|IQ2|Q2_K|TQ1|TQ2|Q1_|Q2_|1\.\d+ ?bit|[12]-bit|int2|2bit|1bit)",
    re.IGNORECASE,
)
_SOFTWARE_GPU = re.compile(r"llvmpipe|swiftshader|lavapipe|software (?:vulkan|rasterizer)", re.I)
_COUNTED_GPUS = re.compile(r"^(\d+)x\s")
_CONTENT = re.compile(r'"content":\s*"((?:[^"\\]|\\.)*)')
_FINISH_LENGTH = re.compile(r'"finish_reason":\s*"length"')
_FINISH_NULL = re.compile(r'"content":\s*(?:null|"")')
_OF_PYTORCH = pattern(r"allocated by PyTorch|reserved in total by PyTorch")
_SIZE = r"(\d+(?:\.\d+)?) ([GM])iB"
_CAPACITY = re.compile(rf"total capac?ity of {_SIZE}|{_SIZE} total capacity")
_FREE = re.compile(rf"of which {_SIZE} is free|{_SIZE} free")
_BY_PYTORCH = re.compile(rf"{_SIZE} is allocated by PyTorch|{_SIZE} already allocated")
_IN_USE = re.compile(rf"has {_SIZE} memory in use|{_SIZE} reserved in total by PyTorch")
_LETTERS = re.compile(r"^\d+\s*[kKmM]$")
_SILENT = re.compile(
    r"no (?:further|more) output|hangs? (?:here|forever)|nothing (?:more|further)", re.I
)
_LAST_OF_NCCL = re.compile(r"nccl|P2P access cache|custom_all_reduce|Init COMPLETE", re.IGNORECASE)


def facts_of(evidence: Evidence, log: LogText) -> dict[str, Any]:
    """All facts of ``evidence`` under the names that rules use."""
    end = evidence.exit
    signal = end.signal or SIGNALS_OF_CODES.get(end.code or 0) or _told_fault(end, log)
    facts: dict[str, Any] = {
        "engine": evidence.engine.lower(),
        "version": evidence.engine_version,
        "phase": evidence.phase.lower(),
        "log.empty": log.is_empty,
    }
    for name, value in (
        ("code", end.code),
        ("signal", signal),
        ("alive", end.is_alive),
        ("spawn_errno", end.spawn_errno),
    ):
        if value is not None:
            facts[f"exit.{name}"] = value
    if (status := _ntstatus(end.code, log)) is not None:
        facts["exit.ntstatus"] = status
    facts |= _flat("machine", evidence.machine)
    facts |= _flat("settings", evidence.settings)
    for name, value in evidence.settings.items():
        if name in SETTING_NAMES:
            facts.setdefault(f"settings.{SETTING_NAMES[name]}", value)
    facts["log"] = "\n".join(log.lines[:400]) if len(log.lines) < 400 else ""
    facts |= _texts(log, evidence.phase)
    facts |= _torch(log)
    facts |= _derived(evidence, facts, log)
    return facts


def _flat(root: str, given: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{root}.{name}": value for name, value in given.items() if value is not None}


def _texts(log: LogText, phase: str) -> dict[str, Any]:
    """How the answers in the log look (bodies of the server's responses)."""
    looks: list[TextLook] = []
    finish_length = False
    for line in log.lines[-200:]:
        if "content" not in line:
            continue
        finish_length = finish_length or _FINISH_LENGTH.search(line) is not None
        if match := _CONTENT.search(line):
            # A body that was cut off is judged as far as it goes.
            looks.append(look_at(_unescaped(match[1])))
        elif _FINISH_NULL.search(line):
            looks.append(TextLook(is_empty=True))
    if not looks and phase == "quality":
        looks.append(look_at("\n".join(log.lines)))
    return {
        "text.empty": bool(looks) and all(look.is_empty for look in looks),
        "text.repeats": any(look.repeats for look in looks),
        "text.template_tokens": any(look.leaks_template for look in looks),
        "text.gibberish": any(look.is_gibberish for look in looks),
        "text.finish_length": finish_length,
    }


def _told_fault(end: EngineExit, log: LogText) -> str | None:
    """The fault signal of an engine below another program, which tells it in its log.

    Only faults: a worker that was told to end (-15) says nothing about the first cause.
    """
    if end.code is not None and end.code >= 128:
        return None
    number = log.find(_TOLD_EXIT)
    told = None if number is None else _EXIT.search(log.lines[number])
    return NUMBERED_SIGNALS[int(told[1])] if told else None


def _ntstatus(code: int | None, log: LogText) -> str | None:
    """``c0000005`` for a Windows status, given as a code or told in the log in any form.

    As 32 bits with or without sign, in hexadecimal, or widened to 64 bits (and then rounded: LM
    Studio prints 18446744072635812000 for 0xC0000409).
    """
    if (code is None or 0 <= code < 0x1000) and (number := log.find(_TOLD_CODE)) is not None:
        told = _CODE.search(log.lines[number])
        code = (int(told[2], 16) if told[2] else int(told[1], 0)) if told else None
    if code is None or abs(code) < 0x1000:
        return None
    rounded = 2048 if code >= 2**63 else 0
    value = code - 2**64 if code >= 2**63 else code
    for status in NTSTATUSES:
        if abs(value - (status - 2**32 if value < 0 else status)) <= rounded:
            return f"{status:x}"
    return None


def _torch(log: LogText) -> dict[str, Any]:
    """Whose memory the first "out of memory" of PyTorch counts, as shares of the card (0 ... 1).

    "Process N has" may be the engine itself: within a container PyTorch does not know its own
    number. A process that has at least what PyTorch holds is taken for it.
    """
    number = log.find(_OF_PYTORCH)
    line = "" if number is None else log.lines[number]
    total, mine = _gib(_CAPACITY, line), _gib(_BY_PYTORCH, line)
    if not total or not mine:
        return {}
    free = _gib(_FREE, line) or 0.0
    own = max([mine, *(size for size in _sizes(_IN_USE, line) if size <= total)])
    return {
        "derived.torch_share": mine / total,
        "derived.torch_others_share": max(total - free - own, 0.0) / total,
    }


def _gib(figure: re.Pattern[str], line: str) -> float | None:
    return next(iter(_sizes(figure, line)), None)


def _sizes(figure: re.Pattern[str], line: str) -> list[float]:
    """GiB of every match (number, "G" or "M")."""
    found = ([part for part in match.groups() if part] for match in figure.finditer(line))
    return [float(size) / (1 if unit == "G" else 1024) for size, unit in found]


def _unescaped(text: str) -> str:
    return text.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")


def _derived(evidence: Evidence, facts: Mapping[str, Any], log: LogText) -> dict[str, Any]:
    machine = evidence.machine

    def fact(name: str) -> float | None:
        return number(facts.get(name))

    def less(left: str, right: str) -> bool:
        one, two = fact(left), fact(right)
        return one is not None and two is not None and one < two

    kinds = [
        _kind(facts.get(f"settings.{name}"))
        for name in ("ctk", "ctv")
        if facts.get(f"settings.{name}") is not None
    ]
    state = str(machine.get("proc_state", "")).upper()
    reads = fact("machine.read_mib_s") or fact("machine.disk_read_mib_s")
    cpu_busy = (fact("machine.cpu_busy_pct") or 0) > 50
    counted = [
        value for name, value in machine.items() if "oom" in name and number(value) is not None
    ]
    words = f"{machine.get('os', '')} {evidence.engine} {evidence.engine_version}".lower()
    quota, threads = fact("machine.cpu_quota_pct"), fact("settings.threads")
    cores = fact("machine.cpu_cores")
    quant = " ".join(str(facts.get(f"settings.{name}", "")) for name in ("quant", "model"))
    port = fact("settings.port")
    listening = machine.get("listening_ports")
    cap = (
        fact("machine.memory_limit_mib") is not None
        or less("machine.ram_gib", "machine.host_ram_gib")
        or ("wsl" in words and fact("machine.host_ram_gib") is not None)
    )
    return {
        "derived.kv_quantized": any(kinds),
        "derived.kv_mixed": len(kinds) == 2
        and str(facts.get("settings.ctk")).lower() != str(facts.get("settings.ctv")).lower(),
        "derived.oom_counted": any((number(value) or 0) > 0 for value in counted),
        "derived.oom_denied": bool(counted)
        and all(number(value) == 0 for value in counted)
        and (fact("machine.mem_available_gib") or 1) > 0.5,
        "derived.memory_cap": cap,
        "derived.memory_short": (fact("machine.mem_available_gib") or 1) < 0.3
        or less("machine.ram_gib", "machine.model_gib")
        or (less("machine.ram_free_gib", "machine.model_gib")),
        "derived.model_over_ram": less("machine.ram_gib", "machine.model_gib")
        or less("machine.ram_gib", "machine.file_gib"),
        "derived.threads_over_cores": threads is not None and cores is not None and threads > cores,
        "derived.container": machine.get("container") not in (None, False, "", "none")
        or machine.get("image") is not None,
        "derived.cpu_quota": quota is not None and quota < 100 * max(threads or 1, 1),
        "derived.file_short": less("machine.file_bytes", "machine.expected_bytes")
        or fact("machine.short_shard") is not None
        or fact("machine.file_bytes") == 0,
        "derived.file_shrunk": less("machine.file_bytes_now", "machine.file_bytes_at_load"),
        "derived.head_zero": re.fullmatch(r"(?:00[ :]?)+", str(machine.get("first_bytes", "")))
        is not None,
        "derived.hash_bad": machine.get("sha256_matches") is False
        or machine.get("bad_piece") is not None,
        "derived.shard_missing": _has_gap(machine),
        "derived.stopped": state.startswith("T"),
        "derived.disk_sleep": state.startswith("D"),
        "derived.reading": machine.get("read_bytes_grow") is True or (reads or 0) > 0,
        "derived.cpu_busy": cpu_busy
        or (machine.get("cpu_time_grows") is True and machine.get("read_bytes_grow") is False),
        "derived.ended": evidence.exit.code is not None or evidence.exit.signal is not None,
        "derived.silent": _is_silent(log),
        "derived.gpu_count": _gpu_count(machine),
        "derived.software_gpu": _SOFTWARE_GPU.search(
            f"{machine.get('gpu', '')} {machine.get('devices', '')}"
        )
        is not None,
        "derived.numa": (fact("machine.numa_nodes") or 1) > 1
        or str(machine.get("cpu", "")).lower().startswith("2x "),
        "derived.windows": "windows" in words or "wsl" in words,
        "derived.quant_low": _LOW_QUANT.search(quant) is not None,
        "derived.ctx_letters": _LETTERS.match(str(facts.get("settings.ctx", ""))) is not None,
        "derived.port_odd": port is not None and (port < 1024 or port > 65535),
        "derived.port_listening": port is not None
        and isinstance(listening, list)
        and port in listening,
        "derived.vram_held_by_others": less("machine.vram_free_gib", "machine.vram_needed_gib")
        and machine.get("gpu_processes") is not None,
        "derived.load_failed": any(
            "failed to load model" in line or "failed to load multimodal" in line
            for line in log.lines[-200:]
        ),
    }


def _kind(value: Any) -> bool:  # noqa: ANN401
    """Whether a KV type is a quantized one."""
    return str(value).lower() not in ("f16", "bf16", "f32", "auto", "fp16", "float16", "none", "")


def _gpu_count(machine: Mapping[str, Any]) -> int:
    for name in ("gpu_count", "gpus", "gpu_per_node"):
        if (count := number(machine.get(name))) is not None:
            return int(count)
    cards = machine.get("vram_gib")
    if isinstance(cards, list):
        count = len(cards)
    else:
        count = 1 if cards is not None or machine.get("gpu") else 0
    if match := _COUNTED_GPUS.match(str(machine.get("gpu", ""))):
        return max(count, int(match[1]))
    return count


def _has_gap(machine: Mapping[str, Any]) -> bool:
    present = machine.get("shards_present")
    if not isinstance(present, list) or not present:
        return False
    total = number(machine.get("shards")) or max(_numbers(present), default=0)
    return set(_numbers(present)) != set(range(1, int(total) + 1))


def _numbers(values: Iterable[Any]) -> list[int]:
    return [int(found) for value in values if (found := number(value)) is not None]


def _is_silent(log: LogText) -> bool:
    """The log ends at the cards' first talk, or somebody says that nothing follows."""
    last = [line for line in log.lines if line.strip()][-3:]
    return any(_SILENT.search(line) for line in last) or bool(
        last and _LAST_OF_NCCL.search(last[-1])
    )
