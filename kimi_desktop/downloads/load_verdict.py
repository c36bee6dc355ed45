"""The engine's word on a download: would it load the model at all. Blocking (pool).

Two requests for the first part's header; the engine is asked with it before the first byte of the
weights. It is a warning, not a stop: people also fetch for another computer or a newer engine.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from kimi_desktop.backends.engine_checks import EngineChecks
from kimi_desktop.base.errors import DownloadError, ModelError
from kimi_desktop.base.messages import Language
from kimi_desktop.base.messages.text import Text
from kimi_desktop.downloads.choose import Choice
from kimi_desktop.downloads.preflight import Judge
from kimi_desktop.downloads.preflight_types import Level, Row
from kimi_desktop.downloads.remote_copies import copy_remote_header
from kimi_desktop.downloads.remote_models import RemoteModels
from kimi_desktop.downloads.remote_sets import gguf_sets
from kimi_desktop.downloads.types import RepoListing
from kimi_desktop.models.types import LocalModel, ModelFacts, remote_row
from kimi_desktop.models.will_load import LoadVerdict, load_sentences


def load_verdict(remote: RemoteModels, checks: EngineChecks) -> Judge:
    """A judge that asks the chosen engine. Not on the IO thread: it waits for it.

    Args:
        remote: reads and remembers headers.
        checks: asks the engine and remembers its answers.
    """

    def judge(listing: RepoListing, choice: Choice) -> Row | None:
        one = next(
            (s for s in gguf_sets(choice.files) if s.quantization == choice.quantization), None
        )
        if one is None:
            return None
        try:
            facts = remote.facts(listing, one)
            header = copy_remote_header(listing, one.parts[0])
        except (DownloadError, ModelError):
            return None  # the judge of memory says what is wrong with the header
        row = _row_of(facts, listing, one.path)
        return _told(checks.will_load(row, header).result())

    return judge


def _row_of(facts: ModelFacts, listing: RepoListing, path: str) -> LocalModel:
    return remote_row(facts, f"{listing.repo}/{path}", PurePosixPath(path).name)


def _told(verdict: LoadVerdict) -> Row | None:
    """All findings in one row; nothing when nobody could say."""
    if verdict.will_load is None:
        return None
    en, zh = (load_sentences(verdict, language) for language in Language)
    text = Text(" ".join(what for what, _ in en), "".join(what for what, _ in zh))
    then = Text(" ".join(next_ for _, next_ in en if next_), "".join(next_ for _, next_ in zh))
    level = Level.OK if verdict.will_load and not verdict.warns else Level.WARN
    return Row("loads", level, text, then if then.en else None)
