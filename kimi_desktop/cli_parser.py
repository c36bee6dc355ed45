"""The command line of ``kimi-desktop``: verbs, their arguments and their help. No Qt."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from kimi_desktop import __version__
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.planner.plan_types import Profile

SERVER_ENGINES = ("vllm", "sglang")
ENDPOINT_ACTIONS = ("list", "check", "add", "remove")
CLIENT_ACTIONS = ("list", "show", "add", "revoke", "renew")
ENGINE_ACTIONS = ("list", "look", "get", "use", "remove")
ENGINES_ACTIONS = ("list", "install")
INSTALLABLE = ("vllm", "llama-cpp-python", "llama.cpp")
WORKER_PORT = 50052
"""Of llama.cpp's own ggml-rpc-server."""
RUNS_SHOWN = 20
WORKER_ACTIONS = ("list", "add", "check", "remove")
ENGINES = ("llama.cpp", *SERVER_ENGINES)

Run = Callable[[argparse.Namespace, AppPaths, Language], int]
"""A verb: what was asked, the profile, the language of the texts; returns the exit code."""


def command_line(language: Language, runs: Mapping[str, Run]) -> argparse.ArgumentParser:
    """The parser of all verbs; each sets ``run`` to its entry of ``runs``.

    Args:
        language: of the help.
        runs: what carries out a verb, by its name.
    """

    def say(key: str) -> str:
        return message(f"cli.{key}", language)

    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help=say("json"))
    common.add_argument(
        "--lang",
        choices=[language.value for language in Language],
        help=say("lang"),
        metavar="LANG",
    )

    parser = argparse.ArgumentParser(prog="kimi-desktop", description=say("about"))
    parser.add_argument("--version", action="version", version=f"kimi-desktop {__version__}")
    verbs = parser.add_subparsers(title=say("verbs"), required=True, metavar="VERB")

    def verb(name: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, parents=[common], help=say(name), description=say(name))
        added.set_defaults(run=runs[name])
        return added

    doctor = verb("doctor")
    doctor.add_argument("--measure", action="store_true", help=say("doctor.measure"))
    verb("models")
    plan = verb("plan")
    plan.add_argument("model", metavar="MODEL", help=say("plan.model"))
    plan.add_argument("--machine", type=Path, metavar="FILE", help=say("plan.machine"))
    plan.add_argument(
        "--profile",
        choices=[profile.value for profile in Profile],
        help=say("plan.profile"),
    )
    plan.add_argument("--ctx", type=int, metavar="N", help=say("plan.ctx"))
    plan.add_argument("--ngl", type=int, metavar="N", help=say("plan.ngl"))
    plan.add_argument("--n-cpu-moe", type=int, metavar="N", help=say("plan.n_cpu_moe"))
    _add_llama_wishes(plan, say)
    plan.add_argument("--check", action="store_true", help=say("plan.check"))
    plan.add_argument("--engine", choices=ENGINES, metavar="NAME", help=say("plan.engine"))
    plan.add_argument("--users", type=int, metavar="N", help=say("plan.users"))
    plan.add_argument("--tp", type=int, metavar="N", help=say("plan.tp"))
    plan.add_argument("--pp", type=int, metavar="N", help=say("plan.pp"))
    _add_files(verb, say)
    _add_engines(verb, say)
    chat = verb("chat")
    chat.add_argument("model", nargs="?", metavar="MODEL", help=say("model"))
    chat.add_argument("--endpoint", metavar="NAME", help=say("at_endpoint"))
    chat.add_argument("--prompt", metavar="TEXT", help=say("chat.prompt"))
    chat.add_argument("--trust-remote-code", action="store_true", help=say("trust_code"))
    chat.add_argument("--sandbox", action="store_true", help=say("sandbox"))
    _add_runs(verb, say)
    _add_serving(verb, say)
    _add_machines(verb, say)
    return parser


def _add_serving(verb: Callable[[str], argparse.ArgumentParser], say: Callable[[str], str]) -> None:
    """The verbs for programs that use a model of this machine."""
    serve = verb("serve")
    serve.add_argument("model", nargs="?", metavar="MODEL", help=say("model"))
    serve.add_argument("--endpoint", metavar="NAME", help=say("at_endpoint"))
    serve.add_argument("--port", type=_port, metavar="N", help=say("serve.port"))
    serve.add_argument("--lan", nargs="?", const="", metavar="ADDRESS", help=say("serve.lan"))
    serve.add_argument("--tls", action=argparse.BooleanOptionalAction, help=say("serve.tls"))
    serve.add_argument(
        "--profile", choices=[profile.value for profile in Profile], help=say("plan.profile")
    )
    serve.add_argument("--ctx", type=int, metavar="N", help=say("plan.ctx"))
    serve.add_argument("--trust-remote-code", action="store_true", help=say("trust_code"))
    serve.add_argument("--sandbox", action="store_true", help=say("sandbox"))
    serve.add_argument("--unit", action="store_true", help=say("serve.unit"))
    clients = verb("clients")
    clients.add_argument(
        "action",
        nargs="?",
        choices=CLIENT_ACTIONS,
        default=CLIENT_ACTIONS[0],
        metavar="ACTION",
        help=say("clients.action"),
    )
    clients.add_argument("name", nargs="?", default="", metavar="NAME", help=say("clients.name"))


def _add_llama_wishes(plan: argparse.ArgumentParser, say: Callable[[str], str]) -> None:
    """What else llama.cpp can be told, by its own names."""
    plan.add_argument("-np", "--parallel", type=int, metavar="N", help=say("plan.parallel"))
    plan.add_argument(
        "-ctk",
        "--cache-type-k",
        "-ctv",
        "--cache-type-v",
        action=_OneCacheType,
        dest="cache_type",
        metavar="TYPE",
        help=say("plan.cache_type"),
    )
    plan.add_argument("-b", "--batch-size", type=int, metavar="N", help=say("plan.batch"))
    plan.add_argument("-ub", "--ubatch-size", type=int, metavar="N", help=say("plan.ubatch"))


class _OneCacheType(argparse.Action):
    """Plans keep K and V alike, which is what the fast kernels take."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        before = getattr(namespace, self.dest)
        if before not in (None, values):
            parser.error(f"{option_string} {values}: K and V have one type, {before} before")
        setattr(namespace, self.dest, values)


def _add_machines(
    verb: Callable[[str], argparse.ArgumentParser], say: Callable[[str], str]
) -> None:
    """The verbs for several machines."""
    worker = verb("worker")
    worker.add_argument("--address", default="", metavar="A", help=say("worker.address"))
    worker.add_argument(
        "--port", type=_port, default=WORKER_PORT, metavar="P", help=say("worker.port")
    )
    worker.add_argument("--device", default="", metavar="A,B", help=say("worker.device"))
    nodes = verb("nodes")
    nodes.add_argument("model", metavar="MODEL", help=say("plan.model"))
    nodes.add_argument("nodes", nargs="+", metavar="ADDRESS[=NAME]", help=say("nodes.nodes"))
    nodes.add_argument("--check", action="store_true", help=say("nodes.check"))
    way = nodes.add_mutually_exclusive_group()
    way.add_argument("--run", action="store_true", help=say("nodes.run"), dest="runs")
    way.add_argument("--ray", action="store_true", help=say("nodes.ray"))
    nodes.add_argument("--machine", type=Path, metavar="FILE", help=say("plan.machine"))
    nodes.add_argument("--ctx", type=int, metavar="N", help=say("plan.ctx"))
    nodes.add_argument("--users", type=int, default=1, metavar="N", help=say("plan.users"))
    nodes.add_argument("--tp", type=int, metavar="N", help=say("plan.tp"))
    nodes.add_argument("--pp", type=int, metavar="N", help=say("plan.pp"))
    nodes.add_argument("--vllm", default="vllm", metavar="PROGRAM", help=say("nodes.vllm"))
    nodes.add_argument("--port", type=_port, default=8000, metavar="P", help=say("nodes.port"))
    nodes.add_argument("--trust-remote-code", action="store_true", help=say("nodes.trust"))
    workers = verb("workers")
    workers.add_argument(
        "action",
        nargs="?",
        choices=WORKER_ACTIONS,
        default=WORKER_ACTIONS[0],
        metavar="ACTION",
        help=say("workers.action"),
    )
    workers.add_argument("address", nargs="?", default="", metavar="A", help=say("workers.address"))
    workers.add_argument("--device", default="", metavar="NAME", help=say("workers.device"))


def _add_runs(verb: Callable[[str], argparse.ArgumentParser], say: Callable[[str], str]) -> None:
    """The verbs for what was measured and how it ended."""
    bench = verb("bench")
    bench.add_argument("model", nargs="?", metavar="MODEL", help=say("model"))
    what = bench.add_mutually_exclusive_group()
    what.add_argument("--vary", metavar="NAME=A,B,C", type=_variable, help=say("bench.vary"))
    what.add_argument("--compare", nargs="?", const="", metavar="ENGINE", help=say("bench.compare"))
    bench.add_argument("--users", metavar="1,2,4", type=_counts, help=say("bench.users"))
    diagnose = verb("diagnose")
    diagnose.add_argument("log", nargs="?", metavar="LOG|RUN", help=say("diagnose.log"))
    runs_list = verb("runs")
    runs_list.add_argument(
        "--limit", type=_limit, default=RUNS_SHOWN, metavar="N", help=say("runs.limit")
    )


def _add_engines(verb: Callable[[str], argparse.ArgumentParser], say: Callable[[str], str]) -> None:
    """The verbs for what answers: engines of this machine, and servers of others."""
    engine = verb("engine")
    engine.add_argument(
        "action", choices=ENGINE_ACTIONS, metavar="ACTION", help=say("engine.action")
    )
    engine.add_argument("name", nargs="?", default="", metavar="NAME", help=say("engine.name"))
    engine.add_argument("--build", metavar="KIND", help=say("engine.build"))
    engines = verb("engines")
    engines.add_argument(
        "action",
        nargs="?",
        choices=ENGINES_ACTIONS,
        default=ENGINES_ACTIONS[0],
        metavar="ACTION",
        help=say("engines.action"),
    )
    engines.add_argument(
        "name", nargs="?", choices=INSTALLABLE, metavar="NAME", help=say("engines.name")
    )
    engines.add_argument("-y", "--yes", action="store_true", help=say("engines.yes"))
    endpoint = verb("endpoint")
    endpoint.add_argument(
        "action", choices=ENDPOINT_ACTIONS, metavar="ACTION", help=say("endpoint.action")
    )
    endpoint.add_argument("name", nargs="?", default="", metavar="NAME", help=say("endpoint.name"))
    endpoint.add_argument("url", nargs="?", default="", metavar="URL", help=say("endpoint.url"))
    endpoint.add_argument("--key", action="store_true", help=say("endpoint.key"))
    endpoint.add_argument("--key-file", action="store_true", help=say("endpoint.key_file"))


def _add_files(verb: Callable[[str], argparse.ArgumentParser], say: Callable[[str], str]) -> None:
    """The verbs that bring models onto the disk."""
    fetch = verb("download")
    fetch.add_argument("repo", metavar="REPO[@REV]", help=say("download.repo"))
    fetch.add_argument(
        "--include",
        action="append",
        default=[],
        metavar="PATTERN",
        help=say("download.include"),
    )
    fetch.add_argument("--source", metavar="HUB", help=say("download.source"))
    fetch.add_argument("--to", type=Path, metavar="DIR", help=say("download.to"))
    verify = verb("verify")
    verify.add_argument("path", type=Path, metavar="PATH", help=say("verify.path"))
    verify.add_argument("--repair", action="store_true", help=say("verify.repair"))
    take_in = verb("import")
    take_in.add_argument("path", nargs="?", type=Path, metavar="PATH", help=say("import.path"))
    take_in.add_argument("--ollama", metavar="NAME", help=say("import.ollama"))
    take_in.add_argument("--to", type=Path, metavar="DIR", help=say("import.to"))


def _port(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (1 to 65535)")
    return number


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 7 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 999999")
    return int(text)


BENCH_VARIABLES = ("threads", "ubatch", "cache", "experts", "layers", "context")
DEFAULT_USERS = ("1", "2", "4", "8", "16", "32")
MOST_USERS = 64


def _variable(text: str) -> tuple[str, tuple[str, ...]]:
    name, _, rest = text.partition("=")
    values = tuple(value.strip() for value in rest.split(",") if value.strip())
    if name not in BENCH_VARIABLES or not values:
        known = ", ".join(BENCH_VARIABLES)
        raise argparse.ArgumentTypeError(f"{text!r}: NAME=A,B,C with one of {known}")
    return name, values


def _counts(text: str) -> tuple[str, ...]:
    parts = [part.strip() for part in text.split(",")]
    good = all(part.isascii() and part.isdigit() for part in parts)
    if not good or not all(1 <= int(part) <= MOST_USERS for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r}: numbers from 1 to {MOST_USERS}")
    return tuple(parts)
