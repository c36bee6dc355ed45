"""From a name to a download that may start, with real hubs on loopback."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.messages import Language
from kimi_desktop.downloads import prepare
from kimi_desktop.downloads.choose import Choice, Wish
from kimi_desktop.downloads.hubs.hub import Hub, HubClient, known_hubs
from kimi_desktop.downloads.jobs import Job, job_id
from kimi_desktop.downloads.part_file import PartFile, paths_of
from kimi_desktop.downloads.preflight_types import Level, Row, row
from kimi_desktop.downloads.prepare import Prepared, Preparer, read_wanted, source_hosts
from kimi_desktop.downloads.queue_types import DownloadState
from kimi_desktop.downloads.types import HubKind, RepoListing
from kimi_desktop.downloads.volume import VolumeFacts, look_at_volume
from kimi_desktop.models import catalogue_types
from kimi_desktop.models.references import RepoReference
from tests.support.hub.content import HubFile
from tests.support.hub.repos import Repo
from tests.support.hub.server import LocalHub
from tests.support.transfers import Run

REPO = "unsloth/Kimi-K2.6-GGUF"
MIB = 2**20
HF = RepoReference(catalogue_types.Hub.HUGGINGFACE, REPO)


def part(name: str, number: int, size: int = 3 * MIB) -> HubFile:
    return HubFile(f"{name}/K-{name}-{number:05}-of-00002.gguf", size)


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    files = [
        HubFile("README.md", content=b"# Kimi\n", lfs=False),
        HubFile("mmproj-F16.gguf", 1000),
        *(part("UD-Q2_K_XL", number) for number in (1, 2)),
        *(part("UD-Q4_K_XL", number) for number in (1, 2)),
    ]
    with LocalHub(REPO, files) as running:
        running.repos[0].licence = "modified-mit"
        yield running


@pytest.fixture
def hubs(hub: LocalHub) -> list[Hub]:
    return [
        Hub("hf-mirror", "hf-mirror", HubKind.HUGGINGFACE, hub.mirror, is_mirror=True),
        Hub("huggingface", "Hugging Face", HubKind.HUGGINGFACE, hub.endpoint),
        Hub("modelscope", "ModelScope", HubKind.MODELSCOPE, hub.modelscope),
    ]


@pytest.fixture
def preparer(hubs: list[Hub]) -> Preparer:
    return Preparer(HubClient(), hubs=lambda: hubs)


def q2(preparer: Preparer, folder: Path, **more: object) -> Prepared:
    return preparer.prepare(dataclasses.replace(HF, quantization="UD-Q2_K_XL"), folder, **more)


def test_a_whole_download(hub: LocalHub, preparer: Preparer, tmp_path: Path) -> None:
    found = q2(preparer, tmp_path)
    spec = found.spec
    assert spec.title == f"{REPO} UD-Q2_K_XL"
    assert spec.folder == str(tmp_path / "unsloth" / "Kimi-K2.6-GGUF")
    assert (spec.licence, spec.commit) == ("modified-mit", hub.commit)
    assert [job.target for job in spec.files] == [
        "mmproj-F16.gguf",
        "UD-Q2_K_XL/K-UD-Q2_K_XL-00001-of-00002.gguf",
        "UD-Q2_K_XL/K-UD-Q2_K_XL-00002-of-00002.gguf",
    ]
    first = spec.files[1]
    file = hub.file(first.target)
    assert file is not None
    assert (first.size_bytes, first.sha256) == (3 * MIB, file.sha256)
    # The preferred hub first, whoever leads; all of them list the same hash.
    assert [(s.endpoint, s.revision) for s in first.sources] == [
        (hub.mirror, hub.commit),
        (hub.endpoint, hub.commit),
        (hub.modelscope, "master"),
    ]
    assert found.gathered.leading.endpoint == hub.endpoint  # mirrors are believed last
    assert found.preflight.may_start
    assert found.speeds == ()
    assert not list(tmp_path.iterdir())
    assert source_hosts(spec) == (hub.mirror, hub.endpoint, hub.modelscope)


def test_one_source_by_any_of_its_names(hub: LocalHub, preparer: Preparer, tmp_path: Path) -> None:
    for name in ("modelscope", "ModelScope", f"{hub.modelscope}/"):
        found = q2(preparer, tmp_path, source=name)
        assert {s.endpoint for job in found.spec.files for s in job.sources} == {hub.modelscope}
        assert found.spec.commit == "master"
    with pytest.raises(DownloadError) as caught:
        q2(preparer, tmp_path, source="gitlab")
    assert caught.value.code is ErrorCode.HUB_UNKNOWN_SOURCE
    assert caught.value.params["known"] == "hf-mirror, huggingface, modelscope"


def test_a_reference_to_modelscope_is_led_by_it(
    hub: LocalHub, preparer: Preparer, tmp_path: Path
) -> None:
    there = RepoReference(catalogue_types.Hub.MODELSCOPE, REPO, quantization="UD-Q2_K_XL")
    found = preparer.prepare(there, tmp_path)
    assert found.gathered.leading.endpoint == hub.modelscope
    assert len(found.spec.files[0].sources) == 3


def test_a_mirror_alone_is_told(hub: LocalHub, preparer: Preparer, tmp_path: Path) -> None:
    with hub.offline("hub", "modelscope"):
        found = q2(preparer, tmp_path)
    (told,) = (row for row in found.preflight.rows if row.topic == "sources")
    assert told.level is Level.WARN
    with hub.offline("hub"):
        found = q2(preparer, tmp_path)
    (told,) = (row for row in found.preflight.rows if row.topic == "sources")
    assert told.level is Level.OK  # ModelScope lists the same hashes


def test_names_of_a_private_hub_are_not_told_to_others(
    hub: LocalHub, hubs: list[Hub], tmp_path: Path
) -> None:
    own = dataclasses.replace(hubs[1], is_private=True)
    found = q2(Preparer(HubClient(), hubs=lambda: [own, hubs[0], hubs[2]]), tmp_path)
    assert len(found.spec.files[0].sources) == 1
    assert {request.origin for request in hub.log} == {"hub"}


def test_environment_hubs_are_private_unless_they_ship(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.company.example")
    assert [hub.is_private for hub in known_hubs()] == [True, False, False, False]
    monkeypatch.setenv("HF_ENDPOINT", "https://hf-mirror.com")
    first = known_hubs()[0]
    assert (first.is_private, first.is_mirror) == (False, True)


def test_what_is_wanted(hub: LocalHub, preparer: Preparer, tmp_path: Path) -> None:
    by_path = dataclasses.replace(HF, path="UD-Q4_K_XL", quantization="UD-Q2_K_XL")
    assert preparer.prepare(by_path, tmp_path).choice.quantization == "UD-Q4_K_XL"
    found = q2(preparer, tmp_path, wish=Wish(include=("README.md",)))
    assert [job.target for job in found.spec.files] == ["README.md"]
    assert found.spec.files[0].git_sha1 is not None
    without = q2(preparer, tmp_path, wish=Wish(projector=False))
    assert len(without.spec.files) == 2
    with pytest.raises(DownloadError) as caught:
        preparer.prepare(HF, tmp_path)
    assert caught.value.code is ErrorCode.HUB_NOTHING_CHOSEN


def test_what_is_there_already_is_credited(
    hub: LocalHub, preparer: Preparer, tmp_path: Path
) -> None:
    whole = q2(preparer, tmp_path)
    folder = Path(whole.spec.folder)
    projector, first, second = whole.spec.files
    Run(dataclasses.replace(whole.spec, files=(projector,))).now()
    part = PartFile(folder, first)
    lease = part.take(MIB)
    assert lease is not None
    part.write(lease, memoryview(bytes(MIB)))
    part.close()
    again = q2(preparer, tmp_path)
    credited = whole.preflight.missing_bytes - again.preflight.missing_bytes
    reserved = paths_of(folder, first)[0].stat().st_blocks * 512  # not on every file system
    assert credited == 1000 + min(reserved, first.size_bytes)
    # Neither a file of that name and length is, nor a link, nor a partial file of something else.
    target = folder / second.target
    target.parent.mkdir()
    target.write_bytes(bytes(second.size_bytes))
    for path in paths_of(folder, second):
        path.write_bytes(bytes(1000))
    assert q2(preparer, tmp_path).preflight.missing_bytes == again.preflight.missing_bytes
    target.unlink()
    target.symlink_to(paths_of(folder, first)[0])
    assert q2(preparer, tmp_path).preflight.missing_bytes == again.preflight.missing_bytes


def the(found: Prepared, topic: str) -> Row:
    (one,) = (row for row in found.preflight.rows if row.topic == topic)
    return one


def test_a_newer_version_is_told(hub: LocalHub, preparer: Preparer, tmp_path: Path) -> None:
    old = q2(preparer, tmp_path)
    Run(old.spec).now()
    assert "version" not in {row.topic for row in q2(preparer, tmp_path).preflight.rows}
    changed = HubFile(old.spec.files[1].target, 3 * MIB, seed="new")
    hub.repos[0].change([changed if f.path == changed.path else f for f in hub.files])
    found = q2(preparer, tmp_path)
    told = the(found, "version")
    assert told.level is Level.WARN
    assert told.sentence(Language.EN).startswith("A newer version exists: ")
    assert f"has {old.spec.commit[:12]}, the newest is {hub.commit[:12]}" in told.text.en
    assert found.preflight.missing_bytes == 3 * MIB
    Run(found.spec).now()
    older = dataclasses.replace(HF, quantization="UD-Q2_K_XL", revision=old.spec.commit)
    told = the(preparer.prepare(older, tmp_path), "version")
    assert f"another version, {hub.commit[:12]}" in told.text.en


def test_an_unfinished_download_of_another_commit_is_told(
    hub: LocalHub, hubs: list[Hub], preparer: Preparer, tmp_path: Path
) -> None:
    old = q2(preparer, tmp_path).spec
    PartFile(Path(old.folder), old.files[1]).close()
    jobs = [Job(job_id(old), old, DownloadState.PAUSED)]
    asking = Preparer(HubClient(), hubs=lambda: hubs, jobs=lambda: jobs)
    assert "unfinished" not in {row.topic for row in q2(asking, tmp_path).preflight.rows}
    hub.repos[0].change([dataclasses.replace(f, seed="new") for f in hub.files])
    told = the(q2(asking, tmp_path), "unfinished")
    assert old.commit[:12] in told.text.en
    assert "of other partial files is removed" in told.next_step(Language.EN)


def test_space_that_others_in_the_queue_need_is_not_free(
    hubs: list[Hub], preparer: Preparer, tmp_path: Path
) -> None:
    spec = q2(preparer, tmp_path).spec
    needed = q2(preparer, tmp_path).preflight.needed_bytes
    other = dataclasses.replace(spec, folder=str(tmp_path / "other"))
    free = needed + spec.total_bytes - 1

    def told(jobs: list[Job], free_bytes: int) -> Row:
        def look_at(folder: Path) -> VolumeFacts:
            return dataclasses.replace(look_at_volume(folder), free_bytes=free_bytes)

        asking = Preparer(HubClient(), hubs=lambda: hubs, jobs=lambda: jobs, look_at=look_at)
        return the(q2(asking, tmp_path), "space")

    for state in (DownloadState.QUEUED, DownloadState.DOWNLOADING):
        waiting = Job(job_id(other), other, state)
        assert told([waiting], free).level is Level.STOP
        assert "for the downloads in the queue: 1 B too little" in told([waiting], free).text.en
        assert told([waiting], free + 1).level is Level.OK
    # Neither what is over or paused counts, nor this download itself.
    for job in (Job("a", other, DownloadState.PAUSED), Job("b", other, DownloadState.READY),
                Job(job_id(spec), spec)):  # fmt: skip
        assert told([job], needed).level is Level.OK


def test_sources_in_the_order_of_their_speed(
    hub: LocalHub, preparer: Preparer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "MEASURED_ABOVE_BYTES", MIB)
    monkeypatch.setattr("kimi_desktop.downloads.hubs.speed.PROBE_S", 0.2)
    hub.speeds["cdn"] = 500_000
    found = q2(preparer, tmp_path)
    assert found.speeds[0].source.endpoint == hub.modelscope
    assert {job.sources[0].endpoint for job in found.spec.files} == {hub.modelscope}
    assert q2(preparer, tmp_path, source="huggingface").speeds == ()


def test_judges_join_the_rows(preparer: Preparer, tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []

    def judge(listing: RepoListing, choice: Choice) -> Row | None:
        seen.append((listing.repo, choice.quantization))
        return row("loads", Level.STOP, "read_only", path="x")

    found = q2(preparer, tmp_path, judges=[judge, lambda _listing, _choice: None])
    assert seen == [(REPO, "UD-Q2_K_XL")]
    assert not found.preflight.may_start


def test_a_wrong_folder_is_said(preparer: Preparer, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = q2(preparer, tmp_path / "file" / "models")
    assert found.preflight.total_bytes > 0


@pytest.mark.parametrize(
    ("text", "revision", "quantization"),
    [
        (REPO, None, None),
        (f"{REPO}:UD-Q2_K_XL", None, "UD-Q2_K_XL"),
        (f"{REPO}@v1.0", "v1.0", None),
        (f"{REPO}@v1.0:UD-Q2_K_XL", "v1.0", "UD-Q2_K_XL"),
        (f"{REPO}@refs/pr/3", "refs/pr/3", None),
        (f"https://huggingface.co/{REPO}/tree/dev/UD-Q2_K_XL", "dev", None),
    ],
)
def test_names_as_people_type_them(
    text: str, revision: str | None, quantization: str | None
) -> None:
    found = read_wanted(text)
    assert (found.repo, found.revision, found.quantization) == (REPO, revision, quantization)


@pytest.mark.parametrize("text", ["", "Kimi-K2.6", f"{REPO}@", "https://example.org/a/b", "a/b/c"])
def test_names_that_are_none(text: str) -> None:
    with pytest.raises(DownloadError) as caught:
        read_wanted(text)
    assert caught.value.code is ErrorCode.HUB_BAD_NAME


def test_a_native_checkpoint_of_594_gb_needs_the_space(tmp_path: Path) -> None:
    from tests.support.hub.large_models import native_model  # noqa: PLC0415

    with LocalHub("moonshotai/Kimi-K2.6", native_model()) as hub:
        hub.repos.append(Repo.of("x/y", []))
        native = RepoReference(catalogue_types.Hub.HUGGINGFACE, "moonshotai/Kimi-K2.6")
        one = Hub("huggingface", "Hugging Face", HubKind.HUGGINGFACE, hub.endpoint)
        found = Preparer(HubClient(), hubs=lambda: [one]).prepare(native, tmp_path)
        assert len(found.spec.files) == 73
        assert found.preflight.total_bytes == pytest.approx(594e9, rel=1e-3)
        assert len(found.choice.code) == 2
