"""Numbers as people read them: units always written, GiB for memory, GB for files.

1 GiB = 2**30 bytes; 1 GB = 10**9 bytes. English and Chinese group digits alike (1,234.5).
"""

from __future__ import annotations

from kimi_desktop.base.messages import Language

KIB = 2**10
MIB = 2**20
GIB = 2**30
KB = 10**3
MB = 10**6
GB = 10**9
TB = 10**12

MINUTE_S = 60
HOUR_S = 3600
DAY_S = 86_400


def format_gib(size_bytes: float, *, unit: bool = True) -> str:
    """Memory: one decimal from 10 GiB on, two below; MiB below a quarter GiB."""
    if unit and 0 < size_bytes < GIB / 4:
        return f"{size_bytes / MIB:,.0f} MiB"
    gib = size_bytes / GIB
    text = f"{gib:,.{1 if round(gib, 2) >= 10 else 2}f}"
    return f"{text} GiB" if unit else text


def format_file_size(size_bytes: float) -> str:
    """Files and disks: GB without decimals from 100 GB on, TB from 1 TB on; one below 10 MB.

    What rounds to a thousand of one unit is shown in the next.
    """
    if round(size_bytes / GB) >= 1000:
        return f"{size_bytes / TB:,.2f} TB"
    if round(size_bytes / GB, 1) >= 100:
        return f"{size_bytes / GB:,.0f} GB"
    if round(size_bytes / MB) >= 1000:
        return f"{size_bytes / GB:,.1f} GB"
    if round(size_bytes / KB) >= 1000:
        return f"{_short(size_bytes / MB)} MB"
    if round(size_bytes) >= KB:
        return f"{_short(size_bytes / KB)} KB"
    return f"{size_bytes:,.0f} B"


def _short(number: float) -> str:
    """One decimal below ten."""
    return f"{number:,.1f}" if round(number, 1) < 10 else f"{number:,.0f}"


def format_rate(bytes_per_s: float) -> str:
    """Transfer speed in MB/s or GB/s."""
    if round(bytes_per_s / MB, 1) >= 1000:
        return f"{bytes_per_s / GB:,.1f} GB/s"
    return f"{bytes_per_s / MB:,.1f} MB/s"


def format_tokens_per_s(rate: float, language: Language = Language.EN) -> str:
    """One decimal below 100, none above."""
    number = f"{rate:,.{1 if round(rate, 1) < 100 else 0}f}"
    return f"{number} {'词元/秒' if language is Language.ZH_CN else 'tok/s'}"


def format_percent(share: float) -> str:
    """``97 %`` for 0.97."""
    return f"{round(share * 100)} %"


def format_count(number: int) -> str:
    """With thousands separators."""
    return f"{number:,}"


def format_parameters(count: int) -> str:
    """The size of a model as people name it: 268 M, 70.6 B, 1.03 T."""
    for size, letter, below_ten in ((10**12, "T", 2), (10**9, "B", 2), (10**6, "M", 1)):
        if count >= size:
            number = count / size
            digits = below_ten if number < 10 else 1 if number < 100 else 0
            return f"{number:,.{digits}f} {letter}"
    return f"{count:,}"


def format_context(tokens: int) -> str:
    """A context size as people name it: 4K, 128K; exact when it is no multiple of 1,024."""
    if tokens >= KIB and tokens % KIB == 0:
        return f"{tokens // KIB:,}K"
    return f"{tokens:,}"


def format_latency(seconds: float, language: Language = Language.EN) -> str:
    """``0.23 s`` below a second, from there as a duration."""
    if seconds >= 1:
        return format_duration(seconds, language)
    return f"{max(seconds, 0):.2f} {'秒' if language is Language.ZH_CN else 's'}"


def format_duration(seconds: float, language: Language = Language.EN) -> str:
    """``3.1 s``, ``3 min 12 s``, ``2 h 5 min``, ``1 d 4 h``."""
    zh = language is Language.ZH_CN
    if round(seconds, 1) < 10:
        return f"{max(seconds, 0):.1f} {'秒' if zh else 's'}"
    whole = round(seconds)
    if whole < MINUTE_S:
        return f"{whole} {'秒' if zh else 's'}"
    steps = (
        (DAY_S, HOUR_S, "天" if zh else "d", "小时" if zh else "h"),
        (HOUR_S, MINUTE_S, "小时" if zh else "h", "分" if zh else "min"),
        (MINUTE_S, 1, "分" if zh else "min", "秒" if zh else "s"),
    )
    for large, small, large_name, small_name in steps:
        if whole >= large:
            rest = whole % large // small
            head = f"{whole // large} {large_name}"
            return f"{head} {rest} {small_name}" if rest else head
    raise AssertionError(whole)
