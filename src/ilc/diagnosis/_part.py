"""A parameter, a layer or the whole model, in a few numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from ilc.diagnosis._seen import Seen


@dataclass(frozen=True)
class Part:
    """How far the environments' gradients agree on a parameter, a layer or the model.

    Attributes:
        name: the name of the parameter or of the layer; ``all`` for the model.
        components: the number of its components.
        looked_at: the number of components that were looked at. All other numbers are estimated from them.
        agreement: the mean of |sum of signs| / E over components, between 0 and 1.
        kept_share: the share of components that the AND-mask keeps at the asked threshold.
        by_chance: the share that it would keep if every vote was a throw of a coin. An exact zero is no vote.
        noise_scale: the number of environments at which noise and mean gradient have equal size:
            the trace of the covariance of an environment's gradient over the squared norm of the true one
            (McCandlish et al., arXiv 1812.06162), both without bias. Infinite if the mean gradient cannot be
            told from noise. With a vote per example its unit is examples.
        signal_to_noise: squared mean over variance between environments (Liu et al., arXiv 2001.07384), the
            median over a parameter's components. For a layer and the model it is the mean over parameters,
            weighted by their components. Noise alone gives about 0.45 / E. NaN if nothing varies.
    """

    name: str
    components: int
    looked_at: int
    agreement: float
    kept_share: float
    by_chance: float
    noise_scale: float
    signal_to_noise: float


class Summary:
    """Sums up parameters. Each counts with all of its components, whether they were looked at or not.

    Args:
        seen: what was seen of Q parameters.
        sizes: the number of components of each of them.
        n_environments: E.
    """

    def __init__(self, seen: Seen, sizes: Sequence[int], n_environments: int) -> None:
        self._seen, self._sizes, self._n = seen, sizes, n_environments
        self._numbers = [each.tolist() for each in seen[:7]]
        looked_at = self._numbers[0]
        self._weights = [size / max(1, number) for size, number in zip(sizes, looked_at, strict=True)]

    def part(self, name: str, which: Sequence[int]) -> Part:
        """These parameters together."""
        components = sum(self._sizes[q] for q in which)
        looked_at, agreement, kept, by_chance, signal, noise = (
            sum(each[q] * self._weights[q] for q in which) for each in self._numbers[:6]
        )
        true_signal = signal - noise / self._n
        scale = noise / true_signal if true_signal > 0 else math.inf if noise > 0 else math.nan
        ratios = {q: self._numbers[6][q] for q in which if not math.isnan(self._numbers[6][q])}
        weight = sum(self._sizes[q] for q in ratios)
        ratio = sum(self._sizes[q] * one for q, one in ratios.items()) / weight if weight else math.nan
        size = max(1.0, looked_at)
        shares = (agreement / size, kept / size, by_chance / size)
        return Part(name, components, int(sum(self._numbers[0][q] for q in which)), *shares, scale, ratio)

    def dissent(self, which: Sequence[int]) -> Tensor:
        """How often each environment is against the others, ``[E]``."""
        return self._ratio(self._seen.against, self._seen.asked, which)

    def opposition(self, which: Sequence[int]) -> Tensor:
        """How much of each environment's gradient, by size, is against the others' sum, ``[E]``."""
        return self._ratio(self._seen.opposed, self._seen.size, which)

    def _ratio(self, parts: Tensor, wholes: Tensor, which: Sequence[int]) -> Tensor:
        weights = parts.new_tensor([self._weights[q] for q in which])
        index = list(which)
        return (parts[:, index] @ weights) / (wholes[:, index] @ weights)
