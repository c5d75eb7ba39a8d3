"""Losses and penalties."""

from ilc.objectives.risks import RISKS

__all__ = ["RISKS"]
