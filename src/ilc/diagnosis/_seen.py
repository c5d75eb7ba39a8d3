"""What the gradients of all environments say about the components of several parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from ilc.aggregators._base import votes_required


class Seen(NamedTuple):
    """Sums over the components of each of Q parameters that were looked at, all float64.

    Attributes:
        components: the number of components that were looked at, ``[Q]``, as are the next five.
        agreement: the sum of |sum of signs| / E.
        kept: the number of components that the mask keeps.
        by_chance: the number that it would keep if every vote was a throw of a coin.
        signal: the sum of the squares of the mean gradient.
        noise: the sum of the variances over environments, divided by E - 1.
        ratio: the median of squared mean over variance, of the components with a variance; else NaN.
        against: for how many components an environment's sign is against the sum of the others', ``[E, Q]``.
        asked: for how many components both have a sign, ``[E, Q]``.
        opposed: the sum of |gradient| where it is against the sum of the others' gradients, ``[E, Q]``.
        size: the sum of |gradient|, ``[E, Q]``.
    """

    components: Tensor
    agreement: Tensor
    kept: Tensor
    by_chance: Tensor
    signal: Tensor
    noise: Tensor
    ratio: Tensor
    against: Tensor
    asked: Tensor
    opposed: Tensor
    size: Tensor


def seen(votes: Sequence[Tensor], agreement_threshold: float) -> Seen:
    """Look at the gradients ``[E, C_q]`` of Q parameters, all at once, because small parameters are many."""
    lengths = [one.shape[1] for one in votes]
    every = torch.cat(list(votes), 1)
    n = len(every)
    required = votes_required(n, agreement_threshold)
    signs, sizes = every.sign(), every.abs()
    sums, total = signs.sum(0), every.sum(0)
    mean = total / n
    variance = (every - mean).square_().sum(0) / max(1, n - 1)
    of_components = [
        torch.ones_like(mean),
        sums.abs() / n,
        sums.abs() >= required,
        _chances(signs.count_nonzero(0), required),
        mean.square(),
        variance,
    ]
    others = signs * (sums - signs)  # Above 0 where the environment votes with the others.
    belongs = _indicator(lengths, every)
    by_parameter = torch.stack([values.double() for values in of_components]) @ belongs.double()
    opposed = sizes * (signs * (total - every) < 0)
    by_environment = torch.cat([others < 0, others != 0, opposed, sizes]).to(belongs) @ belongs
    ratio = (mean.square() / variance).where(variance > 0, torch.nan)
    components, agreement, kept, by_chance, signal, noise = by_parameter
    against, asked, opposed, size = by_environment.double().view(4, n, -1)
    median = _medians(ratio, lengths)
    return Seen(components, agreement, kept, by_chance, signal, noise, median, against, asked, opposed, size)


def joined(parts: Sequence[Seen]) -> Seen:
    """The same for all parameters of several groups."""
    return Seen(*(torch.cat(each, -1) for each in zip(*parts, strict=True)))


def chance_of_agreement(votes: int, required: int) -> float:
    """The probability that so many throws of a coin give |heads - tails| >= required.

    An environment without a vote throws no coin, but still counts in the number that is required.
    """
    return _chance(votes, required)


@lru_cache(maxsize=2**16)
def _chance(votes: int, required: int) -> float:
    heads = torch.arange(votes + 1, dtype=torch.float64)
    logs = torch.lgamma(heads + 1)
    probabilities = (logs[-1] - logs - logs.flip(0) - votes * math.log(2)).exp()
    return float(probabilities[(2 * heads - votes).abs() >= required].sum())


def _chances(voting: Tensor, required: int) -> Tensor:
    """The chance for each component, of which so many environments have a sign, ``[C]``."""
    different, which = torch.unique(voting, return_inverse=True)
    chances = [chance_of_agreement(votes, required) for votes in different.tolist()]
    return torch.tensor(chances, dtype=torch.float64, device=voting.device)[which]


def _indicator(lengths: Sequence[int], like: Tensor) -> Tensor:
    """Which component belongs to which parameter, ``[C, Q]`` of zeros and ones."""
    found, start = like.new_zeros(sum(lengths), len(lengths)), 0
    for q, length in enumerate(lengths):
        found[start : start + length, q] = 1
        start += length
    return found


def _medians(values: Tensor, lengths: Sequence[int]) -> Tensor:
    """The median of each parameter's components without NaN, ``[Q]``; NaN without any."""
    padded = torch.nn.utils.rnn.pad_sequence(list(torch.split(values, list(lengths))), True, torch.nan)
    return padded.nanmedian(1).values.double()
