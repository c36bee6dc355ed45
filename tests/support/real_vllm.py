"""Where the real vLLM for tests is: what ``make test-vllm`` has made, or KIMI_DESKTOP_VLLM_ENV."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
ENVIRONMENT = Path(os.environ.get("KIMI_DESKTOP_VLLM_ENV", ROOT / ".vllm")).absolute()
PYTHON = ENVIRONMENT / "bin" / "python"
SMALL = ("--enforce-eager", "--max-num-seqs", "4")
NEEDS_VLLM = [
    pytest.mark.real_vllm,
    pytest.mark.skipif(not PYTHON.exists(), reason="make test-vllm makes its environment"),
]
