"""An AND-mask in the basis that the gradients span, so that no rotation of the parameters changes it."""

from __future__ import annotations

import torch
from torch import Tensor

from ilc.aggregators._base import check_threshold, votes_required
from ilc.aggregators._joint import Weighting


class GramAgreement(Weighting):
    """The mean gradient along those principal directions in which the environments' signs agree.

    The rows are ``g_e = sum_k s_k u_ek v_k``, the singular value decomposition of all gradients over all
    parameters. The environments vote with ``sign(u_ek)`` on each direction ``v_k`` and not on each component.
    ``u`` and ``s`` follow from the Gram matrix. So the result is a weight per environment,
    ``w = u diag(kept) u^T 1 / E``. There are at most E directions. The first one has the same sign in all
    environments if all products of gradients are positive. This aggregator is ours, for comparison with masks
    by component. Threshold 0 is the mean.

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
        # In double precision, because the signs of small numbers decide.
        values, vectors = torch.linalg.eigh(gram.double())
        n = gram.shape[-1]
        # A direction in which the gradients have nothing but rounding has no votes.
        there = values > values[..., -1:] * 1e-12
        agrees = vectors.sign().sum(-2).abs() >= votes_required(n, self.agreement_threshold)
        kept = vectors * (agrees & there)[..., None, :]
        weights: Tensor = (kept @ vectors.sum(-2)[..., None]).squeeze(-1).to(gram) / n
        return weights
