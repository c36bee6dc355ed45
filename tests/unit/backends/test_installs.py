"""Which vLLM fits a computer, how far an installation is, and why it failed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.backends.install.choose import offers_of, sizes_of
from kimi_desktop.backends.install.failures import explain_install
from kimi_desktop.backends.install.progress import InstallProgress
from kimi_desktop.backends.install.tools import Tools, child_environment
from kimi_desktop.backends.install.types import InstallOffer
from kimi_desktop.base.assets import asset
from kimi_desktop.base.errors import ErrorCode
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.machine.accelerators import Accelerators
from kimi_desktop.models.will_load import version_numbers
from tests.support.scripted_installs import install_offer

RULES = asset("engines") / "vllm-installs.json"
RAW = json.loads(RULES.read_text(encoding="utf-8"))
LISTS = asset("engines") / "vllm"
NVIDIA = frozenset({"nvidia"})


def offers(
    cuda: tuple[int, int] | None = None,
    capability: tuple[int, int] | None = None,
    system: str = "linux",
    arch: str = "x64",
) -> tuple[InstallOffer, ...]:
    makers = NVIDIA if cuda else frozenset()
    return offers_of(RAW, LISTS, Accelerators(system, arch, makers, cuda, capability))


def ids(*arguments: tuple[int, int] | None, **names: str) -> list[str]:
    return [offer.accelerator + offer.version for offer in offers(*arguments, **names)]  # type: ignore[arg-type]


def test_driver_and_card_decide() -> None:
    assert ids((13, 0), (9, 0)) == ["cuda0.25.1", "cuda0.19.1", "cpu0.32.0+cpu"]
    assert ids((12, 8), (9, 0)) == ["cuda0.19.1", "cpu0.32.0+cpu"]
    assert ids((13, 0), (7, 0)) == ["cuda0.19.1", "cpu0.32.0+cpu"]
    assert ids((12, 2), (9, 0)) == ["cpu0.32.0+cpu"]
    assert ids((13, 0), (6, 1)) == ["cpu0.32.0+cpu"]
    assert ids() == ["cpu0.32.0+cpu"]
    assert ids(system="windows") == []
    assert ids(system="macos", arch="arm64") == []


def test_no_version_is_known_to_fail_with_kimi() -> None:
    for entry in RAW["installs"]:
        version = version_numbers(entry["version"])[:3]
        assert version >= (0, 19, 1)
        assert version != (0, 22, 0)


@pytest.mark.parametrize("entry", RAW["installs"], ids=lambda entry: entry["id"])
def test_every_list_pins_proves_and_weighs_each_package(entry: dict[str, str]) -> None:
    text = (LISTS / entry["list"]).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(lines) > 100
    for line in lines:
        assert re.search(r" # \d+$", line), line
        if "package" in entry:
            assert "--hash=sha256:" in line, line
    assert "://" not in text
    sizes = sizes_of(LISTS / entry["list"])
    assert sizes["torch"] > 100e6
    (offer,) = (o for o in offers((13, 0), (9, 0)) if o.id == entry["id"])
    assert offer.size_bytes == sum(sizes.values())
    assert offer.installed_bytes > 2 * offer.size_bytes
    if "package" in entry:
        assert entry["package"] == f"vllm=={entry['version']}"
        assert f"\n{entry['package']} " in text


# progress

SIZES = {"torch": 500, "vllm": 250, "aiohttp": 10, "typing-extensions": 5}


def test_uv_fetches_several_at_once() -> None:
    progress = InstallProgress(SIZES)
    seen = [progress.done_bytes]
    for line, written in (
        ("Using Python 3.12.1 environment at: /e", 3),
        ("Downloading torch (500.0MiB)", 3),
        ("Downloading vllm (250.0MiB)", 100),
        (" Downloaded vllm", 400),
        ("", 450),
        (" Downloaded torch", 900),
        ("Prepared 4 packages in 12.30s", 900),
    ):
        progress.hear(line)
        progress.write(written)
        seen.append(progress.done_bytes)
        if line == "Downloading vllm (250.0MiB)":
            assert progress.package == "torch"
    assert seen == sorted(seen)
    assert seen[3] == 100
    assert 250 <= seen[4] < 750
    assert seen[-1] == progress.total_bytes == 765
    assert progress.package == ""


def test_pip_goes_from_one_to_the_next() -> None:
    progress = InstallProgress(SIZES)
    progress.hear("Collecting torch==2.11.0 (from -r list.txt (line 3))")
    progress.hear("  Downloading torch-2.11.0-cp312-cp312-manylinux_2_28_x86_64.whl (500 MB)")
    progress.write(200)
    assert (progress.package, progress.done_bytes) == ("torch", 200)
    progress.write(9000)
    assert progress.done_bytes == 475
    progress.hear("Collecting typing_extensions==4.1 (from -r list.txt (line 4))")
    assert progress.done_bytes >= 500
    assert progress.package == "typing-extensions"
    progress.hear("  Using cached typing_extensions-4.1-py3-none-any.whl (44 kB)")
    assert progress.done_bytes == 505
    progress.hear("Collecting stranger==1")
    assert progress.package == ""
    progress.hear("Installing collected packages: torch, vllm")
    assert progress.done_bytes == progress.total_bytes


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    "Collecting {}",
                    "Downloading {} (1 MB)",
                    " Downloaded {}",
                    "Using cached {}",
                    "{}",
                ]
            ),
            st.sampled_from([*SIZES, "x"]) | st.text(max_size=9),
            st.integers(0, 2000),
        )
    )
)
def test_progress_never_goes_back_nor_beyond(steps: list[tuple[str, str, int]]) -> None:
    progress = InstallProgress(SIZES)
    before = 0
    for form, name, written in steps:
        progress.hear(form.format(name))
        progress.write(written)
        assert before <= progress.done_bytes <= progress.total_bytes
        before = progress.done_bytes


# failures

UV_NO_NETWORK = """\
error: Failed to fetch: `https://index.example/simple/torch/`
  Caused by: error sending request for url (https://index.example/simple/torch/)
  Caused by: client error (Connect)
  Caused by: dns error: failed to lookup address information: Name or service not known
"""
PIP_NO_NETWORK = """\
WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('...: \
Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')'
ERROR: Could not find a version that satisfies the requirement torch==2.11.0 (from versions: none)
ERROR: No matching distribution found for torch==2.11.0
"""
PIP_NO_WHEEL = """\
ERROR: Could not find a version that satisfies the requirement torch==2.13.0+cpu (from versions: \
2.0.0, 2.1.0)
ERROR: No matching distribution found for torch==2.13.0+cpu
"""
UV_NO_WHEEL = """\
  × No solution found when resolving dependencies:
  ╰─▶ Because there is no version of torch==2.13.0+cpu and you require torch==2.13.0+cpu, we can \
conclude that your requirements are unsatisfiable.
"""
PIP_HASH = """\
ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated
    aiohttp==3.14.5 from https://index.example/aiohttp.whl:
"""
NO_SPACE = "error: Failed to extract archive: No space left on device (os error 28)\n"
NO_VENV = """\
The virtual environment was not created successfully because ensurepip is not
available.  On Debian/Ubuntu systems, you need to install the python3-venv
"""
CPU_OFFER = install_offer("0.32.0+cpu-cpu", "cpu")


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (UV_NO_NETWORK, ErrorCode.INSTALL_NO_NETWORK, "vLLM 0.25.1"),
        (PIP_NO_NETWORK, ErrorCode.INSTALL_NO_NETWORK, "vLLM 0.25.1"),
        (PIP_NO_WHEEL, ErrorCode.INSTALL_NO_WHEEL, "torch for Python 3.12"),
        (UV_NO_WHEEL, ErrorCode.INSTALL_NO_WHEEL, "torch for Python 3.12"),
        (PIP_HASH, ErrorCode.INSTALL_BAD_HASH, "vLLM 0.25.1"),
        (NO_SPACE, ErrorCode.DOWNLOAD_NO_SPACE, "9 GB"),
        (NO_VENV, ErrorCode.INSTALL_NO_VENV, "3.12"),
        ("Segmentation fault\n\n", ErrorCode.INSTALL_FAILED, "Segmentation fault"),
        ("", ErrorCode.INSTALL_FAILED, "?"),
    ],
)
def test_what_the_installer_says_becomes_one_cause(text: str, code: ErrorCode, says: str) -> None:
    error = explain(text, install_offer())
    assert error.code is code
    assert says in describe_error(error, Language.EN)[0]


def explain(text: str, offer: InstallOffer):  # type: ignore[no-untyped-def]
    return explain_install(
        text.splitlines(), offer, python="3.12", path="/e", needed="9 GB", free="1 GB"
    )


def test_torch_for_the_processor_is_found_by_a_variable() -> None:
    (offer,) = offers()
    for text in (PIP_NO_WHEEL, UV_NO_WHEEL):
        error = explain(text, offer)
        assert error.code is ErrorCode.INSTALL_NO_TORCH
        assert "KIMI_DESKTOP_TORCH_LINKS" in describe_error(error, Language.EN)[1]


# steps


def test_hashes_are_required_and_nothing_else_is_resolved(tmp_path: Path) -> None:
    for tools in (Tools("/p", "3.12"), Tools("/p", "3.12", ("/bin/uv",))):
        words = tools.fill(tmp_path, install_offer(), "")
        assert "--require-hashes" in words
        assert "--no-deps" in words
        assert "--find-links" not in words
        with_links = tools.fill(tmp_path, CPU_OFFER, "/wheels")
        assert with_links[with_links.index("--find-links") + 1] == "/wheels"
        assert str(tmp_path) in " ".join(tools.make(tmp_path))


def test_proxies_stay_and_other_environments_do_not() -> None:
    found = child_environment({"PYTHONPATH": "/x", "PIP_TARGET": "/y", "HTTPS_PROXY": "p"})
    assert found["HTTPS_PROXY"] == "p"
    assert not {"PYTHONPATH", "PIP_TARGET"} & set(found)
