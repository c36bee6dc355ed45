from __future__ import annotations

import asyncio

import pytest

from kimi_desktop.backends.types import ChatRequest, Delta, Sampling, Usage
from kimi_desktop.base.errors import BackendError, ChatError, ErrorCode
from kimi_desktop.chat.session import Answer, AnswerSession, AnswerUpdate
from kimi_desktop.chat.types import Finish
from tests.support.scripted_client import HANG, ScriptedClient, Step, words

REQUEST = ChatRequest((("user", "hi"),), Sampling(max_tokens=50))


class Listener:
    def __init__(self) -> None:
        self.updates: list[AnswerUpdate] = []
        self.prefill: list[tuple[int, int]] = []

    @property
    def text(self) -> str:
        return "".join(update.text for update in self.updates)

    @property
    def reasoning(self) -> str:
        return "".join(update.reasoning for update in self.updates)


@pytest.fixture
def heard() -> Listener:
    return Listener()


class Ticks:
    """A clock that moves when the script waits: every delta takes ``step_s``."""

    def __init__(self, step_s: float) -> None:
        self.now = 100.0
        self.step_s = step_s

    def __call__(self) -> float:
        return self.now


def run(
    heard: Listener,
    client: ScriptedClient,
    *,
    context: int | None = None,
    clock: Ticks | None = None,
) -> Answer:
    async def go() -> Answer:
        session = AnswerSession(
            client,
            on_update=heard.updates.append,
            on_prefill=lambda done, total: heard.prefill.append((done, total)),
            **({"clock": clock} if clock else {}),  # type: ignore[arg-type]
        )
        return await session.run(REQUEST, context)

    return asyncio.run(go())


def ticking(clock: Ticks, *steps: Step) -> ScriptedClient:
    client = ScriptedClient()
    inner = client.stream_chat

    async def stream(request: ChatRequest):  # type: ignore[no-untyped-def]
        async for delta in inner(request):
            clock.now += clock.step_s
            yield delta

    client.script = list(steps)
    client.stream_chat = stream  # type: ignore[method-assign]
    return client


def test_the_text_arrives_whole_and_in_order(heard: Listener) -> None:
    ended = run(heard, ScriptedClient(*words("one ", "two ", "three")))
    assert heard.text == "one two three"
    assert (ended.finish, ended.error) == (Finish.END, None)
    assert ended.stats.tokens == 3


def test_tokens_are_told_together(heard: Listener) -> None:
    clock = Ticks(0.001)  # a thousand tokens a second
    run(heard, ticking(clock, *words(*(f"{n} " for n in range(1000)))), clock=clock)
    assert heard.text == "".join(f"{n} " for n in range(1000))
    assert 25 <= len(heard.updates) <= 35


def test_the_last_words_before_a_silence_are_told(heard: Listener) -> None:
    async def go() -> None:
        client = ScriptedClient(Delta(content="a"), Delta(content="b"), HANG)
        all_told = asyncio.Event()

        def hear(update: AnswerUpdate) -> None:
            heard.updates.append(update)
            if heard.text == "ab":
                all_told.set()

        session = AnswerSession(client, on_update=hear, on_prefill=lambda *_: None)
        task = asyncio.get_running_loop().create_task(session.run(REQUEST, None))
        await all_told.wait()
        task.cancel()
        ended = await task
        assert ended.finish is Finish.STOPPED
        assert client.open_streams == 0
        assert client.closed_early == 1

    asyncio.run(go())


def test_thinking_is_kept_apart_and_timed(heard: Listener) -> None:
    clock = Ticks(0.5)
    steps = [Delta(reasoning="hm "), Delta(reasoning="so"), Delta(content="\n"), Delta(content="A")]
    ended = run(heard, ticking(clock, *steps, Delta(finish_reason="stop")), clock=clock)
    assert (heard.reasoning, heard.text) == ("hm so", "\nA")
    assert ended.stats.first_token_s == 0.5
    assert ended.stats.thinking_s == 1.5
    assert heard.updates[1].stats.thinking_s == 0.5


def test_the_live_speed_is_that_of_the_last_two_seconds(heard: Listener) -> None:
    clock = Ticks(1.0)
    client = ticking(clock, *words(*"abcd"))
    run(heard, client, clock=clock)
    assert [round(update.stats.decode_tokens_per_s, 3) for update in heard.updates] == [0, 1, 1, 1]
    heard.updates.clear()
    clock = Ticks(10.0)  # slower than the window
    run(heard, ticking(clock, *words(*"abcd")), clock=clock)
    assert heard.updates[-1].stats.decode_tokens_per_s == pytest.approx(0.1)


def test_the_engines_own_count_wins(heard: Listener) -> None:
    usage = Usage(100, 60, completion_tokens=40, prefill_s=0.5, decode_s=2.0)
    ended = run(heard, ScriptedClient(*words("a", "b"), Delta(usage=usage)))
    stats = ended.stats
    assert (stats.tokens, stats.prompt_tokens, stats.cached_tokens) == (40, 100, 60)
    assert stats.decode_tokens_per_s == 20.0


def test_a_count_without_times_keeps_the_measured_speed(heard: Listener) -> None:
    clock = Ticks(0.5)
    steps = [*words("a", "b", "c"), Delta(usage=Usage(prompt_tokens=7, completion_tokens=3))]
    ended = run(heard, ticking(clock, *steps), clock=clock)
    assert ended.stats.prompt_tokens == 7
    assert ended.stats.decode_tokens_per_s == pytest.approx(2 / 2.0)


def test_a_burst_has_no_speed(heard: Listener) -> None:
    clock = Ticks(0.001)
    ended = run(heard, ticking(clock, *words(*"abcdefgh")), clock=clock)
    assert ended.stats.tokens == 8
    assert ended.stats.decode_tokens_per_s == 0


def test_the_engines_clock_is_right_where_ours_is_late(heard: Listener) -> None:
    clock = Ticks(0.001)  # what waited in the socket comes at once
    steps: list[Step] = [
        Delta(content=f"{n}", completion_tokens=n, decode_s=n / 20) for n in range(1, 101)
    ]
    ended = run(heard, ticking(clock, *steps, lost()), clock=clock)
    assert ended.finish is Finish.FAILED
    assert ended.stats.tokens == 100
    assert ended.stats.decode_tokens_per_s == pytest.approx(20)
    assert heard.updates[-1].stats.decode_tokens_per_s == pytest.approx(20)


def lost() -> ChatError:
    return ChatError(ErrorCode.CHAT_CONNECTION_LOST, {"detail": "EOF"})


def test_a_delta_may_hold_several_tokens(heard: Listener) -> None:
    steps = [Delta(content="🌙", completion_tokens=4), Delta(content="x", completion_tokens=5)]
    ended = run(heard, ScriptedClient(*steps, Delta(finish_reason="stop")))
    assert ended.stats.tokens == 5


def test_prefill_is_told_until_the_first_word(heard: Listener) -> None:
    steps = [
        Delta(prefill_done=512, prefill_total=2048),
        Delta(prefill_done=2048, prefill_total=2048),
        Delta(content="x"),
        Delta(prefill_done=2048, prefill_total=2048),
    ]
    run(heard, ScriptedClient(*steps, Delta(finish_reason="stop")))
    assert heard.prefill == [(512, 2048), (2048, 2048)]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("stop", Finish.END), ("length", Finish.LENGTH), ("tool_calls", Finish.END)],
)
def test_finish_reasons(heard: Listener, reason: str, finish: Finish) -> None:
    ended = run(heard, ScriptedClient(Delta(content="x"), Delta(finish_reason=reason)))
    assert ended.finish is finish


@pytest.mark.parametrize(
    ("tokens", "finish"), [(49, Finish.CONTEXT), (50, Finish.LENGTH), (0, Finish.LENGTH)]
)
def test_a_limit_below_the_wanted_one_is_the_contexts(
    heard: Listener, tokens: int, finish: Finish
) -> None:
    """The request of these tests asks for 50 tokens; 0 = the engine did not count."""
    steps = [Delta(content="x"), Delta(finish_reason="length")]
    ended = run(heard, ScriptedClient(*steps, Delta(usage=Usage(completion_tokens=tokens))))
    assert ended.finish is finish


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("the moon and " * 40, ErrorCode.CHAT_LOOPING),
        ("fine<|im_end|>\n<|im_start|>user", ErrorCode.CHAT_TEMPLATE_LEAK),
        ("tough борьбе लगभग Pants ட் pâte 毛並 بالنسبه", ErrorCode.CHAT_GIBBERISH),
    ],
)
@pytest.mark.parametrize("reason", ["stop", "length"])
def test_an_odd_answer_is_said(heard: Listener, text: str, code: ErrorCode, reason: str) -> None:
    pieces = [Delta(content=text[at : at + 7]) for at in range(0, len(text), 7)]
    ended = run(heard, ScriptedClient(*pieces, Delta(finish_reason=reason)))
    assert heard.text == text
    assert ended.error is not None
    assert ended.error.code is code


def test_a_long_answer_is_looked_at_at_both_ends(heard: Listener) -> None:
    words = [Delta(content=f"word {number} ") for number in range(5000)]
    ended = run(heard, ScriptedClient(*words, Delta(finish_reason="stop")))
    assert ended.error is None
    loop = [Delta(content="again ") for _ in range(200)]
    ended = run(heard, ScriptedClient(*words, *loop, Delta(finish_reason="stop")))
    assert ended.error is not None
    assert ended.error.code is ErrorCode.CHAT_LOOPING


def test_a_failure_keeps_the_text(heard: Listener) -> None:
    error = BackendError(ErrorCode.ENGINE_KILLED)
    ended = run(heard, ScriptedClient(Delta(content="so far"), error))
    assert heard.text == "so far"
    assert (ended.finish, ended.error) == (Finish.FAILED, error)


def test_a_stream_without_an_end_is_a_lost_connection(heard: Listener) -> None:
    ended = run(heard, ScriptedClient(Delta(content="so far")))
    assert ended.finish is Finish.FAILED
    assert ended.error is not None
    assert ended.error.code is ErrorCode.CHAT_CONNECTION_LOST


def test_a_budget_spent_on_thinking_is_said(heard: Listener) -> None:
    usage = Usage(completion_tokens=50)
    steps = [Delta(reasoning="hm"), Delta(finish_reason="length"), Delta(usage=usage)]
    ended = run(heard, ScriptedClient(*steps))
    assert ended.finish is Finish.LENGTH
    assert ended.error is not None
    assert ended.error.code is ErrorCode.CHAT_ONLY_THINKING
    assert ended.error.params == {"max_tokens": 50}
    ended = run(heard, ScriptedClient(*steps[:2]))
    assert ended.error is not None
    assert ended.error.params == {"max_tokens": 50}


@pytest.mark.parametrize("steps", [[], [Delta(content=" \n")], [Delta(reasoning="hm")]])
def test_an_answer_without_a_word_is_said(heard: Listener, steps: list[Step]) -> None:
    ended = run(heard, ScriptedClient(*steps, Delta(finish_reason="stop")))
    assert ended.error is not None
    assert ended.error.code is ErrorCode.CHAT_EMPTY_ANSWER
    assert ended.finish is Finish.END


def test_a_prompt_that_does_not_fit_is_not_sent(heard: Listener) -> None:
    client = ScriptedClient(*words("never"))
    client.tokens = 20
    ended = run(heard, client, context=16)
    assert ended.error is not None
    assert ended.error.code is ErrorCode.CHAT_TOO_LONG
    assert client.requests == []


def test_a_prompt_that_just_fits_leaves_room_for_a_short_answer(heard: Listener) -> None:
    client = ScriptedClient(*words("x"))
    client.tokens = 12
    run(heard, client, context=16)
    assert client.requests[0].sampling.max_tokens == 4


def test_an_engine_that_cannot_count_decides_itself(heard: Listener) -> None:
    refusal = ChatError(ErrorCode.CHAT_TOO_LONG, {"needed": 99, "context": 16})
    ended = run(heard, ScriptedClient(refusal), context=16)
    assert ended.error is refusal
