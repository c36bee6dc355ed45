"""Literals, conditions and rule files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.base.assets import asset
from kimi_desktop.diagnosis.conditions import ConditionError, condition
from kimi_desktop.diagnosis.patterns import Pattern, PatternError, literals_of
from kimi_desktop.diagnosis.rules import FAMILIES, RuleError, read_rules, shipped_rules


@pytest.mark.parametrize(
    ("source", "literals"),
    [
        ("Exec format error", ("exec format error",)),
        (r"port \d+ is used", (" is used",)),
        (r"(?:alpha|beta) x", ("alpha", "beta")),
        (r"colou?r scheme", ("r scheme",)),
        (r"ab+cdef", ("cdef",)),
        (r"a{0,3}bcd", ("bcd",)),
        (r"(?:long text)?abc", ("abc",)),
        (r"(?P<name>\S+) was lost", (" was lost",)),
        (r"(?<!not )found it", ("found it",)),
        (r"[abc]def\.ghi", ("def.ghi",)),
        (r"[]x]yes", ("yes",)),
        (r"one|two\b", ("one", "two")),
        (r"one|t", ()),
        (r"\d+", ()),
        (r"(?:(?:alpha|beta)gamma|delta)", ("delta", "gamma")),
    ],
)
def test_the_literals_of_a_pattern(source: str, literals: tuple[str, ...]) -> None:
    assert literals_of(source) == literals


@given(st.sampled_from([w for rule in shipped_rules().rules for w in rule.log]), st.data())
def test_every_match_of_a_shipped_pattern_holds_a_literal_of_it(
    pattern: Pattern, data: st.DataObject
) -> None:
    text = data.draw(st.from_regex(re.compile(pattern.source, re.IGNORECASE | re.ASCII)))
    assert any(literal in text.lower() for literal in pattern.literals)


def test_a_pattern_that_would_be_tried_everywhere_is_refused() -> None:
    with pytest.raises(PatternError, match="can match without"):
        Pattern(r"\d+ \w+")
    with pytest.raises(PatternError):
        Pattern("(unclosed")


@pytest.mark.parametrize(
    ("source", "facts", "holds"),
    [
        ("settings.ctx > 4096", {"settings.ctx": 8192}, True),
        ("settings.ctx > 4096", {"settings.ctx": "8192"}, True),
        ("settings.ctx > 4096", {}, False),
        ("settings.ctx > 4096", {"settings.ctx": True}, False),
        ("settings.n > machine.n", {"settings.n": 8, "machine.n": 4}, True),
        ("exit.signal == SIGKILL", {"exit.signal": "SIGKILL"}, True),
        ("exit.code == 0", {"exit.code": 0}, True),
        ("exit.code == 0", {}, False),
        ("machine.ok == false", {"machine.ok": False}, True),
        ("machine.devices == []", {"machine.devices": []}, True),
        ("phase != load", {"phase": "serve"}, True),
        ("phase ~ load|serve", {"phase": "serve"}, True),
        ("phase !~ ^T", {}, True),
        ("phase !~ ^T", {"phase": "Tx"}, False),
        ("exit.alive", {"exit.alive": True}, True),
        ("!exit.alive", {}, True),
        ("!derived.x", {"derived.x": 0}, True),
        ("machine.owner", {"machine.owner": "none"}, False),
        ("settings.ctx <= 5", {"settings.ctx": 5}, True),
        ("settings.ctx >= 6", {"settings.ctx": 5}, False),
        ("settings.ctx < 6", {"settings.ctx": 5.5}, True),
    ],
)  # fmt: skip
def test_conditions(source: str, facts: dict[str, object], holds: bool) -> None:
    assert condition(source)(facts) is holds


@pytest.mark.parametrize("source", ["", "a b c", "settings.ctx >", "phase ~ (", "a ; b"])
def test_a_condition_of_another_form_is_refused(source: str) -> None:
    with pytest.raises(ConditionError):
        condition(source)


GOOD = """
[[rules]]
cause = "disk_full"
sure = 0.9
log = ['No space left']
source = "Linux"
fix = { action = "storage", direction = "up" }
"""


def folder_with(tmp_path: Path, rule: str) -> Path:
    for family in FAMILIES:
        (tmp_path / f"{family}.toml").write_text("", encoding="utf-8")
    (tmp_path / "decoys.toml").write_text("", encoding="utf-8")
    (tmp_path / "process.toml").write_text(rule, encoding="utf-8")
    return tmp_path


def test_adding_a_rule_needs_no_code(tmp_path: Path) -> None:
    book = read_rules(folder_with(tmp_path, GOOD))
    assert [rule.name for rule in book.rules] == ["process.toml #1"]
    assert book.causes == ("disk_full",)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("sure = 0.9", "sure = 1.5", "sure is 1.5"),
        ("log = ['No space left']", "", "neither log nor when"),
        ('source = "Linux"', "", "no source"),
        ("log =", "lag = 1\nlog =", "unknown keys"),
        ("'No space left'", "'('", "process.toml #1"),
        ('action = "storage", ', "", "process.toml #1"),
        ("sure = 0.9", "sure = 0.9\nwhen = ['a b c']", "process.toml #1"),
        ("[[rules]]", "[[rules", "process.toml"),
    ],
)
def test_a_broken_rule_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(RuleError, match=re.escape(said)):
        read_rules(folder_with(tmp_path, GOOD.replace(old, new)))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match=r"start\.toml"):
        read_rules(tmp_path)


def test_a_broken_decoy_is_named(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, GOOD)
    (folder / "decoys.toml").write_text("[[decoys]]\nline = '.'\n", encoding="utf-8")
    with pytest.raises(RuleError, match=r"decoys\.toml"):
        read_rules(folder)


def test_a_broken_prior_is_named(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, GOOD)
    prior = "[[priors]]\nfamilies = ['files']\nwhen = ['phase == serve']\nwhy = 'x'\ntimes = {}\n"
    (folder / "priors.toml").write_text(prior.format(0.5), encoding="utf-8")
    assert len(read_rules(folder).priors) == 1
    for broken in (prior.format(2), prior.format("'x'"), prior.format(0.5).replace("why", "wy")):
        (folder / "priors.toml").write_text(broken, encoding="utf-8")
        with pytest.raises(RuleError, match=r"priors\.toml #1"):
            read_rules(folder)


def test_every_shipped_rule_names_where_it_was_seen() -> None:
    assert len(shipped_rules().rules) > 200
    text = "".join((asset("diagnosis") / f"{name}.toml").read_text("utf-8") for name in FAMILIES)
    assert text.count("source = ") == len(shipped_rules().rules)
