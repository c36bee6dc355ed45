"""Bars, gauges, lines, chips, labels: they show what they are told, and no more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt

from kimi_desktop.planner.types import DeviceMemory
from kimi_desktop.ui.tokens import DARK
from kimi_desktop.ui.widgets.card import Card, Divider, PageHeader, Surface
from kimi_desktop.ui.widgets.chip import Chip, Dot, StateDot, StateLabel, Verdict
from kimi_desktop.ui.widgets.gauge import Gauge, SpeedLine
from kimi_desktop.ui.widgets.label import ElidedLabel, Label, Number
from kimi_desktop.ui.widgets.memory_bar import MemoryBar, MemoryKind, MemoryPart, parts_of, widths
from kimi_desktop.ui.widgets.message_bar import EmptyState, FailurePanel, Fix, MessageBar
from kimi_desktop.ui.widgets.progress_row import ProgressRow, RateMeter

from .conftest import pixel

GIB = 2**30


@given(
    st.lists(st.integers(0, 2**42), max_size=6),
    st.integers(1, 2**42),
    st.integers(0, 3000),
)
def test_parts_get_whole_pixels_in_proportion(sizes, spare, room):
    total = sum(sizes) + spare
    found = widths(sizes, total, room)
    assert len(found) == len(sizes)
    for size, width in zip(sizes, found, strict=True):
        assert width >= (2 if size and room else 0)
        assert size or width == 0
        if room > 100:
            assert width <= max(2, round(size / total * room))
    if room >= 2 * len(sizes):
        assert sum(found) <= room


def test_nothing_to_divide_gives_nothing():
    assert widths([1, 2], 0, 100) == [0, 0]
    assert widths([1, 2], 3, 0) == [0, 0]


def test_the_bar_draws_its_parts_and_what_is_spare(hold):
    bar = MemoryBar(large=True)
    hold(bar, width=432)
    bar.show_parts(
        [MemoryPart(MemoryKind.WEIGHTS, 50 * GIB), MemoryPart(MemoryKind.KV, 25 * GIB)], 100 * GIB
    )
    assert bar.width() == 400
    assert pixel(bar, 100, 10) == DARK.weights
    assert pixel(bar, 250, 10) == DARK.kv
    assert pixel(bar, 350, 10) == DARK.spare
    assert "Weights 50.0 GiB" in bar.accessibleDescription()
    assert not bar.over_budget


def test_others_are_hatched_and_a_shortfall_is_outlined(hold):
    bar = MemoryBar(large=True)
    hold(bar, width=432)
    bar.show_parts(
        [MemoryPart(MemoryKind.WEIGHTS, 90 * GIB), MemoryPart(MemoryKind.OTHERS, 35 * GIB)],
        100 * GIB,
    )
    assert bar.over_budget
    assert pixel(bar, 320, 10) == DARK.text  # the limit, at 100 of 125
    assert pixel(bar, 360, 0) == DARK.bad
    shades = {pixel(bar, x, 10) for x in range(300, 316)}
    assert len(shades) > 1


def test_a_forecast_becomes_parts_without_what_is_unknown(hold):
    device = DeviceMemory("gpu:0", "GPU 0", 32 * GIB, 10 * GIB, 8 * GIB, None, 0, GIB)
    assert [part.kind for part in parts_of(device)] == [
        MemoryKind.WEIGHTS,
        MemoryKind.KV,
        MemoryKind.OTHERS,
    ]
    bar = MemoryBar()
    hold(bar)
    bar.show_device(device)
    assert bar.accessibleName() == "GPU 0"
    assert bar.used_bytes == 19 * GIB


def test_a_gauge_warns_by_its_limits(hold):
    gauge, plain = Gauge(), Gauge(limits=False)
    hold(gauge, plain)
    for share, tone in ((0.5, "accent"), (0.85, "warn"), (0.95, "bad"), (3.0, "bad")):
        gauge.show_share(share)
        plain.show_share(share)
        assert (gauge.tone, plain.tone) == (tone, "accent")
        assert pixel(gauge, 20, 4) == getattr(DARK, tone)
    assert gauge.value() == 1000
    gauge.show_share(None, "not known")
    assert gauge.share is None
    assert gauge.accessibleDescription() == "not known"


def test_the_speed_line_leaves_gaps(hold):
    line = SpeedLine()
    hold(line)

    def blue_columns() -> int:
        image = line.grab().toImage()
        return sum(
            any(image.pixelColor(x, y).blue() > 150 for y in range(image.height()))
            for x in range(image.width())
        )

    line.show_values([None] * 60)
    assert blue_columns() == 0
    line.show_values([10.0] * 60)
    full = blue_columns()
    line.show_values([10.0] * 20 + [None] * 20 + [10.0] * 20)
    assert 0 < blue_columns() < full


def test_chips_differ_by_shape_and_not_by_colour_alone(hold):
    chip = Chip(Verdict.OK, "same")
    hold(chip)
    seen = []
    for verdict in Verdict:
        chip.show_verdict(verdict, "same")
        image = chip.grab().toImage()
        seen.append(image)
    assert chip.text() == "same"
    assert len({verdict.value[1] for verdict in Verdict} - {""}) == 5


def test_dots_have_a_shape_for_every_state(hold):
    dot = StateDot()
    hold(dot)
    corners = {}
    for state in Dot:
        dot.show_dot(state)
        corners[state] = (pixel(dot, 0, 0), pixel(dot, 4, 4))
    assert corners[Dot.BAD][0] != corners[Dot.OK][0]  # square against round
    assert corners[Dot.OFF][1] != corners[Dot.OK][1]  # hollow against filled
    state = StateLabel()
    hold(state)
    state.show_state(Dot.BUSY, "Loading")
    assert (state.dot, state.text(), state.accessibleName()) == (Dot.BUSY, "Loading", "Loading")


def test_a_label_changes_its_tone(hold):
    label = Label("text", tone="muted")
    hold(label)
    label.set_tone("bad")
    assert label.palette().windowText().color().name().upper() == DARK.bad
    label.set_tone("")
    assert label.palette().windowText().color().name().upper() == DARK.text


def test_a_long_text_is_elided_and_kept(hold):
    label = ElidedLabel("a very long name of a model that cannot fit into this room")
    window = hold(label, width=160)
    assert label.text().endswith("…")
    assert label.toolTip() == label.full_text()
    window.resize(900, 60)
    assert label.text() == label.full_text()
    assert label.toolTip() == ""


def test_a_number_says_its_unit(hold):
    number = Number(align=Qt.AlignmentFlag.AlignLeft)
    hold(number)
    number.show_number("18.4", " tok/s")
    assert number.accessibleName() == "18.4 tok/s"
    width = number.sizeHint().width()
    number.show_number("118.4", " tok/s")
    assert number.sizeHint().width() > width


def test_grounds_and_lines(hold):
    surface = Surface(tone="raised", edges="tblr")
    card, line, upright = Card(), Divider(), Divider(vertical=True)
    hold(surface, card, line, upright)
    assert pixel(surface, 5, 5) == DARK.raised
    assert pixel(surface, 5, 0) == DARK.line
    assert pixel(card, 10, 5) == DARK.panel
    assert (line.height(), upright.width()) == (1, 1)
    header = PageHeader()
    hold(header)
    header.set_title("Monitor")
    header.set_note("1 running")
    header.add(Label("x"))


def test_a_bar_closes_and_says_so(qtbot, hold):
    bar = MessageBar("warn")
    hold(bar)
    bar.show_message("The disk is full.", "Free some space.")
    assert bar.accessibleName() == "The disk is full. Free some space."
    with qtbot.waitSignal(bar.closed):
        bar.close_button().click()
    assert not bar.isVisible()


def test_a_panel_replaces_its_fixes_and_runs_them(qtbot, hold):
    ran = []
    panel = FailurePanel()
    hold(panel)
    panel.show_cause("It did not start", "Too little memory", "14:41:07")
    panel.show_evidence(["line one", "line two"], "Evidence, line 7")
    panel.show_fixes(
        [Fix(name, "", name, lambda name=name: ran.append(name)) for name in ("a", "b", "c")]
    )
    assert [button.text() for button in panel.fix_buttons()] == ["a", "b", "c"]
    panel.show_fixes([Fix("d", "why", "d", lambda: ran.append("d"))])
    (button,) = panel.fix_buttons()
    button.click()
    assert ran == ["d"]
    with qtbot.waitSignals([panel.log_wanted, panel.diagnostics_wanted]):
        panel.log_button().click()
        panel.copy_button().click()


def test_an_empty_state_has_one_sentence_and_one_button(hold):
    state = EmptyState("models")
    hold(state)
    state.set_texts("No model yet.", "See what runs here")
    assert state.sentence() == "No model yet."
    assert state.button.isVisible()
    state.set_texts("Nothing.", "")
    assert not state.button.isVisible()


def test_the_meter_measures_over_five_seconds():
    now = [0.0]
    meter = RateMeter(lambda: now[0])
    assert meter.rate is None
    for second in range(12):
        now[0] = float(second)
        meter.add(100.0 * second if second < 6 else 500 + 10.0 * (second - 5))
    assert meter.rate == 10.0
    assert meter.seconds_left(660) == 10.0
    meter.reset()
    meter.add(0)
    now[0] += 0.5
    meter.add(500)
    assert meter.rate == 1000
    assert meter.seconds_left(100_000) is None  # half a second says nothing about minutes
    meter.add(5)  # a new file
    assert meter.rate is None


def test_progress_says_how_far_how_fast_and_how_long(qtbot, hold, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    row = ProgressRow()
    row.meter.clock = lambda: now[0]
    hold(row)
    row.begin("Downloading")
    row.show_bytes(100_000_000, 600_000_000)
    now[0] = 2.0
    row.show_bytes(300_000_000, 600_000_000)
    assert row.facts() == "300 MB of 600 MB (50%) · 100.0 MB/s · 3.0 s left"
    assert row.gauge.share == 0.5
    row.show_bytes(300_000_000, 0)
    assert row.gauge.share is None
    with qtbot.waitSignal(row.cancelled):
        row.cancel_button.click()
