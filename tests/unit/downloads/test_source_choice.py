"""Which hub is asked next."""

from __future__ import annotations

from dataclasses import replace

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads.answers import Cure, TroubleError
from kimi_desktop.downloads.source_choice import (
    MAX_RESOLVES,
    MAX_WRONG,
    MOST_JITTER_S,
    PROBE_S,
    SourceChoice,
)
from kimi_desktop.downloads.types import FileJob, HubKind, Source

ONE = Source(HubKind.HUGGINGFACE, "https://one.example", "a/b", "c" * 40, "m.gguf")
TWO = Source(HubKind.MODELSCOPE, "https://two.example", "a/b", "master", "m.gguf")
JOB = FileJob("m.gguf", 10, "ab" * 32, None, (ONE, TWO))
OTHER = FileJob("n.gguf", 10, "cd" * 32, None, (ONE, TWO))


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def no_jitter(_wait_s: float) -> float:
    return 0.0


def trouble(cure: Cure, wait_s: float | None = None, origin: str = "") -> TroubleError:
    error = DownloadError(ErrorCode.DOWNLOAD_BROKEN, {"host": "x", "detail": cure.value})
    return TroubleError(cure, error, wait_s=wait_s, origin=origin)


def waits_s(choice: SourceChoice, direct: str | None = None) -> float:
    found = choice.choose(replace(JOB, sources=(ONE,)), direct=lambda _source: direct)
    assert found is not None
    return found.wait_s


def test_the_pause_of_one_origin_is_none_of_the_others() -> None:
    cdn, other = "https://cdn.example", "https://cdn2.example"
    choice = SourceChoice(Clock(), jitter=no_jitter)
    choice.note(JOB, ONE, trouble(Cure.WAIT, 300.0, ONE.endpoint))
    assert (waits_s(choice), waits_s(choice, cdn)) == (300.0, 0.0)
    choice.note(JOB, ONE, trouble(Cure.WAIT, 60.0, cdn))
    assert (waits_s(choice), waits_s(choice, cdn), waits_s(choice, other)) == (300.0, 60.0, 0.0)
    # Nobody knows whom a connection that broke off was with.
    choice.note(JOB, ONE, trouble(Cure.WAIT, 400.0))
    assert (waits_s(choice), waits_s(choice, cdn)) == (400.0, 400.0)


def test_not_everybody_is_back_in_the_same_moment() -> None:
    waits = set()
    for _ in range(20):
        choice = SourceChoice(Clock())
        choice.note(JOB, ONE, trouble(Cure.WAIT, 300.0, ONE.endpoint))
        waits.add(waits_s(choice))
    assert len(waits) > 1
    assert min(waits) >= 300.0
    assert max(waits) <= 300.0 + MOST_JITTER_S


def chosen(choice: SourceChoice, job: FileJob = JOB) -> Source:
    found = choice.choose(job)
    assert found is not None
    return found.source


def test_the_first_until_it_is_in_trouble_and_the_first_again_after_it() -> None:
    clock = Clock()
    choice = SourceChoice(clock, jitter=no_jitter)
    assert chosen(choice) == ONE
    choice.note(JOB, ONE, trouble(Cure.WAIT, 30.0))
    assert chosen(choice) == TWO
    clock.now += 31
    assert chosen(choice) == ONE


def test_the_users_choice_goes_first_where_it_can() -> None:
    choice = SourceChoice(Clock(), preferred=TWO.endpoint)
    assert chosen(choice) == TWO
    choice.note(JOB, TWO, trouble(Cure.ANOTHER))
    assert chosen(choice) == ONE
    assert chosen(choice, OTHER) == TWO  # only this file was refused


def test_sources_that_sent_wrong_bytes_are_the_last_resort() -> None:
    choice = SourceChoice(Clock())
    avoided = choice.choose(JOB, frozenset({ONE}))
    assert avoided is not None
    assert avoided.source == TWO
    choice.note(JOB, TWO, trouble(Cure.ANOTHER))
    last = choice.choose(JOB, frozenset({ONE}))
    assert last is not None
    assert last.source == ONE


def test_wrong_answers_and_refused_signatures_count_up() -> None:
    for cure, most in ((Cure.WRONG, MAX_WRONG), (Cure.RESOLVE, MAX_RESOLVES)):
        choice = SourceChoice(Clock())
        for _ in range(most - 1):
            choice.note(JOB, ONE, trouble(cure))
            assert chosen(choice) == ONE
        choice.note(JOB, ONE, trouble(cure))
        assert chosen(choice) == TWO


def test_bytes_make_refused_signatures_good_again() -> None:
    choice = SourceChoice(Clock())
    for _ in range(MAX_RESOLVES * 3):
        choice.note(JOB, ONE, trouble(Cure.RESOLVE))
        choice.note_bytes(JOB, ONE)
    assert chosen(choice) == ONE


def test_many_connections_with_one_trouble_pause_once() -> None:
    clock = Clock()
    choice = SourceChoice(clock, jitter=no_jitter)
    lone = FileJob("m.gguf", 10, "ab" * 32, None, (ONE,))
    for _ in range(8):
        choice.note(lone, ONE, trouble(Cure.RETRY))
    found = choice.choose(lone)
    assert found is not None
    assert 0 < found.wait_s < 1.0


def test_an_unreachable_hub_is_looked_for_every_quarter_of_a_minute() -> None:
    clock = Clock()
    choice = SourceChoice(clock, jitter=no_jitter)
    lone = FileJob("m.gguf", 10, "ab" * 32, None, (ONE,))
    for _ in range(30):
        choice.note(lone, ONE, trouble(Cure.OFFLINE))
        found = choice.choose(lone)
        assert found is not None
        assert found.wait_s <= PROBE_S + 0.001
        clock.now += found.wait_s
    assert choice.trouble() is not None
    choice.note_bytes(lone, ONE)
    assert choice.trouble() is None


def test_progress_shortens_the_next_pause() -> None:
    clock = Clock()
    choice = SourceChoice(clock, jitter=no_jitter)
    lone = FileJob("m.gguf", 10, "ab" * 32, None, (ONE,))
    for _ in range(12):
        choice.note(lone, ONE, trouble(Cure.RETRY))
        clock.now += 100
    choice.note_progress(ONE)
    choice.note(lone, ONE, trouble(Cure.RETRY))
    found = choice.choose(lone)
    assert found is not None
    assert found.wait_s < 1.0


def test_nobody_is_left() -> None:
    choice = SourceChoice(Clock())
    first = trouble(Cure.ANOTHER)
    choice.note(JOB, ONE, first)
    choice.note(JOB, TWO, trouble(Cure.ANOTHER))
    assert choice.choose(JOB) is None
    assert choice.error_of(JOB) is first.error
    choice.forgive()
    assert chosen(choice) == ONE


def test_without_ranges_the_whole_file() -> None:
    choice = SourceChoice(Clock())
    choice.note(JOB, ONE, trouble(Cure.WHOLE))
    found = choice.choose(JOB)
    assert found is not None
    assert found.whole_only
    other = choice.choose(OTHER)
    assert other is not None
    assert not other.whole_only
