"""EQRM: a quantile of the risks."""

from __future__ import annotations

import torch
from torch import Tensor

from ilc._numbers import check_number
from ilc.aggregators._joint import Weighting
from ilc.errors import UserError

_HALVINGS = 60
"""So many halvings find a quantile to the last bit."""


class Eqrm(Weighting):
    """Minimise the ``quantile`` of the environments' risks (Eastwood et al., arXiv 2207.09944, algorithm 1).

    The distribution of the risks is a mixture of normal distributions, one around each risk. Their width is
    ``h = (4/3)^(1/5) s E^(-1/5)``, the rule for normal data, with the standard deviation s. When a risk
    moves, the quantile q moves in proportion to the density of this risk at q. So the weights are ``w_e =
    phi((q - R_e) / h) / sum``. They lie between those of the mean (few environments, wide h) and those of the
    worst environments (a quantile near 1). Deviation: h is fixed in this derivative, while the authors' code
    differentiates through the ends of a bisection; there is no burn-in, while DomainBed takes 2,500 steps of
    the mean first.

    Args:
        quantile: between 0 and 1; 0.75 in DomainBed.

    Raises:
        UserError: the quantile is no number in (0, 1).
    """

    def __init__(self, quantile: float = 0.75) -> None:
        self.quantile = check_number("quantile", quantile)
        if not 0 < self.quantile < 1:
            raise UserError(
                f"quantile must lie between 0 and 1, got {quantile!r}: the default is 0.75, and a value near "
                "1 picks the worst risk"
            )

    def weights(self, risks: Tensor, gram: Tensor | None) -> Tensor:
        """Return weights that add up to 1. They are equal if all risks are equal."""
        wide, n = risks.double(), risks.shape[-1]
        if n == 1:
            return torch.ones_like(risks)
        width = (4 / 3) ** 0.2 * wide.std(-1, keepdim=True) * n**-0.2
        standard = (self._quantile_of(wide, width) - wide) / width
        weights: Tensor = (-standard.square() / 2).where(width > 0, 0.0).softmax(-1).to(risks)
        return weights

    def _quantile_of(self, risks: Tensor, width: Tensor) -> Tensor:
        """The point where the distribution function equals ``quantile``, found by bisection."""
        at = torch.special.ndtri(torch.tensor(self.quantile, dtype=risks.dtype, device=risks.device)) * width
        low, high = risks.amin(-1, keepdim=True) + at, risks.amax(-1, keepdim=True) + at
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = torch.special.ndtr((middle - risks) / width).mean(-1, keepdim=True) < self.quantile
            low, high = torch.where(below, middle, low), torch.where(below, high, middle)
        quantile: Tensor = (low + high) / 2
        return quantile
