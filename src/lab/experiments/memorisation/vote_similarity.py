"""How alike two definitions of a vote are: the masks they give, and the gradients that pass."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ilc.aggregators import AndMask, GradientStatistics
from ilc.aggregators._base import agreement


def vote_similarity(
    one: Mapping[str, GradientStatistics], other: Mapping[str, GradientStatistics], agreement_threshold: float
) -> dict[str, float]:
    """Compare the AND-masks of two sets of votes over all components of the named parameters.

    Returns:
        ``kept_share_one`` and ``kept_share_other``; ``overlap``, the components that both keep among
        those that either keeps; ``cosine`` of the two masked gradients. The last two are 1 where
        neither keeps anything.
    """
    mask = AndMask(agreement_threshold)
    keeps = [
        _flat({n: agreement(s, agreement_threshold) for n, s in votes.items()}) for votes in (one, other)
    ]
    updates = [_flat({n: mask.combine(s).update for n, s in votes.items()}) for votes in (one, other)]
    either, both = keeps[0] | keeps[1], keeps[0] & keeps[1]
    norms = updates[0].norm() * updates[1].norm()
    nothing = not bool(either.any())
    return {
        "kept_share_one": float(keeps[0].double().mean()),
        "kept_share_other": float(keeps[1].double().mean()),
        "overlap": 1.0 if nothing else float(both.sum() / either.sum()),
        "cosine": 1.0 if nothing else float(updates[0] @ updates[1] / norms.clamp_min(1e-30)),
    }


def _flat(values: Mapping[str, Tensor]) -> Tensor:
    return torch.cat([value.flatten() for value in values.values()])
