"""Learning to distill trajectories: chapter 4 of the thesis.

A teacher that sees what happens between input and label learns, through the student's own training
steps, which activations to ask of a student that will never see it. ``unroll`` is the part to use with
a student and a teacher of one's own.
"""

from lab.experiments.distillation.functional_optimizers import SGD, Adam
from lab.experiments.distillation.unroll import train, unroll

TITLE = "Distilled trajectories (thesis, chapter 4)"

__all__ = ["SGD", "Adam", "train", "unroll"]
