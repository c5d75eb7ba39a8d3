"""Invariant Risk Minimization: the linear example, and Colored MNIST."""

TITLE = "Invariant Risk Minimization"
