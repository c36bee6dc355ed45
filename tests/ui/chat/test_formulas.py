"""LaTeX as readable text, or left as it was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.ui.chat.formulas import Run, find_formulas, plain, to_runs


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"E=mc^2", "E = mc2"),
        (r"\frac{a+b}{2}", "(a + b)/2"),
        (r"\frac{n(n+1)}{2}", "n(n + 1)/2"),
        (r"\frac{1}{2\pi}", "1/(2π)"),
        (r"\sqrt{x^2+y^2}", "√(x2 + y2)"),
        (r"\sqrt[3]{8}", "∛8"),
        (r"\alpha \in \mathbb{R}", "α ∈ ℝ"),
        (r"f'(x) = -2x", "f′(x) = −2x"),
        (r"\left( \frac{1}{2} \right)", "(1/2)"),
        (r"O(n \log n)", "O(n\u2009log\u2009n)"),
        (r"\hat{y}", "y\u0302"),
        (r"20.5\,\text{ms}", "20.5\u2009ms"),
        (r"a \cdot b \leq c", "a · b ≤ c"),
        (r"50\%", "50%"),
        (r"\{1, 2\}", "{1,2}"),
    ],
)
def test_what_a_line_can_show(latex, text):
    runs = to_runs(latex)
    assert runs is not None
    assert plain(runs) == text


@pytest.mark.parametrize(
    "latex",
    [
        r"x_{a_b}",
        r"\begin{matrix}1\end{matrix}",
        r"\unknown",
        "a}",
        "{a",
        "x^",
        "a & b",
        r"\hat{ab}",
    ],
)
def test_what_it_cannot_show_is_left(latex):
    assert to_runs(latex) is None


def test_letters_are_italic_and_scripts_are_scripts():
    assert to_runs(r"B_{\text{RAM}}^2") == (
        Run("B", italic=True),
        Run("RAM", script=-1),
        Run("2", script=1),
    )


def test_prices_are_no_formulas():
    assert find_formulas("It costs $5 and $10 more, or $20-$30; US$5 and 5$ each.") == []


def test_code_is_no_formula():
    text = "`$a$`\n\n```\n$b$\n```\n\n~~~py\n\\(c\\)\n~~~\n\n- x\n  ```\n  $d$\n  ```\n\n$e$"
    assert [formula.source for formula in find_formulas(text)] == ["$e$"]


def test_all_four_kinds_of_delimiters():
    found = find_formulas(r"$a$ and \(b\), $$c$$ and \[d\]")
    assert [(f.source, f.display) for f in found] == [
        ("$a$", False),
        (r"\(b\)", False),
        ("$$c$$", True),
        (r"\[d\]", True),
    ]


@given(st.text(alphabet="ab12 \\{}_^$()[]+-fracsqrt\n`", max_size=80))
def test_any_text_is_survived_and_found_in_order(text):
    last = 0
    for formula in find_formulas(text):
        assert formula.start >= last
        assert text[formula.start : formula.end] == formula.source
        last = formula.end
