"""What servers say of themselves, and every way in which they do not."""

from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from kimi_desktop.backends.attached.asking import ask_server
from kimi_desktop.backends.attached.types import ServerReport
from kimi_desktop.backends.types import ServerProgram
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.base.tls import tls_context
from tests.support.hub.server import TLS_CERTIFICATE
from tests.support.openai_servers import KEY, OpenAiServer
from tests.support.scripted_upstream import Connection, garbage, hang_up, in_thread


def ask(url: str, key: str = "") -> ServerReport:
    return asyncio.run(ask_server("Lab", url, key))


def failing(url: str, key: str = "") -> BackendError:
    with pytest.raises(BackendError) as caught:
        ask(url, key)
    for language in Language:
        what, then = describe_error(caught.value, language)
        assert what
        assert then
    return caught.value


def test_vllm_tells_its_version_and_context() -> None:
    with OpenAiServer("vllm", key=KEY, context=131_072) as server:
        report = ask(server.url, KEY)
    assert (report.program, report.version) == (ServerProgram.VLLM, "0.32.0")
    assert report.is_healthy is True
    (model,) = report.models
    assert (model.id, model.context, model.owned_by) == ("kimi-k2.6", 131_072, "vllm")


def test_sglang() -> None:
    with OpenAiServer("sglang", context=32_768) as server:
        report = ask(server.url)
    assert report.program is ServerProgram.SGLANG
    assert report.models[0].context == 32_768


def test_llama_cpp_tells_the_context_it_serves_not_the_trained_one() -> None:
    with OpenAiServer("llama.cpp", key=KEY, context=16_384) as server:
        report = ask(server.url, KEY)
    assert (report.program, report.version) == (ServerProgram.LLAMA_CPP, "b11549-0123abcd")
    assert report.models[0].context == 16_384


def test_ollama_lists_sizes_and_quantizations() -> None:
    with OpenAiServer("ollama") as server:
        report = ask(server.url)
    assert (report.program, report.version) == (ServerProgram.OLLAMA, "0.14.1")
    first, second = report.models
    assert (first.id, first.size_bytes, first.quantization) == ("gemma3:270m", 291_554_930, "Q8_0")
    assert (first.parameters, first.is_gguf) == ("268.10M", True)
    assert second.id == "hf.co/unsloth/Kimi-K2.6-GGUF:UD-Q2_K_XL"


def test_ollama_tells_the_context_of_what_is_loaded() -> None:
    with OpenAiServer("ollama") as server:
        server.loaded = [{"name": "gemma3:270m", "size_vram": 0, "context_length": 4096}, {}]
        report = ask(server.url)
    assert [model.context for model in report.models] == [4096, None]


def test_ollama_without_a_model_says_null() -> None:
    with OpenAiServer("ollama", models=()) as server:
        report = ask(server.url)
    assert report.program is ServerProgram.OLLAMA
    assert report.models == ()


def test_any_other_has_its_models_alone() -> None:
    with OpenAiServer("openai", key=KEY, models=("a", "b")) as server:
        report = ask(server.url, KEY)
    assert report.program is ServerProgram.OTHER
    assert [model.id for model in report.models] == ["a", "b"]
    assert report.is_healthy is None


def test_the_v1_that_was_forgotten_is_found() -> None:
    with OpenAiServer("vllm", key=KEY) as server:
        assert ask(server.root, KEY).url == server.url
        assert failing(server.root, "wrong").code is ErrorCode.SERVER_BAD_KEY


def test_a_key_is_missing_or_wrong_and_is_not_repeated() -> None:
    with OpenAiServer("openai", key=KEY) as server:
        assert failing(server.url).code is ErrorCode.SERVER_NEEDS_KEY
        wrong = failing(server.url, "sk-wrong-9999")
    assert wrong.code is ErrorCode.SERVER_BAD_KEY
    assert "sk-wrong-9999" not in str(wrong)
    assert "Incorrect API key provided" in str(wrong)


def test_nobody_listens() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    error = failing(f"http://127.0.0.1:{port}/v1")
    assert error.code is ErrorCode.SERVER_UNREACHABLE
    assert error.params["name"] == "Lab"
    assert "refused" in str(error.params["detail"]).casefold()


def test_it_is_no_http_at_all() -> None:
    with in_thread(garbage) as upstream:
        assert failing(f"http://127.0.0.1:{upstream.port}/v1").code is ErrorCode.SERVER_NOT_OPENAI


def test_it_hangs_up() -> None:
    with in_thread(hang_up) as upstream:
        error = failing(f"http://127.0.0.1:{upstream.port}/v1")
    assert error.code in (ErrorCode.SERVER_UNREACHABLE, ErrorCode.SERVER_NOT_OPENAI)


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (200, b"<html>Router</html>", "text/html", ErrorCode.SERVER_NOT_OPENAI),
        (200, b'{"data": "none"}', "application/json", ErrorCode.SERVER_NOT_OPENAI),
        (200, b'{"data": [{"name": "x"}]}', "application/json", ErrorCode.SERVER_NOT_OPENAI),
        (404, b"404 page not found", "text/plain", ErrorCode.SERVER_NOT_OPENAI),
        (403, b'{"error": "no"}', "application/json", ErrorCode.SERVER_NEEDS_KEY),
        (429, b'{"error": {"message": "slow down"}}', "x/y", ErrorCode.SERVER_TROUBLE),
        (503, b'{"error": {"message": "Loading model"}}', "x/y", ErrorCode.SERVER_TROUBLE),
        (500, b"<h1>Oops</h1>", "text/html", ErrorCode.SERVER_TROUBLE),
    ],
)
def test_other_answers(status: int, body: bytes, kind: str, code: ErrorCode) -> None:
    async def answer(connection: Connection) -> None:
        await connection.answer(status, body, kind)

    with in_thread(answer) as upstream:
        error = failing(f"http://127.0.0.1:{upstream.port}/v1")
    assert error.code is code
    assert "<" not in str(error.params["detail"])


def test_a_redirect_is_named_and_not_followed() -> None:
    followed = threading.Event()

    async def redirect(connection: Connection) -> None:
        if connection.call.path != "/v1/models":
            followed.set()
        connection.writer.write(
            b"HTTP/1.1 307 X\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"
        )
        await connection.writer.drain()

    with in_thread(redirect) as upstream:
        error = failing(f"http://127.0.0.1:{upstream.port}/v1", KEY)
    assert error.code is ErrorCode.SERVER_NOT_OPENAI
    assert "/elsewhere" in str(error.params["detail"])
    assert not followed.is_set()


def test_a_certificate_that_nobody_signed() -> None:
    with OpenAiServer("vllm", tls=TLS_CERTIFICATE) as server:
        error = failing(server.url)
        assert error.code is ErrorCode.SERVER_BAD_CERTIFICATE
        assert "certificate" in str(error.params["detail"])
        assert server.asked == []


def test_a_trusted_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS_CERTIFICATE))
    tls_context.cache_clear()
    try:
        with OpenAiServer("vllm", key=KEY, tls=TLS_CERTIFICATE) as server:
            assert ask(server.url, KEY).program is ServerProgram.VLLM
    finally:
        tls_context.cache_clear()


def test_https_where_there_is_none() -> None:
    with OpenAiServer("vllm") as server:
        error = failing(server.url.replace("http://", "https://"))
    assert error.code is ErrorCode.SERVER_NO_TLS


def test_http_where_there_is_tls() -> None:
    with OpenAiServer("vllm", tls=TLS_CERTIFICATE) as server:
        error = failing(server.url.replace("https://", "http://"))
    assert error.code in (ErrorCode.SERVER_NOT_OPENAI, ErrorCode.SERVER_UNREACHABLE)


def test_a_list_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kimi_desktop.backends.attached.asking.MOST_BYTES", 2000)

    async def answer(connection: Connection) -> None:
        await connection.answer(200, b"[" + b" " * 10_000)

    with in_thread(answer) as upstream:
        assert failing(f"http://127.0.0.1:{upstream.port}/v1").code is ErrorCode.SERVER_NOT_OPENAI
