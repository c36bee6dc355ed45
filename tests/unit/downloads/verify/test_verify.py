"""A model on the disk, damaged in every way, and what is said of each part."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.messages import Language, message
from kimi_desktop.downloads.kept_hashes import HASHES_FILE, read_hashes
from kimi_desktop.downloads.part_file import PARTIAL_FOLDER
from kimi_desktop.downloads.verify import reading
from kimi_desktop.downloads.verify.mending import mend
from kimi_desktop.downloads.verify.reading import VerifyCancelledError
from kimi_desktop.downloads.verify.types import PartState, PartVerdict, VerifyReport
from kimi_desktop.downloads.verify.verifier import verify
from kimi_desktop.downloads.verify.words import good_sentence
from kimi_desktop.models.hash_record import Witness
from tests.support.gguf_files import Typed, data_bytes, header_bytes
from tests.support.hub.content import HubFile
from tests.support.hub.server import LocalHub
from tests.support.transfers import PIECE, Run, assert_whole, sent_bytes, spec_of

SET = [HubFile(f"model-{n:05}-of-00004.gguf", 9 * PIECE + 11) for n in (1, 2, 3)]
LAST = HubFile("model-00004-of-00004.gguf", 3 * PIECE + 5)
CONFIG = HubFile("config.json", content=b"{}", lfs=False)
FILES = [*SET, LAST, CONFIG]
FIRST, SECOND, THIRD = (file.path for file in SET)


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    with LocalHub("org/model", FILES) as running:
        yield running


@pytest.fixture
def model(hub: LocalHub, tmp_path: Path) -> Path:
    """A model that was downloaded and proven."""
    Run(spec_of(hub, tmp_path / "org" / "model")).now()
    hub.log.clear()
    return tmp_path / "org" / "model"


def states(report: VerifyReport) -> dict[str, PartState]:
    return {part.target: part.state for part in report.parts if part.state is not PartState.OK}


def part(report: VerifyReport, target: str) -> PartVerdict:
    return next(one for one in report.parts if one.target == target)


def change(path: Path, *positions: int) -> None:
    times = path.stat()
    with path.open("r+b") as file:
        for position in positions:
            file.seek(position)
            byte = file.read(1)
            file.seek(position)
            file.write(bytes([byte[0] ^ 1]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # as a failing disk does


def test_all_is_well(model: Path) -> None:
    before = read_hashes(model)[FIRST].proven_at
    report = verify(model)
    assert report.is_good
    assert {one.target for one in report.parts} == {file.path for file in FILES}
    assert report.checked_bytes == sum(file.length for file in FILES)
    assert part(report, FIRST).witness is Witness.LISTING
    assert read_hashes(model)[FIRST].proven_at > before


def test_one_part_stands_for_its_set(model: Path) -> None:
    report = verify(model / SECOND)
    assert [one.target for one in report.parts] == [file.path for file in (*SET, LAST)]
    alone = verify(model / "config.json")
    assert [one.target for one in alone.parts] == ["config.json"]


def test_flipped_bits_are_found_where_they_are(model: Path) -> None:
    change(model / SECOND, 5, 4 * PIECE + 7, 5 * PIECE)
    report = verify(model)
    assert states(report) == {SECOND: PartState.ALTERED}
    assert part(report, SECOND).bad_ranges == ((0, PIECE), (4 * PIECE, 6 * PIECE))
    assert part(report, SECOND).bad_bytes == 3 * PIECE
    # It is not shown as proven any more, although its size and time are as they were.
    assert not read_hashes(model)[SECOND].is_unchanged(model / SECOND)
    assert read_hashes(model)[FIRST].is_unchanged(model / FIRST)


def test_missing_short_long_foreign_and_swapped_parts_are_told_apart(
    hub: LocalHub, model: Path
) -> None:
    (model / FIRST).unlink()
    os.truncate(model / SECOND, 4 * PIECE + 100)
    with (model / THIRD).open("ab") as file:
        file.write(b"more")
    other = HubFile("another model", LAST.length)
    (model / LAST.path).write_bytes(other.read(0, other.length))
    report = verify(model)
    assert states(report) == {
        FIRST: PartState.MISSING,
        SECOND: PartState.SHORT,
        THIRD: PartState.LONG,
        LAST.path: PartState.FOREIGN,
    }
    assert part(report, SECOND).bad_ranges == ((4 * PIECE, SET[1].length),)


def test_parts_under_each_others_names(model: Path) -> None:
    spare = model / "spare"
    (model / FIRST).rename(spare)
    (model / LAST.path).rename(model / FIRST)  # of another length
    spare.rename(model / LAST.path)
    report = verify(model)
    assert states(report) == {FIRST: PartState.SWAPPED, LAST.path: PartState.SWAPPED}
    assert part(report, FIRST).other == LAST.path
    assert part(report, LAST.path).other == FIRST


def test_a_file_that_cannot_be_read(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (model / FIRST).unlink()
    (model / FIRST).mkdir()  # reading it fails with EISDIR
    report = verify(model)
    assert states(report)[FIRST] is PartState.UNREADABLE
    assert "directory" in part(report, FIRST).detail


@pytest.fixture
def other(model: Path) -> Path:
    """Another proven model in the same models folder, its files in a folder of their own."""
    files = [HubFile("UD-Q2/one.gguf", 3 * PIECE)]
    with LocalHub("org/other", files) as hub:
        Run(spec_of(hub, model.parent / "other")).now()
    return model.parent / "other"


def test_a_folder_of_models_is_judged_by_the_record_of_each(
    hub: LocalHub, model: Path, other: Path
) -> None:
    change(model / SECOND, 5 * PIECE + 1)
    for above in (model.parent, model.parent.parent):
        report = verify(above)
        inside = model.relative_to(above).as_posix()
        assert states(report) == {f"{inside}/{SECOND}": PartState.ALTERED}
        assert not report.is_good
        assert not (above / HASHES_FILE).exists()
    assert read_hashes(model)[SECOND].witness is Witness.LISTING
    assert read_hashes(other)["UD-Q2/one.gguf"].modified_ns
    Run(mend(verify(model.parent))).now()  # the one that is damaged
    assert_whole(hub, model)
    assert verify(model.parent.parent).is_proven


def test_several_damaged_models_are_repaired_one_by_one(model: Path, other: Path) -> None:
    change(model / SECOND, 1)
    change(other / "UD-Q2" / "one.gguf", 1)
    with pytest.raises(DownloadError) as caught:
        mend(verify(model.parent))
    assert caught.value.code is ErrorCode.DOWNLOAD_REPAIR_SEVERAL


def test_proven_is_said_only_of_what_was_compared(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(header_bytes({"general.architecture": "llama"}, []))
    report = verify(tmp_path)
    assert (report.is_good, report.is_proven, report.n_unproven) == (True, False, 1)
    assert report.to_json()["proven"] is False
    assert "Nothing says" in good_sentence(report, Language.EN)


def test_checksum_files_are_honoured(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(b"GGUF right")
    (tmp_path / "b.gguf").write_bytes(b"GGUF wrong")
    right = hashlib.sha256(b"GGUF right").hexdigest()
    (tmp_path / "SHA256SUMS").write_text(f"{right}  a.gguf\n{'0' * 64}  b.gguf\n{'1' * 64}  c\n")
    report = verify(tmp_path)
    assert states(report) == {"b.gguf": PartState.ALTERED, "c": PartState.MISSING}
    assert part(report, "a.gguf").witness is Witness.SUMS
    assert read_hashes(tmp_path)["a.gguf"].sha256 == right


def test_what_nobody_vouches_for_is_remembered(tmp_path: Path) -> None:
    for name in ("a.safetensors", "deep/b.safetensors"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    report = verify(tmp_path)
    assert report.is_good
    assert set(states(report).values()) == {PartState.UNPROVEN}
    assert part(report, "a.safetensors").sha256 == hashlib.sha256(b"a.safetensors").hexdigest()
    again = verify(tmp_path)
    assert states(again) == {}
    assert part(again, "deep/b.safetensors").witness is Witness.NOBODY
    (tmp_path / "deep/b.safetensors").write_bytes(b"changed meanwhile!")
    assert states(verify(tmp_path)) == {"deep/b.safetensors": PartState.ALTERED}


def gguf_part(number: int, count: int, tensors: int = 3) -> bytes:
    facts = {
        "split.no": Typed("H", number - 1),
        "split.count": Typed("H", count),
        "split.tensors.count": Typed("i", tensors),
    }
    return header_bytes(facts, []) + bytes(data_bytes([]))


def test_without_hashes_the_headers_of_a_set_speak(tmp_path: Path) -> None:
    names = [f"m-{n:05}-of-00005.gguf" for n in range(1, 6)]
    for number, name in enumerate(names, 1):
        (tmp_path / name).write_bytes(gguf_part(number, 5))
    (tmp_path / names[0]).write_bytes(gguf_part(2, 5))
    (tmp_path / names[1]).write_bytes(gguf_part(1, 5))
    (tmp_path / names[2]).write_bytes(gguf_part(3, 5, tensors=99))
    (tmp_path / names[3]).write_bytes(b"no model at all")
    (tmp_path / names[4]).unlink()
    (tmp_path / "other-00001-of-00002.gguf").write_bytes(gguf_part(1, 2))
    report = verify(tmp_path)
    assert states(report) == {
        names[0]: PartState.SWAPPED,
        names[1]: PartState.SWAPPED,
        names[2]: PartState.FOREIGN,
        names[3]: PartState.FOREIGN,
        names[4]: PartState.MISSING,
        "other-00001-of-00002.gguf": PartState.UNPROVEN,
        "other-00002-of-00002.gguf": PartState.MISSING,
    }
    assert part(report, names[0]).other == names[1]


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(DownloadError) as caught:
        verify(tmp_path / "gone")
    assert caught.value.code is ErrorCode.IMPORT_NOT_THERE
    (tmp_path / "notes.txt").touch()
    with pytest.raises(DownloadError) as caught:
        verify(tmp_path)
    assert caught.value.code is ErrorCode.IMPORT_NOTHING


def test_cancel_writes_nothing_down(model: Path) -> None:
    before = (model / HASHES_FILE).read_bytes()
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(VerifyCancelledError):
        verify(model, cancelled=cancelled)
    assert (model / HASHES_FILE).read_bytes() == before


def test_progress_goes_to_the_end(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PROGRESS_S", 0.001)
    told: list[tuple[int, int, float]] = []
    verify(model, lambda *step: told.append(step))
    total = sum(file.length for file in FILES)
    assert told[-1][:2] == (total, total)
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)


def test_reports_cross_as_json(model: Path) -> None:
    change(model / SECOND, 5)
    report = verify(model)
    assert VerifyReport.from_json(report.to_json()) == report


# repair


def repaired(hub: LocalHub, model: Path) -> int:
    """Repair what is wrong; how many bytes that took."""
    report = verify(model)
    hub.log.clear()
    Run(mend(report)).now()
    assert_whole(hub, model)
    assert verify(model).is_good
    return sent_bytes(hub, "cdn", "hub")


def test_only_the_bad_ranges_are_fetched(hub: LocalHub, model: Path) -> None:
    change(model / SECOND, 5, 4 * PIECE + 7)
    assert repaired(hub, model) == 2 * PIECE


def test_a_part_that_was_cut_needs_only_its_end(hub: LocalHub, model: Path) -> None:
    os.truncate(model / SECOND, 4 * PIECE + 100)
    assert repaired(hub, model) == SET[1].length - 4 * PIECE


def test_swapped_parts_are_renamed_and_nothing_is_fetched(hub: LocalHub, model: Path) -> None:
    spare = model / "spare"
    (model / FIRST).rename(spare)
    (model / SECOND).rename(model / FIRST)
    (model / THIRD).rename(model / SECOND)
    spare.rename(model / THIRD)
    assert repaired(hub, model) == 0


def test_a_part_under_the_name_of_a_missing_one(hub: LocalHub, model: Path) -> None:
    (model / FIRST).unlink()
    (model / SECOND).rename(model / FIRST)
    report = verify(model)
    assert states(report) == {FIRST: PartState.SWAPPED, SECOND: PartState.MISSING}
    assert repaired(hub, model) == SET[0].length


def test_a_copy_under_anothers_name_does_not_replace_the_original(
    hub: LocalHub, model: Path
) -> None:
    shutil.copy(model / FIRST, model / SECOND)
    report = verify(model)
    assert states(report) == {SECOND: PartState.SWAPPED}
    assert repaired(hub, model) == SET[1].length


def test_missing_and_foreign_parts_are_fetched_whole(hub: LocalHub, model: Path) -> None:
    (model / FIRST).unlink()
    (model / LAST.path).write_bytes(bytes(LAST.length))
    assert repaired(hub, model) == SET[0].length + LAST.length


def test_small_files_too(hub: LocalHub, model: Path) -> None:
    (model / "config.json").write_bytes(b"[]")
    assert states(verify(model)) == {"config.json": PartState.ALTERED}
    assert repaired(hub, model) == 2


def test_while_it_is_repaired_nobody_takes_it_for_a_model(hub: LocalHub, model: Path) -> None:
    change(model / SECOND, 5)
    spec = mend(verify(model))
    assert not (model / SECOND).exists()
    assert list((model / PARTIAL_FOLDER).glob("*.part"))
    Run(spec).now()
    assert_whole(hub, model)


def test_what_nobody_offers_cannot_be_repaired(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    (tmp_path / "SHA256SUMS").write_text(f"{'0' * 64}  a.gguf\n")
    with pytest.raises(DownloadError) as caught:
        mend(verify(tmp_path))
    assert caught.value.code is ErrorCode.DOWNLOAD_NO_REPAIR
    assert (tmp_path / "a.gguf").exists()


@pytest.mark.parametrize("language", list(Language))
def test_every_state_has_a_sentence(language: Language) -> None:
    for state in PartState:
        text = message(
            f"verify.part.{state.value}", language, file="a", detail="b", other="c",
            found="d", expected="e", bad="f", size="g", wanted="h",
        )  # fmt: skip
        assert text
