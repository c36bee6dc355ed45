"""A row of the list of what runs here: nothing of it is cut."""

from __future__ import annotations

import pytest

from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.units import format_duration, format_file_size
from kimi_desktop.planner.offer_types import FileWords, OfferedFile, Use
from kimi_desktop.ui.offer_row import OfferRow

SIZES = (30.1e9, 584e9, 999e9, 1561.2e9)


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("size", SIZES)
def test_size_and_time_have_room(qtbot, language: Language, size: float) -> None:
    row = OfferRow()
    qtbot.addWidget(row)
    row.resize(960, 56)
    time = format_duration(size * 8 / 100e6, language)
    words = {
        "size": message("forecast.size.rounded", language, size=format_file_size(int(size))),
        "download": message("forecast.download.time", language, time=time, rate=100),
    }
    blank = dict.fromkeys(FileWords.__dataclass_fields__, "")
    file = OfferedFile("Q4", "", int(size), False, None, None, None, (), None, use=Use.GOOD)
    row.show_offer("Kimi", "", file, FileWords(**blank | words))
    row.show()
    for label in (row._size, row._download):
        assert label.text()
        assert label.sizeHint().width() <= label.width()
