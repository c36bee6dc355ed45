from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kimi_desktop.machine import nvml
from kimi_desktop.machine.gpus import RETRY_LOST_S, GpuReader
from kimi_desktop.machine.nvml import InstalledNvml, NvmlFailure
from kimi_desktop.machine.types import Gpu
from tests.support.machine_trees import plant
from tests.support.nvml_playback import PlaybackNvml

H200 = Gpu(
    index=0,
    uuid="GPU-00000007",
    name="NVIDIA H200",
    vram_total_bytes=150754820096,
    vram_free_bytes=150109880320,
    driver="580.159.04",
    compute_capability="9.0",
    pcie_gen=5,
    pcie_width=16,
    temperature_c=37,
    power_w=80.45,
    power_limit_w=700.0,
    load_percent=0,
    memory_bytes_per_s=4814304000000.0,
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def h200() -> PlaybackNvml:
    return PlaybackNvml("h200.json")


def two_cards() -> PlaybackNvml:
    """Two healthy cards."""
    library = PlaybackNvml("h200.json")
    for key, answer in list(library.answers.items()):
        if " gpu0" in key:
            library.answers[key.replace(" gpu0", " gpu1")] = answer
    library.answer("DeviceGetHandleByIndex 1", "gpu1")
    library.answer("DeviceGetCount", 2)
    return library


def test_a_recorded_h200(h200: PlaybackNvml, tmp_path: Path) -> None:
    look = GpuReader(h200, tmp_path).look()
    assert look.gpus == (H200,)
    assert (look.note, look.failures) == ("", ())


def test_every_single_query_may_be_missing(h200: PlaybackNvml, tmp_path: Path) -> None:
    needed = {
        "Init",
        "SystemGetDriverVersion",
        "DeviceGetCount",
        "DeviceGetHandleByIndex 0",
        "DeviceGetMemoryInfo gpu0",
    }
    optional = set(h200.answers) - needed
    assert optional
    for key in optional:
        library = PlaybackNvml("h200.json")
        library.fail(key, nvml.NOT_SUPPORTED, "Not Supported")
        reader = GpuReader(library, tmp_path)
        assert len(reader.look().gpus) == 1, key
        assert len(reader.sample()) == 1, key


def test_what_is_missing_is_none(h200: PlaybackNvml, tmp_path: Path) -> None:
    for key in list(h200.answers):
        if " gpu0" in key and not key.startswith("DeviceGetMemoryInfo"):
            del h200.answers[key]
    (gpu,) = GpuReader(h200, tmp_path).look().gpus
    assert (gpu.name, gpu.uuid, gpu.compute_capability) == ("GPU 0", "", None)
    assert (gpu.pcie_gen, gpu.pcie_width, gpu.temperature_c) == (None, None, None)
    assert (gpu.power_w, gpu.power_limit_w, gpu.load_percent) == (None, None, None)
    assert gpu.memory_bytes_per_s is None


def test_a_gpu_that_shares_main_memory(h200: PlaybackNvml, tmp_path: Path) -> None:
    h200.fail("DeviceGetMemoryInfo gpu0", nvml.NOT_SUPPORTED, "Not Supported")
    (gpu,) = GpuReader(h200, tmp_path).look().gpus
    assert (gpu.vram_total_bytes, gpu.vram_free_bytes) == (0, 0)


def test_older_bindings_answer_bytes(h200: PlaybackNvml, tmp_path: Path) -> None:
    h200.answer("DeviceGetName gpu0", b"NVIDIA A100")
    assert GpuReader(h200, tmp_path).look().gpus[0].name == "NVIDIA A100"


@pytest.mark.parametrize(
    "code", [nvml.LIBRARY_NOT_FOUND, nvml.DRIVER_NOT_LOADED, nvml.FUNCTION_NOT_FOUND]
)
def test_no_driver_and_no_card_is_normal(tmp_path: Path, code: int) -> None:
    library = PlaybackNvml()
    library.fail("Init", code, "no")
    look = GpuReader(library, tmp_path).look()
    assert (look.gpus, look.note, look.failures) == ((), "no_gpu", ())


@pytest.mark.parametrize(
    ("device_class", "note"), [("0x030200", "no_driver"), ("0x0c0330", "no_gpu")]
)
def test_a_card_without_its_driver_is_seen_on_the_bus(
    tmp_path: Path, device_class: str, note: str
) -> None:
    plant(
        tmp_path,
        {
            "sys/bus/pci/devices/0000:00:00.0/vendor": "0x8086\n",
            "sys/bus/pci/devices/0000:00:00.0/class": "0x030000\n",
            "sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
            "sys/bus/pci/devices/0000:01:00.0/class": f"{device_class}\n",
        },
    )
    library = PlaybackNvml()
    library.fail("Init", nvml.LIBRARY_NOT_FOUND, "NVML Shared Library Not Found")
    assert GpuReader(library, tmp_path).look().note == note


def test_a_driver_without_a_card(h200: PlaybackNvml, tmp_path: Path) -> None:
    h200.answer("DeviceGetCount", 0)
    assert GpuReader(h200, tmp_path).look().note == "no_gpu"


def test_a_driver_updated_under_our_feet(tmp_path: Path) -> None:
    library = PlaybackNvml()
    library.fail("Init", 18, "Driver/library version mismatch")
    look = GpuReader(library, tmp_path).look()
    assert look.note == "failed"
    assert look.failures == ("NVML: Driver/library version mismatch",)


def test_one_recorded_card_is_lost_and_the_other_still_shown(tmp_path: Path) -> None:
    reader = GpuReader(PlaybackNvml("two_one_lost.json"), tmp_path)
    look = reader.look()
    assert look.gpus == (H200,)
    assert look.note == "failed"
    assert look.failures == ("GPU 1: GPU is lost",)
    assert [reading.gpu for reading in reader.sample()] == [H200]


@pytest.mark.parametrize("code", [nvml.GPU_IS_LOST, nvml.RESET_REQUIRED, nvml.UNINITIALIZED])
@pytest.mark.parametrize("query", ["DeviceGetMemoryInfo", "DeviceGetPowerUsage"])
def test_a_card_lost_while_sampling_leaves_the_others(
    tmp_path: Path, code: int, query: str
) -> None:
    library = two_cards()
    reader = GpuReader(library, tmp_path)
    assert len(reader.sample()) == 2
    library.fail(f"{query} gpu1", code, "gone")
    assert [reading.gpu.index for reading in reader.sample()] == [0]
    before = len(library.calls)
    assert [reading.gpu.index for reading in reader.sample()] == [0]
    # The lost card is asked nothing more for a while: it would slow every sample down.
    assert not any("gpu1" in call for call in library.calls[before:])


def test_a_card_that_came_back_is_found_again(tmp_path: Path) -> None:
    library, clock = two_cards(), Clock()
    healthy = dict(library.answers)
    reader = GpuReader(library, tmp_path, clock)
    reader.sample()
    library.lose(1)
    assert len(reader.sample()) == 1
    clock.now += RETRY_LOST_S / 2
    library.answers = healthy
    assert len(reader.sample()) == 1
    clock.now += RETRY_LOST_S
    assert len(reader.sample()) == 2
    assert reader.look().note == ""


def test_all_cards_lost_is_no_error(h200: PlaybackNvml, tmp_path: Path) -> None:
    reader = GpuReader(h200, tmp_path)
    reader.look()
    h200.lose(0)
    assert reader.sample() == ()
    look = reader.look()
    assert (look.gpus, look.note) == ((), "failed")


def test_without_a_driver_sampling_asks_only_once(tmp_path: Path) -> None:
    library = PlaybackNvml()
    library.fail("Init", nvml.LIBRARY_NOT_FOUND, "no")
    reader = GpuReader(library, tmp_path)
    for _ in range(3):
        assert reader.sample() == ()
    assert library.calls == ["Init"]


def test_who_holds_the_memory(h200: PlaybackNvml, tmp_path: Path) -> None:
    h200.answer(
        "DeviceGetComputeRunningProcesses gpu0",
        [{"pid": 425, "usedGpuMemory": 3055550464}, {"pid": 77, "usedGpuMemory": None}],
    )
    h200.answer(
        "DeviceGetGraphicsRunningProcesses gpu0", [{"pid": 425, "usedGpuMemory": 3055550464}]
    )
    (reading,) = GpuReader(h200, tmp_path).sample()
    assert reading.process_bytes == {425: 3055550464, 77: None}


def test_only_cards_that_the_user_lets_be_seen(tmp_path: Path) -> None:
    for wish, shown, note in (("1", [1], ""), ("1,0", [0, 1], ""), ("", [], "hidden")):
        reader = GpuReader(two_cards(), tmp_path, environment={"CUDA_VISIBLE_DEVICES": wish})
        look = reader.look()
        assert [gpu.index for gpu in look.gpus] == shown
        assert look.note == note
        assert [reading.gpu.index for reading in reader.sample()] == shown


def test_traffic_and_what_holds_the_clocks_down(h200: PlaybackNvml, tmp_path: Path) -> None:
    h200.answer("DeviceGetPcieThroughput gpu0 1", 12_000_000)
    h200.answer("DeviceGetPcieThroughput gpu0 0", 5_000)
    # Idle (0x1) is no reason; the power cap and the hot chip are.
    h200.answer("DeviceGetCurrentClocksThrottleReasons gpu0", 0x1 | 0x4 | 0x40)
    (reading,) = GpuReader(h200, tmp_path).sample()
    assert reading.pcie_received_bytes_per_s == 12e9
    assert reading.pcie_sent_bytes_per_s == 5e6
    assert reading.throttled == ("power cap", "thermal (hardware)")


def test_a_driver_without_counters_of_traffic(h200: PlaybackNvml, tmp_path: Path) -> None:
    (reading,) = GpuReader(h200, tmp_path).sample()
    assert reading.pcie_received_bytes_per_s is None
    assert reading.throttled == ()


def test_a_driver_that_names_no_processes(h200: PlaybackNvml, tmp_path: Path) -> None:
    for kind in ("Compute", "Graphics"):
        h200.fail(f"DeviceGet{kind}RunningProcesses gpu0", nvml.NOT_SUPPORTED, "Not Supported")
    (reading,) = GpuReader(h200, tmp_path).sample()
    assert reading.process_bytes is None


def test_close_shuts_the_library_once(h200: PlaybackNvml, tmp_path: Path) -> None:
    reader = GpuReader(h200, tmp_path)
    reader.look()
    reader.close()
    reader.close()
    assert h200.calls.count("Shutdown") == 1


def test_a_library_that_will_not_shut_down(h200: PlaybackNvml, tmp_path: Path) -> None:
    h200.fail("Shutdown", nvml.UNKNOWN, "Unknown Error")
    reader = GpuReader(h200, tmp_path)
    assert reader.look().gpus == reader.look().gpus


class TestInstalledNvml:
    """The real binding; the library below it is played."""

    def test_errors_carry_number_and_words(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import pynvml  # noqa: PLC0415 - the app loads it as late

        def lost(handle: object) -> None:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)

        monkeypatch.setattr(pynvml, "nvmlDeviceGetPowerUsage", lost)
        with pytest.raises(NvmlFailure, match="GPU is lost") as failure:
            InstalledNvml().call("DeviceGetPowerUsage", object())
        assert failure.value.code == nvml.GPU_IS_LOST

    def test_answers_come_through(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import pynvml  # noqa: PLC0415

        monkeypatch.setattr(pynvml, "nvmlDeviceGetCount", lambda: 3)
        library = InstalledNvml()
        assert library.call("DeviceGetCount") == 3
        assert library.call("DeviceGetCount") == 3

    def test_a_call_that_this_version_lacks(self) -> None:
        with pytest.raises(NvmlFailure) as failure:
            InstalledNvml().call("DeviceGetHoroscope", 0)
        assert failure.value.code == nvml.FUNCTION_NOT_FOUND

    def test_a_library_that_lacks_the_symbol(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import pynvml  # noqa: PLC0415

        def missing(handle: object) -> None:
            raise AttributeError("undefined symbol")

        monkeypatch.setattr(pynvml, "nvmlDeviceGetMemoryBusWidth", missing)
        with pytest.raises(NvmlFailure) as failure:
            InstalledNvml().call("DeviceGetMemoryBusWidth", object())
        assert failure.value.code == nvml.FUNCTION_NOT_FOUND

    def test_a_missing_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pynvml", None)
        with pytest.raises(NvmlFailure) as failure:
            InstalledNvml().call("Init")
        assert failure.value.code == nvml.LIBRARY_NOT_FOUND
