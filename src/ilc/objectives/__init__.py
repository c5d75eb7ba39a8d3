"""Losses and penalties."""

from ilc.objectives.irm import ESTIMATORS, irm_penalty
from ilc.objectives.objective import Objective, ObjectiveFunction, RiskFunction
from ilc.objectives.risks import RISKS, Risk
from ilc.objectives.schedules import SCHEDULES, PenaltySchedule

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
