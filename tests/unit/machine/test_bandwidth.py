"""Measuring bandwidths: real memory and a real disk for a moment, the rest through its seams."""

from __future__ import annotations

import io
import json
import mmap
import os
import sys
from pathlib import Path

import pytest

from kimi_desktop.machine import bandwidth, read_disk, read_link, read_memory, windows_files
from kimi_desktop.machine.read_disk import LinuxFile, MacFile, disk_bandwidth
from kimi_desktop.machine.read_link import CudaError, link_bandwidths
from kimi_desktop.machine.read_memory import read_bandwidth
from kimi_desktop.machine.windows_files import WindowsFile

MIB = 2**20
posix_only = pytest.mark.skipif(os.name != "posix", reason="POSIX calls")


@pytest.fixture(autouse=True)
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at the mechanism, not a measurement."""
    monkeypatch.setattr(read_memory, "WINDOW_S", 0.02)
    monkeypatch.setattr(read_memory, "EACH_BYTES", 32 * MIB)
    monkeypatch.setattr(read_disk, "READ_S", 0.02)
    monkeypatch.setattr(read_disk, "WRITE_S", 0.0)
    monkeypatch.setattr(read_disk, "LEAST_FILE", 8 * MIB)
    monkeypatch.setattr(read_disk, "SPARE_BYTES", 0)


# memory


def test_memory_is_read_by_all_threads() -> None:
    shares: list[float] = []
    rate = read_bandwidth(3, 2**30, shares.append)
    assert rate > 10**8
    assert shares == [1 / 3, 2 / 3, 1.0]


def test_a_little_memory_is_enough() -> None:
    assert read_bandwidth(1, 0) > 0


def test_memory_that_cannot_be_had_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoRoom:
        def __init__(self, *_arguments: object) -> None:
            raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(read_memory.mmap, "mmap", NoRoom)
    with pytest.raises(MemoryError, match="Cannot allocate"):
        read_bandwidth(2, 2**30)


def test_no_window_is_begun_when_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_memory, "MOST_S", -1.0)
    shares: list[float] = []
    read_bandwidth(1, 2**28, shares.append)
    assert len(shares) == 1


# disks


@posix_only
def test_a_file_of_our_own_is_written_read_and_gone(tmp_path: Path) -> None:
    shares: list[float] = []
    assert disk_bandwidth(tmp_path, shares.append) > 0
    assert list(tmp_path.iterdir()) == []
    assert shares[0] == 0.4
    assert shares[-1] <= 1.0


@posix_only
def test_readers_that_come_late_still_read_one_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_disk, "READ_S", -1.0)
    assert disk_bandwidth(tmp_path) > 0
    monkeypatch.setattr(read_memory, "WINDOW_S", -1.0)
    assert read_bandwidth(2, 2**28) > 0


@posix_only
def test_a_model_that_is_there_spares_the_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, hole = tmp_path / "model.gguf", tmp_path / "sparse.gguf"
    whole.write_bytes(os.urandom(9 * MIB))
    with hole.open("wb") as file:
        file.truncate(64 * MIB)
    opened: list[Path] = []

    def watch(path: Path) -> LinuxFile:
        opened.append(path)
        return LinuxFile(path)

    monkeypatch.setattr(read_disk.tempfile, "mkstemp", None)  # calling it would fail
    files = (tmp_path / "gone.gguf", hole, whole)
    assert disk_bandwidth(tmp_path, files=files, open_direct=watch) > 0
    assert set(opened) == {whole}


def test_a_disk_without_room_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_disk, "SPARE_BYTES", 2**62)
    with pytest.raises(OSError, match="bytes free"):
        disk_bandwidth(tmp_path)


class Broken:
    """A disk that fails in the middle."""

    def __init__(self, path: Path) -> None:
        self.reads = 0

    def read_at(self, offset: int, buffer: mmap.mmap) -> int:
        self.reads += 1
        if self.reads > 1:
            raise OSError(5, "Input/output error")
        return len(buffer)

    def close(self) -> None:
        pass


@posix_only
def test_a_disk_that_fails_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Input/output"):
        disk_bandwidth(tmp_path, open_direct=Broken)
    assert list(tmp_path.iterdir()) == []

    def refuse(path: Path) -> Broken:
        raise OSError(13, "Permission denied")

    with pytest.raises(OSError, match="Permission"):
        disk_bandwidth(tmp_path, open_direct=refuse)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux")
def test_linux_falls_back_where_o_direct_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 4096)
    real = os.open

    def no_direct(name: str, flags: int, *rest: int) -> int:
        if flags & os.O_DIRECT:
            raise OSError(22, "Invalid argument")
        return real(name, flags, *rest)

    monkeypatch.setattr(read_disk.os, "open", no_direct)
    file = LinuxFile(path)
    with mmap.mmap(-1, 4096) as buffer:
        assert file.read_at(4096, buffer) == 4096
        assert buffer[:256] == bytes(range(256))
    file.close()


@posix_only
def test_macos_asks_not_to_cache(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 8192)
    asked: list[tuple[int, int]] = []
    file = MacFile(path, lambda _handle, command, value: asked.append((command, value)))
    with mmap.mmap(-1, 4096) as buffer:
        assert file.read_at(4096, buffer) == 4096
        assert buffer[:1] == b"x"
    file.close()
    assert asked == [(48, 1)]

    def refuse(_handle: int, _command: int, _value: int) -> None:
        raise OSError(22, "Invalid argument")

    with pytest.raises(OSError, match="Invalid"):
        MacFile(path, refuse)


class PlayedFiles:
    """kernel32 as recorded: a file of 6,000 bytes."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def open(self, path: str, access: int, share: int, disposition: int, flags: int) -> int:
        self.calls.append(("open", Path(path).name, access, share, disposition, flags))
        return 77

    def read(self, handle: int, address: int, length: int, offset: int) -> int:
        self.calls.append(("read", handle, length, offset))
        assert address % mmap.PAGESIZE == 0
        return max(min(length, 6000 - offset), 0)

    def close(self, handle: int) -> None:
        self.calls.append(("close", handle))


def test_windows_reads_without_buffering() -> None:
    files = PlayedFiles()
    file: WindowsFile = windows_files.open_direct(Path("C:/models/k.gguf"), files)
    with mmap.mmap(-1, 4096) as buffer:
        assert [file.read_at(offset, buffer) for offset in (0, 4096, 8192)] == [4096, 1904, 0]
    file.close()
    assert files.calls[0] == ("open", "k.gguf", 0x80000000, 7, 3, 0x20000000)
    assert files.calls[-1] == ("close", 77)


# links


class PlayedCuda:
    """A driver with two cards; copies take a tenth of a second of its own clock."""

    def __init__(self, room: int = 2**40) -> None:
        self.now = 0.0
        self.room = room
        self.open_buffers = 0
        self.sizes: list[int] = []

    def count(self) -> int:
        return 2

    def uuid(self, number: int) -> str:
        return f"GPU-{number}"

    def open(self, number: int, size_bytes: int) -> int:
        if size_bytes > self.room:
            raise CudaError("cuMemAlloc_v2", 2)
        self.open_buffers += 1
        self.sizes.append(size_bytes)
        return size_bytes

    def copy(self, buffers: int) -> None:
        self.now += 0.1 if buffers else 0.0

    def close(self, buffers: int) -> None:
        self.open_buffers -= 1


def test_links_are_measured_card_by_card() -> None:
    driver, shares = PlayedCuda(), list[float]()
    found = link_bandwidths(driver, shares.append, clock=lambda: driver.now)
    assert set(found) == {"GPU-0", "GPU-1"}
    assert found["GPU-0"] == pytest.approx(256 * MIB / 0.1)
    assert shares == [0.5, 1.0]
    assert driver.open_buffers == 0


def test_a_card_that_is_nearly_full_gets_a_smaller_buffer_or_none() -> None:
    tight = PlayedCuda(room=64 * MIB)
    found = link_bandwidths(tight, clock=lambda: tight.now)
    assert set(tight.sizes) == {64 * MIB}
    assert len(found) == 2
    full = PlayedCuda(room=MIB)
    assert link_bandwidths(full, clock=lambda: full.now) == {}


def test_time_is_up_before_the_last_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_link, "MOST_S", 0.1)
    driver = PlayedCuda()
    assert set(link_bandwidths(driver, clock=lambda: driver.now)) == {"GPU-0"}


def test_a_copy_that_fails_gives_the_buffers_back() -> None:
    class Failing(PlayedCuda):
        def copy(self, buffers: int) -> None:
            raise CudaError("cuMemcpyHtoD_v2", 719)

    driver = Failing()
    with pytest.raises(CudaError, match="719"):
        link_bandwidths(driver, clock=lambda: driver.now)
    assert driver.open_buffers == 0


class PlayedLibrary:
    """libcuda, function by function, as its C interface is called."""

    def __init__(self, failing: str = "") -> None:
        self.failing = failing
        self.calls: list[str] = []

    def __getattr__(self, name: str):
        def function(*arguments: object) -> int:
            self.calls.append(name)
            if name == self.failing:
                return 2
            if name == "cuDeviceGetCount":
                arguments[0]._obj.value = 1  # type: ignore[attr-defined]
            elif name == "cuDeviceGetUuid_v2":
                for at in range(16):
                    arguments[0]._obj[at] = at  # type: ignore[attr-defined]
            elif name == "cuMemHostAlloc":
                self.memory = mmap.mmap(-1, 4096)
                view = (read_link.ctypes.c_char * 4096).from_buffer(self.memory)
                arguments[0]._obj.value = read_link.ctypes.addressof(view)  # type: ignore[attr-defined]
                del view
            elif name == "cuMemAlloc_v2":
                arguments[0]._obj.value = 0xD0000000  # type: ignore[attr-defined]
            return 0

        return function


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> PlayedLibrary:
    library = PlayedLibrary()
    monkeypatch.setattr(read_link.ctypes, "CDLL", lambda _name: library)
    return library


@posix_only
def test_the_driver_is_called_as_its_header_says(played: PlayedLibrary) -> None:
    driver = read_link.InstalledCuda()
    assert driver.count() == 1
    assert driver.uuid(0) == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
    buffers = driver.open(0, 4096)
    driver.copy(buffers)
    driver.close(buffers)
    assert played.calls[-4:] == [
        "cuMemcpyHtoD_v2",
        "cuMemFree_v2",
        "cuMemFreeHost",
        "cuDevicePrimaryCtxRelease_v2",
    ]


@posix_only
def test_what_was_opened_is_given_back_when_the_card_is_full(played: PlayedLibrary) -> None:
    played.failing = "cuMemAlloc_v2"
    with pytest.raises(CudaError, match="cuMemAlloc_v2"):
        read_link.InstalledCuda().open(0, 4096)
    assert "cuMemFree_v2" not in played.calls
    assert played.calls[-2:] == ["cuMemFreeHost", "cuDevicePrimaryCtxRelease_v2"]


# the program


def test_the_program_says_how_each_part_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_driver(progress: object) -> dict[str, float]:
        raise OSError("libcuda.so.1: cannot open shared object file")

    class Waiting(io.StringIO):
        """One line, and then an open pipe."""

        def readline(self, *_arguments: object) -> str:
            line = super().readline()
            while not line:
                read_memory.threading.Event().wait()
            return line

    monkeypatch.setattr(bandwidth, "link_bandwidths", no_driver)
    wish = {"parts": ["ram", "disk", "pcie"], "folder": str(tmp_path), "files": []}
    monkeypatch.setattr(sys, "stdin", Waiting(json.dumps(wish) + "\n"))
    assert bandwidth.main() == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    ends = {fact["part"]: fact for fact in said if fact["event"] in ("measured", "failed")}
    assert ends["ram"]["value"] > 0
    assert ends["pcie"]["event"] == "failed"
    assert "libcuda" in ends["pcie"]["detail"]
    if os.name == "posix":
        assert ends["disk"]["value"] > 0
    assert [fact["part"] for fact in said if fact["event"] == "began"] == wish["parts"]
