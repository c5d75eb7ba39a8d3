"""An AND-mask in the basis that the gradients span, so that no rotation of the parameters changes it."""

from __future__ import annotations

import torch
from torch import Tensor

from ilc.aggregators._base import check_threshold, votes_required
from ilc.aggregators._joint import Weighting

ROUNDING = 1e-6
"""The share of a gradient's length below which its part along a direction may be rounding."""


class GramAgreement(Weighting):
    """The mean gradient along those principal directions in which the environments' signs agree.

    The rows are ``g_e = sum_k s_k u_ek v_k``, the singular value decomposition of all gradients over all
    parameters. The environments vote with ``sign(u_ek)`` on each direction ``v_k`` and not on each component.
    An environment has no vote where its part is less than a millionth of its gradient.
    ``u`` and ``s`` follow from the Gram matrix. So the result is a weight per environment,
    ``w = u diag(kept) u^T 1 / E``. There are at most E directions. The first one has the same sign in all
    environments if all products of gradients are positive. This aggregator is ours, for comparison with masks
    by component. Threshold 0 is the mean. The kept share counts directions, and not what they weigh: it is
    the share of the directions with a gradient that are kept, the same for every parameter.

    Args:
        agreement_threshold: tau in [0, 1]; the comparison is inclusive.

    Raises:
        UserError: the threshold is outside [0, 1].
    """

    needs_rows = True

    def __init__(self, agreement_threshold: float) -> None:
        self.agreement_threshold = check_threshold(agreement_threshold)

    def weights(self, risks: Tensor, gram: Tensor | None) -> Tensor:
        """Return the weights, also for many Gram matrices ``[..., E, E]`` at once."""
        assert gram is not None, "gathered because needs_rows is set"
        vectors, there, agrees = self._directions(gram)
        kept = vectors * (agrees & there)[..., None, :]
        weights: Tensor = (kept @ vectors.sum(-2)[..., None]).squeeze(-1).to(gram) / gram.shape[-1]
        return weights.where(_is_finite(gram)[..., None], torch.nan)

    def kept_share(self, gram: Tensor | None) -> Tensor:
        """Return the share of kept directions; without any gradient it is that of the AND-mask, 0."""
        assert gram is not None, "gathered because needs_rows is set"
        if self.agreement_threshold == 0:
            return gram.new_ones(gram.shape[:-2])
        _, there, agrees = self._directions(gram)
        return ((agrees & there).sum(-1) / there.sum(-1).clamp_min(1)).to(gram)

    def _directions(self, gram: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The directions ``[..., E, E]`` as columns, which have a gradient, and which agree ``[..., E]``."""
        # In double precision, because the signs of small numbers decide.
        values, vectors = torch.linalg.eigh(gram.double().where(_is_finite(gram)[..., None, None], 0.0))
        # A direction in which the gradients have nothing but rounding has no votes.
        there = values > values[..., -1:] * 1e-12
        # So has an environment whose own gradient has nothing but rounding there: it has no vote.
        along = vectors.abs() * values.clamp_min(0).sqrt()[..., None, :]
        votes = vectors.sign() * (along > ROUNDING * along.norm(dim=-1, keepdim=True))
        required = votes_required(gram.shape[-1], self.agreement_threshold)
        return vectors, there, votes.sum(-2).abs() >= required


def _is_finite(gram: Tensor) -> Tensor:
    """Which Gram matrices ``[..., E, E]`` are finite. Any other one has no eigenvectors."""
    return gram.isfinite().flatten(-2).all(-1)
