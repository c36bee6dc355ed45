"""The download engine against aria2c, both from nginx over TLS on loopback, in the same run.

    python benchmarks/downloads.py [--rounds 3] [--mib 1024] [--folder DIR] [--only FIGURES]

Needs Debian's nginx and aria2 (``apt-get install nginx-light aria2``). Each figure stands beside
its aim; other work on the machine disturbs absolute ones, ratios are of one run. Prints JSON lines.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))
CERTIFICATE = REPOSITORY / "tests" / "data" / "tls" / "local-hub.pem"
if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.environ["SSL_CERT_FILE"] = str(CERTIFICATE)

from kimi_desktop.base.units import GB, MIB
from kimi_desktop.downloads.child import worker_command, worker_environment
from kimi_desktop.downloads.hubs.addresses import file_url
from kimi_desktop.downloads.line import Line
from kimi_desktop.downloads.types import DownloadSpec, FileJob, HubKind, Source
from kimi_desktop.downloads.verify.verifier import verify

CONNECTIONS = 8
TICK_MS = 16
FIGURES = ("verified", "unverified", "again", "ticks")
PORT = 18443
NGINX_PROGRAM = shutil.which("nginx") or "/usr/sbin/nginx"
ENDPOINT = f"https://localhost:{PORT}"
NGINX = """
worker_processes {workers};
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; sendfile on; keepalive_requests 100000;
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {certificate}; ssl_certificate_key {key};
    root {folder}/www;
    rewrite ^/org/model/resolve/[^/]+/(.+)$ /$1 break;
  }}
}}
"""


@dataclass(frozen=True)
class Cost:
    """What a program took."""

    seconds: float
    cpu_s: float
    rss_mib: float


def run(command: list[str], *, order: str | None = None) -> Cost:
    """A program from its start to its end."""
    with tempfile.TemporaryFile() as said:
        return _run(command, order, said)


def _run(command: list[str], order: str | None, said: IO[bytes]) -> Cost:
    began = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=said, env=worker_environment()
    )
    assert process.stdin is not None
    if order is not None:
        process.stdin.write(order.encode() + b"\n")
        process.stdin.flush()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdin.close()
    if process.returncode:
        said.seek(0)
        raise SystemExit(f"{command[:4]} failed: {said.read()[-500:].decode()}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


@contextmanager
def nginx(folder: Path) -> Iterator[None]:
    """Serves ``folder/www``."""
    config = folder / "nginx.conf"
    config.write_text(
        NGINX.format(
            workers=os.cpu_count(),
            folder=folder,
            port=PORT,
            certificate=CERTIFICATE,
            key=CERTIFICATE.with_suffix(".key"),
        )
    )
    command = [NGINX_PROGRAM, "-p", str(folder), "-c", str(config), "-g", "daemon off; user root;"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        time.sleep(0.5)
        try:
            yield
        finally:
            process.terminate()


def spec_of(folder: Path, targets: list[str], size: int, sha256: str) -> DownloadSpec:
    source = Source(HubKind.HUGGINGFACE, ENDPOINT, "org/model", "main", "one.bin")
    jobs = tuple(FileJob(target, size, sha256, None, (source,)) for target in targets)
    return DownloadSpec("benchmark", str(folder), jobs, "none", "main")


def ours(folder: Path, size: int, sha256: str) -> Cost:
    """The worker, as the app starts it, to the proven file."""
    shutil.rmtree(folder, ignore_errors=True)
    spec = spec_of(folder, ["one.bin"], size, sha256)
    order = {"spec": spec.to_json(), "options": {"most_connections": CONNECTIONS}}
    return run(list(worker_command()), order=json.dumps(order))


def aria2c(folder: Path, sha256: str | None) -> Cost:
    """With as many connections; with ``sha256`` to the verified file."""
    shutil.rmtree(folder, ignore_errors=True)
    more = [f"--checksum=sha-256={sha256}"] if sha256 else []
    return run([
        "aria2c", "-q", f"-x{CONNECTIONS}", f"-s{CONNECTIONS}", "-k1M",
        "--file-allocation=falloc", f"--ca-certificate={CERTIFICATE}", "-d", str(folder), *more,
        f"{ENDPOINT}/one.bin",
    ])  # fmt: skip


def bare(folder: Path, size: int) -> Cost:
    """Our data plane alone: lines that read and write, nothing is hashed or journaled."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return run([sys.executable, __file__, "--bare", str(folder / "one.bin"), "--bytes", str(size)])


def fetch_bare(target: Path, size: int) -> None:
    """What ``bare`` measures."""
    url = file_url(Source(HubKind.HUGGINGFACE, ENDPOINT, "org/model", "main", "one.bin"))
    descriptor = os.open(target, os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(descriptor, 0, size)

    def part(start: int, end: int) -> None:
        buffer = memoryview(bytearray(256 * 1024))
        line = Line()
        with line.ask(url, start, end - 1) as answer:
            at = fill = 0
            while count := answer.readinto(buffer[fill:]):
                fill += count
                if fill == len(buffer) or start + at + fill == end:
                    os.pwrite(descriptor, buffer[:fill], start + at)
                    at, fill = at + fill, 0
        line.close()

    cuts = [size * n // CONNECTIONS for n in range(CONNECTIONS + 1)]
    threads = [threading.Thread(target=part, args=cuts[n : n + 2]) for n in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.close(descriptor)


def lateness_ms(seconds: float, tell: Callable[[], bool]) -> float:
    """95th percentile of how late a 60 Hz tick of the window is, while ``tell`` says True.

    Late is a tick that comes more than the timer's period after the one before it.
    """
    from PySide6.QtCore import QEventLoop, Qt, QTimer  # noqa: PLC0415

    late: list[float] = []
    loop = QEventLoop()
    timer = QTimer()
    timer.setTimerType(Qt.TimerType.PreciseTimer)
    began = last = time.perf_counter()

    def tick() -> None:
        nonlocal last
        now = time.perf_counter()
        late.append(max((now - last) * 1000 - TICK_MS, 0.0))
        last = now
        if not tell() or now - began > seconds:
            loop.quit()

    timer.timeout.connect(tick)
    timer.start(TICK_MS)
    loop.exec()
    timer.stop()
    return statistics.quantiles(late, n=20)[-1]


def ticks(folder: Path, size: int, sha256: str, rounds: int) -> tuple[float, float]:
    """(idle, downloading): the real window with its real services, offscreen."""
    from PySide6.QtWidgets import QApplication  # noqa: PLC0415

    from kimi_desktop.app import DesktopApp  # noqa: PLC0415
    from kimi_desktop.base.paths import AppPaths  # noqa: PLC0415
    from kimi_desktop.core import Core  # noqa: PLC0415
    from kimi_desktop.ui.shell import Shell  # noqa: PLC0415

    qt = QApplication([])
    paths = AppPaths.under(folder / "home")
    paths.make()
    core, shell = Core(paths), Shell(paths.config)
    app = DesktopApp(qt, core, shell)
    shell.show()
    lateness_ms(6.0, lambda: True)  # starting, scanning and looking around is over
    idle, busy = [], []
    for number in range(rounds):
        idle.append(lateness_ms(5.0, lambda: True))
        place = folder / f"ticks-{number}"
        spec = spec_of(place, [f"{n}.bin" for n in range(3)], size, sha256)
        key = core.downloads.add(spec).result().id

        def is_running(key: str = key) -> bool:
            return not next(one for one in core.downloads.downloads if one.id == key).is_over

        busy.append(lateness_ms(60.0, is_running))
        shutil.rmtree(place, ignore_errors=True)
    app.close()
    return statistics.median(idle), statistics.median(busy)


def verify_again(folder: Path, size: int, sha256: str, rounds: int) -> tuple[float, float]:
    """(MiB/s of a set verified again, MiB/s of hashlib in one thread), medians."""
    shutil.rmtree(folder, ignore_errors=True)
    spec = spec_of(folder, [f"{n}.gguf" for n in range(4)], size, sha256)
    run(list(worker_command()), order=json.dumps({"spec": spec.to_json()}))
    all_cores, one_thread = [], []
    for _ in range(rounds):
        began = time.perf_counter()
        assert verify(folder).is_good
        all_cores.append(4 * size / MIB / (time.perf_counter() - began))
        began = time.perf_counter()
        for job in spec.files:
            with (folder / job.target).open("rb") as file:
                assert hashlib.file_digest(file, "sha256").hexdigest() == sha256
        one_thread.append(4 * size / MIB / (time.perf_counter() - began))
    shutil.rmtree(folder)
    return statistics.median(all_cores), statistics.median(one_thread)


def say(name: str, value: float, unit: str, aim: str = "", **more: float) -> None:
    told = {"figure": name, "value": round(value, 2), "unit": unit, "aim": aim}
    print(json.dumps(told | {key: round(one, 2) for key, one in more.items()}), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=FIGURES, default=FIGURES)
    parser.add_argument("--bare", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--bytes", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare:
        fetch_bare(options.bare, options.bytes)
        return 0
    if not shutil.which("aria2c") or not Path(NGINX_PROGRAM).exists():
        print("needs nginx and aria2c: apt-get install nginx-light aria2", file=sys.stderr)
        return 1
    size = options.mib * MIB
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        (folder / "www").mkdir()
        digest = hashlib.sha256()
        with (folder / "www" / "one.bin").open("wb") as file:
            for _ in range(options.mib):
                block = os.urandom(MIB)
                digest.update(block)
                file.write(block)
        sha256 = digest.hexdigest()
        with nginx(folder):
            measure(folder, size, sha256, options.rounds, options.only)
    return 0


def measure(folder: Path, size: int, sha256: str, rounds: int, only: Sequence[str]) -> None:
    """In turns with the other program, so that what disturbs one disturbs both."""
    if "verified" in only:
        mine, theirs = [], []
        for _ in range(rounds):
            mine.append(ours(folder / "a", size, sha256))
            theirs.append(aria2c(folder / "b", sha256))
        say("time to a verified file / aria2c's", ratio(mine, theirs), "ratio", "<= 0.60",
            ours_s=middle(mine), aria2c_s=middle(theirs))  # fmt: skip
        say("memory of the downloader", max(cost.rss_mib for cost in mine), "MiB", "<= 120")
        say("CPU per GB, verified", statistics.median(c.cpu_s for c in mine) / (size / GB), "s",
            aria2c_s=statistics.median(c.cpu_s for c in theirs) / (size / GB))  # fmt: skip
    if "unverified" in only:
        plain, theirs = [], []
        for _ in range(rounds):
            plain.append(bare(folder / "a", size))
            theirs.append(aria2c(folder / "b", None))
        say("unverified rate / aria2c's", ratio(theirs, plain), "ratio", ">= 0.90",
            ours_s=middle(plain), aria2c_s=middle(theirs))  # fmt: skip
    if "again" in only:
        fast, slow = verify_again(folder / "set", size, sha256, rounds)
        say("verify again / one-thread hashlib", fast / slow, "ratio", ">= 1.7",
            ours_mib_s=fast, hashlib_mib_s=slow)  # fmt: skip
    if "ticks" in only:
        idle, busy = ticks(folder, size, sha256, rounds)
        say("60 Hz tick late at p95, downloading / idle", busy / idle, "ratio", "<= 2",
            idle_ms=idle, downloading_ms=busy)  # fmt: skip


def middle(costs: list[Cost]) -> float:
    """The median time."""
    return statistics.median(cost.seconds for cost in costs)


def ratio(one: list[Cost], other: list[Cost]) -> float:
    """The median of the rounds' ratios: both of a round met the same disturbance."""
    return statistics.median(a.seconds / b.seconds for a, b in zip(one, other, strict=True))


if __name__ == "__main__":
    raise SystemExit(main())
