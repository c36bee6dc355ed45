"""Which graphs there are for which machine, and what they say."""

from __future__ import annotations

import dataclasses

import pytest

from kimi_desktop.base.messages import Language
from kimi_desktop.monitor.types import Phase
from kimi_desktop.ui.monitor.graphs import NONE
from kimi_desktop.ui.monitor.reader import Reader
from tests.support import scripted_data as data

GPUS, CPU_ONLY = data.two_gpu_box(), data.cpu_only_box()


def read(machine, samples=None, language=Language.EN):
    reader = Reader(language, machine)
    samples = samples or data.session(machine)
    graphs = reader.graphs(samples, samples[-1])
    return reader, {graph.key: graph for graph in graphs}


def with_gpus(sample, **changes):
    gpus = tuple(dataclasses.replace(gpu, **changes) for gpu in sample.gpus)
    return dataclasses.replace(sample, gpus=gpus)


def test_a_machine_with_gpus_has_the_six_graphs(qapp):
    _, graphs = read(GPUS)
    assert list(graphs) == ["speed", "vram", "ram", "disk", "load", "power"]
    assert [curve.name for curve in graphs["vram"].curves] == ["GPU 0", "GPU 1"]
    assert graphs["vram"].note == "95.6 GiB each"
    assert graphs["power"].note == "limit 600 W"
    assert graphs["vram"].curves[0].hint == "NVIDIA RTX PRO 6000"
    assert graphs["vram"].curves[0].stroke != graphs["vram"].curves[1].stroke


def test_without_a_gpu_the_engines_memory_and_cpu_stand_in(qapp):
    reader, graphs = read(CPU_ONLY)
    assert list(graphs) == ["speed", "ram", "engine", "disk", "cpu"]
    assert [curve.name for curve in graphs["engine"].curves] == ["Total", "Private"]
    assert graphs["cpu"].curves[0].now == "7.8 cores"
    assert graphs["cpu"].note == "16 cores"
    assert graphs["cpu"].top == 16
    assert "CPU" in reader.why_no_gpu()


@pytest.mark.parametrize("note", ["no_driver", "no_gpu", "apple", "failed"])
def test_every_reason_for_no_gpu_has_its_sentence(qapp, note):
    box = dataclasses.replace(CPU_ONLY, gpu_note=note)
    assert Reader(Language.EN, box).why_no_gpu().endswith(".")
    assert Reader(Language.EN, None).why_no_gpu() == ""


def test_an_idle_machine_says_so_instead_of_drawing_nothing(qapp):
    idle = tuple(data.sample(CPU_ONLY, float(second)) for second in range(10))
    idle = tuple(dataclasses.replace(one, engine_cpu_percent=None) for one in idle)
    _, graphs = read(CPU_ONLY, idle)
    assert graphs["speed"].is_empty
    assert graphs["speed"].empty == "Nothing was generated in this time."
    assert graphs["disk"].empty == "No engine ran in this time."
    assert graphs["cpu"].is_empty
    assert not graphs["ram"].is_empty
    assert graphs["speed"].curves[0].now == NONE


def test_a_system_that_does_not_report_is_not_an_engine_that_does_not_run(qapp):
    silent = tuple(
        dataclasses.replace(one, engine_read_bytes_per_s=None) for one in data.session(CPU_ONLY)
    )
    _, graphs = read(CPU_ONLY, silent)
    assert graphs["disk"].is_empty
    assert graphs["disk"].empty == "This system does not report it."


def test_a_gpu_that_fails_leaves_a_gap_and_keeps_its_graphs(qapp):
    session = list(data.session(GPUS))
    for place in range(100, 300):
        session[place] = dataclasses.replace(
            session[place], gpus=tuple(g for g in session[place].gpus if g.index == 0)
        )
    _, graphs = read(GPUS, session)
    second = graphs["vram"].curves[1]
    assert second.now == NONE
    assert second.values[99] is not None
    assert second.values[100] is None
    gone = [dataclasses.replace(one, gpus=()) for one in session]
    _, graphs = read(GPUS, gone)
    assert graphs["load"].is_empty
    assert graphs["load"].empty == "The driver does not report it."


def test_a_gpu_without_memory_of_its_own_has_no_vram_graph(qapp):
    shared = [with_gpus(one, vram_total_bytes=0) for one in data.session(GPUS)]
    _, graphs = read(None, shared)
    assert list(graphs) == ["speed", "ram", "disk", "load", "power"]


def test_what_a_driver_keeps_to_itself(qapp):
    silent = [
        with_gpus(one, power_w=None, power_limit_w=None, temperature_c=None)
        for one in data.session(GPUS)
    ]
    _, graphs = read(GPUS, silent)
    assert graphs["power"].is_empty
    assert graphs["power"].note == ""
    assert graphs["power"].top is None
    assert graphs["load"].note == ""


def test_eight_temperatures_are_a_range(qapp):
    gpu = GPUS.gpus[0]
    gpus = tuple(dataclasses.replace(gpu, index=index) for index in range(8))
    box = dataclasses.replace(GPUS, gpus=gpus)
    session = [
        dataclasses.replace(
            one,
            gpus=tuple(dataclasses.replace(gpu, temperature_c=40 + gpu.index) for gpu in one.gpus),
        )
        for one in data.session(box)
    ]
    _, graphs = read(box, session)
    assert graphs["load"].note == "40–47 °C"
    assert len({curve.stroke for curve in graphs["load"].curves}) == 8


def test_the_card_reads_one_moment(qapp):
    reader, graphs = read(GPUS)
    scales = {key: graph.scale() for key, graph in graphs.items()}
    rows = dict(reader.readings(data.session(GPUS)[-1], scales))
    assert rows["Speed"] == "18.7 tok/s"
    assert rows["GPU 1"] == "87.0 GiB · 37% · 101 W"
    assert rows["RAM"] == "402.6 GiB"
    assert rows["Disk read"] == "0.0 GB/s"


def test_the_card_reads_what_the_engine_counts(qapp):
    reader, graphs = read(GPUS)
    scales = {key: graph.scale() for key, graph in graphs.items()}
    busy = dataclasses.replace(
        data.session(GPUS)[-1],
        requests_running=4.0,
        requests_waiting=2.0,
        kv_cache_percent=41.6,
        prefix_hit_percent=75.0,
        engine_prompt_tokens_per_s=1204.0,
        engine_generated_tokens_per_s=88.25,
    )
    rows = dict(reader.readings(busy, scales))
    assert rows["Requests"] == "4 running, 2 waiting"
    assert (rows["KV cache"], rows["Prefix cache hits"]) == ("42%", "75%")
    assert rows["Prompts, all requests"] == "1,204 tok/s"
    assert rows["Answers, all requests"] == "88.2 tok/s"
    silent = dataclasses.replace(
        data.session(CPU_ONLY)[0], requests_running=None, kv_cache_percent=None
    )
    assert not {"Requests", "KV cache", "Prefix cache hits"} & set(
        dict(reader.readings(silent, scales))
    )


def test_the_card_reads_the_prompt_while_it_is_read(qapp):
    reader, graphs = read(CPU_ONLY)
    scales = {key: graph.scale() for key, graph in graphs.items()}
    prefill = next(one for one in data.session(CPU_ONLY) if one.phase is Phase.PREFILL)
    rows = dict(reader.readings(prefill, scales))
    assert rows["Prefill"] == "438 tok/s"
    assert rows["Engine memory"] == "16.2 GiB"
    assert rows["CPU load"] == "0.0 cores"


def test_the_disks_unit_is_that_of_its_axis(qapp):
    slow = [dataclasses.replace(one, engine_read_bytes_per_s=12.34e6) for one in data.session(GPUS)]
    _, graphs = read(GPUS, slow)
    assert graphs["disk"].curves[0].now == "12.3 MB/s"
    assert [text for _, text in graphs["disk"].scale().ticks()] == ["0", "50", "100 MB/s"]


def test_chinese_speeds(qapp):
    _, graphs = read(GPUS, language=Language.ZH_CN)
    assert graphs["speed"].curves[0].now == "18.7 词元/秒"


def test_the_reading_is_the_newest_sample_not_the_mean_of_a_step(qapp):
    steps = data.session(GPUS)
    idle = data.sample(GPUS, data.NOW)
    (speed, *_) = Reader(Language.EN, GPUS).graphs(steps, idle)
    assert speed.curves[0].now == NONE
    assert len(speed.curves[0].values) == len(steps)
    assert speed.curves[0].values[-1] is not None
