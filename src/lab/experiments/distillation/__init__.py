"""Learning to distill trajectories: chapter 4 of the thesis.

A teacher sees privileged data, which show the process between the input and the label. The student never
sees these data. The teacher asks the student for certain activations. It learns which ones to ask for by
differentiating through the student's training steps. Use ``unroll`` to do this with your own student and
teacher.
"""

from lab.experiments.distillation.functional_optimizers import SGD, Adam
from lab.experiments.distillation.unroll import train, unroll

TITLE = "Distilled trajectories (thesis, chapter 4)"

__all__ = ["SGD", "Adam", "train", "unroll"]
