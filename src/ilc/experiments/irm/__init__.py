"""Invariant Risk Minimization: the linear example, and digits whose colour misleads."""

TITLE = "Invariant Risk Minimization"
