"""Days and times as people of the window's language write them. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QDate, QDateTime, QLocale

from kimi_desktop.base.messages import Language
from kimi_desktop.ui.language import language


def _locale() -> QLocale:
    return QLocale("zh_CN" if language() is Language.ZH_CN else "en_GB")


def day_text(at: float, *, today: QDate | None = None) -> str:
    """The day of ``time.time()``: without its year when that is this one."""
    day = QDateTime.fromSecsSinceEpoch(int(at)).date()
    this_year = (today or QDate.currentDate()).year()
    zh = language() is Language.ZH_CN
    form = "M月d日" if zh else "d MMM"
    if day.year() != this_year:
        form = "yyyy年M月d日" if zh else "d MMM yyyy"
    return _locale().toString(day, form)


def moment_text(at: float, *, today: QDate | None = None) -> str:
    """The time of day, with the day before it when that is not today."""
    day = QDateTime.fromSecsSinceEpoch(int(at)).date()
    if day == (today or QDate.currentDate()):
        return time_text(at)
    return f"{day_text(at, today=today)} {time_text(at)}"


def time_text(at: float) -> str:
    """The time of day of ``time.time()``, to the minute."""
    return QDateTime.fromSecsSinceEpoch(int(at)).toString("HH:mm")
