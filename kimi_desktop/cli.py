"""The verbs of ``kimi-desktop``: the same services as the window, in a terminal. No Qt.

Every verb takes ``--json`` and ``--lang``. Exit codes: 0 done, 1 failed with a sentence on stderr,
2 bad arguments, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kimi_desktop import __version__
from kimi_desktop.base.errors import ErrorCode, KimiError, PlanError, SettingsError
from kimi_desktop.base.logs import log_to_file
from kimi_desktop.base.messages import Language, describe_error, message, system_language
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import LanguageChoice, SettingsStore
from kimi_desktop.planner.plan_types import Profile

if TYPE_CHECKING:
    from kimi_desktop.downloads.remote_models import RemoteModels

BAD_ARGUMENTS, INTERRUPTED = 2, 130
ENDPOINT_ACTIONS = ("list", "check", "add", "remove")
ENGINE_ACTIONS = ("list", "look", "get", "use", "remove")
WORKER_PORT = 50052
"""Of llama.cpp's own ggml-rpc-server."""
WORKER_ACTIONS = ("list", "add", "check", "remove")

Run = Callable[[argparse.Namespace, AppPaths, Language], int]
"""A verb: what was asked, the profile, the language of the texts; returns the exit code."""
SERVER_ENGINES = ("vllm", "sglang")
ENGINES = ("llama.cpp", *SERVER_ENGINES)


def main(arguments: Sequence[str]) -> int:
    """Run one verb and return its exit code."""
    paths = AppPaths.default()
    language = _language(arguments, paths)
    options = _parser(language).parse_args(list(arguments))
    run: Run = options.run
    _speak_utf8()
    try:
        return run(options, paths, language)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader (head, less) has left
        sys.stderr.close()
        return 1
    except (KimiError, OSError) as error:
        what, then = describe_error(error, language)
        sys.stderr.write(f"{what}\n{then}\n")
        if options.json:
            code = error.code.value if isinstance(error, KimiError) else ErrorCode.UNEXPECTED.value
            found = {"event": "failed", "error": code, "what": what, "next": then}
            sys.stdout.write(json.dumps(found, ensure_ascii=False) + "\n")
        return 1


def _language(arguments: Sequence[str], paths: AppPaths) -> Language:
    """``--lang`` wherever it stands (the help itself is translated), the setting, the system's."""
    finder = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    finder.add_argument("--lang", choices=[*Language])
    try:
        chosen = finder.parse_known_args(list(arguments))[0].lang
    except argparse.ArgumentError:
        chosen = None  # the real parser says what is wrong with it
    if chosen:
        return Language(chosen)
    setting = SettingsStore(paths.settings_file).settings.window.language
    return system_language() if setting is LanguageChoice.SYSTEM else Language(setting.value)


def _parser(language: Language) -> argparse.ArgumentParser:
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

    def verb(name: str, run: Run) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, parents=[common], help=say(name), description=say(name))
        added.set_defaults(run=run)
        return added

    doctor = verb("doctor", _doctor)
    doctor.add_argument("--measure", action="store_true", help=say("doctor.measure"))
    verb("models", _models)
    plan = verb("plan", _plan)
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
    plan.add_argument("--check", action="store_true", help=say("plan.check"))
    plan.add_argument("--engine", choices=ENGINES, metavar="NAME", help=say("plan.engine"))
    plan.add_argument("--users", type=int, metavar="N", help=say("plan.users"))
    plan.add_argument("--tp", type=int, metavar="N", help=say("plan.tp"))
    plan.add_argument("--pp", type=int, metavar="N", help=say("plan.pp"))
    _add_files(verb, say)
    _add_engines(verb, say)
    diagnose = verb("diagnose", _diagnose)
    diagnose.add_argument("log", type=Path, metavar="LOG", help=say("diagnose.log"))
    chat = verb("chat", _chat)
    chat.add_argument("model", nargs="?", metavar="MODEL", help=say("model"))
    chat.add_argument("--endpoint", metavar="NAME", help=say("at_endpoint"))
    chat.add_argument("--prompt", metavar="TEXT", help=say("chat.prompt"))
    bench = verb("bench", _bench)
    bench.add_argument("model", nargs="?", metavar="MODEL", help=say("model"))
    bench.add_argument("--vary", metavar="NAME=A,B,C", type=_variable, help=say("bench.vary"))
    bench.add_argument("--users", metavar="1,2,4", type=_counts, help=say("bench.users"))
    serve = verb("serve", _serve)
    serve.add_argument("model", nargs="?", metavar="MODEL", help=say("model"))
    serve.add_argument("--endpoint", metavar="NAME", help=say("at_endpoint"))
    serve.add_argument("--port", type=_port, metavar="N", help=say("serve.port"))
    serve.add_argument("--lan", nargs="?", const="", metavar="ADDRESS", help=say("serve.lan"))
    serve.add_argument("--tls", action=argparse.BooleanOptionalAction, help=say("serve.tls"))
    serve.add_argument("--local", action="store_true", help=say("serve.local"))
    serve.add_argument(
        "--profile", choices=[profile.value for profile in Profile], help=say("plan.profile")
    )
    serve.add_argument("--ctx", type=int, metavar="N", help=say("plan.ctx"))
    serve.add_argument("--unit", action="store_true", help=say("serve.unit"))
    _add_machines(verb, say)
    return parser


def _add_machines(
    verb: Callable[[str, Run], argparse.ArgumentParser], say: Callable[[str], str]
) -> None:
    """The verbs for several machines."""
    worker = verb("worker", _worker)
    worker.add_argument("--address", default="", metavar="A", help=say("worker.address"))
    worker.add_argument(
        "--port", type=_port, default=WORKER_PORT, metavar="P", help=say("worker.port")
    )
    worker.add_argument("--device", default="", metavar="A,B", help=say("worker.device"))
    nodes = verb("nodes", _nodes)
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
    workers = verb("workers", _workers)
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


def _add_engines(
    verb: Callable[[str, Run], argparse.ArgumentParser], say: Callable[[str], str]
) -> None:
    """The verbs for what answers: engines of this machine, and servers of others."""
    engine = verb("engine", _engine)
    engine.add_argument(
        "action", choices=ENGINE_ACTIONS, metavar="ACTION", help=say("engine.action")
    )
    engine.add_argument("name", nargs="?", default="", metavar="NAME", help=say("engine.name"))
    engine.add_argument("--build", metavar="KIND", help=say("engine.build"))
    endpoint = verb("endpoint", _endpoint)
    endpoint.add_argument(
        "action", choices=ENDPOINT_ACTIONS, metavar="ACTION", help=say("endpoint.action")
    )
    endpoint.add_argument("name", nargs="?", default="", metavar="NAME", help=say("endpoint.name"))
    endpoint.add_argument("url", nargs="?", default="", metavar="URL", help=say("endpoint.url"))
    endpoint.add_argument("--key", action="store_true", help=say("endpoint.key"))
    endpoint.add_argument("--key-file", action="store_true", help=say("endpoint.key_file"))


def _add_files(
    verb: Callable[[str, Run], argparse.ArgumentParser], say: Callable[[str], str]
) -> None:
    """The verbs that bring models onto the disk."""
    fetch = verb("download", _download)
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
    verify = verb("verify", _verify)
    verify.add_argument("path", type=Path, metavar="PATH", help=say("verify.path"))
    verify.add_argument("--repair", action="store_true", help=say("verify.repair"))
    take_in = verb("import", _import)
    take_in.add_argument("path", nargs="?", type=Path, metavar="PATH", help=say("import.path"))
    take_in.add_argument("--ollama", metavar="NAME", help=say("import.ollama"))
    take_in.add_argument("--to", type=Path, metavar="DIR", help=say("import.to"))


def _port(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (1 to 65535)")
    return number


BENCH_VARIABLES = ("threads", "ubatch", "cache", "experts", "layers", "context")
DEFAULT_USERS = ("1", "2", "4", "8")
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


def _speak_utf8() -> None:
    """A Windows console or a pipe may be set to a code page that has no Chinese."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")


def _doctor(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.backends.learned import LearnedSpeeds  # noqa: PLC0415
    from kimi_desktop.machine.doctor import doctor  # noqa: PLC0415 - a verb loads what it needs
    from kimi_desktop.machine.measuring import measure_all  # noqa: PLC0415
    from kimi_desktop.machine.types import Machine, MeasuredPart, Verdict  # noqa: PLC0415
    from kimi_desktop.planner.tiers import machine_verdict  # noqa: PLC0415

    def measure_now(machine: Machine) -> Machine:
        def tell(part: MeasuredPart, share: float) -> None:
            if sys.stderr.isatty():
                doing = message(f"machine.measuring.{part.value}", language)
                sys.stderr.write(f"\r\033[K{doing} {share:.0%}")

        try:
            return measure_all(machine, paths.measured_file, tell)
        finally:
            if sys.stderr.isatty():
                sys.stderr.write("\r\033[K")

    def judge(machine: Machine, language: Language) -> Verdict:
        learned = LearnedSpeeds(paths.learned_file, lambda: machine)
        return machine_verdict(machine, language, learned.factors())

    return doctor(
        measured_file=paths.measured_file,
        measure_now=measure_now if options.measure else None,
        json_output=options.json,
        language=language,
        folders=[paths.data, *_added_folders(paths)],
        out=sys.stdout,
        judge=judge,
    )


def _added_folders(paths: AppPaths) -> list[Path]:
    settings = SettingsStore(paths.settings_file).settings
    return [Path(folder) for folder in settings.models.folders]


def _models(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.models.library import Library  # noqa: PLC0415
    from kimi_desktop.models.listing import describe, table  # noqa: PLC0415
    from kimi_desktop.planner.cache import kv_bytes_per_token  # noqa: PLC0415

    folders = [paths.default_models_folder, *_added_folders(paths)]
    found = Library(kv_bytes_per_token).scan(folders)
    if options.json:
        sys.stdout.write(json.dumps(describe(found), ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in table(found, language))
    return 0


def _remote_models(paths: AppPaths) -> RemoteModels:
    """Models on the hubs of the settings, with the user's tokens."""
    from kimi_desktop.downloads.hubs.hub import HubClient, known_hubs  # noqa: PLC0415
    from kimi_desktop.downloads.hubs.tokens import TokenStore  # noqa: PLC0415
    from kimi_desktop.downloads.remote_models import RemoteModels  # noqa: PLC0415
    from kimi_desktop.planner.cache import kv_bytes_per_token  # noqa: PLC0415

    endpoint = SettingsStore(paths.settings_file).settings.hubs.endpoint
    client = HubClient(TokenStore(paths.config).value_of)
    return RemoteModels(kv_bytes_per_token, client, lambda: known_hubs(endpoint=endpoint))


def _plan(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.backends.learned import LearnedSpeeds  # noqa: PLC0415
    from kimi_desktop.backends.rpc.managing import joined  # noqa: PLC0415
    from kimi_desktop.engine_questions import ask_loads, exact_checker  # noqa: PLC0415
    from kimi_desktop.machine.gpus import GpuReader  # noqa: PLC0415
    from kimi_desktop.machine.machine_file import read_machine_file  # noqa: PLC0415
    from kimi_desktop.machine.measured import read_measured, with_measured  # noqa: PLC0415
    from kimi_desktop.machine.probe import look  # noqa: PLC0415
    from kimi_desktop.models.catalogue import shipped_catalogue  # noqa: PLC0415
    from kimi_desktop.models.library import Library  # noqa: PLC0415
    from kimi_desktop.models.types import remote_row  # noqa: PLC0415
    from kimi_desktop.planner.cache import kv_bytes_per_token  # noqa: PLC0415
    from kimi_desktop.planner.plan_types import Wishes  # noqa: PLC0415
    from kimi_desktop.planner.profiles import check_context  # noqa: PLC0415
    from kimi_desktop.planning import Finder, tell_asking, write_plan  # noqa: PLC0415
    from kimi_desktop.serving_plan import is_checkpoint_folder  # noqa: PLC0415

    check_context(options.ctx)  # before anything is read or asked
    for_server = options.engine in SERVER_ENGINES or (
        options.engine is None and is_checkpoint_folder(options.model)
    )
    _check_engine(options, for_server=for_server)
    if for_server:
        return _plan_server(options, paths, language)
    folders = [paths.default_models_folder, *_added_folders(paths)]
    factors = None
    if options.machine:
        machine = read_machine_file(options.machine)
    else:
        machine = look(folders, GpuReader())
        machine = with_measured(machine, read_measured(paths.measured_file, machine))
        own = machine
        factors = LearnedSpeeds(paths.learned_file, lambda: own).factors()
        machine = joined(paths, machine)
    library = Library(kv_bytes_per_token)
    finder = Finder(
        library,
        library.scan(folders),
        shipped_catalogue(),
        _remote_models(paths),
        machine,
    )
    tell_asking(options.model, language)
    target = finder.find(options.model)
    wishes = Wishes(
        profile=Profile(options.profile or Profile.SAFE.value),
        context=options.ctx,
        n_gpu_layers=options.ngl,
        n_cpu_moe=options.n_cpu_moe,
    )
    # Another machine has an engine of its own.
    binary = SettingsStore(paths.settings_file).settings.engine.llama_server
    loads = None
    if target.facts is not None and target.header is not None and not options.machine:
        row = remote_row(target.facts, target.place, target.file)
        loads = ask_loads(row, target.header(), binary)
    can_start = write_plan(
        target,
        machine,
        wishes,
        language,
        sys.stdout,
        json_output=options.json,
        factors=factors,
        loads=loads,
        wants_check=options.check,
        check=exact_checker(target.whole, machine) if options.check and target.whole else None,
    )
    if can_start and loads is not None and loads.will_load is False:
        told = message("plan.not_loaded", language, name=target.name, build=loads.build)
        sys.stderr.write(told + "\n")
        return 1
    return _plan_exit(target.name, language, can_start=can_start)


def _check_engine(options: argparse.Namespace, *, for_server: bool) -> None:
    """Refuse what would be ignored."""
    llama = {"--profile": options.profile, "--ngl": options.ngl}
    llama |= {"--n-cpu-moe": options.n_cpu_moe, "--check": options.check or None}
    server = {"--users": options.users, "--tp": options.tp, "--pp": options.pp}
    engine = "llama.cpp"
    if for_server:
        engine = "SGLang" if options.engine == "sglang" else "vLLM"
    for flag, value in (llama if for_server else server).items():
        if value is not None:
            raise PlanError(ErrorCode.PLAN_OTHER_ENGINE, {"flag": flag, "engine": engine})


def _plan_exit(name: str, language: Language, *, can_start: bool) -> int:
    """A plan that cannot be carried out is a failure, which scripts can see."""
    if not can_start:
        sys.stderr.write(message("plan.cannot_start", language, name=name) + "\n")
    return 0 if can_start else 1


def _plan_server(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.machine.gpus import GpuReader  # noqa: PLC0415
    from kimi_desktop.machine.machine_file import read_machine_file  # noqa: PLC0415
    from kimi_desktop.machine.probe import look  # noqa: PLC0415
    from kimi_desktop.models.catalogue import shipped_catalogue  # noqa: PLC0415
    from kimi_desktop.planner.vllm_search import check_wishes  # noqa: PLC0415
    from kimi_desktop.planner.vllm_types import (  # noqa: PLC0415
        ServerEngine,
        ServerWishes,
        Split,
    )
    from kimi_desktop.planning import tell_asking  # noqa: PLC0415
    from kimi_desktop.serving_plan import find_served, write_server_plan  # noqa: PLC0415

    fixed = options.tp is not None or options.pp is not None
    wishes = ServerWishes(
        engine=ServerEngine(options.engine or ServerEngine.VLLM.value),
        context=options.ctx,
        users=1 if options.users is None else options.users,
        split=Split(options.tp or 1, options.pp or 1) if fixed else None,
    )
    check_wishes(wishes, tensor=options.tp, pipeline=options.pp)
    folders = [paths.default_models_folder, *_added_folders(paths)]
    machine = read_machine_file(options.machine) if options.machine else look(folders, GpuReader())
    tell_asking(options.model, language)
    target = find_served(options.model, shipped_catalogue(), _remote_models(paths))
    can_start = write_server_plan(
        target, machine, wishes, language, sys.stdout, json_output=options.json
    )
    return _plan_exit(target.model.name, language, can_start=can_start)


def _diagnose(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    del paths  # a pasted log needs no profile
    from kimi_desktop.diagnosis.engine import diagnose  # noqa: PLC0415
    from kimi_desktop.diagnosis.read import evidence_from, read_evidence  # noqa: PLC0415
    from kimi_desktop.diagnosis.report import (  # noqa: PLC0415
        diagnosis_lines,
        diagnosis_object,
    )

    if str(options.log) == "-":
        evidence = evidence_from(sys.stdin.buffer)
    else:
        evidence = read_evidence(options.log)
    found = diagnose(evidence)
    if options.json:
        told = diagnosis_object(found, language)
        sys.stdout.write(json.dumps(told, ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in diagnosis_lines(found, language))
    return 0


def _download(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.downloading import fetch_model  # noqa: PLC0415

    _log(paths)
    fetch_model(
        paths,
        language,
        wanted=options.repo,
        folder=options.to or paths.default_models_folder,
        include=options.include,
        source=options.source,
        json_output=options.json,
    )
    return 0


def _verify(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.downloading import repair_model  # noqa: PLC0415
    from kimi_desktop.downloads.verify.terminal import bad_report, verify_path  # noqa: PLC0415

    report = verify_path(options.path, language, json_output=options.json)
    if report.is_good:
        return 0
    if not options.repair:
        raise bad_report(report)
    _log(paths)
    repair_model(paths, language, report, json_output=options.json)
    return 0


def _import(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.downloads.imports.terminal import (  # noqa: PLC0415
        import_of_ollama,
        import_path,
        list_places,
    )

    folder = options.to or paths.default_models_folder
    if options.ollama:
        import_of_ollama(options.ollama, folder, language, json_output=options.json)
    elif options.path is None:
        list_places(language, json_output=options.json)
    else:
        import_path(options.path, folder, language, json_output=options.json)
    return 0


def _engine(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.downloads.engine_builds.terminal import EngineVerb  # noqa: PLC0415

    _log(paths)
    with EngineVerb(paths, language, json_output=options.json) as verb:
        verb.run(options.action, options.name, options.build)
    return 0


def _endpoint(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.backends.attached.terminal import EndpointVerb  # noqa: PLC0415
    from kimi_desktop.terminal import idle_core  # noqa: PLC0415

    needed = {"list": 0, "add": 2}.get(options.action, 1)
    if needed > sum(1 for given in (options.name, options.url) if given):
        what = ("NAME", "NAME URL")[needed - 1]
        sys.stderr.write(message("attached.terminal.needs", language, what=what) + "\n")
        return BAD_ARGUMENTS
    _log(paths)
    with idle_core(paths) as core:
        verb = EndpointVerb(core.other_servers, language, json_output=options.json)
        if options.action == "list":
            return verb.list()
        if options.action == "check":
            return verb.check(options.name)
        if options.action == "remove":
            return verb.remove(options.name)
        with_key = options.key or options.key_file
        return verb.add(options.name, options.url, with_key=with_key, key_in_file=options.key_file)


def _chat(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.terminal import chat  # noqa: PLC0415

    _log(paths)
    return chat(
        paths,
        language,
        wanted=options.model,
        endpoint=options.endpoint,
        prompt=options.prompt,
        json_output=options.json,
    )


def _bench(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.monitor.experiment_types import Variable  # noqa: PLC0415
    from kimi_desktop.terminal import BenchOptions, bench  # noqa: PLC0415

    _log(paths)
    variable, values = options.vary or ("users", options.users or DEFAULT_USERS)
    wishes = BenchOptions(Variable(variable), values)
    return bench(paths, language, wanted=options.model, options=wishes, json_output=options.json)


def _serve(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.terminal import ServeOptions, lan_address, serve  # noqa: PLC0415

    address = None if options.lan is None else lan_address(options.lan)
    if options.local:
        address = ""
    if options.endpoint and (options.profile or options.ctx is not None):
        text = message("cli.not_with_endpoint", language, name=options.endpoint)
        sys.stderr.write(text + "\n")
        return BAD_ARGUMENTS
    if options.unit:
        return _write_unit(options, address, language)
    _log(paths)
    wishes = ServeOptions(
        port=options.port,
        address=address,
        encrypted=options.tls,
        profile=Profile(options.profile) if options.profile else None,
        context=options.ctx,
        endpoint=options.endpoint,
    )
    return serve(paths, language, wanted=options.model, options=wishes, json_output=options.json)


def _worker(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.backends.rpc.terminal import WorkerOptions, run_worker  # noqa: PLC0415

    _log(paths)
    wishes = WorkerOptions(
        options.address,
        options.port,
        tuple(name.strip() for name in options.device.split(",") if name.strip()),
    )
    binary = SettingsStore(paths.settings_file).settings.engine.llama_server
    return run_worker(paths, wishes, binary, language, json_output=options.json)


def _nodes(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.backends.nodes.types import parse_nodes  # noqa: PLC0415
    from kimi_desktop.machine.gpus import GpuReader  # noqa: PLC0415
    from kimi_desktop.machine.machine_file import read_machine_file  # noqa: PLC0415
    from kimi_desktop.machine.probe import look  # noqa: PLC0415
    from kimi_desktop.models.catalogue import shipped_catalogue  # noqa: PLC0415
    from kimi_desktop.nodes_verb import NodesOptions, serve_on_nodes  # noqa: PLC0415
    from kimi_desktop.planner.vllm_nodes import Launcher  # noqa: PLC0415
    from kimi_desktop.planner.vllm_search import check_wishes  # noqa: PLC0415
    from kimi_desktop.planner.vllm_types import ServerWishes, Split  # noqa: PLC0415
    from kimi_desktop.serving_plan import find_served  # noqa: PLC0415

    nodes = parse_nodes(options.nodes)
    fixed = options.tp is not None or options.pp is not None
    split = Split(options.tp or 1, options.pp or 1) if fixed else None
    wishes = ServerWishes(context=options.ctx, users=options.users, split=split)
    check_wishes(wishes, tensor=options.tp, pipeline=options.pp)
    machine = (
        read_machine_file(options.machine)
        if options.machine
        else look([paths.default_models_folder, *_added_folders(paths)], GpuReader())
    )
    target = find_served(options.model, shipped_catalogue(), _remote_models(paths))
    wanted = NodesOptions(
        nodes,
        wishes,
        Launcher.RAY if options.ray else Launcher.PROCESSES,
        options.vllm,
        options.port,
        options.check,
        options.runs,
        options.trust_remote_code,
    )
    return serve_on_nodes(paths, target, machine, wanted, language, json_output=options.json)


def _workers(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.backends.rpc.managing import manage_workers  # noqa: PLC0415

    return manage_workers(
        paths,
        options.action,
        options.address,
        options.device,
        language,
        json_output=options.json,
    )


def _write_unit(options: argparse.Namespace, address: str | None, language: Language) -> int:
    from kimi_desktop.serve.unit import UNIT_NAME, write_unit  # noqa: PLC0415

    words = [sys.executable, "-m", "kimi_desktop", "serve"]
    if options.model:  # the unit runs in another folder
        is_file = not options.endpoint and Path(options.model).is_file()
        words.append(str(Path(options.model).resolve()) if is_file else options.model)
    for flag, value in (
        ("--endpoint", options.endpoint),
        ("--port", options.port),
        ("--profile", options.profile),
        ("--ctx", options.ctx),
    ):
        words += [flag, str(value)] if value is not None else []
    if address is not None:
        words += ["--lan", address] if address else ["--local"]
    if options.tls is not None:
        words.append("--tls" if options.tls else "--no-tls")
    file = write_unit(words)
    if options.json:
        sys.stdout.write(json.dumps({"unit": str(file), "command": words}) + "\n")
    else:
        text = message("cli.serve.unit_written", language, path=str(file), name=UNIT_NAME)
        sys.stdout.write(text + "\n")
    return 0


def _log(paths: AppPaths) -> None:
    try:
        paths.make()
    except OSError as error:
        detail = error.strerror or str(error)
        params = {"path": str(paths.data), "detail": detail}
        raise SettingsError(ErrorCode.DATA_READ_ONLY, params, cause=error) from error
    log_to_file(paths.logs)
