"""What a simulator makes of first frames alone, and how well that tells the label (thesis, section 2.3)."""

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
"""Pixels of the object in all frames of a rollout together below which its end counts as blank."""


@dataclass(frozen=True)
class Rollouts:
    """D calls of the simulator on each of N first frames.

    D is the 99th percentile of the calls that the matched truth takes, plus 1, as in the authors' code.

    Attributes:
        evidence: mass of the object for each label, summed over the D predictions, ``[N, n_classes]``.
        times: of the true frames that predictions are matched with, ``[N, D]``; the last one repeats.
        calls: until the match is the last frame, ``[N]``.
        frames: predictions of the first trajectories, ``[shown, D, C, h, w]``.
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
    """Call the simulator on its own predictions until the truth has ended for nearly all trajectories.

    Args:
        simulator: frames to logits.
        domain: says where the object is.
        trajectories: to begin with and to match with.
        method: what may be matched.
        shown: how many trajectories to keep the predictions of.
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
    """Accuracies and what they cost.

    ``accuracy`` counts the label with the most evidence, and a rollout without the object (``blank``) as
    wrong. ``accuracy_soft`` is the authors': the share of the evidence that is the true label's, equal for
    all labels where it is blank. ``model_evaluations`` are calls per trajectory, ``mean_skip`` is frames per
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
