"""Which Linux volume holds a folder, and what it is made of. Pool threads; ``root`` for tests."""

from __future__ import annotations

from pathlib import Path

from kimi_desktop.machine.linux_files import Mount, read_int, read_mounts, read_text, under
from kimi_desktop.machine.types import DiskKind
from kimi_desktop.machine.volumes import Volume

NETWORK_FILE_SYSTEMS = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs"),
        *("ceph", "glusterfs", "lustre", "beegfs", "gpfs"),
        *("9p", "virtiofs", "vboxsf"),  # folders that a host shares, Windows drives under WSL
        *("fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone", "fuse.vmhgfs-fuse"),
    )
)
# A virtual machine's disk: what lies below it, only the host knows.
VIRTUAL_NAMES = ("vd", "xvd")
VIRTUAL_VENDORS = ("qemu", "vmware", "msft", "vbox", "virtual", "xen")
# Of a volume over several disks the slowest decides.
SLOWEST_FIRST = (
    DiskKind.ROTATIONAL,
    DiskKind.NETWORK,
    DiskKind.UNKNOWN,
    DiskKind.SSD,
    DiskKind.NVME,
)
MAX_DEPTH = 8  # encryption on LVM on RAID on partitions is four


class LinuxVolumes:
    """The mounts of this process at one moment."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._mounts = read_mounts(root)

    def find(self, folder: Path) -> Volume:
        """The volume of an absolute, existing folder without links."""
        mount = self._mount_of(folder)
        if mount is None:  # a sandbox that hides the mounts
            return Volume(str(folder), DiskKind.UNKNOWN, "")
        return Volume(
            id=mount.device,
            kind=self._kind(mount, 0),
            file_system=mount.file_system,
            read_only="ro" in mount.options,
        )

    def _mount_of(self, folder: Path) -> Mount | None:
        best: Mount | None = None
        for mount in self._mounts:
            # A later mount hides an earlier one at the same point.
            if folder.is_relative_to(mount.point) and (
                best is None or len(mount.point) >= len(best.point)
            ):
                best = mount
        return best

    def _kind(self, mount: Mount, depth: int) -> DiskKind:
        if depth > MAX_DEPTH:
            return DiskKind.UNKNOWN
        if mount.file_system in NETWORK_FILE_SYSTEMS:
            return DiskKind.NETWORK
        if mount.file_system == "overlay":
            return self._kind_of_overlay(mount, depth)
        block = self._block_folder(mount)
        return DiskKind.UNKNOWN if block is None else self._kind_of_block(block, depth)

    def _kind_of_overlay(self, mount: Mount, depth: int) -> DiskKind:
        """New files go to the upper folder; a container cannot see where its host keeps that."""
        upper = mount.option("upperdir")
        if upper is None or not under(self._root, upper).is_dir():
            return DiskKind.UNKNOWN
        below = self._mount_of(Path(upper))
        return DiskKind.UNKNOWN if below is None else self._kind(below, depth + 1)

    def _block_folder(self, mount: Mount) -> Path | None:
        """The block device's folder in /sys."""
        if not mount.device.startswith("0:"):
            return _existing(self._root / "sys/dev/block" / mount.device)
        # btrfs and others number their volumes themselves; the source names a device.
        if not mount.source.startswith("/dev/"):
            return None
        device = under(self._root, mount.source).resolve()
        return _existing(self._root / "sys/class/block" / device.name)

    def _kind_of_block(self, folder: Path, depth: int) -> DiskKind:
        if depth > MAX_DEPTH:
            return DiskKind.UNKNOWN
        if (folder / "partition").exists():
            folder = folder.parent
        below = folder / "slaves"
        slaves = sorted(below.iterdir()) if below.is_dir() else []
        if slaves:  # device mapper, LVM, RAID, bcache
            kinds = {self._kind_of_block(slave.resolve(), depth + 1) for slave in slaves}
            return next(kind for kind in SLOWEST_FIRST if kind in kinds)
        if (backing := read_text(folder / "loop/backing_file")) is not None:
            mount = self._mount_of(Path(backing))
            return DiskKind.UNKNOWN if mount is None else self._kind(mount, depth + 1)
        return _kind_of_disk(folder)


def _kind_of_disk(folder: Path) -> DiskKind:
    name = folder.name
    if name.startswith("nvme"):
        transport = read_text(folder / "device/transport") or "pcie"
        return DiskKind.NVME if transport == "pcie" else DiskKind.NETWORK
    if name.startswith(("nbd", "rbd", "drbd")):
        return DiskKind.NETWORK
    vendor = (read_text(folder / "device/vendor") or "").lower()
    if name.startswith(VIRTUAL_NAMES) or vendor.startswith(VIRTUAL_VENDORS):
        return DiskKind.UNKNOWN
    rotational = read_int(folder / "queue/rotational")
    if rotational is None:
        return DiskKind.UNKNOWN
    return DiskKind.ROTATIONAL if rotational else DiskKind.SSD


def _existing(folder: Path) -> Path | None:
    return folder.resolve() if folder.exists() else None
