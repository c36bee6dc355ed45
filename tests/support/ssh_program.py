"""A scripted ssh, vLLM and ip: programs in a folder that goes first on PATH.

ssh runs what it is told on this machine; hosts that begin with "far" are not reached, those
that begin with "bare" have no model. vLLM does as
``orders.json`` beside it says: version (per host), ``broken``
(a host where it cannot be run), ``dies`` (a host whose engine ends at once),
``lasts`` (seconds until one ends by itself), ``shared`` (it leaves shared memory). Every start is a
line of ``starts.jsonl``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SSH = """\
#!/bin/sh
echo "$@" >>"{folder}/ssh.log"
while [ "$1" != -- ]; do shift; done
case "$2" in
far*) echo "ssh: connect to host $2 port 22: No route to host" >&2; exit 255;;
bare*) set -- "$1" "$2" "$(printf %s "$3" | sed 's/if \\[ -e /if [ ! -e /')";;
esac
SCRIPTED_HOST=$2; export SCRIPTED_HOST
exec /bin/sh -c "$3"
"""

VLLM = """\
#!{python} -IS
import json, os, signal, subprocess, sys, time
from pathlib import Path

HERE = Path({folder!r})
orders = json.loads((HERE / "orders.json").read_text())
host = os.environ.get("SCRIPTED_HOST", "here")
if "--version" in sys.argv:
    if orders.get("broken") == host:
        sys.exit("ImportError: libtorch_cuda.so")
    print("INFO some log line")
    print(orders.get("versions", {{}}).get(host, "0.32.0"))
    sys.exit(0)
child = subprocess.Popen(["sleep", "600"])
if orders.get("shared"):
    import mmap
    block = open("/dev/shm/psm_kimi_" + host.replace("@", "_"), "w+b")
    block.truncate(4096)
    held = mmap.mmap(block.fileno(), 4096)
(HERE / ("child-%s" % host)).write_text(str(child.pid))
for number in (signal.SIGINT, signal.SIGTERM):  # as vLLM does; the shell had SIGINT ignored
    signal.signal(number, lambda *_: (child.kill(), os._exit(0)))
with (HERE / "starts.jsonl").open("a") as starts:
    row = {{"host": host, "pid": os.getpid(), "argv": sys.argv[1:], "env": dict(os.environ)}}
    starts.write(json.dumps(row) + "\\n")
if orders.get("dies") == host:
    child.kill()
    print("RuntimeError: NCCL error: unhandled system error", flush=True)
    sys.exit(1)
print("INFO the key is " + os.environ["VLLM_API_KEY"], flush=True)
if "--headless" not in sys.argv:
    while len((HERE / "starts.jsonl").read_text().splitlines()) < orders.get("nodes", 2):
        time.sleep(0.05)
    print("INFO Application startup complete.", flush=True)
time.sleep(orders.get("lasts", {{}}).get(host, 600))
"""

IP = """\
#!/bin/sh
case "$*" in
*10.9.9.9*) ;;
*) echo "1: lo    inet $6/8 scope host lo";;
esac
"""


def write_programs(folder: Path, **orders: Any) -> Path:
    """Write them; ``order`` changes what they do later."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("ssh", SSH), ("vllm", VLLM), ("ip", IP)):
        program = folder / name
        program.write_text(text.format(folder=str(folder), python=sys.executable))
        program.chmod(0o755)
    order(folder, **orders)
    return folder


def order(folder: Path, **orders: Any) -> None:
    """What vLLM does from now on."""
    (folder / "orders.json").write_text(json.dumps(orders))


def starts(folder: Path) -> list[dict[str, Any]]:
    """Every start of an engine so far, by host."""
    lines = (folder / "starts.jsonl").read_text().splitlines()
    return sorted((json.loads(line) for line in lines), key=lambda row: str(row["host"]))
