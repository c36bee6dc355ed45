"""What the header of a 584 GB model costs over HTTP: requests, bytes and time, on loopback.

    python benchmarks/remote_header.py [--model kimi-k2.6.q4_x] [--parts 14]

One JSON object on stdout.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kimi_desktop.downloads.remote_header import RemoteSource
from kimi_desktop.models.facts import facts_of
from kimi_desktop.models.gguf import read_header
from kimi_desktop.planner.cache import kv_bytes_per_token
from tests.support.hub.large_models import split_model
from tests.support.hub.server import LocalHub

REPO = "org/large"


def read_remotely(model: str, parts: int) -> dict[str, float | int | None]:
    """Read the headers of a set of parts from a hub on loopback, and count what that took."""
    files = split_model(model, parts)
    headers = []
    bytes_read = 0
    with LocalHub(REPO, files) as hub:
        began = time.perf_counter()
        for file in files:
            url = f"{hub.endpoint}/{REPO}/resolve/{hub.commit}/{file.path}"
            with RemoteSource(url) as source:
                headers.append(read_header(source, label=file.path))
                bytes_read += source.bytes_read
        spent_s = time.perf_counter() - began
        requests = len(hub.log)
    facts = facts_of(headers, files[0].path, kv_bytes_per_token)
    return {
        "model_gb": round(sum(file.length for file in files) / 1e9, 1),
        "parts": len(files),
        "requests": requests,
        "bytes_read": bytes_read,
        "header_bytes": sum(header.data_offset for header in headers),
        "seconds": round(spent_s, 3),
        "parameters": facts.parameter_count,
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="kimi-k2.6.q4_x")
    parser.add_argument("--parts", type=int, default=14)
    arguments = parser.parse_args()
    print(json.dumps(read_remotely(arguments.model, arguments.parts)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
