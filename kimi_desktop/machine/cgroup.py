"""What a cgroup (version 1, 2 or both at once) lets this process have. Pool threads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.machine.linux_files import Mount, read_int, read_mounts, read_text, under

# Version 1 writes "no limit" as the largest page-aligned number (2**63 - 4096).
NO_LIMIT_BYTES = 2**60


@dataclass(frozen=True, slots=True)
class Cgroup:
    """This process's group for one controller, and the groups above it that it can see.

    A limit of any of them holds, so ``folders`` goes from the own group up to the mount point.
    """

    version: int
    folders: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class CgroupMemory:
    """The tightest limit, and what is left below all of them."""

    limit_bytes: int
    available_bytes: int


def find_cgroup(root: Path, controller: str) -> Cgroup | None:
    """The group that ``controller`` ("memory", "cpu") uses; None where there is none."""
    paths = _own_paths(root)
    mounts = read_mounts(root)
    for mount in mounts:
        if mount.file_system == "cgroup" and controller in mount.options and controller in paths:
            return Cgroup(1, _folders(root, mount, paths[controller]))
    for mount in mounts:
        if mount.file_system == "cgroup2" and "" in paths:
            return Cgroup(2, _folders(root, mount, paths[""]))
    return None


def read_memory_limit(cgroup: Cgroup | None) -> CgroupMemory | None:
    """The memory limit in force, None without one.

    File pages that nobody has locked count as available: the kernel drops them when the group
    needs memory.
    """
    if cgroup is None:
        return None
    found: list[CgroupMemory] = []
    for folder in cgroup.folders:
        limit = _memory_limit(folder, cgroup.version)
        if limit is not None:
            spare = max(limit - _held(folder, cgroup.version), 0)
            found.append(CgroupMemory(limit, spare))
    if not found:
        return None
    return CgroupMemory(
        min(entry.limit_bytes for entry in found), min(entry.available_bytes for entry in found)
    )


def read_cpu_quota(cgroup: Cgroup | None) -> float | None:
    """How many cores' worth of time the group may use; None without a quota."""
    if cgroup is None:
        return None
    quotas = [
        quota
        for folder in cgroup.folders
        if (quota := _cpu_quota(folder, cgroup.version)) is not None
    ]
    return min(quotas, default=None)


def _own_paths(root: Path) -> dict[str, str]:
    """Controller -> path of the own group; the key "" is version 2's."""
    paths: dict[str, str] = {}
    for line in (read_text(root / "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for controller in controllers.split(","):
            paths[controller] = path
    return paths


def _folders(root: Path, mount: Mount, path: str) -> tuple[Path, ...]:
    """From the own group up to the mount point.

    In a container the path is the host's while the mount shows only the container's part of the
    tree: then the mount point itself is the own group.
    """
    top = under(root, mount.point)
    inside = mount.root.rstrip("/")
    relative = ""
    if path == inside or path.startswith(f"{inside}/"):
        relative = path[len(inside) :].strip("/")
    own = top / relative if ".." not in relative.split("/") else top
    if not own.is_dir():
        own = top
    return tuple(folder for folder in (own, *own.parents) if folder.is_relative_to(top))


def _memory_limit(folder: Path, version: int) -> int | None:
    # Above memory.high the kernel brakes the group so hard that it is a limit to people.
    names = ("memory.max", "memory.high") if version == 2 else ("memory.limit_in_bytes",)
    limits = [value for name in names if (value := read_int(folder / name)) is not None]
    return min((limit for limit in limits if limit < NO_LIMIT_BYTES), default=None)


def _held(folder: Path, version: int) -> int:
    used = read_int(folder / ("memory.current" if version == 2 else "memory.usage_in_bytes")) or 0
    prefix = "" if version == 2 else "total_"
    droppable = 0
    for line in (read_text(folder / "memory.stat") or "").splitlines():
        name, _, value = line.partition(" ")
        if name in (f"{prefix}active_file", f"{prefix}inactive_file") and value.isdecimal():
            droppable += int(value)
    return max(used - droppable, 0)


def _cpu_quota(folder: Path, version: int) -> float | None:
    if version == 2:
        quota_text, _, period_text = (read_text(folder / "cpu.max") or "").partition(" ")
        if not (quota_text.isdecimal() and period_text.isdecimal()):
            return None
        quota, period = int(quota_text), int(period_text)
    else:
        quota = read_int(folder / "cpu.cfs_quota_us") or -1
        period = read_int(folder / "cpu.cfs_period_us") or 0
    return quota / period if quota > 0 and period > 0 else None
