"""The local hub itself: what the real protocols promise, and that its faults happen."""

from __future__ import annotations

import hashlib
import json
import socket
import ssl
import time
import urllib.parse
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.hub import faults
from tests.support.hub.content import HubFile
from tests.support.hub.faults import Fault
from tests.support.hub.large_models import native_model
from tests.support.hub.repos import Account, Repo
from tests.support.hub.server import TLS_CERTIFICATE, LocalHub

REPO = "org/model"
BIG = "weights/model-00001.safetensors"
SMALL = "config.json"


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    files = [
        HubFile(SMALL, content=b'{"model_type": "kimi"}', lfs=False),
        HubFile(BIG, 9 * 2**20 + 11),
        HubFile("weights/more/tiny.gguf", 321, xet=False),
    ]
    with LocalHub(REPO, files) as running:
        yield running


@pytest.fixture
def web() -> Iterator[httpx.Client]:
    with httpx.Client(headers={"Accept-Encoding": "identity"}, trust_env=False) as client:
        yield client


def resolve(hub: LocalHub, path: str, repo: str = REPO) -> str:
    return f"{hub.endpoint}/{repo}/resolve/main/{path}"


def location(hub: LocalHub, web: httpx.Client) -> str:
    return web.get(resolve(hub, BIG)).headers["Location"]


def big(hub: LocalHub) -> HubFile:
    file = hub.file(BIG)
    assert file is not None
    return file


def test_a_large_file_is_a_redirect_with_its_facts(hub: LocalHub, web: httpx.Client) -> None:
    answer = web.get(resolve(hub, BIG))
    file = big(hub)
    assert answer.status_code == 302
    assert answer.headers["X-Repo-Commit"] == hub.commit
    assert answer.headers["X-Linked-Size"] == str(file.length)
    assert answer.headers["X-Linked-ETag"] == f'"{file.sha256}"'
    assert answer.headers["X-Xet-Hash"] == file.xet_hash != file.sha256
    assert 'rel="xet-auth"' in answer.headers["Link"]
    assert len(answer.content) == 900
    there = urllib.parse.urlsplit(answer.headers["Location"])
    assert (there.hostname, there.port) != ("127.0.0.1", urllib.parse.urlsplit(hub.endpoint).port)
    body = web.get(answer.headers["Location"])
    assert body.status_code == 200
    assert hashlib.sha256(body.content).hexdigest() == file.sha256
    assert body.headers["ETag"] != f'"{file.sha256}"'


def test_a_small_file_is_a_relative_redirect(hub: LocalHub, web: httpx.Client) -> None:
    answer = web.get(resolve(hub, SMALL))
    assert answer.status_code == 307
    assert answer.headers["Location"].startswith("/api/resolve-cache/")
    body = web.get(resolve(hub, SMALL), follow_redirects=True)
    blob = b"blob %d\0" % len(body.content) + body.content
    assert body.headers["ETag"] == f'"{hashlib.sha1(blob).hexdigest()}"'
    packed = web.get(
        resolve(hub, SMALL), follow_redirects=True, headers={"Accept-Encoding": "gzip"}
    )
    assert packed.content == body.content
    assert "Content-Length" not in packed.headers


def test_ranges(hub: LocalHub, web: httpx.Client) -> None:
    url, file = location(hub, web), big(hub)
    part = web.get(url, headers={"Range": "bytes=100-199"})
    assert (part.status_code, part.content) == (206, file.read(100, 100))
    assert part.headers["Content-Range"] == f"bytes 100-199/{file.length}"
    assert web.get(url, headers={"Range": "bytes=-7"}).content == file.read(file.length - 7, 7)
    past = web.get(url, headers={"Range": f"bytes={file.length}-"})
    assert (past.status_code, past.headers["Content-Range"]) == (416, f"bytes */{file.length}")
    tag = part.headers["ETag"]
    same = web.get(url, headers={"Range": "bytes=1-2", "If-Range": tag})
    other = web.head(url, headers={"Range": "bytes=1-2", "If-Range": '"x"'})
    assert (same.status_code, other.status_code) == (206, 200)
    assert hub.log[-1].if_range == '"x"'


def test_signatures_expire_and_cannot_be_made_up(hub: LocalHub, web: httpx.Client) -> None:
    url = location(hub, web)
    assert web.head(url).status_code == 200
    parts = urllib.parse.urlsplit(url)
    query = dict(urllib.parse.parse_qsl(parts.query))
    query["Expires"] = str(int(query["Expires"]) + 99)
    assert web.get(f"{hub.cdn}{parts.path}?{urllib.parse.urlencode(query)}").status_code == 403
    hub.clock_offset_s = 3700
    late = web.get(url)
    assert late.status_code == 403
    assert b"AccessDenied" in late.content
    fresh = web.head(location(hub, web))
    assert fresh.status_code == 200
    assert "Date" in fresh.headers


def test_trees_have_folders_and_pages(hub: LocalHub, web: httpx.Client) -> None:
    tree = f"{hub.endpoint}/api/models/{REPO}/tree/{hub.commit}"
    top = web.get(tree).json()
    assert [(e["type"], e["path"]) for e in top] == [("file", SMALL), ("directory", "weights")]
    everything = web.get(tree, params={"recursive": "true", "expand": "false"}).json()
    assert [e["path"] for e in everything if e["type"] == "file"] == [f.path for f in hub.files]
    entry = next(e for e in everything if e["path"] == BIG)
    assert entry["lfs"]["oid"] == big(hub).sha256
    assert entry["lfs"]["pointerSize"] == 132
    assert entry["oid"] == big(hub).git_sha1
    inside = web.get(f"{tree}/weights").json()
    assert [e["path"] for e in inside] == [BIG, "weights/more"]
    assert web.get(f"{tree}/nothing").headers["X-Error-Code"] == "EntryNotFound"
    assert "securityFileStatus" in web.get(tree, params={"expand": "true"}).json()[0]
    hub.page_entries = 2
    paths, url = [], f"{tree}?recursive=true"
    while url:
        page = web.get(url)
        paths += [e["path"] for e in page.json()]
        url = page.links.get("next", {}).get("url")
    assert paths == [e["path"] for e in everything]


def test_revisions(hub: LocalHub, web: httpx.Client) -> None:
    first = hub.commit
    second = hub.repos[0].change([HubFile(BIG, 10, seed="other")])
    api = f"{hub.endpoint}/api/models/{REPO}"
    assert web.get(api).json()["sha"] == second
    assert web.get(f"{api}/revision/{first}").json()["sha"] == first
    assert web.get(f"{api}/refs").json()["branches"][0]["targetCommit"] == second
    old = web.get(f"{hub.endpoint}/{REPO}/resolve/{first}/{BIG}")
    assert old.headers["X-Linked-Size"] == str(9 * 2**20 + 11)
    unknown = web.get(f"{api}/revision/none")
    assert unknown.headers["X-Error-Code"] == "RevisionNotFound"
    asked = web.post(f"{api}/paths-info/{first}", json={"paths": [SMALL]}).json()
    assert [e["path"] for e in asked] == [SMALL]


def test_who_may_read_what(hub: LocalHub, web: httpx.Client) -> None:
    gated = Repo.of("org/gated", [HubFile("a.gguf", 10)])
    gated.gated = "manual"
    private = Repo.of("org/private", [HubFile("a.gguf", 10)])
    private.private = True
    hub.repos += [gated, private]
    hub.accounts = {
        "hf_good": Account("ada", frozenset({gated.name, private.name})),
        "hf_other": Account("bob"),
    }

    def ask(repo: str, token: str | None) -> tuple[int, str | None]:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        answer = web.get(resolve(hub, "a.gguf", repo), headers=headers)
        return answer.status_code, answer.headers.get("X-Error-Code")

    assert ask("org/gated", None) == (401, "GatedRepo")
    assert ask("org/gated", "hf_other") == (403, "GatedRepo")
    assert ask("org/gated", "hf_good") == (302, None)
    assert ask("org/private", None) == (401, "RepoNotFound")
    assert ask("org/private", "hf_other") == (404, "RepoNotFound")
    assert ask("org/private", "hf_good") == (302, None)
    assert ask("org/nothing", None) == (401, "RepoNotFound")
    wrong = web.get(resolve(hub, BIG), headers={"Authorization": "Bearer hf_wrong"})
    assert wrong.status_code == 401
    assert wrong.headers["X-Error-Message"] == "Invalid credentials in Authorization header"
    who = web.get(
        f"{hub.endpoint}/api/whoami-v2", headers={"Authorization": "Bearer hf_good"}
    ).json()
    assert who["name"] == "ada"
    found = web.get(f"{hub.endpoint}/api/models", params={"search": "org"}).json()
    assert [repo["id"] for repo in found] == [REPO, gated.name]


def test_renamed_repositories(hub: LocalHub, web: httpx.Client) -> None:
    hub.renamed["old/name"] = REPO
    answer = web.get(f"{hub.endpoint}/api/models/old/name")
    assert (answer.status_code, answer.headers["Location"]) == (307, f"/api/models/{REPO}")


def test_quotas_are_counted(hub: LocalHub, web: httpx.Client) -> None:
    hub.quotas["api"] = 2
    api = f"{hub.endpoint}/api/models/{REPO}"
    assert web.get(api).headers["RateLimit"].startswith('"api";r=1;t=')
    web.get(api)
    refused = web.get(api)
    assert refused.status_code == 429
    assert refused.headers["RateLimit"].startswith('"api";r=0;t=')
    assert refused.headers["RateLimit-Policy"] == '"fixed window";"api";q=2;w=300'
    assert web.get(resolve(hub, BIG)).status_code == 302


def test_modelscope(hub: LocalHub, web: httpx.Client) -> None:
    base = f"{hub.modelscope}/api/v1/models/{REPO}"
    files = web.get(f"{base}/repo/files", params={"Recursive": "True"}).json()["Data"]["Files"]
    assert {f["Path"] for f in files if f["Type"] == "blob"} == {f.path for f in hub.files}
    inside = web.get(f"{base}/repo/files", params={"Root": "weights"}).json()["Data"]["Files"]
    assert [f["Name"] for f in inside] == ["model-00001.safetensors", "more"]
    hub.modelscope_entries = 2
    cut = web.get(f"{base}/repo/files", params={"Recursive": "True"}).json()
    assert len(cut["Data"]["Files"]) == 2
    assert cut["Success"] is True
    small = web.get(f"{base}/repo", params={"FilePath": SMALL})
    assert small.status_code == 200
    large = web.get(f"{base}/repo", params={"FilePath": BIG})
    part = web.get(large.headers["Location"], headers={"Range": "bytes=5-9"})
    assert (part.status_code, part.headers["Content-Range"][:9]) == (200, "bytes 5-9")
    assert len(part.content) == 5
    missing = web.get(f"{hub.modelscope}/api/v1/models/org/none/repo/files")
    assert (missing.status_code, missing.json()["Success"]) == (404, False)
    found = web.get(f"{hub.modelscope}/openapi/v1/models", params={"search": "model"}).json()
    assert [card["id"] for card in found["data"]["models"]] == [REPO]
    assert "RevisionMap" in web.get(f"{base}/revisions").json()["Data"]


def test_the_mirror_leads_to_the_same_cdn(hub: LocalHub, web: httpx.Client) -> None:
    answer = web.get(f"{hub.mirror}/{REPO}/resolve/main/{BIG}")
    assert answer.headers["Location"].startswith(hub.cdn)
    assert answer.headers["Link"].startswith(f"<{hub.mirror}/")
    assert [r.origin for r in hub.log] == ["mirror"]


def test_the_log_knows_tokens_and_bytes(hub: LocalHub, web: httpx.Client) -> None:
    web.get(location(hub, web), headers={"Range": "bytes=0-99", "Authorization": "Bearer leaked"})
    line = hub.requests("cdn")[-1]
    assert (line.token, line.authorization, line.sent_bytes) == ("Bearer leaked", True, 100)
    web.get(hub.modelscope, headers={"Cookie": "m_session_id=secret; a=b"})
    assert hub.log[-1].token == "secret"


def collect(web: httpx.Client, url: str, got: bytearray, **options: Any) -> None:
    """What arrives before it ends, in whatever way."""
    with web.stream("GET", url, **options) as answer:
        for piece in answer.iter_raw():
            got += piece


CUT = [
    (Fault(cut_after=1000), 1000),
    (Fault(cut_after=1000, reset=True), None),
    (Fault(extra=b"more", headers=(("Content-Length", "20"),), cut_after=7), 7),
]


@pytest.mark.parametrize(("fault", "arrived"), CUT)
def test_cuts(hub: LocalHub, web: httpx.Client, fault: Fault, arrived: int | None) -> None:
    url = location(hub, web)
    hub.faults.add("xet-bridge", fault)
    got = bytearray()
    with pytest.raises(httpx.TransportError):
        collect(web, url, got)
    assert arrived is None or len(got) == arrived


def changed(answer: httpx.Response, file: HubFile) -> list[int]:
    right = file.read(0, file.length)
    return [at for at, byte in enumerate(answer.content) if byte != right[at]]


def test_wrong_bytes(hub: LocalHub, web: httpx.Client) -> None:
    url, file = location(hub, web), big(hub)
    hub.faults.add("xet-bridge", Fault(flip_at=300_000))
    assert changed(web.get(url), file) == [300_000]
    hub.faults.clear()
    hub.files.append(HubFile("swapped", file.length))
    hub.faults.add("xet-bridge", Fault(swap="swapped"))
    assert len(changed(web.get(url), file)) > 1000


@pytest.mark.parametrize(
    ("fault", "status", "sent"),
    [
        (Fault(ignore_range=True), 200, None),
        (Fault(plain_status=True), 200, "bytes 10-19/9437195"),
        (Fault(shift=1), 206, "bytes 11-19/9437195"),
        (Fault(total=99), 206, "bytes 10-19/99"),
        (faults.not_satisfiable(5), 416, "bytes */5"),
        (faults.expired_signature(), 403, None),
        (faults.captive_portal(), 200, None),
    ],
)
def test_wrong_answers_to_ranges(
    hub: LocalHub, web: httpx.Client, fault: Fault, status: int, sent: str | None
) -> None:
    url = location(hub, web)
    hub.faults.add("xet-bridge", fault, origin="cdn")
    with web.stream("GET", url, headers={"Range": "bytes=10-19"}) as answer:
        assert answer.status_code == status
        assert answer.headers.get("Content-Range") == sent


def test_faults_by_request_and_origin(hub: LocalHub, web: httpx.Client) -> None:
    hub.faults.add("/resolve/", faults.too_many_requests("resolvers"), requests=(2,), origin="hub")
    hub.faults.add("/resolve/", faults.retry_later("Wed, 21 Oct 2026 07:28:00 GMT"), requests=(3,))
    statuses = [web.get(resolve(hub, BIG)).status_code for _ in range(4)]
    assert statuses == [302, 429, 429, 302]
    hub.faults.add("/resolve/", faults.redirect("file:///etc/passwd"))
    assert web.get(resolve(hub, BIG)).headers["Location"] == "file:///etc/passwd"


def test_silence_and_trickle(hub: LocalHub, web: httpx.Client) -> None:
    url = location(hub, web)
    hub.faults.add("xet-bridge", Fault(stall_s=30, stall_after=5000))
    got = bytearray()
    with pytest.raises(httpx.ReadTimeout):
        collect(web, url, got, timeout=0.3, headers={"Range": "bytes=0-9999"})
    assert len(got) == 5000
    hub.faults.clear()
    hub.speeds["cdn"] = 20_000
    began = time.monotonic()
    web.get(url, headers={"Range": "bytes=0-4999"})
    assert time.monotonic() - began > 0.2


def test_compressed_although_nobody_asked(hub: LocalHub, web: httpx.Client) -> None:
    hub.faults.add("xet-bridge", Fault(gzip=True))
    answer = web.get(location(hub, web))
    assert answer.headers["Content-Encoding"] == "gzip"


def test_offline_and_back_on_the_same_port(hub: LocalHub, web: httpx.Client) -> None:
    url = f"{hub.endpoint}/api/models/{REPO}"
    assert web.get(url).status_code == 200
    with hub.offline("hub"), pytest.raises(httpx.TransportError):
        web.get(url)
    assert web.get(url).status_code == 200


def test_tls() -> None:
    with LocalHub(REPO, [HubFile(BIG, 9 * 2**20)], tls=True) as hub:
        assert hub.endpoint.startswith("https://")
        with pytest.raises(httpx.ConnectError, match="certificate"):
            httpx.get(hub.endpoint, trust_env=False)
        trusting = ssl.create_default_context(cafile=str(TLS_CERTIFICATE))
        with httpx.Client(verify=trusting, trust_env=False, follow_redirects=True) as web:
            assert len(web.get(resolve(hub, BIG)).content) == 9 * 2**20


def test_594_gb_without_a_disk(web: httpx.Client) -> None:
    with LocalHub("moonshotai/Kimi-K2.6", native_model()) as hub:
        tree = web.get(f"{hub.endpoint}/api/models/{hub.repo}/tree/main?recursive=true").json()
        assert sum(entry["size"] for entry in tree) == pytest.approx(594e9, rel=1e-3)
        name = "model-00064-of-000064.safetensors"
        entry = next(entry for entry in tree if entry["path"] == name)
        last = entry["size"] - 10
        url = web.get(resolve(hub, name, hub.repo)).headers["Location"]
        tail = web.get(url, headers={"Range": f"bytes={last}-"})
        assert tail.headers["Content-Range"] == f"bytes {last}-{last + 9}/{entry['size']}"
        head: Any = web.get(url, headers={"Range": "bytes=0-200"}).content
        length = int.from_bytes(head[:8], "little")
        tensors = json.loads(head[8 : 8 + length])
        (tensor,) = tensors.values()
        assert 8 + length + tensor["data_offsets"][1] == entry["size"]


def test_nobody_else_is_reached(hub: LocalHub) -> None:
    for endpoint in hub.endpoints.values():
        host = urllib.parse.urlsplit(endpoint).hostname
        assert host is not None
        assert socket.gethostbyname(host) == "127.0.0.1"
