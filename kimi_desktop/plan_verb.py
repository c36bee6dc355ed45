"""The verb ``plan``: a model, a machine and wishes become a plan for llama.cpp or a server engine.

No Qt, on the caller's thread.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kimi_desktop.backends.engines.choose import engines_of
from kimi_desktop.backends.learned import LearnedSpeeds
from kimi_desktop.backends.rpc.managing import joined
from kimi_desktop.base.errors import ErrorCode, PlanError
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.cli_parser import SERVER_ENGINES
from kimi_desktop.downloads.hubs.hub import HubClient, known_hubs
from kimi_desktop.downloads.hubs.tokens import TokenStore
from kimi_desktop.downloads.remote_models import RemoteModels
from kimi_desktop.engine_questions import ask_loads, exact_checker
from kimi_desktop.machine.gpus import GpuReader
from kimi_desktop.machine.machine_file import read_machine_file
from kimi_desktop.machine.measured import read_measured, with_measured
from kimi_desktop.machine.probe import look
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.models.library import Library
from kimi_desktop.models.types import remote_row
from kimi_desktop.planner.cache import kv_bytes_per_token
from kimi_desktop.planner.plan_types import Profile, Wishes
from kimi_desktop.planner.profiles import check_context
from kimi_desktop.planner.vllm_report import shortfall_sentence
from kimi_desktop.planner.vllm_search import check_wishes
from kimi_desktop.planner.vllm_types import ServerEngine, ServerWishes, Split
from kimi_desktop.planning import Finder, tell_asking, write_plan
from kimi_desktop.serving_plan import find_served, is_checkpoint_folder, write_server_plan


def remote_models(paths: AppPaths) -> RemoteModels:
    """Models on the hubs of the settings, with the user's tokens."""
    endpoint = SettingsStore(paths.settings_file).settings.hubs.endpoint
    client = HubClient(TokenStore(paths.config).value_of)
    return RemoteModels(kv_bytes_per_token, client, lambda: known_hubs(endpoint=endpoint))


def plan(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    """Write the plan of a model. Returns the exit code: 1 when it cannot be carried out.

    Raises:
        KimiError: no such model, a machine file or a wish that makes no sense, nobody to ask.
    """
    check_context(options.ctx)  # before anything is read or asked
    for_server = options.engine in SERVER_ENGINES or (
        options.engine is None and is_checkpoint_folder(options.model)
    )
    _check_engine(options, for_server=for_server)
    if for_server:
        return _plan_server(options, paths, language)
    folders = [
        paths.default_models_folder,
        *map(Path, SettingsStore(paths.settings_file).settings.models.folders),
    ]
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
        remote_models(paths),
        machine,
    )
    tell_asking(options.model, language)
    target = finder.find(options.model)
    wishes = Wishes(
        profile=Profile(options.profile or Profile.SAFE.value),
        context=options.ctx,
        n_gpu_layers=options.ngl,
        n_cpu_moe=options.n_cpu_moe,
        n_parallel=1 if options.parallel is None else options.parallel,
        cache_type=options.cache_type,
        n_batch=options.batch_size,
        n_ubatch=options.ubatch_size,
    )
    loads = None  # another machine has an engine of its own
    if target.facts is not None and target.header is not None and not options.machine:
        row = remote_row(target.facts, target.place, target.file)
        loads = ask_loads(
            row, target.header(), engines_of(paths, SettingsStore(paths.settings_file))
        )
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
    llama |= {"--parallel": options.parallel, "--cache-type-k": options.cache_type}
    llama |= {"--batch-size": options.batch_size, "--ubatch-size": options.ubatch_size}
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
    fixed = options.tp is not None or options.pp is not None
    wishes = ServerWishes(
        engine=ServerEngine(options.engine or ServerEngine.VLLM.value),
        context=options.ctx,
        users=1 if options.users is None else options.users,
        split=Split(options.tp or 1, options.pp or 1) if fixed else None,
    )
    check_wishes(wishes, tensor=options.tp, pipeline=options.pp)
    folders = [
        paths.default_models_folder,
        *map(Path, SettingsStore(paths.settings_file).settings.models.folders),
    ]
    machine = read_machine_file(options.machine) if options.machine else look(folders, GpuReader())
    tell_asking(options.model, language)
    target = find_served(options.model, shipped_catalogue(), remote_models(paths))
    found = write_server_plan(
        target, machine, wishes, language, sys.stdout, json_output=options.json
    )
    short = shortfall_sentence(found, language)
    if short is not None:
        sys.stderr.write(short + "\n")
    return 0 if short is None else 1


def _model_folders(paths: AppPaths) -> list[Path]:
    added = SettingsStore(paths.settings_file).settings.models.folders
    return [paths.default_models_folder, *map(Path, added)]
