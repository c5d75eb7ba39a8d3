"""Losses and penalties."""

from ilc.objectives._irm import ESTIMATORS, irm_penalty
from ilc.objectives._objective import Objective, ObjectiveFunction, RiskFunction
from ilc.objectives._risks import RISKS, Risk
from ilc.objectives._schedules import SCHEDULES, PenaltySchedule

__all__ = [
    "ESTIMATORS",
    "RISKS",
    "SCHEDULES",
    "Objective",
    "ObjectiveFunction",
    "PenaltySchedule",
    "Risk",
    "RiskFunction",
    "irm_penalty",
]
