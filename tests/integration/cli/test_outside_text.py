"""Words of other computers and of files never command the terminal, whatever verb prints them."""

from __future__ import annotations

import json
import shutil
import unicodedata
from pathlib import Path

import pytest

from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.terminal import json_text, one_line, printable
from tests.integration.cli.test_verbs import profile, run
from tests.support.openai_servers import OpenAiServer

__all__ = ["profile"]
HOSTILE = "kimi\x1b[31m\x1b]0;gone\x07\x9b2J\u202e\rroot"
TAME = "kimi[31m]0;gone2Jroot"


def is_harmless(text: str) -> bool:
    bad = [c for c in text if unicodedata.category(c) == "Cc" and c not in "\n\t"]
    return not bad and "\u202e" not in text


def test_what_is_shown_of_a_hostile_text() -> None:
    assert printable(HOSTILE) == TAME
    assert one_line(f"{HOSTILE}\nKey: mine") == "kimi[31m]0;gone2J root Key: mine"
    assert json.loads(json_text({"id": HOSTILE})) == {"id": HOSTILE}
    assert is_harmless(json_text({"id": HOSTILE}))
    for language in Language:
        assert TAME in message("engine.start_failed", language, detail=HOSTILE)


def test_models_of_a_server(profile: AppPaths) -> None:
    with OpenAiServer("vllm", models=(f"{HOSTILE}\nLab: all is well",)) as server:
        for arguments in (
            ("endpoint", "add", "Lab", server.url),
            ("endpoint", "check", "Lab"),
            ("endpoint", "check", "Lab", "--json"),
            ("chat", "--endpoint", "Lab", "--prompt", "hi"),
            ("chat", "--endpoint", "Lab", HOSTILE, "--prompt", "hi"),
        ):
            done = run(profile, *arguments)
            assert is_harmless(done.stdout + done.stderr), arguments
            assert "\nLab: all is well" not in done.stdout


def test_an_error_of_a_server(profile: AppPaths) -> None:
    with OpenAiServer() as server:
        run(profile, "endpoint", "add", "Lab", server.url)
        server.orders.refuse = (400, json.dumps({"error": {"message": HOSTILE}}))
        done = run(profile, "chat", "--endpoint", "Lab", "--prompt", "hi")
        assert "kimi[31m" in done.stderr
        assert is_harmless(done.stdout + done.stderr)


@pytest.mark.skipif("sys.platform == 'win32'", reason="no such names")
def test_names_of_files_and_lines_of_logs(
    profile: AppPaths, tiny_kimi: Path, tmp_path: Path
) -> None:
    name = "bad\x1b[2J\x9b1m.gguf"
    shutil.copy(tiny_kimi, profile.default_models_folder / name)
    (profile.default_models_folder / f"cut{name}").write_bytes(b"GGUF\x03\x00")
    log = tmp_path / "engine.log"
    log.write_text(
        f"E llama: \x1b[5m{HOSTILE} cudaMalloc failed: out of memory\n", encoding="utf-8"
    )
    file = str(profile.default_models_folder / name)
    for arguments in (
        ("models",),
        ("models", "--json"),
        ("plan", file),
        ("plan", file, "--json"),
        ("verify", file),
        ("verify", str(profile.default_models_folder)),
        ("import", str(tmp_path / f"none{name}")),
        ("diagnose", str(log)),
        ("diagnose", str(log), "--json"),
        ("chat", "bad", "--prompt", "hi"),
    ):
        done = run(profile, *arguments)
        assert is_harmless(done.stdout + done.stderr), arguments
