"""What LaTeX commands look like in Unicode (data for ``formulas.py``)."""

from __future__ import annotations

_GREEK = (
    "alpha α beta β gamma γ delta δ epsilon ε varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι "
    "kappa κ lambda λ mu μ nu ν xi ξ pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ "
    "upsilon υ phi φ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π "
    "Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω"
)
_LETTERS = (
    "infty ∞ partial ∂ nabla ∇ hbar ℏ ell ℓ Re ℜ Im ℑ aleph ℵ emptyset ∅ varnothing ∅ forall ∀ "
    "exists ∃ neg ¬ lnot ¬ top ⊤ bot ⊥ angle ∠ triangle △ degree ° prime ′ ldots … dots … cdots ⋯ "
    "vdots ⋮ dotsc … dotsb ⋯ checkmark ✓ dagger † star ⋆ bullet • circ ∘ sum ∑ prod ∏ int ∫ "
    "iint ∬ oint ∮ langle ⟨ rangle ⟩ lceil ⌈ rceil ⌉ lfloor ⌊ rfloor ⌋ lbrace { rbrace } vert | "
    "Vert ‖ mid | parallel ∥ colon : backslash \\ lbrack [ rbrack ]"
)
_OPERATORS = (
    "approx ≈ neq ≠ ne ≠ leq ≤ le ≤ geq ≥ ge ≥ equiv ≡ sim ∼ simeq ≃ cong ≅ propto ∝ ll ≪ gg ≫ "
    "to → rightarrow → leftarrow ← Rightarrow ⇒ Leftarrow ⇐ implies ⇒ iff ⇔ Leftrightarrow ⇔ "
    "leftrightarrow ↔ mapsto ↦ longrightarrow → in ∈ notin ∉ subset ⊂ subseteq ⊆ supset ⊃ "
    "supseteq ⊇ cup ∪ cap ∩ land ∧ wedge ∧ lor ∨ vee ∨ setminus ∖ times × cdot · div ÷ pm ± mp ∓ "
    "ast ∗ oplus ⊕ otimes ⊗ coloneqq ≔ lt < gt >"
)


def _pairs(text: str) -> dict[str, str]:
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True))


SYMBOLS = _pairs(_GREEK) | _pairs(_LETTERS) | dict(zip("%$#&_{}|", "%$#&_{}‖", strict=True))
OPERATORS = _pairs(_OPERATORS)
_FUNCTIONS = (
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp lim limsup liminf "
    "max min sup inf arg argmax argmin det dim ker gcd deg Pr mod bmod softmax"
)
_DROPPED = "left right big Big bigg Bigg bigl bigr Bigl Bigr displaystyle textstyle limits nolimits"
FUNCTIONS = frozenset(_FUNCTIONS.split())
DROPPED = frozenset(_DROPPED.split())
UPRIGHT = frozenset(("text", "mathrm", "operatorname", "mathsf", "mathtt", "textbf", "mathbf"))
SLANTED = frozenset(("mathit", "mathcal", "boldsymbol", "bm"))
FRACTIONS = frozenset(("frac", "dfrac", "tfrac"))
SPACES = {
    ",": "\u2009", ":": "\u2005", ";": "\u2005", "!": "", " ": " ", "quad": "\u2003",
    "qquad": "\u2003\u2003", "\n": " ",
}  # fmt: skip
ACCENTS = {
    "hat": "\u0302", "widehat": "\u0302", "bar": "\u0304", "overline": "\u0305",
    "tilde": "\u0303", "widetilde": "\u0303", "vec": "\u20d7", "dot": "\u0307", "ddot": "\u0308",
}  # fmt: skip
BLACKBOARD = {"R": "ℝ", "N": "ℕ", "Z": "ℤ", "Q": "ℚ", "C": "ℂ", "P": "ℙ", "E": "𝔼", "1": "𝟙"}
