"""The inspector: figures, memory by kind, sampling with limits, and what a reload would do."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from kimi_desktop.backends.types import EngineState
from kimi_desktop.chat.types import AnswerStats
from kimi_desktop.monitor.types import GpuSample, Phase, Sample, SampleTaken
from kimi_desktop.planner.types import DeviceMemory, LoadForecast
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.chat.inspector import Inspector
from kimi_desktop.ui.chat.inspector_load import context_steps
from kimi_desktop.ui.chat.inspector_memory import memory_now
from kimi_desktop.ui.widgets.memory_bar import MemoryKind
from tests.support.scripted_services import lived_in

GIB = 2**30


@pytest.fixture
def inspector(qtbot, bridge):
    made = Inspector(bridge)
    qtbot.addWidget(made)
    made.resize(300, 760)
    made.show()
    qtbot.waitExposed(made)
    return made


def sample(**changes):
    made = Sample(
        at=1.0,
        phase=Phase.DECODE,
        tokens_per_s=18.4,
        prefill_tokens_per_s=None,
        ram_total_bytes=100 * GIB,
        ram_used_bytes=60 * GIB,
        engine_rss_bytes=50 * GIB,
        engine_anonymous_bytes=8 * GIB,
        engine_read_bytes_per_s=0.0,
        engine_cpu_percent=100.0,
        gpus=(GpuSample(0, "X", 24 * GIB, 20 * GIB, 50, 100.0, 300.0, 50, 18 * GIB),),
    )
    return dataclasses.replace(made, **changes)


def device(name, weights, kv, compute):
    return DeviceMemory(name, name, 24 * GIB, weights * GIB, kv * GIB, compute, GIB, GIB)


FORECAST = LoadForecast((device("gpu:0", 12, 2, 3 * GIB), device("host", 40, 1, None)))


def parts(use):
    return {part.kind: part.size_bytes / GIB for part in use.parts}


def test_what_is_measured_is_split_as_forecast():
    gpu, host = memory_now(sample(), FORECAST)
    assert parts(gpu) == {
        MemoryKind.WEIGHTS: 12,
        MemoryKind.KV: 2,
        MemoryKind.COMPUTE: 3,
        MemoryKind.OVERHEAD: 1,
        MemoryKind.OTHERS: 2,
    }
    assert gpu.used_bytes == 20 * GIB
    assert parts(host) == {
        MemoryKind.WEIGHTS: 42,  # the mapped pages, whatever the forecast said
        MemoryKind.KV: 1,
        MemoryKind.OVERHEAD: 7,
        MemoryKind.OTHERS: 10,
    }
    assert host.used_bytes == 60 * GIB


def test_without_an_engine_everything_is_others():
    quiet = sample(engine_rss_bytes=None, engine_anonymous_bytes=None)
    quiet = dataclasses.replace(
        quiet, gpus=tuple(dataclasses.replace(g, engine_vram_bytes=None) for g in quiet.gpus)
    )
    gpu, host = memory_now(quiet, None)
    assert parts(gpu) == {MemoryKind.OTHERS: 20}
    assert parts(host) == {MemoryKind.OTHERS: 60}


def test_a_driver_that_does_not_tell_whose_memory_it_is():
    gpus = (dataclasses.replace(sample().gpus[0], engine_vram_bytes=None),)
    gpu, _ = memory_now(sample(gpus=gpus), FORECAST)
    assert parts(gpu)[MemoryKind.WEIGHTS] == 12
    assert gpu.used_bytes == 20 * GIB
    less = (dataclasses.replace(gpus[0], vram_used_bytes=5 * GIB),)
    gpu, _ = memory_now(sample(gpus=less), FORECAST)
    assert parts(gpu) == {MemoryKind.WEIGHTS: 5}, "never more than is used"


def test_a_system_that_does_not_tell_file_pages_apart():
    _, host = memory_now(sample(engine_anonymous_bytes=None), FORECAST)
    assert parts(host)[MemoryKind.WEIGHTS] == 40
    assert host.used_bytes == 60 * GIB


def test_live_figures(inspector):
    inspector.show_chat(1, AnswerStats(481, 18.44, 3.1, 12.0, 21_434, 21_220))
    assert inspector.live.speed() == "18.4 tok/s"
    assert inspector.live._first.value() == "3.1 s"
    assert inspector.live._read.value() == "214 new · 21,220 cached"
    assert inspector.context.text() == "21,915 / 131,072 · 17%"
    inspector.show_chat(2, None)
    assert inspector.live.speed() == "– tok/s"
    assert inspector.live._read.value() == "–"


def test_tokens_of_the_shown_chat_move_the_figures(inspector, services):
    chat_id = services.chats.chats()[0].id
    inspector.show_chat(chat_id, None)
    services.chats.send(chat_id, "Go")
    services.chats.prefill(1200, 5210)
    assert inspector.live._read.value() == "1,200 of 5,210"
    services.chats.stream("words")
    assert inspector.live.speed() == "18.4 tok/s"
    inspector.show_chat(999, None)
    services.chats.stream("more")
    assert inspector.live.speed() == "– tok/s"


def test_samples_move_the_bars(inspector, services):
    assert [bar.accessibleName() for _, bar in inspector.memory.rows()] == ["GPU 0", "GPU 1", "RAM"]
    services.monitor.samples = (*services.monitor.samples, sample())
    services.bus.publish(SampleTaken(sample()))
    assert [text for text, _ in inspector.memory.rows()] == [
        "20.0 / 24.0 GiB",
        "60.0 / 100.0 GiB",
    ]


def test_without_an_engine_there_is_no_context(inspector, services):
    services.engine.set_state(EngineState.STOPPED)
    assert inspector.context.text() == "–"


def test_sampling_is_saved_when_it_is_allowed(inspector, bridge):
    field = inspector.sampling.fields["temperature"]
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "0.7")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert bridge.settings.chat.temperature == 0.7
    assert field.text() == "0.70"
    assert inspector.sampling.preset.text() == "Custom"
    tokens = inspector.sampling.fields["max_tokens"]
    tokens.setFocus()
    tokens.selectAll()
    QTest.keyClicks(tokens, "32,768")
    QTest.keyClick(tokens, Qt.Key.Key_Return)
    assert bridge.settings.chat.max_tokens == 32_768
    assert tokens.text() == "32,768"


@pytest.mark.parametrize("typed", ["3", "-1", "much", "", "nan", "inf"])
def test_a_value_that_is_not_allowed_is_marked_and_not_saved(inspector, bridge, typed):
    field = inspector.sampling.fields["temperature"]
    field.setFocus()
    field.selectAll()
    QTest.keyClick(field, Qt.Key.Key_Delete)
    QTest.keyClicks(field, typed)
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert field.failed
    assert inspector.sampling._error.text() == "Temperature: From 0.00 to 2.00."
    assert inspector.sampling._error.isVisible()
    assert bridge.settings.chat.temperature == 1.0
    field.selectAll()
    QTest.keyClicks(field, "1.5")
    assert not field.failed
    assert not inspector.sampling._error.isVisible()


def test_presets(inspector, bridge):
    menu = inspector.sampling.menu()
    assert [(a.text(), a.isChecked()) for a in menu.actions()] == [
        ("Thinking preset", True),
        ("Instant preset", False),
    ]
    menu.actions()[1].trigger()
    menu.deleteLater()
    assert bridge.settings.chat.temperature == 0.6
    assert inspector.sampling.preset.text() == "Instant preset"
    assert inspector.sampling.fields["temperature"].text() == "0.60"


def test_a_base_model_has_a_sampling_of_its_own(inspector, services):
    starter = services.models.models[3]
    settings = dataclasses.replace(
        services.engine.settings_for(starter), chat_template="{{ messages }}"
    )
    services.engine.set_state(EngineState.READY, settings=settings)
    assert not inspector.sampling.fields["temperature"].isEnabled()
    assert inspector.sampling._note.isVisible()


@pytest.mark.parametrize(
    ("trained", "present", "steps"),
    [
        (8192, 4096, (1024, 2048, 4096, 8192)),
        (40_960, 5000, (1024, 2048, 4096, 5000, 8192, 16_384, 32_768, 40_960)),
        (512, 512, (512,)),
    ],
)
def test_steps_of_the_context_slider(trained, present, steps):
    assert context_steps(trained, present) == steps


def test_load_settings_show_what_runs(inspector):
    load = inspector.load
    assert load.layers.value() == 62
    assert load.quantization.slider.maximum() == 2
    assert load.quantization.value() == 1
    assert not load.is_changed
    assert not load.button.isEnabled()
    assert load._state.text() == "No changes"


def test_a_change_is_priced_and_reloads_on_demand(inspector, services, bridge, qtbot):
    load = inspector.load
    load.context.slider.setValue(2)
    assert load.is_changed
    assert load._needs.isVisible()
    assert load._needs.text().startswith("Will use GPU 0 ")
    assert load.button.text() == "Reload with changes"
    with qtbot.waitSignal(bridge.navigation.start_wanted) as asked:
        load.button.click()
    (settings,) = asked.args
    assert settings.context == 4096
    assert settings.n_gpu_layers == 62
    services.engine.set_state(EngineState.READY, settings=settings)
    assert not load.is_changed


def test_another_quantization_is_another_file(inspector, services):
    load = inspector.load
    load.quantization.slider.setValue(0)
    wanted = load.wanted()
    assert wanted.model_path == services.models.models[0].path
    assert wanted.context == 131_072


def test_two_files_of_one_quantization_are_told_apart(inspector, services):
    one = services.models.models[1]
    path = one.path.parent / "elsewhere" / one.path.name
    other = dataclasses.replace(one, id=str(path), path=path)
    services.models.set_models(one, other)
    inspector.load.refresh()
    texts = set()
    for place in (0, 1):
        inspector.load.quantization.slider.setValue(place)
        texts.add(inspector.load.quantization.slider.accessibleDescription())
    assert texts == {"UD-Q4_K_XL · 584 GB", "elsewhere · 584 GB"}


def test_changes_survive_samples_and_progress_but_not_another_model(inspector, services):
    load = inspector.load
    load.layers.slider.setValue(10)
    services.bus.publish(SampleTaken(sample()))
    services.engine.set_state(EngineState.GENERATING)
    services.engine.set_state(EngineState.READY)
    assert load.layers.value() == 10
    services.engine.set_ready(services.models.models[3])
    assert not load.is_changed
    assert load.layers.slider.maximum() == 19


def test_what_does_not_fit_says_so(inspector):
    load = inspector.load
    load.quantization.slider.setValue(2)
    load.context.slider.setValue(load.context.slider.maximum())
    load.layers.slider.setValue(62)
    text = load._needs.text()
    fits = inspector._bridge.services.engine.forecast(load.wanted(), load._chosen()).fits
    assert text.startswith("Will use" if fits else "Does not fit")


def test_without_a_gpu_the_layers_rest(qtbot, tmp_path):
    bridge = Bridge(lived_in(tmp_path, "cpu"))
    inspector = Inspector(bridge)
    qtbot.addWidget(inspector)
    inspector.show()
    assert not inspector.load.layers.isEnabled()
    assert not inspector.load.quantization.isEnabled()
    assert len(inspector.memory.rows()) == 1
    bridge.close()


def test_a_stopped_engine_offers_to_load(inspector, services):
    services.engine.set_state(EngineState.STOPPED)
    assert inspector.load.button.text() == "Load the model"
    assert inspector.load.button.isEnabled()


def test_without_a_model_there_is_nothing_to_load(inspector, services):
    services.engine.set_state(EngineState.STOPPED)
    services.models.set_models()
    assert not inspector.load.isVisible()
