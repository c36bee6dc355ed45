"""Logs as they come: encodings, colours, sizes, bundles, and what an answer looks like."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.base.errors import DiagnosisError
from kimi_desktop.base.messages import Language
from kimi_desktop.chat.text_checks import TextLook, look_at
from kimi_desktop.diagnosis import read
from kimi_desktop.diagnosis.bundle import bundle_of, bundle_text, cleaned
from kimi_desktop.diagnosis.engine import diagnose
from kimi_desktop.diagnosis.log_text import MOST_LINE, LogText, decode_log
from kimi_desktop.diagnosis.patterns import pattern
from kimi_desktop.diagnosis.read import evidence_from, from_log, read_evidence
from kimi_desktop.diagnosis.report import diagnosis_lines, diagnosis_object
from kimi_desktop.diagnosis.types import EngineExit, Evidence

LINE = "E llama_init_from_model: V cache quantization requires flash_attn"
CAUSE = "kv_quant_needs_flash_attn"


def cause_in(raw: bytes) -> str | None:
    best = diagnose(evidence_from(io.BytesIO(raw))).cause
    return best.cause if best else None


@pytest.mark.parametrize(
    "raw",
    [
        LINE.encode(),
        f"\ufeff{LINE}".encode(),
        LINE.encode("utf-16"),
        f"load\r\n{LINE}\r\n".encode("utf-16-le"),
        f"模型加载失败\n{LINE}".encode("gb18030"),
        LINE.replace("init", "in\x1b[31mit").replace("V c", "\x1b]0;t\x07V c").encode(),
        b"\x00\x01\xff\xfe\x80" * 40 + b"\n" + LINE.encode(),
        LINE.encode() + b"\xe4\xb8",
        f"progress 1\rprogress 2\r{LINE}".encode(),
    ],
)  # fmt: skip
def test_a_log_in_any_dress(raw: bytes) -> None:
    assert cause_in(raw) == CAUSE


@given(st.binary(max_size=600))
def test_no_bytes_break_it(raw: bytes) -> None:
    diagnose(evidence_from(io.BytesIO(raw)))


def test_a_huge_log_is_read_at_both_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "MOST_CHARACTERS", 2000)
    filler = b"I nothing happens here\n" * 500
    for position in (LINE.encode() + b"\n" + filler, filler + LINE.encode()):
        file = tmp_path / "engine.log"
        file.write_bytes(position)
        best = diagnose(read_evidence(file)).cause
        assert best is not None
        assert best.cause == CAUSE
        assert cause_in(position) == CAUSE


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("odd", [0, 1])
def test_a_huge_log_in_wide_characters_is_read_at_both_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, odd: int
) -> None:
    monkeypatch.setattr(read, "MOST_CHARACTERS", 4000)
    raw = ("\ufeff" + "I nothing happens here\n" * 500 + LINE).encode(encoding) + b"\n" * odd
    file = tmp_path / "engine.log"
    file.write_bytes(raw)
    best = diagnose(read_evidence(file)).cause
    assert best is not None
    assert best.cause == cause_in(raw) == CAUSE


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_bundle_is_one_in_any_encoding(encoding: str) -> None:
    case = {"log": "all is well", "exit": {"signal": "SIGKILL"}, "machine": {"ram_gib": 64}}
    found = evidence_from(io.BytesIO(json.dumps(case).encode(encoding)))
    assert (found.exit.signal, found.machine["ram_gib"]) == ("SIGKILL", 64)


def test_a_log_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiagnosisError) as caught:
        read_evidence(tmp_path / "none.log")
    assert caught.value.params["path"].endswith("none.log")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("log", "engine", "end"),
    [
        ("(EngineCore pid=1) x\n[exit status -9]", "vllm", EngineExit(signal="SIGKILL")),
        ("llama_model_load: x\n[process exited with code 1]", "llama.cpp", EngineExit(code=1)),
        ("sglang: x\nexit code: 139", "sglang", EngineExit(signal="SIGSEGV")),
        ('[GIN] 200\n"', "ollama", EngineExit()),
        ("hello", "", EngineExit()),
    ],
)
def test_a_pasted_log_says_what_it_knows(log: str, engine: str, end: EngineExit) -> None:
    found = from_log(log)
    assert (found.engine, found.exit) == (engine, end)


@pytest.mark.parametrize(
    ("log", "phase"),
    [
        ("x", "start"),
        ("srv load_model: loading model", "load"),
        ("srv load_model: loading model\nlistening on http://127.0.0.1", "serve"),
    ],
)
def test_how_far_it_came(log: str, phase: str) -> None:
    assert from_log(log).phase == phase


SECRETS = (
    "hf_abcdefghijklmnop", "sk-0123456789abcdef", "Bearer topsecretvalue", "/home/ada/models",
    "ada", "api_key=hushhush", "0123456789abcdef0123456789abcdef", "X-Amz-Signature=deadbeef99",
    "password=letmein", "eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2lnbmF0dXJl",
)  # fmt: skip


def test_a_bundle_keeps_the_evidence_and_none_of_the_secrets() -> None:
    log = "\n".join((LINE, *SECRETS, r"C:\Users\ada\x"))
    evidence = Evidence(
        log=log,
        exit=EngineExit(signal="SIGSEGV"),
        engine="llama.cpp",
        phase="load",
        machine={"files": ["/home/ada/k.gguf"], "ram_gib": 64},
        settings={"hf_token": "hf_abcdefghijklmnop", "path": Path("/home/ada/k.gguf")},
    )
    whole = bundle_of(evidence, diagnose(evidence), home="/home/ada", user="ada")
    text = json.dumps(whole)
    for secret in (
        "hf_abc",
        "0123456789abcdef",
        "topsecret",
        "ada",
        "hush",
        "deadbeef",
        "letmein",
        "eyJhb",
    ):
        assert secret not in text
    again = evidence_from(io.BytesIO(text.encode()))
    assert again.machine["ram_gib"] == 64
    assert (again.exit, again.engine, again.phase) == (evidence.exit, "llama.cpp", "load")
    best = diagnose(again).cause
    assert best is not None
    assert best.cause == CAUSE


@pytest.mark.parametrize(
    "settings",
    [
        {"api_key": "PLANTED"},
        {"password": ["PLANTED"]},
        {"env": {"HF_TOKEN": "PLANTED"}},
        {"extra": ["--api-key", "PLANTED"]},
        {"extra": ["HF_TOKEN", "PLANTED", "-c", "4096"]},
        {"extra": ["--hf-token=PLANTED"]},
    ],
)
def test_a_value_is_known_by_the_name_beside_it(settings: dict[str, object]) -> None:
    evidence = Evidence(log=LINE, settings=settings, machine={"engine": settings})
    text = bundle_text(evidence, diagnose(evidence))
    assert "PLANTED" not in text
    assert "PLANTED" not in json.dumps(cleaned(settings))


def test_counts_and_switches_keep_their_values() -> None:
    settings = {"max_tokens": "4096", "token": "none", "extra": ["--no-token", "-c", "4096"]}
    assert cleaned(settings) == settings


def test_the_line_that_proves_it_is_told_without_its_keys() -> None:
    found = diagnose(Evidence(log=f"{LINE} api_key=PLANTED", phase="load"))
    assert "PLANTED" not in "\n".join(diagnosis_lines(found, Language.EN))
    assert "PLANTED" not in json.dumps(diagnosis_object(found, Language.EN))


def test_the_bundle_of_a_long_log_is_bounded() -> None:
    evidence = Evidence(log=LINE + "\n" + "I x\n" * 300_000 + "the end")
    text = bundle_text(evidence, diagnose(evidence))
    assert len(text) < 700_000
    assert json.loads(text)["log"].endswith("the end")


def test_json_that_is_no_bundle_is_a_log() -> None:
    assert evidence_from(io.BytesIO(b'{"a": 1}')).log == '{"a": 1}'
    assert evidence_from(io.BytesIO(b"{" * 100_000)).log.startswith("{{")
    assert evidence_from(io.BytesIO(b'{"log": "x", "exit": 3, "machine": []}')).log == "x"


def test_a_case_without_engine_takes_it_from_the_log() -> None:
    found = evidence_from(io.BytesIO(json.dumps({"log": "vllm\nload_model", "exit": {}}).encode()))
    assert (found.engine, found.phase) == ("vllm", "load")


@pytest.mark.parametrize(
    ("text", "look"),
    [
        ("", "is_empty"),
        ("hi !!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!", "repeats"),
        ("Say hi. mendatanguser\n" * 5 + "Say hi. men", "repeats"),
        ("<|im_end|>\n<|im_start|>user", "leaks_template"),
        ("tough борьбе लगभग PantsocyanateInd ட் pâte 毛並 بالنسبه", "is_gibberish"),
    ],
)
def test_what_stands_out_in_a_text(text: str, look: str) -> None:
    assert getattr(look_at(text), look)


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox jumps over the lazy dog.",
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |",
        "Title\n" + "-" * 40,
        "for i in range(3):\n    print(i)\n    print(i)\n",
        "你好，这是一个普通的回答。English words and Русский текст.",
        "ha ha ha ha",
    ],
)
def test_ordinary_text_stands_out_in_nothing(text: str) -> None:
    look = look_at(text)
    assert look == TextLook()


def test_a_line_is_bounded_and_decoys_are_passed_over() -> None:
    log = LogText("x" * 9000 + "\nfound it\nfound it", (pattern("^found it$"),))
    assert len(log.lines[0]) == MOST_LINE
    assert log.find(pattern("found")) is None
    assert log.decoys == {1, 2}
    assert LogText("").is_empty


def test_decoding_never_fails() -> None:
    assert decode_log(b"\xff\xfea\x00") == "a"
    assert "a" in decode_log(b"a\xff" * 100)


@pytest.mark.parametrize("language", list(Language))
def test_the_words_for_a_terminal(language: Language) -> None:
    found = diagnose(Evidence(log=f"I a\n{LINE}", phase="load", exit=EngineExit(signal="SIGSEGV")))
    lines = diagnosis_lines(found, language)
    assert f"  {LINE}" in lines
    told = diagnosis_object(found, language)
    assert told["what"] == lines[0]
    assert told["line_number"] == 2
    unknown = diagnose(Evidence(log="all is well"))
    assert len(diagnosis_lines(unknown, language)) == 2
    assert diagnosis_object(unknown, language)["cause"] == "unknown"


def test_facts_are_told_when_no_line_proves_it() -> None:
    machine = {"model_gib": 594, "ram_gib": 128}
    slow = Evidence(phase="perf", exit=EngineExit(is_alive=True), machine=machine)
    lines = diagnosis_lines(diagnose(slow), Language.EN)
    assert any("derived.model_over_ram=True" in line for line in lines)
