"""Forecasts as frozen data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """What one device will hold, in bytes. None = not forecast."""

    device: str
    """"gpu:0", "host"."""
    name: str
    total_bytes: int
    weights_bytes: int
    kv_bytes: int
    compute_bytes: int | None
    overhead_bytes: int | None
    others_bytes: int
    """Used by other programs now."""

    @property
    def used_bytes(self) -> int:
        """The sum of what is known."""
        return (
            self.weights_bytes
            + self.kv_bytes
            + (self.compute_bytes or 0)
            + (self.overhead_bytes or 0)
            + self.others_bytes
        )

    @property
    def spare_bytes(self) -> int:
        """What is left; negative when it does not fit."""
        return self.total_bytes - self.used_bytes


@dataclass(frozen=True, slots=True)
class LoadForecast:
    """The memory of one load, the GPUs first, the host last."""

    devices: tuple[DeviceMemory, ...]

    @property
    def fits(self) -> bool:
        """Nothing is over its total, by what is known."""
        return all(device.spare_bytes >= 0 for device in self.devices)
