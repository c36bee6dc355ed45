"""NVIDIA's management library behind one verb, so that tests can play back what a driver said."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Protocol

# nvmlReturn_t, as far as the code decides by it.
UNINITIALIZED = 1
NOT_SUPPORTED = 3
DRIVER_NOT_LOADED = 9
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
RESET_REQUIRED = 16
UNKNOWN = 999

TEMPERATURE_GPU = 0
PCIE_TX, PCIE_RX = 0, 1
THROTTLES = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "thermal (software)",
    0x40: "thermal (hardware)",
    0x80: "power brake",
}
"""Bits of nvmlClocksEventReasons that slow a busy GPU down; idling and fixed clocks are none."""
CLOCK_MEMORY = 2


class NvmlFailure(Exception):  # noqa: N818 - "error" in NVML is the number
    """A call that the driver refused: its number and its words."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Nvml(Protocol):
    """The library."""

    def call(self, name: str, *arguments: object) -> Any:  # noqa: ANN401
        """Call ``nvml<name>``; answers are those of the pynvml module.

        Raises:
            NvmlFailure: the library or the driver says no.
        """


class InstalledNvml:
    """The driver's own library through the nvidia-ml-py package, loaded at the first call."""

    def __init__(self) -> None:
        self._module: ModuleType | None = None

    def call(self, name: str, *arguments: object) -> Any:  # noqa: ANN401
        """Call ``nvml<name>``.

        Raises:
            NvmlFailure: no library, no driver, or the driver says no.
        """
        if self._module is None:
            try:
                import pynvml  # noqa: PLC0415 - 80 ms that the window's start should not pay
            except ImportError as error:
                raise NvmlFailure(LIBRARY_NOT_FOUND, str(error)) from error
            self._module = pynvml
        function = getattr(self._module, f"nvml{name}", None)
        if function is None:
            raise NvmlFailure(FUNCTION_NOT_FOUND, f"nvml{name}")
        try:
            return function(*arguments)
        except self._module.NVMLError as error:
            raise NvmlFailure(int(error.value), str(error)) from error
        except (OSError, AttributeError) as error:  # a library that lacks the symbol
            raise NvmlFailure(FUNCTION_NOT_FOUND, str(error)) from error
