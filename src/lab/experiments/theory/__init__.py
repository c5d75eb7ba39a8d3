"""The theory of consistency: small problems, solved and scored, the propositions, figures from formulas."""

TITLE = "Theory of consistency"
