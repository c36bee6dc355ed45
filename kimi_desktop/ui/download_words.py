"""Downloads in words: names, states, figures, sources. Qt thread."""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from kimi_desktop.base.messages import describe_error, message
from kimi_desktop.base.units import GB, MB, format_duration, format_file_size, format_rate
from kimi_desktop.downloads.queue_types import (
    DownloadState,
    DownloadStatus,
    PartState,
    PartStatus,
)
from kimi_desktop.ui.dates import moment_text
from kimi_desktop.ui.language import language
from kimi_desktop.ui.widgets.chip import Verdict

HUB_NAMES = {
    "huggingface.co": "Hugging Face",
    "hf-mirror.com": "hf-mirror",
    "modelscope.cn": "ModelScope",
    "www.modelscope.cn": "ModelScope",
    "www.modelscope.ai": "ModelScope",
}
_FORMATS = ("-GGUF", "-gguf")
_CHIPS = {
    DownloadState.QUEUED: (Verdict.PLAIN, "clock"),
    DownloadState.DOWNLOADING: (Verdict.WORKING, "download"),
    DownloadState.PAUSED: (Verdict.PLAIN, "pause"),
    DownloadState.READY: (Verdict.OK, "check"),
    DownloadState.FAILED: (Verdict.BAD, "triangle"),
}
translate = QCoreApplication.translate


@dataclass(frozen=True, slots=True)
class Fact:
    """One figure of a line; ``strong`` stands before the rest."""

    text: str
    strong: str = ""
    tone: str = "text"

    @property
    def whole(self) -> str:
        """As it is read."""
        return f"{self.strong} {self.text}".strip()


def name_of(title: str) -> tuple[str, str]:
    """Model and quantization of a download's title: "unsloth/Kimi-K2.6-GGUF UD-Q4_K_XL"."""
    repo, _, quantization = title.partition(" ")
    name = repo.rpartition("/")[2]
    for suffix in _FORMATS:
        name = name.removesuffix(suffix)
    return name.replace("-", " ").replace("_", " "), quantization


def full_title(title: str) -> str:
    """Both in one."""
    return " ".join(part for part in name_of(title) if part)


def hub_name(endpoint: str) -> str:
    """How people call a hub: by its endpoint or its host."""
    host = urllib.parse.urlsplit(endpoint).hostname if "://" in endpoint else endpoint
    return HUB_NAMES.get(host or "", host or "")


def state_of(status: DownloadStatus) -> tuple[Verdict, str, str]:
    """Verdict, icon and word of the chip."""
    if status.state is DownloadState.VERIFYING:
        return Verdict.CHECKED, "check", _verifying(status)
    if status.state is DownloadState.DOWNLOADING and status.waiting is not None:
        return Verdict.WARN, "clock", translate("Downloads", "Waiting")
    key = status.state.value
    verdict, icon = _CHIPS[status.state]
    if status.state is DownloadState.DOWNLOADING and status.is_repairing:
        key, icon = "repairing", "refresh"
    if status.state is DownloadState.PAUSED and status.reason is not None:
        verdict = Verdict.WARN
    return verdict, icon, message(f"downloads.state.{key}", language())


def facts_of(status: DownloadStatus) -> tuple[Fact, ...]:
    """The line under the strip."""
    facts = [Fact("", strong=shards_of(status)), Fact(amount_of(status))]
    if status.is_running and status.bytes_per_s >= 1:
        facts.append(Fact(format_rate(status.bytes_per_s)))
    if status.is_running and status.eta_s is not None:
        facts.append(
            Fact(
                translate("Downloads", "left"),
                strong=format_duration(max(1.0, status.eta_s), language()),
            )
        )
    facts += _more(status)
    return tuple(facts)


def shards_of(status: DownloadStatus) -> str:
    """``Shards 6/14``."""
    return translate("Downloads", "Shards {done}/{total}").format(
        done=status.shards_done, total=status.shards
    )


def amount_of(status: DownloadStatus) -> str:
    """``271.4 of 583.7 GB (46%)``; while it is verified, how much of it was."""
    done, total = status.done_bytes, status.total_bytes
    checking = status.state is DownloadState.VERIFYING
    if checking:
        done = min(status.hashed_bytes, total)
    share = done / total if total else 0.0
    if total >= GB:
        text = translate("Downloads", "{done} of {total}").format(
            done=f"{done / GB:,.1f}", total=f"{total / GB:,.1f} GB"
        )
    else:
        text = translate("Downloads", "{done} of {total}").format(
            done=format_file_size(done), total=format_file_size(total)
        )
    # Rounded down: 100 % is said when all of it is there.
    percent = f"({int(share * 100)}%)"
    if checking:
        return translate("Downloads", "{amount} checked").format(amount=f"{text} {percent}")
    return f"{text} {percent}"


def source_of(status: DownloadStatus) -> str:
    """Where it comes from, or would."""
    return hub_name(status.source or status.preferred or next(iter(status.sources), ""))


def measured_words(status: DownloadStatus) -> tuple[list[tuple[str, str]], str]:
    """Each source with what it gave in MB/s when it was measured, and when that was."""
    rates = {one.endpoint: one.bytes_per_s for one in status.measured}
    words = []
    for endpoint in status.sources:
        rate = rates.get(endpoint)
        figure = "" if rate is None else f" {_megabytes(rate)}"
        words.append((endpoint, hub_name(endpoint) + figure))
    if not status.measured:
        return words, translate("Downloads", "not measured")
    when = moment_text(min(one.at for one in status.measured))
    return words, translate("Downloads", "MB/s, measured at {time}").format(time=when)


def _megabytes(rate: float) -> str:
    """Without its unit; a dash where a source did not answer."""
    return f"{rate / MB:,.{1 if rate < 10 * MB else 0}f}" if rate else "–"


def sentence_of(status: DownloadStatus) -> tuple[str, str]:
    """Why it stands still and what to do; empty when nothing is wrong."""
    error = status.reason or status.waiting
    return describe_error(error, language()) if error is not None else ("", "")


def parts_of(status: DownloadStatus) -> tuple[PartStatus, ...]:
    """Each file for the strip; by the counts alone where no more is known."""
    if status.state is DownloadState.READY:
        return (PartStatus(PartState.DONE, 1.0),) * status.shards
    if status.parts:
        return status.parts
    done = status.shards_done
    rest = status.shards - done
    if rest <= 0:
        return (PartStatus(PartState.DONE, 1.0),) * status.shards
    each = status.total_bytes / status.shards
    more = max(0.0, status.done_bytes - done * each) / each if each else 0.0
    parts = [PartStatus(PartState.DONE, 1.0)] * done
    for _ in range(rest):
        share = min(1.0, more)
        parts.append(PartStatus(PartState.COMING if share else PartState.WAITING, share))
        more -= share
    return tuple(parts)


def spoken(status: DownloadStatus) -> str:
    """The whole row for a screen reader."""
    parts = [full_title(status.title), state_of(status)[2]]
    parts += [fact.whole for fact in facts_of(status)]
    return ", ".join(part for part in parts if part)


def _verifying(status: DownloadStatus) -> str:
    if status.verifying_shard is None:
        return message("downloads.state.verifying", language())
    return message(
        "downloads.state.verifying_shard",
        language(),
        shard=status.verifying_shard,
        shards=status.shards,
    )


def _more(status: DownloadStatus) -> list[Fact]:
    """Muted words at the end: connections, source, why nothing moves (not of a failure)."""
    if status.state is DownloadState.FAILED:
        return []
    text = sentence_of(status)[0]
    if text:
        return [*_next_try(status), *_since(status), Fact(text, tone="warn")]
    words = []
    if status.state is DownloadState.PAUSED:
        words.append(_paused_by_you(status))
        words.append(translate("Downloads", "goes on at the same byte"))
    elif status.is_running and status.connections:
        one, several = (
            translate("Downloads", "one connection"),
            translate("Downloads", "{count} connections"),
        )
        words.append(one if status.connections == 1 else several.format(count=status.connections))
    if status.pieces_replaced:
        words.append(
            translate("Downloads", "pieces replaced: {count}").format(count=status.pieces_replaced)
        )
    words.append(source_of(status))
    return [Fact(" · ".join(word for word in words if word), tone="muted")]


def _paused_by_you(status: DownloadStatus) -> str:
    if status.rested_at is None:
        return translate("Downloads", "paused by you")
    when = moment_text(status.rested_at)
    return translate("Downloads", "paused by you at {time}").format(time=when)


def _since(status: DownloadStatus) -> list[Fact]:
    """Since when one stands still that nobody paused."""
    if status.state is not DownloadState.PAUSED or status.rested_at is None:
        return []
    when = moment_text(status.rested_at)
    text = translate("Downloads", "paused by itself at {time}").format(time=when)
    return [Fact(text, tone="muted")]


def _next_try(status: DownloadStatus) -> list[Fact]:
    """When a download that waits goes on by itself."""
    if status.state is not DownloadState.DOWNLOADING or not status.retry_in_s:
        return []
    took = format_duration(max(1.0, status.retry_in_s), language())
    return [Fact(translate("Downloads", "next try in {time}").format(time=took), tone="muted")]
