from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.machine.linux_files import (
    parse_cpu_list,
    read_int,
    read_mounts,
    read_text,
    under,
)
from tests.support.machine_trees import plant


@given(st.sets(st.integers(0, 500), min_size=1))
def test_cpu_lists_are_read_back(numbers: set[int]) -> None:
    ordered = sorted(numbers)
    parts: list[str] = []
    start = last = ordered[0]
    for number in [*ordered[1:], -1]:
        if number == last + 1:
            last = number
            continue
        parts.append(f"{start}" if start == last else f"{start}-{last}")
        start = last = number
    assert parse_cpu_list(",".join(parts) + "\n") == numbers


def test_cpu_lists_of_no_numbers_are_empty() -> None:
    assert parse_cpu_list("") == set()
    assert parse_cpu_list("a-b,3-,x") == {3}


def test_files_that_are_missing_or_odd_read_as_none(tmp_path: Path) -> None:
    plant(tmp_path, {"number": " 12\n", "word": "max\n", "bytes": "a"})
    (tmp_path / "bytes").write_bytes(b"\xff\xfe ok")
    assert read_int(tmp_path / "number") == 12
    assert read_int(tmp_path / "word") is None
    assert read_int(tmp_path / "missing") is None
    assert read_text(tmp_path / "missing") is None
    assert (read_text(tmp_path / "bytes") or "").endswith("ok")


def test_mounts_with_blanks_optional_fields_and_broken_lines(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "proc/self/mountinfo": (
                "27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda1 rw,errors=ro\n"
                "not a mount\n"
                "30 27 0:50 /sub /mnt/my\\040disk ro - fuse.sshfs me@host:/a\\134b rw,user_id=0\n"
                "31 27 0:51 - broken\n"
            )
        },
    )
    first, second = read_mounts(tmp_path)
    assert (first.device, first.point, first.file_system) == ("254:0", "/", "ext4")
    assert first.option("errors") == "ro"
    assert first.option("missing") is None
    assert first.option("rw") is None
    assert second.point == "/mnt/my disk"
    assert second.source == "me@host:/a\\b"
    assert second.options[0] == "ro"


def test_a_path_is_moved_under_the_root(tmp_path: Path) -> None:
    assert under(tmp_path, "/a/b") == tmp_path / "a/b"
    assert under(Path("/"), Path("/a")) == Path("/a")
