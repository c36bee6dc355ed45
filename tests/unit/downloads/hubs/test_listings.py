"""What hubs say about a repository, and what is made of nonsense."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import ssl
from pathlib import Path

import httpx
import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.downloads.hubs import control, entries, huggingface, modelscope
from kimi_desktop.downloads.hubs.hub import Hub, HubClient, custom_hub, known_hubs
from kimi_desktop.downloads.types import HubKind, RepoFile
from tests.support.hub import faults
from tests.support.hub.content import HubFile
from tests.support.hub.faults import Fault
from tests.support.hub.large_models import native_model
from tests.support.hub.repos import Account, Repo
from tests.support.hub.server import LocalHub
from tests.unit.downloads.hubs.conftest import REPO

TOKEN = "hf_thisIsOnlyOfTheTests"


def failed(hub: Hub, repo: str = REPO, revision: str | None = None, **options: object) -> ErrorCode:
    with pytest.raises(DownloadError) as caught:
        client(**options).list_repo(hub, repo, revision)
    for language in Language:
        for text in describe_error(caught.value, language):
            assert text
            assert "{" not in text
    return caught.value.code


def client(token: str | None = None) -> HubClient:
    return HubClient(lambda _origin: token)


def test_hugging_face(hub: LocalHub, huggingface: Hub) -> None:
    hub.repos[0].licence, hub.repos[0].licence_name = "other", "modified-mit"
    found = client().list_repo(huggingface, REPO)
    assert (found.kind, found.endpoint, found.repo) == (HubKind.HUGGINGFACE, hub.endpoint, REPO)
    assert (found.commit, found.licence) == (hub.commit, "modified-mit")
    assert (found.gated, found.private) == (False, False)
    readme, model, other = hub.files
    assert found.files == (
        RepoFile("README.md", readme.length, None, readme.git_sha1),
        RepoFile(model.path, model.length, model.sha256, None),
        RepoFile(other.path, 1000, other.sha256, None),
    )
    content = readme.read(0, readme.length)
    assert readme.git_sha1 == hashlib.sha1(b"blob 13\0" + content).hexdigest()


def test_an_older_commit(hub: LocalHub, huggingface: Hub) -> None:
    first = hub.commit
    hub.repos[0].change([HubFile("new.gguf", 10)])
    assert [f.path for f in client().list_repo(huggingface, REPO).files] == ["new.gguf"]
    old = client().list_repo(huggingface, REPO, first)
    assert (old.commit, len(old.files)) == (first, 3)
    assert failed(huggingface, revision="no/such") is ErrorCode.HUB_NO_REVISION


def test_long_listings_have_pages(hub: LocalHub, huggingface: Hub) -> None:
    hub.page_entries = 1
    assert len(client().list_repo(huggingface, REPO).files) == 3
    assert len(hub.requests("hub", "/tree/")) == 4


def test_594_gb_is_two_requests() -> None:
    with LocalHub("moonshotai/Kimi-K2.6", native_model()) as hub:
        found = client().list_repo(custom_hub(hub.endpoint), hub.repo)
        assert len(found.files) == 73
        assert sum(f.size_bytes for f in found.files) == pytest.approx(594e9, rel=1e-3)
        assert len(hub.log) == 2


@pytest.mark.parametrize("upper", [False, True])
def test_modelscope(hub: LocalHub, modelscope: Hub, upper: bool) -> None:
    hub.upper_case_hashes = upper
    found = client().list_repo(modelscope, REPO)
    assert (found.kind, found.commit) == (HubKind.MODELSCOPE, "master")
    assert (found.licence, found.private) == ("apache-2.0", False)
    assert found.files == tuple(
        RepoFile(file.path, file.length, file.sha256, None) for file in hub.files
    )


def test_modelscope_past_the_cut(hub: LocalHub, modelscope: Hub) -> None:
    hub.files = [
        HubFile(f"{folder}/{sub}/{number}.bin", 10)
        for folder in ("a", "b")
        for sub in ("x", "y")
        for number in range(900)
    ]
    found = client().list_repo(modelscope, REPO)
    assert {f.path for f in found.files} == {f.path for f in hub.files}
    roots = [
        re.findall(r"Recursive=(\w+)(?:&Root=(\w+))?", request.target)[0]
        for request in hub.requests("modelscope", "/repo/files")
    ]
    assert sorted(roots) == [("False", ""), ("True", ""), ("True", "a"), ("True", "b")]


def test_modelscope_a_folder_that_cannot_be_listed(
    hub: LocalHub, modelscope: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.modelscope_entries = 20
    monkeypatch.setattr("kimi_desktop.downloads.hubs.modelscope.CUT_ENTRIES", 20)
    hub.files = [HubFile(f"{number}.bin", 10) for number in range(21)]
    assert failed(modelscope) is ErrorCode.DOWNLOAD_BAD_LISTING
    hub.files = [HubFile(f"{number}/{n}.bin", 1) for number in range(9) for n in range(19)]
    monkeypatch.setattr("kimi_desktop.downloads.hubs.modelscope.MAX_LISTINGS", 3)
    assert failed(modelscope) is ErrorCode.DOWNLOAD_BAD_LISTING


def test_modelscope_without_a_card(hub: LocalHub, modelscope: Hub) -> None:
    hub.faults.add("/openapi/", Fault(status=404))
    assert client().list_repo(modelscope, REPO).licence == ""
    hub.faults.clear()
    hub.faults.add("/openapi/", Fault(body=b"[]"))
    assert client().list_repo(modelscope, REPO).licence == ""
    hub.faults.add("/openapi/", faults.captive_portal())
    assert failed(modelscope) is ErrorCode.DOWNLOAD_PORTAL


def test_modelscope_files_without_a_hash(hub: LocalHub, modelscope: Hub) -> None:
    rows = [{"Path": "a", "Type": "blob", "Size": 3, "Sha256": digest} for digest in ("", None)]
    body = json.dumps({"Success": True, "Data": {"Files": rows[:1]}}).encode()
    hub.faults.add("/repo/files", Fault(body=body))
    assert client().list_repo(modelscope, REPO).files == (RepoFile("a", 3, None, None),)


@pytest.mark.parametrize("repo", ["org/none", "other/small-chat"])
def test_repositories_that_are_not_there(any_hub: Hub, repo: str) -> None:
    assert failed(any_hub, repo) is ErrorCode.HUB_NO_REPO


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Kimi-K2.6",
        "a/b/c",
        "a b/c",
        "../etc/passwd",
        "a/..",
        "a/b?x=1",
        "a/b#c",
        "a/b.git",
        "é/b",
    ],
)
def test_names_that_cannot_be(any_hub: Hub, hub: LocalHub, name: str) -> None:
    assert failed(any_hub, name) is ErrorCode.HUB_BAD_NAME
    assert not hub.log


def test_renamed_repositories(hub: LocalHub, huggingface: Hub) -> None:
    hub.renamed["old/name"] = REPO
    found = client().list_repo(huggingface, "old/name")
    assert (found.repo, len(found.files)) == (REPO, 3)
    assert len(hub.requests("hub", "old/name")) == 1


# who may read


@pytest.fixture
def gated(hub: LocalHub) -> Repo:
    repo = Repo.of("org/gated", [HubFile("a.gguf", 10)])
    repo.gated = "manual"
    repo.hides_listing = True
    hub.repos.append(repo)
    return repo


def test_gated_repositories(hub: LocalHub, huggingface: Hub, gated: Repo) -> None:
    assert failed(huggingface, gated.name) is ErrorCode.HUB_GATED_NO_TOKEN
    hub.accounts[TOKEN] = Account("ada")
    assert failed(huggingface, gated.name, token=TOKEN) is ErrorCode.HUB_GATED
    hub.accounts[TOKEN] = Account("ada", frozenset({gated.name}))
    assert client(TOKEN).list_repo(huggingface, gated.name).gated
    gated.hides_listing = False
    assert client().list_repo(huggingface, gated.name).gated


def test_the_sentence_names_the_page(hub: LocalHub, huggingface: Hub, gated: Repo) -> None:
    with pytest.raises(DownloadError) as caught:
        client().list_repo(huggingface, gated.name)
    assert caught.value.params["page"] == f"{hub.endpoint}/org/gated"
    assert f"{hub.endpoint}/org/gated" in describe_error(caught.value, Language.EN)[1]


@pytest.mark.parametrize("kind", ["huggingface", "modelscope"])
def test_private_repositories(hub: LocalHub, kind: str, request: pytest.FixtureRequest) -> None:
    where: Hub = request.getfixturevalue(kind)
    hub.repos[0].private = True
    assert failed(where) is ErrorCode.HUB_NO_REPO
    hub.accounts[TOKEN] = Account("ada", frozenset({REPO}))
    assert client(TOKEN).list_repo(where, REPO).private


def test_a_wrong_token(hub: LocalHub, huggingface: Hub, modelscope: Hub) -> None:
    assert failed(huggingface, token="hf_wrong") is ErrorCode.HUB_BAD_TOKEN
    hub.faults.add("/api/", Fault(status=401))
    assert failed(huggingface, token="hf_wrong") is ErrorCode.HUB_BAD_TOKEN
    assert failed(huggingface) is ErrorCode.HUB_NO_REPO
    for where in (huggingface, modelscope):
        with pytest.raises(DownloadError) as caught:
            client().check_token(where, "hf_wrong")
        assert caught.value.code is ErrorCode.HUB_BAD_TOKEN


def test_whose_token_it_is(hub: LocalHub, huggingface: Hub, modelscope: Hub) -> None:
    hub.accounts[TOKEN] = Account("ada")
    assert client().check_token(huggingface, TOKEN) == "ada"
    assert client().check_token(modelscope, TOKEN) == "ada"
    hub.faults.add("whoami|users/me", Fault(body=b"{}"))
    for where in (huggingface, modelscope):
        with pytest.raises(DownloadError):
            client().check_token(where, TOKEN)


def test_the_token_goes_to_its_origin_alone(
    hub: LocalHub, huggingface: Hub, mirror: Hub, modelscope: Hub
) -> None:
    hub.accounts[TOKEN] = Account("ada")
    tokens = HubClient({hub.endpoint: TOKEN}.get)
    for where in (huggingface, mirror, modelscope):
        tokens.list_repo(where, REPO)
    by_origin = {r.origin: r.token for r in hub.log}
    assert by_origin == {"hub": f"Bearer {TOKEN}", "mirror": None, "modelscope": None}
    hub.faults.add("/revision/", faults.redirect(f"{hub.mirror}/api/models/{REPO}"), origin="hub")
    hub.log.clear()
    with pytest.raises(DownloadError) as caught:
        tokens.list_repo(huggingface, REPO)
    assert caught.value.code is ErrorCode.DOWNLOAD_PORTAL
    assert not hub.requests("mirror")


# trouble


def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{taken.getsockname()[1]}"
        assert failed(custom_hub(endpoint)) is ErrorCode.DOWNLOAD_OFFLINE


@pytest.mark.parametrize(
    "fault",
    [
        faults.captive_portal(),
        Fault(body=b"  <!DOCTYPE html>"),
        faults.redirect("http://portal.example/login"),
        Fault(status=404, body=b"<html>", headers=(("Content-Type", "text/html"),)),
    ],
)
def test_captive_portals(hub: LocalHub, any_hub: Hub, fault: Fault) -> None:
    hub.faults.add("/api/", fault)
    assert failed(any_hub) is ErrorCode.DOWNLOAD_PORTAL


def test_redirect_loops(hub: LocalHub, huggingface: Hub) -> None:
    hub.faults.add("/revision/", faults.redirect(f"/api/models/{REPO}/revision/main"))
    assert failed(huggingface) is ErrorCode.DOWNLOAD_PORTAL
    assert len(hub.log) == control.MAX_REDIRECTS + 1


@pytest.mark.parametrize("status", [400, 403, 451])
def test_closed_doors(hub: LocalHub, huggingface: Hub, status: int) -> None:
    why = (("X-Error-Message", "Access to this resource\x07 is disabled."),)
    hub.faults.add("/revision/", Fault(status=status, headers=why))
    with pytest.raises(DownloadError) as caught:
        client().list_repo(huggingface, REPO)
    assert caught.value.code is ErrorCode.DOWNLOAD_REFUSED
    assert caught.value.params["detail"] == "Access to this resource is disabled."
    hub.faults.clear()
    hub.faults.add("/revision/", Fault(status=status))
    with pytest.raises(DownloadError) as caught:
        client().list_repo(huggingface, REPO)
    assert caught.value.params["detail"] == f"HTTP {status}"


@pytest.mark.parametrize("status", [408, 429, 500, 503, 522])
def test_busy_hubs_are_asked_again(hub: LocalHub, huggingface: Hub, status: int) -> None:
    hub.faults.add("/revision/", Fault(status=status), requests=(1, 2))
    assert client().list_repo(huggingface, REPO).files
    hub.faults.clear()
    hub.faults.add("/revision/", Fault(status=status))
    hub.log.clear()
    expected = ErrorCode.HUB_BUSY if status == 429 else ErrorCode.HUB_TROUBLE
    assert failed(huggingface) is expected
    assert len(hub.log) == control.ATTEMPTS


def test_quotas_are_respected(
    hub: LocalHub, huggingface: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(control.time, "sleep", slept.append)
    hub.faults.add("/revision/", faults.too_many_requests(wait_s=7), requests=(1,))
    shared = client()
    assert shared.list_repo(huggingface, REPO).files
    assert 8.0 <= slept[1] <= 8.5
    hub.faults.clear()
    hub.faults.add("/api/", faults.too_many_requests(wait_s=250), requests=(1,))
    hub.log.clear()
    for _ in range(2):  # the second one does not even ask
        with pytest.raises(DownloadError) as caught:
            shared.list_repo(huggingface, REPO)
        assert caught.value.code is ErrorCode.HUB_BUSY
        assert 245 <= int(caught.value.params["wait_s"]) <= 252
        assert len(hub.log) == 1
    hub.quotas["api"] = 0
    assert failed(huggingface) is ErrorCode.HUB_BUSY


def test_a_cut_line_is_tried_again(hub: LocalHub, huggingface: Hub) -> None:
    hub.faults.add("/tree/", Fault(cut_after=10, reset=True), requests=(1,))
    assert client().list_repo(huggingface, REPO).files
    hub.faults.add("/tree/", Fault(cut_after=10, reset=True))
    assert failed(huggingface) is ErrorCode.DOWNLOAD_OFFLINE


def test_a_certificate_that_is_not_trusted() -> None:
    with LocalHub(REPO, [], tls=True) as hub:
        assert failed(custom_hub(hub.endpoint)) is ErrorCode.DOWNLOAD_REFUSED
        assert not hub.log


def test_a_certificate_error_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        reason = ssl.SSLCertVerificationError(1, "certificate verify failed")
        raise httpx.ConnectError("TLS") from reason

    monkeypatch.setattr(httpx.Client, "stream", refuse)
    with pytest.raises(DownloadError) as caught:
        client().list_repo(custom_hub("https://hub.example"), REPO)
    assert "certificate" in str(caught.value.params["detail"])


# nonsense


def _tree(**entry: object) -> bytes:
    return json.dumps([{"type": "file", "path": "a.gguf", **entry}]).encode()


@pytest.mark.parametrize(
    ("pattern", "body"),
    [
        ("/revision/", b"not json"),
        ("/revision/", b"[]"),
        ("/revision/", b'{"sha": "main"}'),
        ("/tree/", b'{"error": 1}'),
        ("/tree/", b"[1]"),
        ("/tree/", b"[" * 100_000),
        ("/tree/", _tree(lfs={"oid": "ab" * 32, "size": -1})),
        ("/tree/", _tree(lfs={"oid": "ab" * 32, "size": True})),
        ("/tree/", _tree(lfs={"oid": "ab" * 32, "size": 2**60})),
        ("/tree/", _tree(lfs={"oid": "../../etc", "size": 10})),
        ("/tree/", _tree(lfs={"size": 10})),
        ("/tree/", _tree(lfs=[])),
        ("/tree/", _tree(lfs={"oid": entries.EMPTY_SHA256, "size": 10})),
        ("/tree/", _tree(size=10)),
        ("/tree/", _tree(size=10, oid="zz")),
        ("/tree/", _tree(oid="a" * 40, size="10")),
        ("/tree/", _tree(path=7, oid="a" * 40, size=10)),
        ("/tree/", _tree(path="", oid="a" * 40, size=10)),
        ("/tree/", _tree(path="a" * 5000, oid="a" * 40, size=10)),
    ],
)
def test_listings_that_make_no_sense(
    hub: LocalHub, huggingface: Hub, pattern: str, body: bytes
) -> None:
    hub.faults.add(pattern, Fault(body=body))
    assert failed(huggingface) is ErrorCode.DOWNLOAD_BAD_LISTING


@pytest.mark.parametrize(
    "answer",
    [
        [],
        {"Success": True, "Data": {}},
        {"Success": True, "Data": {"Files": None}},
        {"Success": True, "Data": {"Files": [1]}},
        {"Success": True, "Data": {"Files": [{"Path": "a", "Size": "5"}]}},
        {"Success": True, "Data": {"Files": [{"Path": "a", "Size": 5, "Sha256": "xyz"}]}},
        {"Success": True, "Data": None},
    ],
)
def test_modelscope_listings_that_make_no_sense(
    hub: LocalHub, modelscope: Hub, answer: object
) -> None:
    hub.faults.add("/repo/files", Fault(body=json.dumps(answer).encode()))
    assert failed(modelscope) is ErrorCode.DOWNLOAD_BAD_LISTING


def test_modelscope_says_no_in_the_body(hub: LocalHub, modelscope: Hub) -> None:
    hub.faults.add("/repo/files", Fault(body=b'{"Code": 404, "Success": false}'))
    assert failed(modelscope) is ErrorCode.HUB_NO_REPO
    hub.faults.add("/repo/files", Fault(body=b'{"Code": 500, "Message": "x", "Success": false}'))
    assert failed(modelscope) is ErrorCode.DOWNLOAD_REFUSED


def test_endless_and_foreign_pages(
    hub: LocalHub, huggingface: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kimi_desktop.downloads.hubs.huggingface.MAX_PAGES", 3)
    again = f'<{hub.endpoint}/api/models/{REPO}/tree/main?x>; rel="next"'
    hub.faults.add("/tree/", Fault(body=b"[]", headers=(("Link", again),)))
    assert failed(huggingface) is ErrorCode.DOWNLOAD_BAD_LISTING
    assert len(hub.requests("hub", "/tree/")) == 3
    hub.faults.clear()
    hub.log.clear()
    elsewhere = f'<{hub.mirror}/api/models/{REPO}/tree/main>; rel="next"'
    hub.faults.add("/tree/", Fault(body=b"[]", headers=(("Link", elsewhere),)))
    assert failed(huggingface) is ErrorCode.DOWNLOAD_BAD_LISTING
    assert not hub.requests("mirror")


def test_mirrors_that_pass_on_the_original_addresses(hub: LocalHub, mirror: Hub) -> None:
    hub.page_entries = 2
    tree = f"/api/models/{REPO}/tree/{hub.commit}?recursive=true&cursor=2"
    link = (("Link", f'<https://huggingface.co{tree}>; rel="next"'),)
    hub.faults.add("/tree/", Fault(headers=link), requests=(1,), origin="mirror")
    renamed = f"https://huggingface.co/api/models/{REPO}/revision/main"
    hub.faults.add("/org/old/", faults.redirect(renamed, status=307), origin="mirror")
    assert len(client().list_repo(mirror, "org/old").files) == 3
    assert {request.origin for request in hub.log} == {"mirror"}


def test_endless_bodies(hub: LocalHub, any_hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.files += [HubFile(f"{number}.gguf", 10) for number in range(100)]
    monkeypatch.setattr(control, "MAX_BODY_BYTES", 1000)
    assert failed(any_hub) is ErrorCode.DOWNLOAD_BAD_LISTING


def test_too_many_files(hub: LocalHub, any_hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (huggingface, modelscope):
        monkeypatch.setattr(module, "MAX_FILES", 2)
    assert failed(any_hub) is ErrorCode.DOWNLOAD_BAD_LISTING


# search


def test_search(hub: LocalHub, huggingface: Hub, modelscope: Hub) -> None:
    other = Repo.of("unsloth/Small-Chat-GGUF", [])
    other.downloads, other.tags, other.gated = 5000, ("gguf", "kimi"), "auto"
    hub.repos.append(other)
    first, second = client().search(huggingface, "small chat")
    assert (first.repo, second.repo) == (other.name, REPO)
    assert (first.downloads, first.likes, first.gated) == (5000, 50, True)
    assert first.licence == "apache-2.0"
    assert "kimi" in first.tags
    assert first.changed.startswith("2026-")
    assert [r.repo for r in client().search(huggingface, "small", gguf=True)] == [other.name]
    assert len(client().search(huggingface, "small", limit=1)) == 1
    found = client().search(modelscope, "small")
    assert {r.repo for r in found} == {other.name, REPO}
    assert client().search(modelscope, "nothing like it") == ()


@pytest.mark.parametrize("body", [b"{}", b'{"data": {}}', b'{"data": {"models": 3}}', b"7"])
def test_searches_that_make_no_sense(hub: LocalHub, any_hub: Hub, body: bytes) -> None:
    hub.faults.add("/models", Fault(body=body))
    with pytest.raises(DownloadError) as caught:
        client().search(any_hub, "x")
    assert caught.value.code is ErrorCode.DOWNLOAD_BAD_LISTING


def test_rows_that_make_no_sense_are_left_out(hub: LocalHub, huggingface: Hub) -> None:
    rows = [{"id": 5}, 7, {"id": "a/b", "downloads": -1, "tags": [1, "x"], "likes": True}]
    hub.faults.add("/models", Fault(body=json.dumps(rows).encode()))
    (row,) = client().search(huggingface, "x")
    assert (row.repo, row.downloads, row.likes, row.tags) == ("a/b", 0, 0, ("x",))


# which hubs


def test_known_hubs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    assert [hub.id for hub in known_hubs()] == ["huggingface", "hf-mirror", "modelscope"]
    monkeypatch.setenv("HF_ENDPOINT", "https://hf-mirror.com/")
    assert [hub.id for hub in known_hubs()] == ["hf-mirror", "huggingface", "modelscope"]
    assert known_hubs(environment=False)[0].id == "huggingface"
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.company.example:8443")
    first = known_hubs()[0]
    assert (first.id, first.name) == (
        "https://hub.company.example:8443",
        "hub.company.example:8443",
    )
    added = custom_hub("https://www.modelscope.ai", HubKind.MODELSCOPE)
    assert known_hubs((added, added), environment=False)[-1] == added
    assert len(known_hubs((added, added), environment=False)) == 4


def test_hubs_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "hubs.json"
    one = {"id": "a", "name": "A", "kind": "modelscope", "endpoint": "https://a.example"}
    file.write_text(json.dumps({"hubs": [one]}))
    (found,) = known_hubs(data_file=file, environment=False)
    assert found == Hub("a", "A", HubKind.MODELSCOPE, "https://a.example")


def test_pauses() -> None:
    now = [100.0]
    pauses = control.Pauses(lambda: now[0])
    assert pauses.left_s("a") == 0
    pauses.note("a", 10)
    pauses.note("a", 3)
    now[0] += 4
    assert (pauses.left_s("a"), pauses.left_s("b")) == (6, 0)
