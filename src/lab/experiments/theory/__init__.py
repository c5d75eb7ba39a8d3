"""The theory of consistency: scored solutions of small problems, propositions, and figures from formulas."""

TITLE = "Theory of consistency"
