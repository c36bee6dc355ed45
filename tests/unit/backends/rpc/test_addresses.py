"""Which addresses a worker may have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.backends.rpc import addresses
from kimi_desktop.backends.rpc.addresses import WorkerAddress, address_here, worker_address
from kimi_desktop.base.errors import BackendError, ErrorCode


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("192.168.1.20", "192.168.1.20", 50052),
        (" 10.0.0.3:50100 ", "10.0.0.3", 50100),
        ("100.101.102.103:1", "100.101.102.103", 1),
        ("169.254.7.7", "169.254.7.7", 50052),
        ("127.0.0.1:65535", "127.0.0.1", 65535),
    ],
)
def test_private_addresses_are_taken(text: str, host: str, port: int) -> None:
    assert worker_address(text) == WorkerAddress(host, port)
    assert str(worker_address(text)) == f"{host}:{port}"


@pytest.mark.parametrize(
    "text", ["0.0.0.0", "8.8.8.8", "172.32.0.1:50052", "100.128.0.1", "224.0.0.1"]
)
def test_all_others_are_refused(text: str) -> None:
    with pytest.raises(BackendError) as caught:
        worker_address(text)
    assert caught.value.code is ErrorCode.WORKER_PUBLIC_ADDRESS


@pytest.mark.parametrize(
    "text", ["", "worker", "10.0.0.3:", "10.0.0.3:0", "10.0.0.3:70000", "::1", "[fd00::1]:50052",
             "10.0.0.3,10.0.0.4", "10.0.0.3:5 --device X"]
)  # fmt: skip
def test_what_is_no_address_is_named(text: str) -> None:
    with pytest.raises(BackendError) as caught:
        worker_address(text)
    assert caught.value.code is ErrorCode.WORKER_BAD_ADDRESS


@given(st.text(max_size=40))
def test_any_text_is_an_address_or_an_error(text: str) -> None:
    try:
        found = worker_address(text)
    except BackendError:
        return
    assert worker_address(str(found)) == found


def test_the_user_names_one_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "private_addresses_here", lambda: ("10.0.0.3", "127.0.0.1"))
    assert address_here("10.0.0.3") == "10.0.0.3"
    for wanted, code in (
        ("", ErrorCode.WORKER_CHOOSE_ADDRESS),
        ("10.0.0.4", ErrorCode.WORKER_NOT_HERE),
        ("0.0.0.0", ErrorCode.WORKER_PUBLIC_ADDRESS),
    ):
        with pytest.raises(BackendError) as caught:
            address_here(wanted)
        assert caught.value.code is code
        assert code is ErrorCode.WORKER_PUBLIC_ADDRESS or "10.0.0.3" in str(caught.value.params)


def test_this_machine_has_itself() -> None:
    assert addresses.private_addresses_here()[-1].startswith("127.")
