"""Rollouts of a simulator from first frames, and how well they predict the label (thesis, section 2.3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from lab.experiments.skip_intervals.domain import Domain
from lab.experiments.skip_intervals.matching import match
from lab.experiments.skip_intervals.methods import Method
from lab.experiments.skip_intervals.trajectories import Trajectories

SEEN = 1.0
"""A rollout counts as blank if all its frames together show less than this many pixels of the object."""


@dataclass(frozen=True)
class Rollouts:
    """The results of D successive calls of the simulator from each of N first frames.

    D is 1 plus the 99th percentile of the number of calls until a trajectory's last frame is matched, as in
    the authors' code.

    Attributes:
        evidence: mass of the object for each label, summed over the D predictions, ``[N, n_classes]``.
        times: times of the true frames with which predictions are matched, ``[N, D]``; the last one repeats.
        calls: number of calls until the last frame is matched, ``[N]``.
        frames: predictions for the first trajectories, ``[shown, D, C, h, w]``.
        loss: mean cross-entropy of the matches.
    """

    evidence: Tensor
    times: Tensor
    calls: Tensor
    frames: Tensor
    loss: float


@torch.no_grad()
def roll_out(
    simulator: Callable[[Tensor], Tensor],
    domain: Domain,
    trajectories: Trajectories,
    method: Method,
    shown: int,
) -> Rollouts:
    """Call the simulator on its own predictions until nearly all trajectories have ended.

    Args:
        simulator: function from frames to logits.
        domain: domain that says where the object is.
        trajectories: trajectories whose first frames are the inputs, and whose frames are the candidates.
        method: method that says with which frames a prediction may be matched.
        shown: number of trajectories whose predictions are kept.
    """
    rows = torch.arange(len(trajectories), device=trajectories.labels.device)
    last = trajectories.lengths - 1
    times = torch.zeros_like(last)
    first = trajectories.at(rows, times)
    inputs, calls, losses = first, torch.zeros_like(last), []
    evidence: list[Tensor] = []
    matched, frames = [], []
    while len(evidence) < 2 or bool((times < last).any()):
        active = times < last
        logits = simulator(inputs)
        ahead, valid = method.candidates(times, last)
        found = match(logits, trajectories.at(rows[:, None], ahead), valid)
        times = torch.where(active, ahead.gather(1, found.chosen[:, None]).squeeze(1), times)
        calls += active
        losses.append(found.loss[active])
        inputs = logits.sigmoid()
        evidence.append(domain.evidence(inputs, first))
        matched.append(times)
        frames.append(inputs[:shown])
    depth = min(len(evidence), math.ceil(float(calls.float().quantile(0.99))) + 1)
    return Rollouts(
        torch.stack(evidence[:depth]).sum(0),
        torch.stack(matched[:depth], 1),
        calls,
        torch.stack(frames[:depth], 1),
        float(torch.cat(losses).mean()),
    )


def measures(rollouts: Rollouts, trajectories: Trajectories) -> dict[str, float]:
    """Return the accuracies and the cost of the rollouts.

    For ``accuracy`` the prediction is the label with the most evidence, and a rollout without the object
    (``blank``) counts as wrong. ``accuracy_soft`` is the authors' measure: the share of the evidence that
    belongs to the true label, and an equal share for all labels if there is no evidence.
    ``model_evaluations`` is the number of calls per trajectory, and ``mean_skip`` the number of frames per
    call.
    """
    evidence, labels = rollouts.evidence, trajectories.labels
    mass = evidence.sum(1)
    blank = mass < SEEN
    right = (evidence.argmax(1) == labels) & ~blank
    share = evidence.gather(1, labels[:, None]).squeeze(1) / mass.clamp(min=1e-9)
    share = torch.where(mass > 1e-6, share, torch.full_like(share, 1 / evidence.shape[1]))
    return {
        "accuracy": float(right.float().mean()),
        "accuracy_soft": float(share.mean()),
        "blank": float(blank.float().mean()),
        "model_evaluations": float(rollouts.calls.float().mean()),
        "mean_skip": float((trajectories.lengths - 1).sum() / rollouts.calls.sum()),
        "loss": rollouts.loss,
    }
