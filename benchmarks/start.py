"""Start to the first window, against a bare PySide6 window in the same run; memory at rest.

    python benchmarks/start.py [--rounds 7] [--rest 8]

Prints JSON lines: CPU seconds of the process until its window has painted itself (the least of the
rounds, which alternate), for ours also until its first page is there, wall seconds, RSS at the
first picture and after resting, and the ratio of the first. The window is
the chat page of an empty profile, on the platform of QT_QPA_PLATFORM (offscreen unless set).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

REPORT = """
import json, os, sys, time
import psutil
from PySide6.QtCore import QEvent, QObject, QTimer

class FirstPaint(QObject):
    def __init__(self, window, rest_s):
        super().__init__(window)
        self.window, self.rest_s, self.seen = window, rest_s, False
        window.installEventFilter(self)
    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.Paint and not self.seen:
            self.seen = True
            QTimer.singleShot(0, self.report)
        return False
    def report(self):
        me = psutil.Process()
        born = me.create_time()
        self.figures = {
            "cpu_s": time.process_time(), "wall_s": time.time() - born,
            "rss_mib": me.memory_info().rss / 2**20,
        }
        QTimer.singleShot(int(self.rest_s * 1000), self.rested)
    def page(self):
        self.figures["page_cpu_s"] = time.process_time()
    def rested(self):
        me = psutil.Process()
        self.figures["rest_rss_mib"] = me.memory_info().rss / 2**20
        self.figures["rest_uss_mib"] = me.memory_full_info().uss / 2**20
        print(json.dumps(self.figures), flush=True)
        os._exit(0)
"""

BARE = (
    REPORT
    + """
from PySide6.QtWidgets import QApplication, QLabel, QMainWindow
app = QApplication([])
window = QMainWindow()
window.resize(1280, 800)
window.setCentralWidget(QLabel("bare"))
watch = FirstPaint(window, float(sys.argv[1]))
window.show()
app.exec()
"""
)

OURS = (
    REPORT
    + """
from PySide6.QtWidgets import QApplication
from kimi_desktop import first_window
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.ui.instance import SingleInstance
paths = AppPaths.default()
paths.make()
qt = QApplication([])
instance = SingleInstance(paths.runtime)
assert instance.acquire()
start = first_window.Start(qt, paths, instance)
watch = FirstPaint(start.shell, float(sys.argv[1]))

def page_is_there():
    content = start.shell.content
    if content is None or not content.stack.count():
        QTimer.singleShot(5, page_is_there)
    else:
        QTimer.singleShot(0, watch.page)

QTimer.singleShot(5, page_is_there)
qt.exec()
"""
)


def run(code: str, rest_s: float, home: Path) -> dict[str, float]:
    environment = {
        "QT_QPA_PLATFORM": "offscreen",
        **os.environ,
        "KIMI_DESKTOP_HOME": str(home),
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-c", code, str(rest_s)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def page_cpu(
    name: str, rounds: dict[str, list[dict[str, float]]], rest: dict[str, dict[str, float]]
) -> dict[str, float]:
    """CPU seconds until the first page is there, too (ours alone has one)."""
    seen = [r["page_cpu_s"] for r in [*rounds[name], rest[name]] if "page_cpu_s" in r]
    return {"page_cpu_s": round(min(seen), 3)} if seen else {}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rest", type=float, default=8.0, help="seconds until memory at rest")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "config").mkdir()
        (home / "config" / "settings.json").write_text(
            json.dumps({"schema": 1, "window": {"wizard_done": True}})
        )
        rounds: dict[str, list[dict[str, float]]] = {"bare": [], "ours": []}
        for _ in range(options.rounds):
            rounds["bare"].append(run(BARE, 0, home))
            rounds["ours"].append(run(OURS, 1.5, home))
        rest = {"bare": run(BARE, options.rest, home), "ours": run(OURS, options.rest, home)}
    least = {
        name: {key: round(min(r[key] for r in figures), 3) for key in ("cpu_s", "wall_s")}
        for name, figures in rounds.items()
    }
    for name, figures in least.items():
        line = {
            "figure": "start",
            "window": name,
            **figures,
            **page_cpu(name, rounds, rest),
            "first_rss_mib": round(min(r["rss_mib"] for r in rounds[name]), 1),
            "rest_rss_mib": round(rest[name]["rest_rss_mib"], 1),
            "rest_uss_mib": round(rest[name]["rest_uss_mib"], 1),
        }
        print(json.dumps(line))
    ratio = least["ours"]["cpu_s"] / least["bare"]["cpu_s"]
    print(json.dumps({"figure": "start ratio", "cpu": round(ratio, 3), "aim": 1.35}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
