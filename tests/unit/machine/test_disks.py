from __future__ import annotations

import os
from pathlib import Path

import pytest

from kimi_desktop.machine import disks, windows
from kimi_desktop.machine.disks import can_write, look_disks, nearest_existing
from kimi_desktop.machine.linux_disks import LinuxVolumes
from kimi_desktop.machine.types import DiskKind
from kimi_desktop.machine.volumes import Volume
from tests.support.machine_trees import plant

ROOT_MOUNT = "27 1 259:2 / / rw,relatime - ext4 /dev/nvme0n1p2 rw\n"


def nvme(number: int = 0) -> dict[str, str]:
    """An NVMe disk with a partition, as sysfs shows it."""
    disk = f"sys/devices/pci0000:00/nvme/nvme{number}/nvme{number}n1"
    return {
        f"{disk}/queue/rotational": "0\n",
        f"{disk}/device/transport": "pcie\n",
        f"{disk}/nvme{number}n1p2/partition": "2\n",
        "sys/dev/block/259:2": f"-> ../../../{disk}/nvme{number}n1p2",
        f"sys/class/block/nvme{number}n1p2": f"-> ../../../{disk}/nvme{number}n1p2",
    }


def disk(name: str, device: str, rotational: int | None, vendor: str = "ATA") -> dict[str, str]:
    """A disk without partitions."""
    folder = f"sys/devices/pci0000:00/{name}"
    files = {
        f"{folder}/device/vendor": f"{vendor}\n",
        f"sys/dev/block/{device}": f"-> ../../../{folder}",
    }
    if rotational is not None:
        files[f"{folder}/queue/rotational"] = f"{rotational}\n"
    return files


def find(tmp_path: Path, mounts: str, files: dict[str, str], folder: str) -> Volume:
    plant(tmp_path, files | {"proc/self/mountinfo": mounts})
    return LinuxVolumes(tmp_path).find(Path(folder))


def test_a_partition_of_an_nvme_disk(tmp_path: Path) -> None:
    volume = find(tmp_path, ROOT_MOUNT, nvme(), "/home/me/models")
    assert volume == Volume("259:2", DiskKind.NVME, "ext4", read_only=False)


def test_the_longest_and_latest_mount_wins(tmp_path: Path) -> None:
    mounts = (
        ROOT_MOUNT
        + "40 27 8:1 / /data rw - ext4 /dev/sda1 rw\n"
        + "41 27 8:16 / /data ro - xfs /dev/sdb rw\n"
        + "42 27 8:32 / /database rw - xfs /dev/sdc rw\n"
    )
    files = nvme() | disk("sdb", "8:16", 1)
    assert find(tmp_path, mounts, files, "/data/models") == Volume(
        "8:16", DiskKind.ROTATIONAL, "xfs", read_only=True
    )


@pytest.mark.parametrize(
    ("name", "rotational", "vendor", "kind"),
    [
        ("sda", 0, "ATA", DiskKind.SSD),
        ("sda", 1, "SEAGATE", DiskKind.ROTATIONAL),
        ("sda", None, "ATA", DiskKind.UNKNOWN),
        ("sda", 0, "QEMU", DiskKind.UNKNOWN),
        ("sda", 1, "VMware", DiskKind.UNKNOWN),
        ("vda", 1, "", DiskKind.UNKNOWN),
        ("xvda", 0, "", DiskKind.UNKNOWN),
        ("mmcblk0", 0, "", DiskKind.SSD),
        ("nbd0", 0, "", DiskKind.NETWORK),
        ("nvme3n1", 0, "", DiskKind.NVME),
    ],
)
def test_kinds_of_single_disks(
    tmp_path: Path, name: str, rotational: int | None, vendor: str, kind: DiskKind
) -> None:
    mounts = f"27 1 8:0 / / rw - ext4 /dev/{name} rw\n"
    assert find(tmp_path, mounts, disk(name, "8:0", rotational, vendor), "/x").kind is kind


def test_nvme_over_a_network(tmp_path: Path) -> None:
    files = nvme()
    files["sys/devices/pci0000:00/nvme/nvme0/nvme0n1/device/transport"] = "tcp\n"
    assert find(tmp_path, ROOT_MOUNT, files, "/x").kind is DiskKind.NETWORK


def test_encryption_on_lvm_on_raid_takes_the_slowest_disk(tmp_path: Path) -> None:
    base = "sys/devices/virtual/block"
    files = {
        f"{base}/dm-1/slaves/dm-0": "-> ../../dm-0",
        f"{base}/dm-0/slaves/md0": "-> ../../md0",
        f"{base}/md0/slaves/sda": "-> ../../../../pci0000:00/sda",
        f"{base}/md0/slaves/nvme0n1p2": ("-> ../../../../pci0000:00/nvme/nvme0/nvme0n1/nvme0n1p2"),
        "sys/dev/block/252:1": f"-> ../../../{base}/dm-1",
    }
    mounts = "27 1 252:1 / / rw - ext4 /dev/mapper/root rw\n"
    volume = find(tmp_path, mounts, files | nvme() | disk("sda", "8:0", 0), "/x")
    assert volume.kind is DiskKind.SSD


def test_slaves_in_a_circle_end(tmp_path: Path) -> None:
    base = "sys/devices/virtual/block"
    files = {
        f"{base}/dm-0/slaves/dm-1": "-> ../../dm-1",
        f"{base}/dm-1/slaves/dm-0": "-> ../../dm-0",
        "sys/dev/block/252:0": f"-> ../../../{base}/dm-0",
    }
    mounts = "27 1 252:0 / / rw - ext4 /dev/dm-0 rw\n"
    assert find(tmp_path, mounts, files, "/x").kind is DiskKind.UNKNOWN


def test_btrfs_numbers_its_volumes_itself(tmp_path: Path) -> None:
    files = nvme() | {
        "dev/mapper/vault": "-> ../nvme0n1p2",
        "dev/nvme0n1p2": "",
    }
    mounts = "27 1 0:41 /@ / rw - btrfs /dev/mapper/vault rw,subvol=/@\n"
    assert find(tmp_path, mounts, files, "/x") == Volume("0:41", DiskKind.NVME, "btrfs")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("0:60 / / rw - nfs4 server:/models rw", DiskKind.NETWORK),
        ("0:60 / / rw - cifs //server/models rw", DiskKind.NETWORK),
        ("0:60 / / rw - 9p C:\\134 rw,aname=drvfs", DiskKind.NETWORK),
        ("0:60 / / rw - fuse.sshfs me@host: rw", DiskKind.NETWORK),
        ("0:60 / / rw - zfs tank/models rw", DiskKind.UNKNOWN),
        ("0:60 / / rw - tmpfs tmpfs rw", DiskKind.UNKNOWN),
        ("0:60 / / rw - btrfs /dev/gone rw", DiskKind.UNKNOWN),
        ("8:7 / / rw - ext4 /dev/gone rw", DiskKind.UNKNOWN),
    ],
)
def test_volumes_without_a_disk_of_their_own(tmp_path: Path, line: str, kind: DiskKind) -> None:
    assert find(tmp_path, f"27 1 {line}\n", {}, "/x").kind is kind


def test_overlay_lies_where_its_upper_folder_lies(tmp_path: Path) -> None:
    mounts = ROOT_MOUNT + (
        "50 27 0:70 / /box rw - overlay overlay rw,lowerdir=/l,upperdir=/var/up,workdir=/w\n"
    )
    files = nvme() | {"var/up/keep": ""}
    assert find(tmp_path, mounts, files, "/box/x") == Volume("0:70", DiskKind.NVME, "overlay")


@pytest.mark.parametrize("options", ["rw", "rw,upperdir=/host/only"])
def test_in_a_container_the_upper_folder_is_the_hosts(tmp_path: Path, options: str) -> None:
    mounts = f"27 1 0:70 / / rw - overlay overlay {options}\n"
    assert find(tmp_path, mounts, nvme(), "/x").kind is DiskKind.UNKNOWN


def test_an_overlay_on_itself_ends(tmp_path: Path) -> None:
    mounts = "27 1 0:70 / / rw - overlay overlay rw,upperdir=/up\n"
    assert find(tmp_path, mounts, {"up/keep": ""}, "/x").kind is DiskKind.UNKNOWN


def test_a_loop_device_lies_where_its_file_lies(tmp_path: Path) -> None:
    mounts = ROOT_MOUNT + "60 27 7:0 / /image rw - ext4 /dev/loop0 rw\n"
    files = nvme() | {
        "sys/devices/virtual/block/loop0/loop/backing_file": "/srv/disk.img\n",
        "sys/devices/virtual/block/loop0/queue/rotational": "1\n",
        "sys/dev/block/7:0": "-> ../../../sys/devices/virtual/block/loop0",
    }
    assert find(tmp_path, mounts, files, "/image").kind is DiskKind.NVME


def test_no_mounts_at_all(tmp_path: Path) -> None:
    assert LinuxVolumes(tmp_path).find(Path("/x")) == Volume("/x", DiskKind.UNKNOWN, "")


def test_folders_of_one_volume_make_one_disk(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    asked: list[Path] = []

    def one_volume(folder: Path) -> Volume:
        asked.append(folder)
        return Volume("8:1", DiskKind.SSD, "ext4")

    found = look_disks([tmp_path / "a/b/c", tmp_path / "d"], one_volume)
    assert [disk.path for disk in found] == [str(tmp_path / "a/b/c")]
    assert asked == [tmp_path / "a", tmp_path]  # what exists of them
    size = os.statvfs(tmp_path)
    assert found[0].total_bytes == size.f_blocks * size.f_frsize
    assert 0 < found[0].free_bytes <= found[0].total_bytes
    assert found[0].writable


def test_a_read_only_volume_is_not_writable(tmp_path: Path) -> None:
    found = look_disks([tmp_path], lambda _: Volume("8:1", DiskKind.SSD, "iso9660", read_only=True))
    assert not found[0].writable


def test_a_volume_that_does_not_answer_is_left_out(tmp_path: Path) -> None:
    def lost(folder: Path) -> Volume:
        raise OSError("host is down")

    assert look_disks([tmp_path], lost) == ()


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert nearest_existing(tmp_path / "link/new") == tmp_path / "real"
    assert nearest_existing(Path("relative-name")) == Path.cwd()


def test_windows_is_asked_by_a_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disks.os, "name", "nt")
    assert can_write(tmp_path)
    assert list(tmp_path.iterdir()) == []  # nothing left behind
    assert not can_write(tmp_path / "missing")


@pytest.mark.parametrize("system", ["Darwin", "Windows"])
def test_each_system_has_its_way(monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    monkeypatch.setattr(disks.platform, "system", lambda: system)
    monkeypatch.setattr(windows, "kernel", object)
    assert callable(disks.volumes_here())
