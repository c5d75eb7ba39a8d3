"""An AND-mask that no rotation of the parameters changes: agreement in the basis that the gradients span."""

from __future__ import annotations

import torch
from torch import Tensor

from ilc.aggregators._base import check_threshold, votes_required
from ilc.aggregators._joint import Weighting


class GramAgreement(Weighting):
    """The mean gradient, kept along those principal directions in which the environments' signs agree.

    With rows ``g_e = sum_k s_k u_ek v_k`` (the singular value decomposition of all gradients over all
    parameters), the AND-mask votes with ``sign(u_ek)`` on each direction ``v_k`` instead of each component.
    ``u`` and ``s`` are eigenvectors and eigenvalues of the Gram matrix, so this is a weight per environment,
    ``w = u diag(kept) u^T 1 / E``. There are at most E directions, of which the first has one sign wherever
    all products of gradients are positive. Ours, for comparison with masks by component; threshold 0 is the
    mean.

    Args:
        agreement_threshold: tau in [0, 1]; the comparison is inclusive.

    Raises:
        UserError: a threshold outside [0, 1].
    """

    needs_rows = True

    def __init__(self, agreement_threshold: float) -> None:
        self.agreement_threshold = check_threshold(agreement_threshold)

    def weights(self, risks: Tensor, gram: Tensor | None) -> Tensor:
        """Also for many Gram matrices at once, ``[..., E, E]``."""
        assert gram is not None, "gathered because needs_rows is set"
        # In double precision, because what decides is the sign of small numbers.
        values, vectors = torch.linalg.eigh(gram.double())
        n = gram.shape[-1]
        # A direction that no gradient has, but for rounding, has no vote to count.
        there = values > values[..., -1:] * 1e-12
        agrees = vectors.sign().sum(-2).abs() >= votes_required(n, self.agreement_threshold)
        kept = vectors * (agrees & there)[..., None, :]
        weights: Tensor = (kept @ vectors.sum(-2)[..., None]).squeeze(-1).to(gram) / n
        return weights
