"""Invariant Learning Consistency: the score of a solution, and means of Hessians.

Two signs are in use. The paper's *consistency* is at most ``-epsilon``, and higher is better. The thesis's
*inconsistency* is its negative. A function named ``..._score`` returns the paper's consistency.
"""

from ilc.consistency._ascent import search
from ilc.consistency._consistency import Consistency
from ilc.consistency._derivatives import Loss
from ilc.consistency._expectation import LearningConsistency, invariant_learning_consistency
from ilc.consistency._hessian_means import (
    arithmetic_mean,
    diagonal_geometric_mean,
    ellipsoid_volume,
    geometric_mean_of_two,
    karcher_mean,
)
from ilc.consistency._network import environment_losses
from ilc.consistency._score import consistency_score
from ilc.consistency._score_solution import score_solution
from ilc.consistency._second_order import hessian_vector, quadratic
from ilc.consistency._solution_score import SolutionScore

__all__ = [
    "Consistency",
    "LearningConsistency",
    "Loss",
    "SolutionScore",
    "arithmetic_mean",
    "consistency_score",
    "diagonal_geometric_mean",
    "ellipsoid_volume",
    "environment_losses",
    "geometric_mean_of_two",
    "hessian_vector",
    "invariant_learning_consistency",
    "karcher_mean",
    "quadratic",
    "score_solution",
    "search",
]
