"""The loss of a simulator that is fed with what it predicted (thesis, algorithms 1 and 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from lab.experiments.skip_intervals.matching import match
from lab.experiments.skip_intervals.methods import Method
from lab.experiments.skip_intervals.trajectories import Trajectories


class Unrolled(NamedTuple):
    """What came of B windows.

    Attributes:
        loss: mean over all calls that had something to predict.
        evaluations: how many these were.
        frames: how many frames they went ahead.
    """

    loss: Tensor
    evaluations: int
    frames: int


def unrolled(
    simulator: Callable[[Tensor], Tensor],
    trajectories: Trajectories,
    rows: Tensor,
    times: Tensor,
    method: Method,
    calls: int,
    truth: float,
    random: float,
) -> Unrolled:
    """Call the simulator again and again and match every prediction; gradients pass through all calls.

    Args:
        simulator: frames to logits.
        trajectories: to match with.
        rows: which of them, ``[B]``.
        times: of the first inputs, ``[B]``; none is a last frame.
        method: what may be matched.
        calls: at most so many; 0 goes on until every trajectory has ended.
        truth: probability that the next input is the matched true frame rather than the prediction.
        random: probability of a random match.
    """
    last = trajectories.lengths[rows] - 1
    inputs = trajectories.at(rows, times)
    total, count = inputs.new_zeros(()), 0
    begin = times
    done = 0
    while True:
        active = times < last
        logits = simulator(inputs)
        ahead, valid = method.candidates(times, last)
        at_random = _coins(len(rows), random, times.device) if random > 0 else None
        matched = match(logits, trajectories.at(rows[:, None], ahead), valid, at_random)
        total = total + (matched.loss * active).sum()
        count += int(active.sum())
        times = ahead.gather(1, matched.chosen[:, None]).squeeze(1)
        done += 1
        if done == calls or not bool((times < last).any()):
            return Unrolled(total / count, count, int((times - begin).sum()))
        predicted = logits.sigmoid()
        if truth > 0:
            fed = _coins(len(rows), truth, times.device) >= 0
            predicted = torch.where(fed[:, None, None, None], trajectories.at(rows, times), predicted)
        inputs = predicted


def _coins(n: int, chance: float, device: torch.device) -> Tensor:
    """A uniform number in [0, 1) with this chance, else -1; drawn on the CPU, which a run can restore."""
    drawn = torch.rand(2, n)
    return torch.where(drawn[0] < chance, drawn[1], -torch.ones(())).to(device)
