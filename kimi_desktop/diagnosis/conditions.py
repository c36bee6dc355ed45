"""The small language of a rule's ``when``: one comparison of facts a line. Pure.

``settings.ctx > 4096``, ``exit.signal == SIGKILL``, ``phase ~ load|start`` (a regular expression
over the whole fact), ``machine.proc_state !~ ^T``, ``exit.alive`` (is there and not false, zero or
empty), ``!derived.numa``. The right side may be another fact. A fact that is unknown makes every
comparison false.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

Facts = Mapping[str, Any]
Condition = Callable[[Facts], bool]

_FORM = re.compile(r"^(?P<left>[\w.]+)\s*(?P<op>==|!=|<=|>=|!~|<|>|~)\s*(?P<right>.+)$")
_PATH = re.compile(r"^!?[a-z_]+(?:\.\w+)*$", re.IGNORECASE)
_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ROOTS = ("machine.", "settings.", "exit.", "derived.", "text.", "log.")


class ConditionError(ValueError):
    """A condition of a rule file that cannot be read."""


def condition(source: str) -> Condition:
    """Compile one condition.

    Raises:
        ConditionError: it has no form of this language.
    """
    if match := _FORM.match(source.strip()):
        return _comparison(match["left"], match["op"], match["right"].strip())
    if not _PATH.match(source.strip()):
        raise ConditionError(source)
    path = source.strip().removeprefix("!")
    if source.strip().startswith("!"):
        return lambda facts: not _is_there(facts.get(path))
    return lambda facts: _is_there(facts.get(path))


def _comparison(left: str, sign: str, right: str) -> Condition:
    if sign in ("~", "!~"):
        try:
            regex = re.compile(right, re.IGNORECASE)
        except re.error as error:
            raise ConditionError(f"{right!r}: {error}") from error
        if sign == "~":
            return lambda facts: left in facts and regex.search(_text(facts[left])) is not None
        return lambda facts: left not in facts or regex.search(_text(facts[left])) is None

    def value(facts: Facts) -> Any:  # noqa: ANN401
        return facts.get(right) if right.startswith(ROOTS) else right

    if sign in _ORDERS:
        order = _ORDERS[sign]

        def ordered(facts: Facts) -> bool:
            a, b = number(facts.get(left)), number(value(facts))
            return a is not None and b is not None and order(a, b)

        return ordered

    def equal(facts: Facts) -> bool:
        if left not in facts:
            return False
        a, b = facts[left], value(facts)
        same = _text(a) == _text(b)
        if not same and (one := number(a)) is not None:
            same = one == number(b)
        return same if sign == "==" else not same

    return equal


def number(value: Any) -> float | None:  # noqa: ANN401
    """A number, or the number that a text is; None for everything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return float(value)
    try:
        return float(str(value).strip())
    except ValueError:
        return None


def _text(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).lower() if isinstance(value, str) else str(value)


def _is_there(value: Any) -> bool:  # noqa: ANN401
    return value not in (None, False, 0, "", "none", "None", [], ())
