"""A network that comes back wakes the downloads that wait for it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QNetworkInformation

from kimi_desktop.ui.network_watch import NetworkWatch

Reachability = QNetworkInformation.Reachability


class System(QObject):
    reachabilityChanged = Signal(object)  # noqa: N815 - as Qt spells it


@pytest.mark.parametrize(
    ("reachability", "calls"),
    [
        (Reachability.Online, 1),
        (Reachability.Local, 1),
        (Reachability.Disconnected, 0),
        (Reachability.Unknown, 0),
    ],
)
def test_downloads_try_when_there_is_a_network(bridge, services, qapp, reachability, calls):
    system = System()
    watch = NetworkWatch(bridge, system, system)
    system.reachabilityChanged.emit(reachability)
    assert services.desk.called("downloads.network_changed") == calls
    assert watch.parent() is system


def test_a_system_that_says_nothing_is_no_trouble(bridge, services, qapp):
    NetworkWatch(bridge, None, bridge)
    assert services.desk.called("downloads.network_changed") == 0
