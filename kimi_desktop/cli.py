"""The verbs of ``kimi-desktop``: the same services as the window, in a terminal. No Qt.

Every verb takes ``--json`` and ``--lang``. Exit codes: 0 done, 1 failed with a sentence on stderr,
2 bad arguments, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kimi_desktop.base.errors import DownloadError, ErrorCode, KimiError, SettingsError
from kimi_desktop.base.logs import log_to_file
from kimi_desktop.base.messages import Language, describe_error, message, system_language
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import LanguageChoice, Settings, SettingsStore
from kimi_desktop.base.terminal import json_text, printable
from kimi_desktop.cli_parser import DEFAULT_USERS, Run, command_line
from kimi_desktop.planner.plan_types import Profile

BAD_ARGUMENTS, INTERRUPTED = 2, 130


def main(arguments: Sequence[str]) -> int:
    """Run one verb and return its exit code."""
    paths = AppPaths.default()
    language = _language(arguments, paths)
    options = command_line(language, RUNS).parse_args(list(arguments))
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
            sys.stdout.write(json_text(found) + "\n")
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
    from kimi_desktop.downloads.unfinished import (  # noqa: PLC0415
        describe_unfinished,
        unfinished,
        unfinished_lines,
    )
    from kimi_desktop.models.library import Library  # noqa: PLC0415
    from kimi_desktop.models.listing import describe, table  # noqa: PLC0415
    from kimi_desktop.planner.cache import kv_bytes_per_token  # noqa: PLC0415

    folders = [paths.default_models_folder, *_added_folders(paths)]
    found = Library(kv_bytes_per_token).scan(folders)
    try:
        coming = unfinished(paths.downloads_file)
    except DownloadError as error:  # the models are there all the same
        sys.stderr.write(describe_error(error, language)[0] + "\n")
        coming = ()
    if options.json:
        rows = [*describe(found), *describe_unfinished(coming)]
        sys.stdout.write(json_text(rows, indent=1) + "\n")
        return 0
    lines = table(found, language) if found or not coming else []
    lines += unfinished_lines(coming, language)
    sys.stdout.writelines(f"{printable(line)}\n" for line in lines)
    return 0


def _plan(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.plan_verb import plan  # noqa: PLC0415

    return plan(options, paths, language)


def _diagnose(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.runs_verb import diagnose_what  # noqa: PLC0415

    return diagnose_what(options, paths, language)


def _runs(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.runs_verb import list_runs  # noqa: PLC0415

    return list_runs(options, paths, language)


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
    _join_library(paths, options.to, language)
    return 0


def _join_library(paths: AppPaths, folder: Path | None, language: Language) -> None:
    """A folder that models were put into is looked into from now on."""
    if folder is None:
        return
    folder = folder.expanduser().absolute()
    store = SettingsStore(paths.settings_file)
    known = [paths.default_models_folder, *map(Path, store.settings.models.folders)]
    if any(folder.is_relative_to(one) for one in known):
        return

    def add(settings: Settings) -> Settings:
        folders = (*settings.models.folders, str(folder))
        return replace(settings, models=replace(settings.models, folders=folders))

    store.update(add)
    sys.stderr.write(message("cli.folder_added", language, path=str(folder)) + "\n")


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
    if options.ollama or options.path is not None:
        _join_library(paths, options.to, language)
    return 0


def _engine(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.downloads.engine_builds.terminal import EngineVerb  # noqa: PLC0415

    _log(paths)
    with EngineVerb(paths, language, json_output=options.json) as verb:
        verb.run(options.action, options.name, options.build)
    return 0


def _engines(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.engines_verb import EnginesVerb, asked  # noqa: PLC0415

    if options.action == "install" and options.name is None:
        sys.stderr.write(message("cli.engines.name", language) + "\n")
        return BAD_ARGUMENTS
    _log(paths)
    with EnginesVerb(paths, language, json_output=options.json) as verb:
        if options.action == "list":
            return verb.list()
        agrees = asked(language, yes=options.yes, answers=sys.stdin, out=sys.stderr)
        return verb.install(options.name, agrees)


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
        trusts_code=options.trust_remote_code,
        shut_in=options.sandbox,
        json_output=options.json,
    )


def _bench(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.bench_verb import BenchOptions, bench  # noqa: PLC0415
    from kimi_desktop.monitor.experiment_types import Variable  # noqa: PLC0415

    _log(paths)
    variable, values = options.vary or ("users", options.users or DEFAULT_USERS)
    wishes = BenchOptions(Variable(variable), values, options.compare)
    return bench(paths, language, wanted=options.model, options=wishes, json_output=options.json)


def _serve(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.serve_verb import (  # noqa: PLC0415
        ServeOptions,
        lan_address,
        serve,
        write_serve_unit,
    )

    address = "" if options.lan is None else lan_address(options.lan)
    if options.endpoint and (options.profile or options.ctx is not None):
        text = message("cli.not_with_endpoint", language, name=options.endpoint)
        sys.stderr.write(text + "\n")
        return BAD_ARGUMENTS
    if options.unit and options.trust_remote_code:
        sys.stderr.write(message("cli.trust_not_in_unit", language) + "\n")
        return BAD_ARGUMENTS
    if options.unit:
        write_serve_unit(options, address, language)
        return 0
    _log(paths)
    wishes = ServeOptions(
        port=options.port,
        address=address,
        encrypted=options.tls,
        profile=Profile(options.profile) if options.profile else None,
        context=options.ctx,
        endpoint=options.endpoint,
        trusts_code=options.trust_remote_code,
        shut_in=options.sandbox,
    )
    return serve(paths, language, wanted=options.model, options=wishes, json_output=options.json)


def _clients(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    from kimi_desktop.serve.terminal import ClientsVerb  # noqa: PLC0415

    if options.action in ("add", "revoke") and not options.name:
        sys.stderr.write(message("cli.clients.needs_name", language) + "\n")
        return BAD_ARGUMENTS
    _log(paths)
    verb = ClientsVerb(paths.config, language, json_output=options.json)
    actions: dict[str, Callable[[], None]] = {
        "list": verb.list,
        "show": lambda: verb.show(options.name),
        "add": lambda: verb.add(options.name),
        "revoke": lambda: verb.revoke(options.name),
        "renew": verb.renew,
    }
    actions[options.action]()
    return 0


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
    from kimi_desktop.plan_verb import remote_models  # noqa: PLC0415
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
    target = find_served(options.model, shipped_catalogue(), remote_models(paths))
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


def _log(paths: AppPaths) -> None:
    try:
        paths.make()
    except OSError as error:
        detail = error.strerror or str(error)
        params = {"path": str(paths.data), "detail": detail}
        raise SettingsError(ErrorCode.DATA_READ_ONLY, params, cause=error) from error
    log_to_file(paths.logs)


RUNS: Mapping[str, Run] = {
    "doctor": _doctor,
    "models": _models,
    "plan": _plan,
    "download": _download,
    "verify": _verify,
    "import": _import,
    "engine": _engine,
    "engines": _engines,
    "endpoint": _endpoint,
    "chat": _chat,
    "bench": _bench,
    "serve": _serve,
    "clients": _clients,
    "worker": _worker,
    "nodes": _nodes,
    "workers": _workers,
    "runs": _runs,
    "diagnose": _diagnose,
}
