"""A comparison of two definitions of a vote, by their masks and by the gradients that pass the masks."""

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
        ``kept_share_one`` and ``kept_share_other``; ``overlap``, which is the number of components that both
        masks keep, divided by the number that at least one keeps; and ``cosine``, the cosine of the two
        masked gradients. ``overlap`` and ``cosine`` are 1 if neither mask keeps anything.
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
