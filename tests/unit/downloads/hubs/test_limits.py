"""When to come back, in every form that servers say it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.downloads.hubs.limits import MOST_WAIT_S, wait_s

DATE = "Wed, 21 Oct 2026 07:28:00 GMT"
LATER = "Wed, 21 Oct 2026 07:28:30 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"RateLimit": '"api";r=0;t=55'}, 56.0),
        ({"RateLimit": '"resolvers" ; r = 0 ; t = 7', "Retry-After": "90"}, 8.0),
        ({"RateLimit": '"api";r=12;t=55'}, None),
        ({"RateLimit": '"api";r=12;t=55', "Retry-After": "9"}, 9.0),
        ({"Retry-After": " 120 "}, 120.0),
        ({"Retry-After": LATER, "Date": DATE}, 30.0),
        ({"Retry-After": DATE, "Date": LATER}, 0.0),
        ({"Retry-After": DATE.replace("GMT", "-0000"), "Date": DATE}, 0.0),
        ({"Retry-After": "999999999999"}, MOST_WAIT_S),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "²"}, None),
        ({}, None),
    ],
)
def test_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert wait_s(headers) == seconds


def test_a_date_against_our_own_clock() -> None:
    assert wait_s({"Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT"}) == MOST_WAIT_S


@given(st.text(), st.text(), st.text())
def test_nonsense_is_no_time(quota: str, after: str, date: str) -> None:
    found = wait_s({"RateLimit": quota, "Retry-After": after, "Date": date})
    assert found is None or 0 <= found <= MOST_WAIT_S
