"""The verbs ``download`` and ``verify --repair``, joined to hubs, tokens, planner and queue. No Qt.

On the caller's thread.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from kimi_desktop.backends.engine_checks import EngineChecks
from kimi_desktop.backends.engines.choose import engines_of
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.downloads.header_verdict import header_verdict
from kimi_desktop.downloads.hubs.hub import HubClient, known_hubs
from kimi_desktop.downloads.hubs.tokens import TokenStore
from kimi_desktop.downloads.jobs import kept_jobs
from kimi_desktop.downloads.load_verdict import load_verdict
from kimi_desktop.downloads.preflight import Judge
from kimi_desktop.downloads.preparing import preparing
from kimi_desktop.downloads.remote_models import RemoteModels
from kimi_desktop.downloads.terminal import DownloadVerb
from kimi_desktop.downloads.verify.mending import mend
from kimi_desktop.downloads.verify.types import VerifyReport
from kimi_desktop.machine.gpus import GpuReader
from kimi_desktop.machine.probe import look
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.planner.cache import kv_bytes_per_token


def fetch_model(
    paths: AppPaths,
    language: Language,
    *,
    wanted: str,
    folder: Path,
    include: Sequence[str] = (),
    source: str | None = None,
    json_output: bool = False,
) -> None:
    """Download what ``wanted`` names into a models folder.

    Raises:
        DownloadError: no hub offers it, it may not start, or it could not be fetched or proven.
        KeyboardInterrupt: everything that came is kept.
    """
    tokens = TokenStore(paths.config)

    store = SettingsStore(paths.settings_file)
    settings = store.settings
    io = IoLoop()
    checks = EngineChecks(
        io,
        build=engines_of(paths, store).chosen_build,
        catalogue=shipped_catalogue,
    )

    def judges() -> Sequence[Judge]:
        remote = RemoteModels(kv_bytes_per_token, HubClient(tokens.value_of))
        return (load_verdict(remote, checks), header_verdict(remote, look([folder], GpuReader())))

    endpoint = settings.hubs.endpoint
    prepare = preparing(
        tokens.value_of,
        hubs=lambda: known_hubs(endpoint=endpoint),
        judges=judges,
        jobs=lambda: kept_jobs(paths.downloads_file),
    )
    if not json_output:
        asked = (source,) if source else [hub.endpoint for hub in known_hubs(endpoint=endpoint)]
        hosts = ", ".join(urlsplit(one).netloc or one for one in asked)
        sys.stderr.write(message("downloads.asking", language, hosts=hosts) + "\n")
    try:
        prepared = prepare(wanted, folder, include, source)
    finally:
        io.close()
    DownloadVerb(paths, language, tokens.value_of, json_output=json_output).fetch(prepared)


def repair_model(
    paths: AppPaths, language: Language, report: VerifyReport, *, json_output: bool = False
) -> None:
    """Put right what a verification found: rename, and fetch only what is wrong.

    Raises:
        DownloadError: nobody is known who offers it, or it could not be fetched or proven.
        KeyboardInterrupt: everything that came is kept.
    """
    spec = mend(report)
    if spec is not None:
        tokens = TokenStore(paths.config)
        DownloadVerb(paths, language, tokens.value_of, json_output=json_output).run(spec)
