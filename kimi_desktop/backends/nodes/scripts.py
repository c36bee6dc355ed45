"""What a machine is told to do: small programs for its POSIX shell. Pure.

They run as ``ssh HOST SCRIPT``, or by /bin/sh on this machine. The leash is standard input: it
stays open as long as the app wants the engine, and when it closes, because the app or the network
has gone, the script ends the engine's whole session. So nothing is left behind on either side, nor
are the blocks of shared memory that an engine cannot remove once it was killed.
"""

from __future__ import annotations

import shlex

from kimi_desktop.backends.nodes.types import Node
from kimi_desktop.planner.vllm_nodes import LINKS, NodeCommand, interface_of

INTERRUPT_S = 15
"""vLLM ends its workers by itself in up to 11 s (measured); then it is asked to terminate."""
TERMINATE_S = 5
VERSION, ERROR = "version:", "error:"
GPU, HAS_ADDRESS, HAS_MODEL = "gpu:", "address:", "model:"
ENDED = "kimi-node-ended:"

_QUESTION = """\
set -u
cd || exit
if version=$({program} --version 2>/dev/null); then
  echo "{version_mark}$(printf '%s\\n' "$version" | tail -n 1)"
else
  echo "{error_mark}$({program} --version 2>&1 | tail -n 1)"
fi
nvidia-smi --query-gpu=name,memory.total --format=csv,noheader 2>/dev/null | sed 's/^/{gpu_mark}/'
if ip -o -4 addr show to {address} 2>/dev/null | grep -q .; then echo "{address_mark}yes"; fi
if {model_test}; then echo "{model_mark}yes"; fi
"""

_LEASHED = """\
set -u
IFS= read -r VLLM_API_KEY || exit 1
export VLLM_API_KEY
exec 3<&0
{exports}
setsid {command} </dev/null 3<&- &
engine=$!
tell() {{ kill -s "$1" -- -"$engine" 2>/dev/null; }}
wait_for() {{
  left=$1
  while ps -o stat= -s "$engine" | grep -qv '^Z'; do
    [ "$left" -gt 0 ] || return 1
    left=$((left - 1))
    sleep 1
  done
}}
shared() {{
  for pid in $(ps -o pid= -s "$engine"); do
    sed -n 's#.* \\(/dev/shm/[ps][se]m[._][A-Za-z0-9_-]*\\)$#\\1#p' "/proc/$pid/maps"
  done 2>/dev/null | sort -u
}}
trap : USR1
{{ cat <&3; kill -s USR1 "$$"; }} >/dev/null 2>&1 &
leash=$!
wait "$engine"
code=$?
if kill -s 0 "$engine" 2>/dev/null; then
  blocks=$(shared)
  tell INT
  wait_for {interrupt_s} || {{ tell TERM; wait_for {terminate_s}; }} || tell KILL
  wait "$engine"
  code=$?
  rm -f -- $blocks
else
  kill "$leash" 2>/dev/null
  wait_for {terminate_s} || tell KILL
fi
echo "{ended_mark}$code"
exit "$code"
"""


def question(node: Node, program: str, place: str) -> str:
    """Which vLLM and GPUs there are, whether the address is its own and the model is there.

    Args:
        node: the machine.
        program: vLLM's, on that machine.
        place: a folder, or "owner/name", which a hub has.
    """
    is_folder = place.startswith("/")
    return _QUESTION.format(
        program=shlex.quote(program),
        address=shlex.quote(node.address),
        model_test=f"[ -e {shlex.quote(place)} ]" if is_folder else "true",
        version_mark=VERSION,
        error_mark=ERROR,
        gpu_mark=GPU,
        address_mark=HAS_ADDRESS,
        model_mark=HAS_MODEL,
    )


def leashed(command: NodeCommand) -> str:
    """Run a command until it ends or standard input does; its first line is the key.

    The key comes that way because others see a machine's command lines.
    """
    exports = [f"export {name}={shlex.quote(value)}" for name, value in command.environment.items()]
    exports += [f'export {name}="{interface_of(command.address)}"' for name in LINKS]
    return _LEASHED.format(
        exports="\n".join(exports),
        command=shlex.join(command.words),
        ended_mark=ENDED,
        interrupt_s=INTERRUPT_S,
        terminate_s=TERMINATE_S,
    )
