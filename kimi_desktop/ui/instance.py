"""One window per profile: a lock file, and a local socket on which a second start says "raise".

Lives on the Qt thread. QtNetwork is loaded only when needed, after the first window is up.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Signal

CONNECT_TIMEOUT_MS = 2000


class SingleInstance(QObject):
    """Holds the profile's lock. ``raise_requested`` fires when the app is started once more."""

    raise_requested = Signal()

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lock = QLockFile(os.fspath(folder / "instance.lock"))
        # A lock left by a crash is recognised by its dead process, never by its age.
        self._lock.setStaleLockTime(0)
        # Qt puts the socket into the temporary folder, whose path is short on every system.
        profile = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
        self._name = f"kimi-desktop-{profile}"
        self._server: QObject | None = None

    def acquire(self) -> bool:
        """Take the lock; False when another window of this profile is alive.

        A folder that cannot be written gives no lock and no second window to fear: True.
        """
        if self._lock.tryLock(0):
            return True
        return self._lock.error() != QLockFile.LockError.LockFailedError

    def listen(self) -> None:
        """Answer later starts."""
        from PySide6.QtNetwork import QLocalServer  # noqa: PLC0415 - after the first window

        server = QLocalServer(self)
        server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        QLocalServer.removeServer(self._name)  # we hold the lock, so it is a dead one's
        server.newConnection.connect(self._on_connection)
        server.listen(self._name)
        self._server = server

    def ask_to_raise(self) -> bool:
        """Tell the window that holds the lock to come to the front; False when it is deaf."""
        from PySide6.QtNetwork import QLocalSocket  # noqa: PLC0415

        socket = QLocalSocket()
        socket.connectToServer(self._name)
        connected = socket.waitForConnected(CONNECT_TIMEOUT_MS)
        socket.disconnectFromServer()
        return connected

    def release(self) -> None:
        """Give the profile up."""
        if self._server is not None:
            self._server.close()  # type: ignore[attr-defined]
            self._server = None
        self._lock.unlock()

    def _on_connection(self) -> None:
        connection = self._server.nextPendingConnection()  # type: ignore[union-attr]
        connection.deleteLater()
        self.raise_requested.emit()
