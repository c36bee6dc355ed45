"""What a tick of the Monitor page costs: one more sample, six graphs drawn again.

    python benchmarks/graphs.py [--ticks 200] [--size 1280x800]

Prints one JSON object: CPU ms per tick for 5 minutes (300 samples), an hour (720) and a session at
its largest (1,440), for a cursor that moves, and for a page that is hidden. Offscreen unless
QT_QPA_PLATFORM says otherwise; nothing here is asserted by tests.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication

from kimi_desktop.base.settings import ThemeChoice
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.monitor.page import MonitorPage
from kimi_desktop.ui.theme import Theme
from tests.support import scripted_data
from tests.support.scripted_services import ScriptedServices, lived_in

BATCH = 20
STRETCHES = {"5min": (300, 1.0), "1h": (720, 5.0), "session": (1440, 60.0)}


def fill(services: ScriptedServices, count: int, step_s: float) -> None:
    machine = scripted_data.two_gpu_box()
    session = scripted_data.session(machine, seconds=count)
    services.monitor.samples = tuple(
        dataclasses.replace(sample, at=scripted_data.NOW - (count - 1 - number) * step_s)
        for number, sample in enumerate(session)
    )


def cpu_ms(app: QApplication, ticks: int, step: Callable[[], None]) -> float:
    """The mean of the least disturbed batch: neighbours on the machine cost CPU time, too."""
    batches = []
    for _ in range(1 + ticks // BATCH):
        began = time.process_time()
        for _ in range(BATCH):
            step()
            app.processEvents()
        batches.append(time.process_time() - began)
    return round(min(batches) / BATCH * 1000, 2)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ticks", type=int, default=200)
    parser.add_argument("--size", default="1280x800")
    arguments = parser.parse_args()
    width, height = map(int, arguments.size.split("x"))
    app = QApplication([])
    Theme(app).choose(ThemeChoice.DARK)
    found: dict[str, object] = {"size": arguments.size, "ticks": arguments.ticks}
    with tempfile.TemporaryDirectory() as folder:
        services = lived_in(Path(folder))
        bridge = Bridge(services)
        page = MonitorPage(bridge)
        page.resize(width - 56, height - 68)
        page.show()

        def tick() -> None:
            # The session goes round, so that readings and phases change as they do in use.
            oldest, *rest = services.monitor.samples
            step_s = rest[-1].at - rest[-2].at
            services.monitor.samples = tuple(rest)
            services.monitor.take(dataclasses.replace(oldest, at=rest[-1].at + step_s))

        for key, (count, step_s) in STRETCHES.items():
            fill(services, count, step_s)
            page.span.segment(key).click()
            found[f"{key}_ms"] = cpu_ms(app, arguments.ticks, tick)
        found["graphs"] = len(page.board.rows)
        places = iter(range(10_000_000))

        def move() -> None:
            page.board.point_at(QPoint(300 + next(places) % 800, 200))

        found["cursor_ms"] = cpu_ms(app, arguments.ticks, move)
        page.board.point_at(None)
        page.hide()
        found["hidden_ms"] = cpu_ms(app, arguments.ticks, tick)
        bridge.close()
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
