"""``kimi-desktop workers`` and the plans with them, as a user types them; scripted workers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kimi_desktop.cli import main
from tests.support.misbehaving_engine import make_binary
from tests.support.ports import free_port
from tests.support.rpc_worker import GIB, ScriptedWorker, serving
from tests.support.tiny_kimi import make_tiny_kimi

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="a script as a program")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A profile of its own, and a llama-server on PATH that knows workers."""
    programs = tmp_path / "programs"
    programs.mkdir()
    scripted = make_binary(programs / "scripted")
    server = programs / "llama-server"
    server.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        f'--help) "{scripted}" --help; echo "--rpc SERVERS  list of RPC servers"\n'
        '   echo "--list-devices  print devices and exit";;\n'
        '*--list-devices) echo "Available devices:"; [ "$1" != --rpc ] || echo "  RPC0: $2";;\n'
        f'*) exec "{scripted}" "$@";;\n'
        "esac\n"
    )
    server.chmod(0o755)
    monkeypatch.setenv("KIMI_DESKTOP_HOME", str(tmp_path / "profile"))
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    return tmp_path


def test_added_listed_checked_planned_with_and_removed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["workers"]) == 0
    assert "kimi-desktop workers add" in capsys.readouterr().out
    with serving(ScriptedWorker(devices=((20 * GIB, 24 * GIB),))) as port:
        address = f"127.0.0.1:{port}"
        assert main(["workers", "add", address, "--device", "RTX 4090"]) == 0
        told = capsys.readouterr().out
        assert f"{address} RTX 4090: 20.0 of 24.0 GiB free, RPC protocol 7.0.0" in told
        assert main(["workers", "--json"]) == 0
        (row,) = json.loads(capsys.readouterr().out)["workers"]
        assert row["protocol"] == "7.0.0"
        assert row["error"] is None
        assert main(["workers", "check", "--lang", "zh_CN"]) == 0
        assert "空闲 20.0 / 24.0 GiB" in capsys.readouterr().out

        model = make_tiny_kimi(home / "tiny.gguf")
        assert main(["plan", str(model), "--ngl", "4", "--json"]) == 0
        plan = json.loads(capsys.readouterr().out)
        assert plan["flags"][plan["flags"].index("--rpc") + 1] == address
        assert plan["devices"][0]["device"] == "rpc:0"
    assert main(["workers"]) == 1
    assert "Nothing answers" in capsys.readouterr().out
    assert main(["workers", "remove", address]) == 0
    capsys.readouterr()
    assert main(["workers", "remove", address]) == 1
    assert "There is no worker" in capsys.readouterr().err


def test_one_that_does_not_answer_is_kept_with_a_warning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As ``endpoint add`` does."""
    address = f"127.0.0.1:{free_port()}"
    assert main(["workers", "add", address]) == 0
    told = capsys.readouterr()
    assert "Nothing answers" in told.out
    assert f"Warning: {address} is kept" in told.err
    assert "already" not in told.err
    assert main(["workers", "add", address, "--device", "RTX"]) == 0
    assert f"{address} was there already" in capsys.readouterr().err
    assert main(["workers", "check", address]) == 1


def test_bad_addresses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workers", "add"]) == 1
    assert main(["workers", "add", "8.8.8.8:50052"]) == 1
    assert "not an address of a private network" in capsys.readouterr().err
