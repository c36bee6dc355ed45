"""The environment of engine processes, built from an allow-list. Pure.

A user's shell may hold LLAMA_ARG_TOOLS=all (which gives the model a shell), proxies, tokens and
preloaded libraries: none of that reaches an engine.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from kimi_desktop.machine.visible import VARIABLE, is_mapped

ALLOWED = frozenset(
    {
        # who and where
        "HOME", "LANG", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER", "XDG_CACHE_HOME",
        # libraries of builds that lie in a folder of their own
        "DYLD_LIBRARY_PATH", "LD_LIBRARY_PATH",
        # which GPUs, and where their drivers are
        "CUDA_PATH", "GGML_VK_VISIBLE_DEVICES",
        "HIP_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION", "NVIDIA_DRIVER_CAPABILITIES",
        "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "VK_DRIVER_FILES", "VK_ICD_FILENAMES",
        # Windows cannot start a program without some of these
        "APPDATA", "COMSPEC", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "PATHEXT",
        "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP",
        "USERNAME", "USERPROFILE", "WINDIR",
    }
)  # fmt: skip

ALLOWED_PREFIXES = ("LC_",)

FIXED = {
    # Else ggml starts a debugger on an engine that aborts, and its frames bury the reason.
    "GGML_NO_BACKTRACE": "1",
    # The driver's tools and NVML count GPUs by their place on the bus, CUDA the fastest first.
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
}


def engine_environment(
    environment: Mapping[str, str], extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What of ``environment`` an engine may see, and ``extra``.

    A list of GPUs is applied where GPUs are counted (``machine.visible``); only parts of one (MIG)
    are passed on.
    """
    wish = environment.get(VARIABLE)
    parts = {VARIABLE: wish} if wish is not None and not is_mapped(wish) else {}
    kept = {
        name: value
        for name, value in environment.items()
        if _canonical(name) in ALLOWED or name.startswith(ALLOWED_PREFIXES)
    }
    return kept | parts | FIXED | dict(extra or {})


def _canonical(name: str) -> str:
    return name.upper() if sys.platform == "win32" else name
