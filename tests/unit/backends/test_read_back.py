"""What a log says was loaded, and when that is otherwise than planned."""

from __future__ import annotations

from pathlib import Path

from kimi_desktop.backends.read_back import Loaded, differences, read_loaded
from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.base.errors import ErrorCode
from kimi_desktop.base.units import GIB, MIB
from kimi_desktop.planner.types import DeviceMemory, LoadForecast

LOG = """\
0.01.139.012 I print_info: n_ctx_train           = 32768
0.01.174.157 I load_tensors: offloaded 19/19 layers to GPU
0.01.174.163 I load_tensors:   CPU_Mapped model buffer size =   235.16 MiB
0.01.174.163 I load_tensors:        CUDA0 model buffer size =  9000.00 MiB
0.01.174.165 I load_tensors:        CUDA1 model buffer size =  8000.50 MiB
0.01.211.480 I llama_context: n_seq_max             = 2
0.01.211.481 I llama_context: n_ctx                 = 8192
0.01.211.481 I llama_context: n_ctx_seq             = 4096
0.01.212.576 I llama_context:  CUDA_Host  output buffer size =     2.00 MiB
0.01.212.652 I llama_kv_cache:      CUDA0 KV buffer size =   512.00 MiB
0.01.248.055 I sched_reserve:       CUDA0 compute buffer size =   300.00 MiB
0.02.000.000 I load_tensors: offloaded 5/5 layers to GPU
0.02.000.001 I llama_context: n_ctx                 = 256
""".splitlines()


def device(name: str, weights: int, kv: int = 0, compute: int = 0) -> DeviceMemory:
    return DeviceMemory(name, f"Card {name}", 24 * GIB, weights, kv, compute, 700 * MIB, 0)


def forecast(*rows: DeviceMemory) -> LoadForecast:
    return LoadForecast((*rows, device("host", 235 * MIB)))


PLANNED = forecast(
    device("gpu:0", 9000 * MIB, 512 * MIB, 300 * MIB), device("gpu:1", 8000 * MIB, 0, 0)
)
SETTINGS = LoadSettings(Path("m"), n_gpu_layers=19, context=8192, n_parallel=2)


def codes(loaded: Loaded, settings: LoadSettings, planned: LoadForecast) -> list[ErrorCode]:
    return [error.code for error in differences(loaded, settings, planned)]


def test_the_first_model_of_a_log_is_read() -> None:
    loaded = read_loaded(LOG)
    assert loaded.context == 8192
    assert loaded.gpu_layers == (19, 19)
    assert loaded.gpu_bytes == (9812 * MIB, 8000 * MIB + MIB // 2)
    assert loaded.buffers["CUDA_Host"] == 2 * MIB


def test_a_load_as_planned_says_nothing() -> None:
    assert differences(read_loaded(LOG), SETTINGS, PLANNED) == ()
    assert differences(read_loaded([]), SETTINGS, PLANNED) == ()
    all_layers = LoadSettings(Path("m"), n_gpu_layers=-1, context=8000, n_parallel=2)
    assert differences(read_loaded(LOG), all_layers, PLANNED) == ()


def test_another_context_and_other_layers_are_told() -> None:
    other = LoadSettings(Path("m"), n_gpu_layers=12, context=32768)
    found = differences(read_loaded(LOG), other, PLANNED)
    assert [(error.code, dict(error.params)) for error in found] == [
        (ErrorCode.ENGINE_LOADED_LAYERS, {"loaded": 19, "planned": 12}),
        (ErrorCode.ENGINE_LOADED_CONTEXT, {"loaded": 8192, "planned": 32768}),
    ]


def test_more_memory_than_forecast_is_told_with_its_device() -> None:
    less = forecast(device("gpu:0", 8000 * MIB), device("gpu:1", 8000 * MIB))
    (found,) = differences(read_loaded(LOG), SETTINGS, less)
    assert found.code is ErrorCode.ENGINE_LOADED_MEMORY
    assert found.params["device"] == "Card gpu:0"
    assert found.params["planned"] == "7.81 GiB"


def test_a_worker_counts_as_one_that_holds_something() -> None:
    lines = [line.replace("CUDA0 ", "RPC0[10.0.0.2:50052] ") for line in LOG if "CUDA1" not in line]
    lent = forecast(device("rpc:0", 9000 * MIB, 512 * MIB, 300 * MIB))
    assert differences(read_loaded(lines), SETTINGS, lent) == ()


def test_no_gpu_at_all_though_it_says_offloaded() -> None:
    lines = [line for line in LOG if "CUDA" not in line]
    assert codes(read_loaded(lines), SETTINGS, PLANNED) == [ErrorCode.ENGINE_LOADED_NO_GPU]
    in_ram = LoadSettings(Path("m"), n_gpu_layers=0, context=8192, n_parallel=2)
    assert codes(read_loaded(lines), in_ram, forecast()) == []
