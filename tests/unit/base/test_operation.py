from __future__ import annotations

from concurrent.futures import Future

import pytest

from kimi_desktop.base.operation import Cancelled, Operation

End = tuple[object, BaseException | None]


def watched(operation: Operation[int]) -> list[End]:
    ends: list[End] = []
    operation.on_done(lambda result, error: ends.append((result, error)))
    return ends


def test_a_result() -> None:
    future: Future[int] = Future()
    operation = Operation(future)
    ends = watched(operation)
    assert not operation.done
    assert ends == []
    future.set_result(7)
    assert operation.done
    assert not operation.cancelled
    assert operation.result() == 7
    assert ends == [(7, None)]
    assert watched(operation) == [(7, None)]  # who comes late hears it at once


def test_a_failure() -> None:
    future: Future[int] = Future()
    operation, error = Operation(future), ValueError("no")
    ends = watched(operation)
    future.set_exception(error)
    assert ends == [(None, error)]
    with pytest.raises(ValueError, match="no"):
        operation.result()


def test_a_cancelled_one() -> None:
    operation: Operation[int] = Operation(Future())
    ends = watched(operation)
    operation.cancel()
    assert operation.done
    assert operation.cancelled
    ((result, error),) = ends
    assert result is None
    assert isinstance(error, Cancelled)
    with pytest.raises(Cancelled):
        operation.result()


def test_cancel_after_the_end_changes_nothing() -> None:
    future: Future[int] = Future()
    operation = Operation(future)
    future.set_result(1)
    operation.cancel()
    assert not operation.cancelled
    assert operation.result() == 1


def test_waiting_has_an_end() -> None:
    with pytest.raises(TimeoutError):
        Operation[int](Future()).result(0.001)


def test_one_that_never_began() -> None:
    operation: Operation[int] = Operation.never()
    assert operation.cancelled
    ((result, error),) = watched(operation)
    assert result is None
    assert isinstance(error, Cancelled)
