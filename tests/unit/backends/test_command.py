"""Command lines: from a build's own help, never a flag it does not know, never a key."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from kimi_desktop.backends import embedded_flags
from kimi_desktop.backends.command import (
    FORBIDDEN,
    NEVER_TYPED,
    EngineBuild,
    Listening,
    build_command,
    parse_devices,
    parse_help,
    parse_other_names,
    parse_version,
)
from kimi_desktop.backends.embedded_flags import (
    FLAGS,
    BadArgumentError,
    help_text,
    parse_flags,
)
from kimi_desktop.backends.probe import embedded_build
from kimi_desktop.backends.types import EngineKind, EngineOptions, LoadSettings
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.planner import flags
from kimi_desktop.planner.plan_types import LoadMode, Numa
from kimi_desktop.planner.types import HOST
from tests.support.misbehaving_engine import HELP

OLD_HELP = """\
usage: llama-server [options]

-m,    --model FNAME                    model path
-c,    --ctx-size N                     size of the prompt context
-fa,   --flash-attn                     enable Flash Attention (default: disabled)
-ctk,  --cache-type-k TYPE              KV cache data type for K
-ctv,  --cache-type-v TYPE              KV cache data type for V
-ot,   --override-tensor <tensor name pattern>=<buffer type>,...
                                        override tensor buffer type
-ngl,  --gpu-layers, --n-gpu-layers N   number of layers to store in VRAM
--host HOST                             ip address to listen
--port PORT                             port to listen
--api-key-file FNAME                    path to file containing API keys
--chat-template JINJA_TEMPLATE          set custom jinja chat template
"""

SETTINGS = LoadSettings(
    Path("/models/kimi.gguf"),
    n_gpu_layers=62,
    n_cpu_moe=3,
    context=32_768,
    cache_type="q8_0",
    n_threads=24,
    n_parallel=2,
    chat_template="{{ messages }}",
    stop=("\nQuestion:",),
)
LISTENING = Listening(Path("/run/e.sock"), Path("/run/key"))


def build(help_of_it: str = HELP) -> EngineBuild:
    return EngineBuild(
        EngineKind.LLAMA_SERVER,
        ("/opt/llama-server",),
        parse_help(help_of_it),
        parse_other_names(help_of_it),
    )


def words(
    settings: LoadSettings, of: EngineBuild, listening: Listening | None = LISTENING
) -> list[str]:
    command = build_command(of, settings, listening=listening, n_threads=8)
    assert command[: len(of.program)] == of.program
    return list(command[len(of.program) :])


def value(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def test_names_and_metavars_of_a_help() -> None:
    known = parse_help(HELP)
    assert known["-ngl"] == known["--n-gpu-layers"] == "N"
    assert known["--metrics"] == ""
    assert known["-fa"] == "[on|off|auto]"
    assert known["-ncmoe"] == "N"
    assert "(env:" not in known
    assert parse_help(OLD_HELP)["-fa"] == ""
    assert parse_help(OLD_HELP)["-ot"] == "<tensor name pattern>=<buffer type>,..."


def test_the_embedded_help_names_every_flag_it_takes() -> None:
    known = parse_help(help_text())
    for flag in FLAGS:
        for name in flag.names:
            assert known[name] == flag.metavar


def test_everything_that_was_set_is_said_to_the_embedded_engine() -> None:
    command = words(SETTINGS, embedded_build())
    parsed = parse_flags(command)
    assert parsed.model == "/models/kimi.gguf"
    assert parsed.host == "/run/e.sock"
    assert parsed.api_key_file == "/run/key"
    assert (parsed.gpu_layers, parsed.n_cpu_moe, parsed.ctx_size) == (62, 3, 32_768)
    assert (parsed.cache_type_k, parsed.cache_type_v, parsed.flash_attn) == ("q8_0", "q8_0", "on")
    assert (parsed.threads, parsed.parallel, parsed.batch_size, parsed.ubatch_size) == (
        24, 2, 2048, 512,
    )  # fmt: skip
    assert parsed.fit == "off"
    assert parsed.chat_template == "{{ messages }}"
    assert parsed.reverse_prompt == ["\nQuestion:"]
    assert parsed.slots is False
    assert parsed.metrics is True


def test_a_build_gets_only_flags_from_its_own_help() -> None:
    for help_of_it in (HELP, OLD_HELP + "--n-cpu-moe N  x\n"):
        of = build(help_of_it)
        settings = dataclasses.replace(SETTINGS, chat_template=None)
        for word in words(settings, of):
            if word.startswith("-"):
                assert word in of.flags


def test_renamed_flags_are_translated() -> None:
    assert "--no-webui" in words(LoadSettings(Path("m")), build())
    renamed = HELP.replace("--no-webui", "--no-ui   ")
    assert "--no-ui" in words(LoadSettings(Path("m")), build(renamed))
    long_only = HELP.replace("-ngl,  --gpu-layers, --n-gpu-layers N", "--gpu-layers N")
    assert value(words(LoadSettings(Path("m")), build(long_only)), "--gpu-layers") == "0"


def test_flash_attention_was_a_switch_once() -> None:
    old = build(OLD_HELP)
    settings = LoadSettings(Path("m"), cache_type="q8_0", context=7)
    command = words(settings, old)
    assert command[-5:] == ["-ctk", "q8_0", "-ctv", "q8_0", "-fa"]
    assert value(words(settings, build()), "-fa") == "on"
    assert "-fa" not in words(LoadSettings(Path("m")), old)


def test_experts_in_ram_without_n_cpu_moe_become_rules() -> None:
    rules = value(words(LoadSettings(Path("m"), n_cpu_moe=2), build(OLD_HELP)), "-ot")
    assert rules.split(",") == [
        r"blk\.0\.ffn_(up|down|gate|gate_up)_(ch|)exps=CPU",
        r"blk\.1\.ffn_(up|down|gate|gate_up)_(ch|)exps=CPU",
    ]


PLACED = LoadSettings(
    Path("m"),
    n_gpu_layers=62,
    gpus=(2, 0),
    tensor_split=(40.0, 22.0),
    overrides=((r"blk\.(3|5)\.ffn_(up|down)_exps", HOST), (r"blk\.4\.", 1)),
    load_mode=LoadMode.LOCKED,
    numa=Numa.DISTRIBUTE,
    offload_ops=False,
    repack=False,
)
PLACING_HELP = (
    HELP
    + """\
-dev,  --device <dev1,dev2,..>          comma-separated list of devices
-ot,   --override-tensor <tensor name pattern>=<buffer type>,...
                                        override tensor buffer type
-ts,   --tensor-split N0,N1,N2,...      fraction of the model to offload to each GPU
--op-offload, --no-op-offload           whether to offload host tensor operations
--repack, -nr, --no-repack              whether to enable weight repacking
--load-mode MODE                        model loading mode
--numa TYPE                             attempt optimizations
--list-devices                          print list of available devices and exit
"""
)


def test_a_placement_over_some_gpus_is_said_in_the_builds_own_names() -> None:
    cuda = dataclasses.replace(build(PLACING_HELP), devices=("CUDA0: A", "CUDA1: B", "CUDA2: C"))
    command = words(PLACED, cuda)
    assert value(command, "-dev") == "CUDA2,CUDA0"
    assert value(command, "-ts") == "40,22"
    assert value(command, "-ot") == r"blk\.(3|5)\.ffn_(up|down)_exps=CPU,blk\.4\.=CUDA0"
    assert value(command, "--load-mode") == "mmap+mlock"
    assert value(command, "--numa") == "distribute"
    assert {"--no-op-offload", "--no-repack"} <= set(command)
    rocm = dataclasses.replace(cuda, devices=("ROCm0: A", "ROCm1: B", "ROCm2: C"))
    assert value(words(PLACED, rocm), "-dev") == "ROCm2,ROCm0"


def test_a_build_without_gpus_is_told_of_none() -> None:
    none = build(PLACING_HELP)
    assert none.is_without_gpus
    in_ram = dataclasses.replace(PLACED, gpus=(), overrides=())
    assert "-dev" not in words(in_ram, none)
    some = dataclasses.replace(none, devices=("CUDA0: A",))
    assert value(words(in_ram, some), "-dev") == "none"
    assert "-dev" not in words(dataclasses.replace(PLACED, gpus=None), some)


def test_older_builds_have_other_words_for_load_modes() -> None:
    older = build(
        PLACING_HELP.replace("--load-mode MODE     ", "--no-mmap            ")
        + "--mlock                                 force system to keep model in RAM\n"
    )
    modes = {
        mode: words(dataclasses.replace(PLACED, gpus=None, load_mode=mode), older)
        for mode in (*LoadMode, None)
    }
    assert "--no-mmap" in modes[LoadMode.NONE]
    assert "--mlock" in modes[LoadMode.LOCKED]
    for mode in (LoadMode.MMAP, None):
        assert not {"--no-mmap", "--mlock", "--load-mode"} & set(modes[mode])


@pytest.mark.parametrize(
    ("first", "names"),
    [
        ("-dev", ("-dev", "--device")),
        ("-ts", ("-ts", "--tensor-split")),
        ("-ot", ("-ot", "--override-tensor")),
        ("--no-op-offload", ("--no-op-offload",)),
    ],
)
def test_a_plan_that_a_build_cannot_carry_out_is_refused(
    first: str, names: tuple[str, ...]
) -> None:
    known = {name: kind for name, kind in parse_help(PLACING_HELP).items() if name not in names}
    of = dataclasses.replace(build(PLACING_HELP), flags=known, devices=("CUDA0: A",))
    with pytest.raises(BackendError) as caught:
        words(PLACED, of)
    assert caught.value.params == {"detail": first}
    assert first in words(PLACED, of, None)


def test_a_build_that_lacks_what_cannot_be_done_without_is_refused() -> None:
    without = OLD_HELP.replace("-ot, ", "-xx,").replace("--override-tensor", "--other")
    with pytest.raises(BackendError) as caught:
        words(LoadSettings(Path("m"), n_cpu_moe=2), build(without))
    assert caught.value.code is ErrorCode.ENGINE_BAD_ARGUMENT
    no_key_file = OLD_HELP.replace("--api-key-file", "--api-key-else")
    with pytest.raises(BackendError):
        words(LoadSettings(Path("m")), build(no_key_file))


def test_without_unix_sockets_the_engine_chooses_a_port_on_loopback() -> None:
    command = words(LoadSettings(Path("m")), build(), Listening(None, Path("/run/key")))
    assert value(command, "--host") == "127.0.0.1"
    assert value(command, "--port") == "0"


def test_what_is_shown_has_neither_address_nor_key_file() -> None:
    command = words(SETTINGS, embedded_build(), None)
    assert not {"--host", "--port", "--api-key-file"} & set(command)
    assert value(command, "-c") == "32768"


def test_showing_a_command_refuses_nothing() -> None:
    settings = LoadSettings(Path("m"), chat_template="x", extra=("--tools", "all"))
    shown = words(settings, build(OLD_HELP.replace("--chat-template", "--chat-other")), None)
    assert value(shown, "--chat-template") == "x"
    assert shown[-2:] == ["--tools", "all"]


def test_threads_come_from_the_machine_when_the_settings_name_none() -> None:
    assert value(words(LoadSettings(Path("m")), build()), "-t") == "8"


def test_another_name_of_a_forbidden_flag_is_forbidden_and_its_opposite_is_not() -> None:
    of = build(HELP + "-ag,  --agent, -no-ag, --no-agent   tools for the model\n")
    for flag, is_forbidden in (("-ag", True), ("--agent", True), ("-no-ag", False)):
        settings = dataclasses.replace(SETTINGS, options=EngineOptions(extra=flag))
        if not is_forbidden:
            assert flag in words(settings, of)
            continue
        with pytest.raises(BackendError) as caught:
            words(settings, of)
        assert caught.value.code is ErrorCode.ENGINE_FLAG_FORBIDDEN


@pytest.mark.parametrize("flag", sorted(NEVER_TYPED - FORBIDDEN))
def test_what_a_plan_may_say_and_a_person_may_not_type(flag: str) -> None:
    everything = build(HELP + "".join(f"{name} X  x\n" for name in NEVER_TYPED))
    typed = LoadSettings(Path("m"), options=EngineOptions(extra=f"{flag} x"))
    with pytest.raises(BackendError) as caught:
        words(typed, everything)
    assert caught.value.code is ErrorCode.ENGINE_FLAG_FORBIDDEN
    assert flag in words(LoadSettings(Path("m"), extra=(flag, "x")), everything)


@pytest.mark.parametrize("flag", sorted(FORBIDDEN))
def test_extra_flags_cannot_open_the_engine(flag: str) -> None:
    everything = HELP + "".join(f"{name} X  x\n" for name in FORBIDDEN)
    settings = LoadSettings(Path("m"), extra=(flag, "x"))
    with pytest.raises(BackendError) as caught:
        words(settings, build(everything))
    assert caught.value.params == {"flag": flag}
    assert caught.value.code is ErrorCode.ENGINE_FLAG_FORBIDDEN
    with pytest.raises(BackendError):
        words(dataclasses.replace(settings, extra=(f"{flag}=x",)), build(everything))


def test_extra_flags_that_the_build_knows_are_added() -> None:
    more = build(HELP + "--cache-reuse N       x\n")
    command = words(LoadSettings(Path("m"), extra=("--cache-reuse", "-1")), more)
    assert command[-2:] == ["--cache-reuse", "-1"]
    typed = EngineOptions(extra="--cache-reuse '2 5'")
    assert words(LoadSettings(Path("m"), options=typed), more)[-2:] == ["--cache-reuse", "2 5"]


def refused(extra: str, of: EngineBuild) -> BackendError:
    with pytest.raises(BackendError) as caught:
        words(LoadSettings(Path("m"), options=EngineOptions(extra=extra)), of)
    return caught.value


@pytest.mark.parametrize(
    ("extra", "code", "params"),
    [
        ("--cache-resue 1", ErrorCode.ENGINE_FLAG_UNKNOWN, {"flag": "--cache-resue"}),
        ("--draft 16", ErrorCode.ENGINE_FLAG_UNKNOWN, {"flag": "--draft"}),
        ("-c 8192", ErrorCode.ENGINE_FLAG_CONFLICT, {"flag": "-c", "other": "-c 4096"}),
        ("--ctx-size=8", ErrorCode.ENGINE_FLAG_CONFLICT, {"flag": "--ctx-size"}),
        ("--no-jinja", ErrorCode.ENGINE_FLAG_CONFLICT, {"flag": "--no-jinja", "other": "--jinja"}),
        ("--mmap --mmap", ErrorCode.ENGINE_FLAG_CONFLICT, {"flag": "--mmap", "other": "--mmap"}),
        ("--api-key x", ErrorCode.ENGINE_FLAG_FORBIDDEN, {"flag": "--api-key"}),
        ("--alias 'x", ErrorCode.ENGINE_FLAG_QUOTES, {}),
    ],
)
def test_extra_flags_are_checked_and_conflicts_named(
    extra: str, code: ErrorCode, params: dict[str, str]
) -> None:
    more = """--mmap                 x
--jinja, --no-jinja    x
-c,    --ctx-size N    x
--draft, --draft-max N      the argument has been removed. use --spec-draft-n-max
--removed-too-with-a-very-long-name N
                       the argument has been removed. use another
"""
    of = build(HELP + more)
    assert "--removed-too-with-a-very-long-name" not in of.flags
    error = refused(extra, of)
    assert error.code is code
    assert params.items() <= dict(error.params).items()


OPTIONS = EngineOptions(
    flash_attention="on",
    numa="isolate",
    projector="/m/mmproj 图.gguf",
    template_file="/m/t.jinja",
    lora="/m/lora.gguf",
    speculation="draft-simple",
    draft_model="/m/draft.gguf",
    draft_tokens=8,
)


def test_options_reach_the_command_line() -> None:
    settings = LoadSettings(Path("m"), chat_template="own", options=OPTIONS)
    command = words(settings, embedded_build())
    assert value(command, "-fa") == "on"
    assert value(command, "--numa") == "isolate"
    assert value(command, "-mm") == "/m/mmproj 图.gguf"
    assert value(command, "--chat-template-file") == "/m/t.jinja"
    assert "--chat-template" not in command
    assert value(command, "--lora") == "/m/lora.gguf"
    assert value(command, "--spec-type") == "draft-simple"
    assert value(command, "--spec-draft-model") == "/m/draft.gguf"
    assert value(command, "--spec-draft-n-max") == "8"
    parse_flags(command[command.index("-m") :])  # the embedded engine takes all of it


def test_options_under_the_names_of_older_builds() -> None:
    older = build(
        HELP + "--mmproj FILE  x\n-md,  --model-draft FNAME  x\n--draft, --draft-max N  x\n"
        "--lora FNAME  x\n--chat-template-file F  x\n-fa, --flash-attn  x\n--numa TYPE  x\n"
    )
    command = words(LoadSettings(Path("m"), options=OPTIONS), older)
    assert value(command, "--mmproj") == "/m/mmproj 图.gguf"
    assert value(command, "-md") == "/m/draft.gguf"
    assert value(command, "--draft-max") == "8"
    assert "--spec-type" not in command
    guessing = dataclasses.replace(OPTIONS, speculation="ngram-simple", draft_model="")
    with pytest.raises(BackendError) as caught:
        words(LoadSettings(Path("m"), options=guessing), older)
    assert caught.value.params == {"detail": "--spec-type"}


def test_options_that_contradict_are_named() -> None:
    off = EngineOptions(flash_attention="off")
    with pytest.raises(BackendError) as caught:
        words(LoadSettings(Path("m"), cache_type="q8_0", options=off), embedded_build())
    assert caught.value.code is ErrorCode.ENGINE_FLAG_CONFLICT
    assert caught.value.params == {"flag": "-fa off", "other": "-ctv q8_0"}
    lacking = EngineOptions(speculation="draft-simple")
    with pytest.raises(BackendError) as caught:
        words(LoadSettings(Path("m"), options=lacking), embedded_build())
    assert caught.value.code is ErrorCode.ENGINE_FLAG_LACKS


def test_direct_reading_is_said_in_each_builds_words() -> None:
    settings = LoadSettings(Path("m"), load_mode=LoadMode.DIRECT)
    assert value(words(settings, embedded_build()), "--load-mode") == "dio"
    assert "--direct-io" in words(settings, build(OLD_HELP + "-dio,  --direct-io   x\n"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("version: 6789 (abcdef12)\nbuilt with cc", "llama.cpp b6789"),
        ("version: 0.1.0-dev (build 10434, commit 7e4c0a9)", "llama.cpp b10434"),
        ("version: 0.1.0-dev (build 1, commit 7e4c0a9)", "llama.cpp"),
        ("version: 0 (unknown)", "llama.cpp"),
        ("no such thing", "llama.cpp"),
    ],
)
def test_versions_as_builds_print_them(text: str, name: str) -> None:
    assert parse_version(text) == name


def test_devices_as_builds_print_them() -> None:
    text = (
        "ggml_cuda_init: found 1 CUDA devices\nAvailable devices:\n"
        "  CUDA0: NVIDIA GeForce RTX 4090 (24078 MiB, 23675 MiB free)\n"
        "  CPU: AMD Ryzen (64000 MiB, 60000 MiB free)\n"
    )
    assert parse_devices(text) == ("CUDA0: NVIDIA GeForce RTX 4090",)
    assert parse_devices("Available devices:\n  (none)\n") == ()


def test_only_recent_builds_are_asked_for_progress() -> None:
    assert embedded_build().is_router_child
    assert not build(OLD_HELP).is_router_child


@pytest.mark.parametrize(("text", "layers"), [("0", 0), ("7", 7), ("auto", -1), ("all", -2)])
def test_layers_of_the_embedded_engine(text: str, layers: int) -> None:
    assert parse_flags(["-m", "x", "-ngl", text]).gpu_layers == layers


@pytest.mark.parametrize(
    "arguments",
    [
        ["-m", "x", "-b", "0"],
        ["-m", "x", "-np", "-1"],
        ["-m", "x", "-ts", "1,a"],
        ["-m", "x", "-ts", "1,-1"],
        ["-m", "x", "-t", "four"],
        ["-m", "x", "-ngl", "many"],
        ["-m", "x", "--n-gpu"],
        ["-m", "x", "-dev", "0,1"],
    ],
)
def test_values_that_make_no_sense_are_refused(arguments: list[str]) -> None:
    with pytest.raises(BadArgumentError):
        parse_flags(arguments)


@pytest.mark.parametrize(
    ("text", "visible"), [("none", ""), ("CUDA3", "3"), ("CUDA2,CUDA0", "2,0")]
)
def test_devices_of_the_embedded_engine_are_those_that_cuda_may_see(
    text: str, visible: str
) -> None:
    assert parse_flags(["-m", "x", "-dev", text]).device == visible


def test_experts_are_one_pattern_everywhere() -> None:
    assert embedded_flags.EXPERTS == flags.EXPERTS


def test_shares_of_gpus_may_be_written_both_ways() -> None:
    assert parse_flags(["-m", "x", "-ts", "3,1"]).tensor_split == [3.0, 1.0]
    assert parse_flags(["-m", "x", "-ts", "3/1"]).tensor_split == [3.0, 1.0]
    assert parse_flags(["-m", "x", "-t", "-1"]).threads == -1
