"""Prints what the transcript costs: 2,000 messages, and an answer that streams at 200 tok/s.

    python -m benchmarks.transcript [messages]

Offscreen unless a display is chosen; every figure is of this run.
"""

from __future__ import annotations

import itertools
import os
import statistics
import sys
import time
from collections.abc import Callable

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import psutil
from PySide6.QtCore import QCoreApplication, QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from kimi_desktop.base.settings import ThemeChoice
from kimi_desktop.chat.types import AnswerStats, Finish, Message, Role, TokensArrived
from kimi_desktop.ui.chat.transcript import Transcript
from kimi_desktop.ui.theme import Theme

PIECE = """\
### Where the time goes

Every token reads its experts from **wherever** they live, so `t` is about $B_{RAM} / W_{RAM}$. Here
that means a long paragraph of running text, because most answers are running text and little else.

- **RAM side**: 280 GB/s usable of 412 GB/s measured.
- **GPU side**: 1,183 GB/s usable, about four times faster.

| layers | read | time |
|:--|--:|--:|
| 60 | 11.9 GB | 63 ms |
| 44 | 8.7 GB | 54 ms |

```python
ram, gpu = 8.7, 3.2  # GB read per token
print(f"{ram / gpu:.1f}")
```

"""
CHARACTERS_PER_UPDATE = 28
"""Seven tokens: 29 updates a second at 200 tok/s."""


def chat(count: int) -> list[Message]:
    stats = AnswerStats(481, 18.4, 3.1, None, 214, 21_220)
    question = "Why does decode slow down with more expert layers in RAM? " * 2
    messages = []
    for number in range(count // 2):
        answer = PIECE * (1 + number % 3) + f"Number {number}."
        messages.append(Message(2 * number + 1, Role.USER, question))
        messages.append(Message(2 * number + 2, Role.ASSISTANT, answer, "", Finish.END, stats))
    return messages


def spin() -> None:
    QCoreApplication.processEvents()


def timed(action: Callable[[], None]) -> float:
    """Milliseconds of CPU until everything is painted (the clock would count other programs)."""
    begun = time.thread_time()
    action()
    spin()
    return (time.thread_time() - begun) * 1e3


def line(name: str, values: list[float]) -> None:
    ordered = sorted(values)
    print(
        f"{name:<44} median {statistics.median(ordered):6.2f}  "
        f"p95 {ordered[int(len(ordered) * 0.95)]:6.2f}  max {ordered[-1]:6.2f} ms  n={len(ordered)}"
    )


def arrival(message_id: int, text: str, start: int, stats: AnswerStats) -> TokensArrived:
    piece = text[start : start + CHARACTERS_PER_UPDATE]
    return TokensArrived(0, message_id, piece, "", stats, start + len(piece), 0)


def stream(transcript: Transcript, name: str, text: str) -> None:
    live = Message(1_000_000, Role.ASSISTANT, "", finish=Finish.GENERATING)
    messages = [entry.message for entry in transcript.entries][:-1]
    transcript.update_messages([*messages, live])
    spin()
    costs: dict[str, list[float]] = {}
    cpu = time.process_time()
    for start in range(0, len(text), CHARACTERS_PER_UPDATE):
        tokens = start // 4
        stats = AnswerStats(tokens, 200.0, 0.1)
        bucket = "0-2k" if start < 2000 else "2k-8k" if start < 8000 else "8k and more"
        arrived = arrival(live.id, text, start, stats)

        def update(arrived: TokensArrived = arrived) -> None:
            transcript.feed(arrived)
            transcript.flush()

        cost = timed(update)
        costs.setdefault(bucket, []).append(cost)
    cpu = time.process_time() - cpu
    everything = [cost for bucket in costs.values() for cost in bucket]
    line(name, everything)
    for bucket, values in costs.items():
        line(f"  at {bucket} characters", values)
    share = cpu / (len(text) / 4 / 200)
    print(f"  CPU at 200 tok/s: {share:.0%} of one core")


def real_time(transcript: Transcript, seconds: float = 6.0) -> None:
    """200 tok/s by the clock: CPU, and how long the event loop was not to be had."""
    live = Message(2_000_000, Role.ASSISTANT, "", finish=Finish.GENERATING)
    messages = [entry.message for entry in transcript.entries][:-1]
    transcript.update_messages([*messages, live])
    text = PIECE * 20
    beats: list[float] = []
    place = 0

    def feed() -> None:
        nonlocal place
        stats = AnswerStats(place // 4, 200.0, 0.1)
        transcript.feed(arrival(live.id, text, place, stats))
        place += CHARACTERS_PER_UPDATE

    tokens, beat = QTimer(interval=33), QTimer(interval=5)
    tokens.timeout.connect(feed)
    beat.timeout.connect(lambda: beats.append(time.perf_counter()))
    loop = QEventLoop()
    QTimer.singleShot(int(seconds * 1000), loop.quit)
    cpu = time.process_time()
    tokens.start()
    beat.start()
    loop.exec()
    tokens.stop()
    beat.stop()
    gaps = sorted((after - before) * 1e3 for before, after in itertools.pairwise(beats))
    print(
        f"200 tok/s for {seconds:.0f} s: {(time.process_time() - cpu) / seconds:.0%} of one core, "
        f"event loop gap p99 {gaps[int(len(gaps) * 0.99)]:.0f} ms, max {gaps[-1]:.0f} ms"
    )


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    app = QApplication([])
    theme = Theme(app)
    theme.choose(ThemeChoice.DARK)
    process = psutil.Process()
    before = process.memory_info().rss
    messages = chat(count)
    print(f"{count} messages, {sum(len(m.text) for m in messages):,} characters")
    transcript = Transcript()
    transcript.resize(760, 730)
    transcript.show()
    spin()
    print(f"open the chat: {timed(lambda: transcript.show_messages(messages)):.1f} ms")
    stream(transcript, "update, sticking to the bottom", PIECE * 16)
    stream(transcript, "update, an answer of 40,000 characters", PIECE * 65)
    transcript.column.to_value(1, 2)
    stream(transcript, "update, reading in the middle of the chat", PIECE * 8)
    transcript.to_latest()
    stream(transcript, "update, one list of 12,000 characters", "- an item of a long list\n" * 480)
    stream(
        transcript, "update, code of 12,000 characters", "```python\n" + "x = f(1)  # no\n" * 850
    )
    real_time(transcript)
    ups = [timed(lambda: transcript.scroll_by(-72)) for _ in range(400)]
    line("wheel notch up, through unmeasured text", ups)
    line("wheel notch down, back", [timed(lambda: transcript.scroll_by(72)) for _ in range(300)])
    bar = transcript.verticalScrollBar()
    bar.setSliderDown(True)
    jumps = [timed(lambda i=i: bar.setValue(bar.maximum() * i // 41)) for i in range(40, 0, -1)]
    bar.setSliderDown(False)
    line("jump by the scroll bar", jumps)
    line(
        "resize, in the middle",
        [timed(lambda i=i: transcript.resize(760 - i % 40 * 4, 730)) for i in range(40)],
    )
    print(f"select all: {timed(transcript.select.select_all):.1f} ms")
    begun = time.perf_counter()
    copied = transcript.select.markdown()
    print(
        f"Markdown of all: {(time.perf_counter() - begun) * 1e3:.0f} ms, {len(copied):,} characters"
    )
    print(f"views alive: {sum(1 for _ in transcript.pool)}")
    print(f"memory: +{(process.memory_info().rss - before) / 2**20:.0f} MiB over the empty app")


if __name__ == "__main__":
    main()
