"""The legend of a device: values, what has no forecast, what is short, wrapping."""

from __future__ import annotations

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QVBoxLayout, QWidget

from kimi_desktop.ui.widgets.memory_bar import MemoryKind, MemoryLegend, MemoryPart

GIB = 2**30
PARTS = (
    MemoryPart(MemoryKind.WEIGHTS, 10 * GIB),
    MemoryPart(MemoryKind.KV, 8 * GIB),
    MemoryPart(MemoryKind.OTHERS, GIB),
)


def test_every_part_is_named_with_its_value(qtbot):
    legend = MemoryLegend()
    qtbot.addWidget(legend)
    legend.show_values(PARTS, 32 * GIB)
    assert legend.accessibleName() == "Weights 10.0, KV 8.00, Others 1.00, Spare 13.0"


def test_what_has_no_forecast_is_never_a_zero(qtbot):
    legend = MemoryLegend()
    qtbot.addWidget(legend)
    unknown = (MemoryKind.COMPUTE, MemoryKind.OVERHEAD)
    legend.show_values(PARTS, 32 * GIB, not_forecast=unknown)
    assert "Compute, Overhead not forecast yet" in legend.accessibleName()
    assert "0.00" not in legend.accessibleName()


def test_little_is_not_nothing(qtbot):
    legend = MemoryLegend()
    qtbot.addWidget(legend)
    legend.show_values((MemoryPart(MemoryKind.WEIGHTS, 900_000),), 32 * GIB)
    assert legend.accessibleName() == "Weights <0.01, Spare 32.0"


def test_too_much_is_said_as_short(qtbot):
    legend = MemoryLegend()
    qtbot.addWidget(legend)
    legend.show_values(PARTS, 16 * GIB)
    assert legend.accessibleName().endswith("Short 3.00")


def test_without_a_total_there_is_no_rest(qtbot):
    legend = MemoryLegend()
    qtbot.addWidget(legend)
    legend.show_values(PARTS, 0)
    assert legend.accessibleName() == "Weights 10.0, KV 8.00, Others 1.00"


def test_a_narrow_legend_takes_more_lines(qtbot):
    holder = QWidget()
    qtbot.addWidget(holder)
    legend = MemoryLegend()
    layout = QVBoxLayout(holder)
    layout.addWidget(legend)
    layout.addStretch(1)
    legend.show_values(PARTS, 32 * GIB)
    layout.setGeometry(QRect(0, 0, 800, 200))
    assert legend.height() == MemoryLegend.LINE
    layout.setGeometry(QRect(0, 0, 200, 200))
    assert legend.height() >= 2 * MemoryLegend.LINE
