"""Tells the downloads when there is a network again, where the system says so. Qt thread.

Where it does not (no backend of Qt's), downloads that wait for a network look for themselves.
"""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtNetwork import QNetworkInformation

from kimi_desktop.ui.bridge import Bridge

Reachability = QNetworkInformation.Reachability
_THERE = (Reachability.Local, Reachability.Site, Reachability.Online)
"""A mirror may stand in the local network."""


def network_information() -> QNetworkInformation | None:
    """The system's word on networks; None where it has none for Qt."""
    if not QNetworkInformation.loadBackendByFeatures(QNetworkInformation.Feature.Reachability):
        return None
    return QNetworkInformation.instance()


class NetworkWatch(QObject):
    """Listens as long as its parent lives.

    Args:
        bridge: the way to the downloads.
        information: as ``network_information``, or what has its signal.
        parent: of Qt.
    """

    def __init__(self, bridge: Bridge, information: QObject | None, parent: QObject) -> None:
        super().__init__(parent)
        self._bridge = bridge
        if information is not None:
            information.reachabilityChanged.connect(self._on_reachability)  # type: ignore[attr-defined]

    def _on_reachability(self, reachability: Reachability) -> None:
        if reachability in _THERE:
            operation = self._bridge.services.downloads.network_changed()
            self._bridge.watch(operation, on_error=self._bridge.navigation.report)
