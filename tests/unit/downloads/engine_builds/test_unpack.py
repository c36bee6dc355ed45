"""Archives of strangers: what leads out, what is no file, what is too large, what is damaged."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads.engine_builds import unpack
from kimi_desktop.downloads.engine_builds.unpack import Unpacker
from tests.support.releases import tar_gz, zipped


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "unpacked"
    made.mkdir()
    return made


def archive(tmp_path: Path, content: bytes, name: str = "a.tar.gz") -> Path:
    file = tmp_path / name
    file.write_bytes(content)
    return file


def refusal(folder: Path, file: Path, **options: int) -> DownloadError:
    unpacker = Unpacker(folder, **options)  # type: ignore[arg-type]

    def unpack_all() -> None:
        unpacker.unpack(file)
        unpacker.make_links()

    with pytest.raises(DownloadError) as caught:
        unpack_all()
    assert caught.value.code is ErrorCode.BUILD_BAD_ARCHIVE
    assert sorted(path.name for path in folder.parent.iterdir()) == sorted([file.name, folder.name])
    return caught.value


def special(kind: bytes, target: str = "") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as opened:
        entry = tarfile.TarInfo("build/thing")
        entry.type, entry.linkname = kind, target
        opened.addfile(entry)
    return out.getvalue()


def test_files_links_and_permissions(tmp_path: Path, folder: Path) -> None:
    links = {"b/libllama.so": "libllama.so.0", "b/libllama.so.0": "libllama.so.0.1"}
    content = tar_gz({"b/llama-server": b"run", "b/libllama.so.0.1": b"library"}, links)
    unpacker = Unpacker(folder)
    unpacker.unpack(archive(tmp_path, content))
    unpacker.make_links()
    assert (folder / "b/libllama.so").read_bytes() == b"library"
    assert unpacker.written_bytes == 10
    if os.name == "posix":
        assert os.access(folder / "b/llama-server", os.X_OK)
        assert not os.access(folder / "b/libllama.so.0.1", os.X_OK)


def test_a_zip_and_a_second_one_beside_it(tmp_path: Path, folder: Path) -> None:
    unpacker = Unpacker(folder)
    unpacker.unpack(archive(tmp_path, zipped({"bin/llama-server.exe": b"MZ"}), "a.zip"))
    unpacker.unpack(archive(tmp_path, zipped({"cudart64.dll": b"MZ"}), "c.zip"), "bin")
    assert (folder / "bin/cudart64.dll").is_file()


@pytest.mark.parametrize(
    "name", ["../out", "/etc/out", "b/../../out", "C:\\out", "b\\..\\..\\out", "con", "b/x ", ""]
)
def test_names_that_lead_out(tmp_path: Path, folder: Path, name: str) -> None:
    refusal(folder, archive(tmp_path, tar_gz({"b/good": b"", name: b"x"})))


@pytest.mark.parametrize("name", ["../out", "/etc/out", "b/../../out", "C:/out"])
def test_the_same_in_a_zip(tmp_path: Path, folder: Path, name: str) -> None:
    refusal(folder, archive(tmp_path, zipped({name: b"x"}), "a.zip"))


@pytest.mark.parametrize("target", ["../../out", "/etc/passwd", "sub/x", "missing", "link"])
def test_links_that_lead_out_nowhere_or_in_a_circle(
    tmp_path: Path, folder: Path, target: str
) -> None:
    refusal(folder, archive(tmp_path, tar_gz({"b/x": b""}, {"b/link": target})))


def test_a_file_through_a_link_is_refused(tmp_path: Path, folder: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as opened:
        link = tarfile.TarInfo("b")
        link.type, link.linkname = tarfile.SYMTYPE, ".."
        opened.addfile(link)
        file = tarfile.TarInfo("b/out")
        file.size = 1
        opened.addfile(file, io.BytesIO(b"x"))
    refusal(folder, archive(tmp_path, out.getvalue()))


@pytest.mark.parametrize("kind", [tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_what_is_no_file(tmp_path: Path, folder: Path, kind: bytes) -> None:
    refusal(folder, archive(tmp_path, special(kind, "../../x")))


def test_a_link_in_a_zip(tmp_path: Path, folder: Path) -> None:
    refusal(folder, archive(tmp_path, zipped({"link": b"/etc/passwd"}, 0o120777), "a.zip"))


def test_a_name_twice(tmp_path: Path, folder: Path) -> None:
    refusal(folder, archive(tmp_path, tar_gz({"b/x": b"1", "b/X": b"2"})))


def test_more_than_it_may_become(tmp_path: Path, folder: Path) -> None:
    bomb = archive(tmp_path, tar_gz({"b/x": bytes(4 * 2**20)}))
    assert bomb.stat().st_size < 2**16
    refusal(folder, bomb, most_bytes=2**20)


def test_too_many_files(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "MOST_FILES", 3)
    refusal(folder, archive(tmp_path, tar_gz({f"b/{n}": b"" for n in range(4)})))


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.98])
def test_damaged_archives(tmp_path: Path, folder: Path, keep: float) -> None:
    whole = tar_gz({"b/llama-server": os.urandom(2**16)})
    refusal(folder, archive(tmp_path, whole[: int(len(whole) * keep)]))
    whole = zipped({"llama-server": os.urandom(2**16)})
    refusal(folder, archive(tmp_path, whole[: int(len(whole) * keep)], "a.tar.gz"))


def test_a_damaged_zip(tmp_path: Path, folder: Path) -> None:
    whole = bytearray(zipped({"llama-server": bytes(2**16)}))
    whole[60] ^= 0xFF
    refusal(folder, archive(tmp_path, bytes(whole), "a.zip"))


def test_it_stops_when_asked(tmp_path: Path, folder: Path) -> None:
    unpacker = Unpacker(folder, is_stopped=lambda: True)
    with pytest.raises(InterruptedError):
        unpacker.unpack(archive(tmp_path, tar_gz({"b/x": b"1"})))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_full_disk(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open
    monkeypatch.setattr(unpack.os, "open", lambda *_a: real("/dev/full", os.O_WRONLY))
    with pytest.raises(DownloadError) as caught:
        Unpacker(folder, expected_bytes=10**9).unpack(
            archive(tmp_path, tar_gz({"b/x": bytes(2**20)}))
        )
    assert caught.value.code is ErrorCode.DOWNLOAD_NO_SPACE
    assert caught.value.params["needed"] == "1.0 GB"
