"""The loss of a simulator whose inputs are its own predictions (thesis, algorithms 1 and 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from lab.experiments.skip_intervals.matching import match
from lab.experiments.skip_intervals.methods import Method
from lab.experiments.skip_intervals.trajectories import Trajectories


class Unrolled(NamedTuple):
    """The results of unrolling the simulator on B windows.

    Attributes:
        loss: mean loss over all calls that had a frame to predict.
        evaluations: number of these calls.
        frames: number of frames that these calls went ahead.
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
    """Call the simulator repeatedly and match every prediction; gradients pass through all calls.

    Args:
        simulator: function from frames to logits.
        trajectories: trajectories whose frames are the inputs and the candidates.
        rows: numbers of the trajectories, ``[B]``.
        times: times of the first inputs, ``[B]``; none may be a last frame.
        method: method that says with which frames a prediction may be matched.
        calls: largest number of calls; with 0 they go on until every trajectory has ended.
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
    """Draw uniform numbers in [0, 1) with this chance each, else -1.

    They are drawn on the CPU, whose random state a run can restore.
    """
    drawn = torch.rand(2, n)
    return torch.where(drawn[0] < chance, drawn[1], -torch.ones(())).to(device)
