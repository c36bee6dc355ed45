"""The transcript in a real (offscreen) widget: streaming, scrolling, resizing, folding."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from kimi_desktop.base.errors import ChatError, ErrorCode
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.chat.types import AnswerStats, Finish, Message, Role, TokensArrived
from kimi_desktop.ui.chat.code_view import CodeView
from kimi_desktop.ui.chat.item_views import Act, FoldView
from kimi_desktop.ui.chat.message_views import NoticeView, QuestionView, StatsView
from kimi_desktop.ui.chat.transcript import Transcript
from kimi_desktop.ui.chat.transcript_model import Part

STATS = AnswerStats(388, 18.6, 3.4, 12.0)
PROSE = "Every token reads its **experts** from wherever they live. " * 6
ANSWER = f"### Part\n\n{PROSE}\n\n- one\n- two\n\n```python\nx = 1  # note\n```\n\n{PROSE}"


def conversation(pairs, thinking=""):
    messages = []
    for number in range(pairs):
        messages.append(Message(10 * number + 1, Role.USER, f"Question {number}?"))
        answer = f"Answer {number}.\n\n{ANSWER}"
        messages.append(
            Message(10 * number + 2, Role.ASSISTANT, answer, thinking, Finish.END, STATS)
        )
    return messages


def arrival(transcript, message_id, text, reasoning=""):
    """The event for more of the live answer."""
    (live,) = (e.message for e in transcript.entries if e.message.id == message_id)
    return TokensArrived(
        0,
        message_id,
        text,
        reasoning,
        AnswerStats(10, 20.0, 0.5),
        len(live.text) + len(text),
        len(live.reasoning) + len(reasoning),
    )


LIVE = Message(9999, Role.ASSISTANT, "", finish=Finish.GENERATING)


@pytest.fixture
def transcript(qtbot):
    widget = Transcript()
    qtbot.addWidget(widget)
    widget.resize(760, 600)
    widget.show()
    qtbot.waitExposed(widget)
    return widget


def views(transcript, kind):
    found = [view for _, view in transcript.pool if isinstance(view, kind) and view.isVisible()]
    return sorted(found, key=lambda view: view.y())


def feed(transcript, text, reasoning=""):
    transcript.feed(arrival(transcript, LIVE.id, text, reasoning))
    transcript.flush()


def shown(transcript):
    """Where every text in the viewport stands."""
    height = transcript.viewport().height()
    return {
        place: view.y() + view.pane.y()
        for place, view in transcript.pool
        if view.isVisible() and view.pane is not None and -50 < view.y() < height
    }


def test_only_what_is_near_the_viewport_has_views(transcript):
    transcript.show_messages(conversation(300))
    assert len(list(transcript.pool)) < 25
    transcript.scroll_by(-8000)
    assert len(list(transcript.pool)) < 25
    assert not transcript.at_end


def test_text_streams_and_the_end_stays_in_sight(transcript):
    transcript.show_messages([*conversation(3), LIVE])
    for _ in range(40):
        feed(transcript, "More words of the answer arrive here. ")
    last = transcript.placed[-1]
    assert transcript.at_end
    assert last.y + last.height <= 600
    pane = [view.pane for view in views(transcript, object) if view.pane is not None][-1]
    assert pane.toPlainText().endswith("arrive here. ".rstrip())


def test_text_that_streams_below_does_not_move_what_is_read(transcript):
    transcript.show_messages([*conversation(6), LIVE])
    transcript.scroll_by(-900)
    before = shown(transcript)
    assert before
    for _ in range(60):
        feed(transcript, "More words.\n\n")
    after = shown(transcript)
    assert not transcript.at_end
    assert {place: after.get(place) for place in before} == before


def test_to_latest_appears_and_goes_back(transcript, qtbot):
    transcript.show_messages(conversation(20))
    button = transcript.findChild(type(transcript._latest), "to-latest")
    assert not button.isVisible()
    transcript.scroll_by(-400)
    assert button.isVisible()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert transcript.at_end
    assert not button.isVisible()


def test_scrolling_up_through_unmeasured_text_never_jumps(transcript):
    transcript.show_messages(conversation(80))
    before = shown(transcript)
    for _ in range(120):
        transcript.scroll_by(-90)
        after = shown(transcript)
        moved = {after[place] - before[place] for place in before.keys() & after.keys()}
        assert moved == {90}
        before = after


def test_the_wheel_and_the_keys_scroll(transcript):
    transcript.show_messages(conversation(40))
    transcript.setFocus()
    end = transcript.column.value
    QTest.keyClick(transcript, Qt.Key.Key_PageUp)
    assert transcript.column.value == pytest.approx(end - 552, abs=400)
    assert not transcript.at_end
    QTest.keyClick(transcript, Qt.Key.Key_Home)
    assert transcript.column.value == 0
    QTest.keyClick(transcript, Qt.Key.Key_Down)
    assert transcript.column.value == 48
    QTest.keyClick(transcript, Qt.Key.Key_End)
    assert transcript.at_end


def test_the_scroll_bar_is_not_moved_under_the_mouse(transcript):
    transcript.show_messages(conversation(60))
    bar = transcript.verticalScrollBar()
    bar.setSliderDown(True)
    maximum = bar.maximum()
    for share in (0.7, 0.4, 0.1):
        bar.setValue(round(maximum * share))
        assert bar.value() == round(maximum * share)
        assert bar.maximum() == maximum
    bar.setValue(0)
    assert transcript.placed[0].entry == 0
    bar.setSliderDown(False)
    transcript.relayout()
    assert bar.value() == 0


def test_a_new_width_keeps_the_line_at_the_top(transcript):
    transcript.show_messages(conversation(20))
    transcript.scroll_by(-2500)

    def top_word():
        spot = transcript.select.spot_at(QPoint(30, 2))
        texts = transcript.select.texts
        document = texts.document(spot.entry, texts.item_of(spot))
        return spot.entry, spot.key, document.toPlainText()[spot.position : spot.position + 12]

    before = top_word()
    transcript.resize(560, 600)
    assert top_word()[:2] == before[:2]
    transcript.resize(760, 600)
    assert top_word() == before


def test_resizing_at_the_end_stays_at_the_end(transcript):
    transcript.show_messages(conversation(20))
    transcript.resize(500, 400)
    last = transcript.placed[-1]
    assert transcript.at_end
    assert last.y + last.height == transcript.viewport().height() - 12


def test_thinking_folds(transcript, qtbot):
    transcript.show_messages(conversation(1, thinking="First I look at *this*.\n\nThen that."))
    transcript.scroll_by(-5000)
    (fold,) = views(transcript, FoldView)
    (button,) = fold.stops()
    assert button.text() == "Thought for 12 s"
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    texts = [v.pane.toPlainText() for v in views(transcript, object) if v.pane is not None]
    assert "First I look at this.\nThen that." in texts
    qtbot.mouseClick(views(transcript, FoldView)[0].stops()[0], Qt.MouseButton.LeftButton)
    texts = [v.pane.toPlainText() for v in views(transcript, object) if v.pane is not None]
    assert not any(text.startswith("First I look") for text in texts)


def test_thinking_streams_folded_or_open(transcript):
    transcript.show_messages([Message(1, Role.USER, "Q"), LIVE])
    feed(transcript, "", "I think ")
    (fold,) = views(transcript, FoldView)
    assert fold.stops()[0].text() == "Thinking…"
    transcript.unfold(1, True)
    feed(transcript, "", "about it.")
    texts = [v.pane.toPlainText() for v in views(transcript, object) if v.pane is not None]
    assert texts == ["Q", "I think about it."]
    feed(transcript, "So.")
    assert views(transcript, FoldView)[0].stops()[0].text() == "Thought"


def test_figures_below_an_answer(transcript):
    transcript.show_messages([*conversation(1), LIVE])
    (first,) = (v for v in views(transcript, StatsView) if v.place[0] == 1)
    assert first._words.full_text() == (
        "18.6 tok/s · 388 tokens · first token 3.4 s · stopped: end"
    )
    transcript.progress(LIVE.id, 214, 5210)
    last = views(transcript, StatsView)[-1]
    assert last._words.full_text() == "reading the prompt, 214 of 5,210 tokens"
    feed(transcript, "So")
    assert last._words.full_text().endswith("generating")
    done = dataclasses.replace(LIVE, text="So", finish=Finish.LENGTH, stats=STATS)
    transcript.finish(done, None)
    assert last._words.full_text().endswith("stopped: max tokens reached")


@pytest.mark.parametrize(
    "code", [ErrorCode.CHAT_LOOPING, ErrorCode.CHAT_EMPTY_ANSWER, ErrorCode.CHAT_TEMPLATE_LEAK]
)
def test_a_whole_answer_that_is_odd_says_so(transcript, code):
    transcript.show_messages([Message(1, Role.USER, "Q"), LIVE])
    feed(transcript, "moon " * 30)
    done = dataclasses.replace(LIVE, text="moon " * 30, finish=Finish.END, stats=STATS)
    transcript.finish(done, ChatError(code))
    (notice,) = views(transcript, NoticeView)
    assert notice.accessibleName().startswith(describe_error(ChatError(code), Language.EN)[0])


def test_an_answer_that_broke_off_says_why_and_offers_another_try(transcript, qtbot):
    transcript.show_messages([Message(1, Role.USER, "Q"), LIVE])
    feed(transcript, "Half an ans")
    broken = dataclasses.replace(LIVE, text="Half an ans", finish=Finish.FAILED)
    transcript.finish(broken, ChatError(ErrorCode.CHAT_CONNECTION_LOST, {"detail": "reset"}))
    (notice,) = views(transcript, NoticeView)
    assert notice.accessibleName()
    with qtbot.waitSignal(transcript.acted) as asked:
        qtbot.mouseClick(notice.stops()[0], Qt.MouseButton.LeftButton)
    assert asked.args == [LIVE.id, Act.REGENERATE]


def test_actions_of_messages(transcript, qtbot):
    messages = conversation(2)
    messages[2] = dataclasses.replace(messages[2], version=2, versions=3)
    transcript.show_messages(messages)
    question = views(transcript, QuestionView)[-1]
    asked = []
    transcript.acted.connect(lambda message, act: asked.append((message, act)))
    question.show_stops()
    for button in question.stops():
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert asked == [(11, act) for act in (Act.COPY, Act.EDIT, Act.OLDER, Act.NEWER)]
    asked.clear()
    last = views(transcript, StatsView)[-1]
    last.show_stops()
    for button in last.stops():
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert asked == [(12, act) for act in (Act.COPY, Act.EDIT, Act.REGENERATE)]


def test_code_is_copied_wrapped_and_scrolled(transcript, qtbot):
    long = "y = " + "x + " * 100 + "1"
    text = f"```python\n{long}\nprint(y)\n```"
    transcript.show_messages([Message(1, Role.ASSISTANT, text, "", Finish.END, STATS)])
    (code,) = views(transcript, CodeView)
    wrap, copy = code.stops()
    assert code._bar.isVisible()
    assert code.pane.horizontalScrollBar().value() == 0
    assert code.width() <= transcript.width()
    assert code.scroll_sideways(50)
    assert code.pane.horizontalScrollBar().value() == 50
    narrow = code.height()
    qtbot.mouseClick(wrap, Qt.MouseButton.LeftButton)
    assert not code._bar.isVisible()
    assert code.height() > narrow - 12
    assert not code.scroll_sideways(50)
    qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == f"{long}\nprint(y)"
    assert copy.icon_name() == "check"
    assert copy.accessibleName() == "Copied"
    code._copied.setInterval(0)
    code._copied.start()
    qtbot.waitUntil(lambda: copy.icon_name() == "copy")


def test_code_is_coloured_by_the_theme(transcript, qtbot):
    transcript.show_messages([*conversation(1), LIVE])
    feed(transcript, '```python\ndef f():\n    """doc\n')
    feed(transcript, '    text"""\n    return 12  # note 😀\n')
    feed(transcript, "z = '😀'; y = 3\n```\n")
    code = views(transcript, CodeView)[-1]
    qtbot.waitUntil(lambda: not code._highlighter.is_busy)
    colours = {}
    block = code.pane.document().begin()
    while block.isValid():
        for span in block.layout().formats():
            word = block.text().encode("utf-16-le")[2 * span.start : 2 * (span.start + span.length)]
            name = span.format.foreground().color().name()
            colours[word.decode("utf-16-le").strip()] = name
        block = block.next()
    assert colours["def"] == colours["return"] == "#b58bff"
    assert colours["12"] == colours["3"] == "#e2a336"
    assert colours["# note 😀"] == "#9aa5b3"
    assert colours['"""doc'] == colours['text"""'] == "#4cc38a"


def test_a_version_replaces_only_what_differs(transcript):
    messages = conversation(30)
    transcript.show_messages(messages)
    kept = transcript.entries[10]
    other = dataclasses.replace(messages[-1], id=777, text="Another.", version=2, versions=2)
    transcript.update_messages([*messages[:-1], other])
    assert transcript.entries[10] is kept
    texts = [v.pane.toPlainText() for v in views(transcript, object) if v.pane is not None]
    assert texts[-1] == "Another."


def test_a_live_part_keeps_its_views(transcript):
    transcript.show_messages([LIVE])
    for _ in range(30):
        feed(transcript, PROSE + "\n\n")
    answer = [v for _, v in transcript.pool if v.place[1].part == Part.ANSWER.value]
    before = {id(view) for view in answer}
    feed(transcript, "x")
    after = {id(v) for _, v in transcript.pool if v.place[1].part == Part.ANSWER.value}
    assert before <= after


def test_text_that_the_messages_had_already_is_not_shown_twice(transcript):
    late = dataclasses.replace(LIVE, text="One two", reasoning="hm")
    transcript.show_messages([late])
    stats = AnswerStats(3, 20.0, 0.5)
    for text, length in ((" two", 7), (" three", 13)):
        transcript.feed(TokensArrived(0, LIVE.id, text, "", stats, length, 2))
    transcript.feed(TokensArrived(0, LIVE.id, "", "m?", stats, 13, 3))
    message = transcript.entries[0].message
    assert (message.text, message.reasoning) == ("One two three", "hm?")


def test_a_very_long_question_opens_on_demand(transcript, qtbot):
    text = "word " * 4000
    transcript.show_messages([Message(1, Role.USER, text), *conversation(1)])
    transcript.column.to_start()
    transcript.relayout()
    question = views(transcript, QuestionView)[0]
    more = question.stops()[-1]
    assert more.text() == "Show all 20,000 characters"
    assert len(question.pane.toPlainText()) == 6000
    transcript.select.select_all()
    assert transcript.select.markdown().startswith(text.strip()), "copying gives all of it"
    qtbot.mouseClick(more, Qt.MouseButton.LeftButton)
    question = views(transcript, QuestionView)[0]
    assert question.pane.toPlainText() == text
    assert question.stops()[-1].text() == "Show less"
