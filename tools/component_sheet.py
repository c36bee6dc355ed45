"""Every control in five states, in both themes: the sheet that stands beside the design's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.ui.widgets.button import Button, ButtonKind, IconButton
from kimi_desktop.ui.widgets.card import ListRow, Surface
from kimi_desktop.ui.widgets.chip import Chip, Dot, StateLabel, Verdict
from kimi_desktop.ui.widgets.field import Field
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import Label, TextSize
from kimi_desktop.ui.widgets.memory_bar import MemoryBar, MemoryKind, MemoryLegend, MemoryPart
from kimi_desktop.ui.widgets.segmented import Segmented
from kimi_desktop.ui.widgets.slider import Slider
from kimi_desktop.ui.widgets.toggle import CheckBox, ChoiceRow, Switch

STATES = ("Normal", "Hover", "Focus", "Selected", "Disabled")
GIB = 2**30


def _field(state: str) -> Field:
    field = Field("0.95")
    if state == "Selected":
        field.set_error("Between 0 and 1")
    return field


def _slider(state: str) -> Slider:
    slider = Slider()
    slider.setRange(0, 10)
    slider.setValue(6)
    slider.setSliderDown(state == "Selected")
    return slider


def _segmented(state: str) -> Segmented:
    segmented = Segmented([("off", "Off"), ("on", "On")], small=True)
    segmented.choose("off" if state == "Hover" else "on")
    return segmented


ROWS: Sequence[tuple[str, Callable[[str], QWidget]]] = (
    ("Primary", lambda _: Button("Button", kind=ButtonKind.PRIMARY)),
    ("Secondary", lambda _: Button("Button")),
    ("Quiet", lambda _: Button("Button", kind=ButtonKind.QUIET)),
    ("Toggle", lambda _: Button("Button", kind=ButtonKind.TOGGLE)),
    ("Icon button", lambda _: IconButton("copy", "Copy")),
    ("List row", lambda _: ListRow("Chat title")),
    ("Field", _field),
    ("Slider", _slider),
    ("Segmented", _segmented),
    ("Choice row", lambda _: ChoiceRow("Row")),
    ("Check box", lambda _: CheckBox()),
    ("Switch", lambda _: Switch()),
)


def _put_into(state: str, widget: QWidget) -> None:
    if state == "Hover":
        widget.setAttribute(Qt.WidgetAttribute.WA_UnderMouse)
    if state == "Disabled":
        widget.setEnabled(False)
    if state == "Selected":
        if (isinstance(widget, Button) and widget.kind is not ButtonKind.TOGGLE) or isinstance(
            widget, IconButton
        ):
            widget.setDown(True)
        elif isinstance(widget, Button | ListRow | ChoiceRow | CheckBox | Switch):
            widget.setChecked(True)
    if state == "Focus" and isinstance(widget, CheckBox | Switch):
        widget.setChecked(True)


class ComponentSheet(Surface):
    """One theme's half of the sheet."""

    def __init__(self, name: str) -> None:
        super().__init__(tone="window")
        self.setFixedSize(640, 720)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 12, 20, 12)
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(6)
        for column, head in enumerate((name, *STATES)):
            grid.addWidget(Label(head, tone="muted", size=TextSize.SMALL), 0, column)
            grid.setColumnMinimumWidth(column, 80)
        self._focused: list[Focusable] = []
        for row, (label, make) in enumerate(ROWS, start=1):
            grid.addWidget(Label(label, tone="muted", size=TextSize.SMALL), row, 0)
            for column, state in enumerate(STATES, start=1):
                holder = QWidget()
                inside = QHBoxLayout(holder)
                inside.setContentsMargins(0, 0, 0, 0)
                widget = make(state)
                _put_into(state, widget)
                inside.addWidget(widget)
                if widget.sizePolicy().horizontalPolicy().name == "Fixed":
                    inside.addStretch(1)
                if state == "Focus" and isinstance(widget, Focusable):
                    self._focused.append(widget)
                grid.addWidget(holder, row, column)
        layout.addLayout(grid)
        layout.addLayout(self._chips())
        layout.addLayout(self._dots())
        bar = MemoryBar(large=True)
        shares = (40, 15, 10, 6, 9)
        parts = [MemoryPart(k, s * GIB) for k, s in zip(MemoryKind, shares, strict=False)]
        bar.show_parts(parts, 100 * GIB)
        layout.addWidget(bar)
        short = MemoryBar(large=True)
        short.show_parts(parts, 68 * GIB)
        layout.addWidget(short)
        layout.addWidget(MemoryLegend(columns=6))
        layout.addStretch(1)

    def show_focus(self) -> None:
        """Draw the rings (the layout must be settled)."""
        for widget in self._focused:
            widget.show_ring()

    def _chips(self) -> QHBoxLayout:
        chips = QHBoxLayout()
        chips.setSpacing(6)
        for verdict, text in (
            (Verdict.OK, "PASSED"),
            (Verdict.WARN, "WARN"),
            (Verdict.BAD, "FAILED"),
            (Verdict.UNKNOWN, "UNKNOWN"),
            (Verdict.WORKING, "Downloading"),
        ):
            chips.addWidget(Chip(verdict, text))
        chips.addStretch(1)
        return chips

    def _dots(self) -> QHBoxLayout:
        dots = QHBoxLayout()
        dots.setSpacing(12)
        for dot, text in (
            (Dot.OK, "Running"),
            (Dot.BUSY, "Loading"),
            (Dot.BAD, "Failed"),
            (Dot.OFF, "Stopped"),
        ):
            state = StateLabel(size=TextSize.SMALL, gap=6)
            state.show_state(dot, text)
            dots.addWidget(state)
        dots.addStretch(1)
        return dots
