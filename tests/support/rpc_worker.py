"""A scripted RPC worker: speaks llama.cpp's wire protocol as far as it is asked before a load.

Run as a program it behaves like ``ggml-rpc-server`` (help, output buffered until the first
connection, one connection after the other); as a thread it serves tests of the asking side.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

GIB = 2**30
BASE = 0x7000_0000
HELP = """Usage: ggml-rpc-server [options]

options:
  -h, --help                       show this help message and exit
  -t, --threads N                  number of threads for the CPU device (default: 1)
  -d, --device <dev1,dev2,...>     comma-separated list of devices
  -H, --host HOST                  host to bind to (default: 127.0.0.1)
  -p, --port PORT                  port to bind to (default: 50052)
  -c, --cache                      enable local file cache
"""


class ScriptedWorker:
    """What it answers. Serves in the thread that calls ``serve``."""

    def __init__(
        self,
        version: tuple[int, int, int] = (7, 0, 0),
        devices: tuple[tuple[int, int], ...] = ((20 * GIB, 24 * GIB),),
        *,
        has_room: bool = True,
    ) -> None:
        """``devices``: (free, total) bytes; ``has_room``: a buffer can be had."""
        self.version = version
        self.devices = devices
        self.has_room = has_room
        self.measured: list[int] = []
        """Sizes that were read back."""

    def serve(self, listener: socket.socket, on_guest: object = None) -> None:
        """One connection after the other, until the listener is closed."""
        while True:
            try:
                guest, _ = listener.accept()
            except OSError:
                return
            with guest, contextlib.suppress(OSError, EOFError):
                if callable(on_guest):
                    on_guest(True)
                self._converse(guest)
            if callable(on_guest):
                on_guest(False)

    def _converse(self, guest: socket.socket) -> None:
        abilities = 24 if self.version[0] >= 4 else 0
        command, data = _request(guest)
        if command != 14 or len(data) != abilities:
            return
        self._answer(guest, bytes(self.version) + (bytes(1 + 24) if abilities else b""))
        while True:
            command, data = _request(guest)
            if command == 15:
                self._answer(guest, struct.pack("<I", len(self.devices)))
            elif command == 11:
                (number,) = struct.unpack("<I", data)
                self._answer(guest, struct.pack("<QQ", *self.devices[number]))
            elif command == 0:
                _, size = struct.unpack("<IQ", data)
                self._answer(guest, struct.pack("<QQ", *((1, size) if self.has_room else (0, 0))))
            elif command == 3:
                self._answer(guest, struct.pack("<Q", BASE))
            elif command == 8:
                assert len(data) == 296 + 16
                _, kind, buffer, count = struct.unpack_from("<QIQI", data)
                (where,) = struct.unpack_from("<Q", data, 220)
                _, size = struct.unpack("<QQ", data[296:])
                if (kind, buffer, where, 4 * count) != (0, 1, BASE, size):
                    return
                self.measured.append(size)
                self._answer(guest, bytes(size))
            else:
                return

    @staticmethod
    def _answer(guest: socket.socket, data: bytes) -> None:
        guest.sendall(struct.pack("<Q", len(data)) + data)


def _request(guest: socket.socket) -> tuple[int, bytes]:
    head = _exactly(guest, 9)
    return head[0], _exactly(guest, struct.unpack("<Q", head[1:])[0])


def _exactly(guest: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        chunk = guest.recv(size - len(found))
        if not chunk:
            raise EOFError
        found += chunk
    return found


@contextlib.contextmanager
def serving(worker: ScriptedWorker, port: int = 0) -> Iterator[int]:
    """The worker on a port of this machine (0 = a free one); yields the port."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        thread = threading.Thread(target=worker.serve, args=(listener,), daemon=True)
        thread.start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def write_program(folder: Path, name: str = "ggml-rpc-server") -> Path:
    """This file as a program of that name."""
    program = folder / name
    program.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -I -S "{Path(__file__).resolve()}" "$@"\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    return program


def main(words: list[str]) -> int:
    """What ggml-rpc-server does, without computing."""
    if "--help" in words:
        sys.stderr.write(HELP)
        return 0
    options = dict(zip(words[::2], words[1::2], strict=True))
    if options.get("--device") == "NONE":
        sys.stderr.write("error: unknown device: NONE\n")
        return 1
    host, port = options["--host"], int(options["--port"])
    say = sys.stdout.write
    say(f"Starting RPC server v7.0.0\n  endpoint       : {host}:{port}\nDevices:\n")
    for name in options.get("--device", "CUDA0").split(","):
        say(f"  {name}: Scripted 24 GB card (24576 MiB, 20480 MiB free)\n")
    count = len(options.get("--device", "CUDA0").split(","))
    worker = ScriptedWorker(devices=((20 * GIB, 24 * GIB),) * count)

    def on_guest(came: bool) -> None:
        say("Accepted client connection\n" if came else "Client connection closed\n")
        sys.stdout.flush()

    with socket.create_server((host, port)) as listener:
        worker.serve(listener, on_guest)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
