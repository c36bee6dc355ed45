"""The scripted services behave like services: through the real Bridge, bus and settings."""

from __future__ import annotations

from kimi_desktop.backends.types import EngineState, EngineStateChanged
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.messages import Language
from kimi_desktop.chat.types import AnswerFinished, Finish, MessageAdded, TokensArrived
from kimi_desktop.downloads.queue_types import (
    DownloadFinished,
    DownloadProgressed,
    DownloadsChanged,
    DownloadState,
)
from kimi_desktop.ui.bridge import Bridge
from tests.support import scripted_data
from tests.support.scripted_services import ScriptedServices, lived_in


def test_an_answer_streams_on_demand(services, bridge):
    seen = []
    bridge.happened.connect(seen.append)
    chat_id = services.chats.new_chat()

    services.chats.send(chat_id, "Hello")
    services.chats.stream("Hi ")
    services.chats.stream("there.")
    services.chats.finish()

    kinds = [type(event) for event in seen]
    assert kinds.count(MessageAdded) == 2
    assert "".join(e.text for e in seen if isinstance(e, TokensArrived)) == "Hi there."
    (finished,) = (e for e in seen if isinstance(e, AnswerFinished))
    assert finished.message.text == "Hi there."
    assert finished.message.finish is Finish.END
    assert services.engine.status.state is EngineState.READY
    assert services.chats.messages(chat_id)[-1] == finished.message


def test_a_message_waits_for_the_engine(services, bridge):
    services.engine.set_state(EngineState.STOPPED)
    chat_id = services.chats.new_chat()
    services.chats.send(chat_id, "Hello")
    assert services.chats.messages(chat_id) == ()

    services.engine.set_state(EngineState.READY)

    assert [m.text for m in services.chats.messages(chat_id)] == ["Hello", ""]
    assert services.chats.generating_chat == chat_id


def test_regenerate_makes_a_version_that_can_be_switched_back(services):
    chat_id = services.chats.new_chat()
    services.chats.send(chat_id, "Hello")
    services.chats.stream("One")
    services.chats.finish()
    services.chats.regenerate(chat_id)
    services.chats.stream("Two")
    services.chats.finish()
    second = services.chats.messages(chat_id)[-1]
    assert (second.text, second.version, second.versions) == ("Two", 2, 2)

    services.chats.show_version(chat_id, second.id, -1)

    first = services.chats.messages(chat_id)[-1]
    assert (first.text, first.version, first.versions) == ("One", 1, 2)


def test_held_operations_end_when_the_test_says(qtbot, services, bridge):
    services.desk.hold.add("engine.start")
    results, errors = [], []
    model = services.models.models[0]
    settings = services.engine.settings_for(model)
    operation = bridge.watch(services.engine.start(settings), results.append, errors.append)
    assert not operation.done
    assert services.engine.status.state is EngineState.STARTING

    services.desk.fail("engine.start", BackendError(ErrorCode.ENGINE_EXITED, {"code": 1}))

    qtbot.waitUntil(lambda: bool(errors))
    assert not results


def test_states_reach_the_window(services, bridge):
    seen = []
    bridge.happened.connect(seen.append)
    error = BackendError(ErrorCode.ENGINE_EXITED)
    services.engine.set_failed(services.models.models[0], error)
    (event,) = seen
    assert isinstance(event, EngineStateChanged)
    assert event.status.error is not None


def test_both_boxes_have_rows_in_both_languages(tmp_path, qapp):
    for box in ("cpu", "gpus"):
        services = lived_in(tmp_path / box, box)
        machine = services.machine.machine
        assert machine is not None
        for language in Language:
            assert services.machine.check_rows(machine, language)
        forecast = services.engine.forecast(
            services.engine.settings_for(services.models.models[0]), services.models.models[0]
        )
        assert forecast.devices[-1].device == "host"
        assert len(forecast.devices) == 1 + len(machine.gpus)


def test_downloads_move_on_as_the_test_says(services, bridge, tmp_path):
    seen = []
    bridge.happened.connect(seen.append)
    queue = services.downloads
    prepared = queue.prepare("unsloth/Kimi-K2.6-GGUF", tmp_path).result()
    added = queue.add(prepared.spec).result()
    assert (added.state, added.shards) == (DownloadState.QUEUED, 14)
    queue.progress(added.id, state=DownloadState.DOWNLOADING, done_bytes=5, bytes_per_s=1e8)
    assert queue.pause(added.id).result().state is DownloadState.PAUSED
    queue.progress(added.id, state=DownloadState.READY, done_bytes=added.total_bytes)
    kinds = [type(event) for event in seen]
    assert kinds.count(DownloadProgressed) == 2
    assert kinds.count(DownloadFinished) == 1
    assert kinds[0] is DownloadsChanged
    assert queue.downloads[0].state is DownloadState.READY
    queue.forget(added.id)
    assert queue.downloads == ()


def test_scripted_services_are_services(tmp_path, qapp):
    services: ScriptedServices = ScriptedServices(tmp_path, machine=scripted_data.cpu_only_box())
    Bridge(services).close()
    assert services.monitor.history(60) == ()
