"""An AND-mask that does not change when a layer's inputs or outputs are rotated."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ilc.aggregators._and_mask import AndMask
from ilc.aggregators._base import Combined, check_threshold, votes_required
from ilc.aggregators._gram_agreement import ROUNDING
from ilc.aggregators._joint import EnvironmentsInStep, JointAggregator, JointLoss
from ilc.aggregators._statistics import GradientStatistics


class LayerAgreement(JointAggregator):
    """The AND-mask in the eigenbasis of each layer's second moments.

    A weight has environment gradients ``G_e`` ``[out, in...]``, taken as matrices ``[out, in]``. Their left
    and right second moments are ``sum_e G_e G_e^T`` and ``sum_e G_e^T G_e``, with eigenvectors U and V. The
    environments vote on the components of ``U^T G_e V``, and the kept part is rotated back. The basis is that
    of Shampoo (arXiv 1802.09568) and SOAP (arXiv 2409.11321), over the environments of one step. The vote in
    this basis is ours. For a linear model with one output the result is that of ``GramAgreement``. Biases and
    other vectors are masked by component. Threshold 0 is the mean. The kept share counts components in that
    basis, without those in which the gradients have nothing but rounding.

    Args:
        agreement_threshold: tau in [0, 1]; the comparison is inclusive.

    Raises:
        UserError: the threshold is outside [0, 1].
    """

    needs_rows = True

    def __init__(self, agreement_threshold: float) -> None:
        self.agreement_threshold = check_threshold(agreement_threshold)
        self._mask = AndMask(agreement_threshold)

    def loss(self, environments: EnvironmentsInStep) -> JointLoss:
        """Return the sum of the products of parameters and updates. Its gradient is the update."""
        rows = environments.gather(environments.rows())
        parts = torch.split(rows, [p.numel() for p in environments.parameters], 1)
        of_tensors = list(zip(environments.parameters, parts, strict=True))
        each = [self.masked(part.reshape(len(rows), *p.shape)) for p, part in of_tensors]
        products = [(p * one.update).sum() for p, one in zip(environments.parameters, each, strict=True)]
        # Every process computes the whole update, so each counts with its share of the environments.
        share = len(environments.losses) / environments.n_environments
        penalties = environments.risks.new_zeros(len(environments.risks))
        return share * torch.stack(products).sum(), penalties, [one.kept_share for one in each]

    def update(self, gradients: Tensor) -> Tensor:
        """The update ``[*shape]`` of one tensor from gradients ``[E, *shape]``."""
        return self.masked(gradients).update

    def masked(self, gradients: Tensor) -> Combined:
        """The update of one tensor from gradients ``[E, *shape]``, and its kept share."""
        if gradients.ndim < 3:
            return self._masked_by_component(gradients)
        matrices = gradients.flatten(2)
        left, right = _eigenvectors(matrices @ matrices.mT), _eigenvectors(matrices.mT @ matrices)
        turned = left.mT @ matrices @ right
        kept, share = turned.mean(0), turned.new_ones(())
        if self.agreement_threshold > 0:
            rounding = _share_of_rounding(turned)
            sizes = turned.square().sum(0).sqrt()
            there = sizes > rounding * sizes.square().sum().sqrt()
            own = turned.flatten(1).norm(dim=1)[:, None, None]
            votes = turned.sign() * (turned.abs() > rounding * own)
            agrees = votes.sum(0).abs() >= votes_required(len(turned), self.agreement_threshold)
            kept, share = kept * agrees, (agrees & there).sum() / there.sum().clamp_min(1)
        return Combined((left @ kept @ right.mT).view_as(gradients[0]), share.to(kept))

    def _masked_by_component(self, gradients: Tensor) -> Combined:
        statistics = GradientStatistics.zeros(gradients[0]).add_(gradients)
        update, share = self._mask.combine(statistics)
        return Combined(update.to(gradients.dtype), share)


def _share_of_rounding(turned: Tensor) -> float:
    """The share of a matrix's size that one component of ``[E, out, in]`` may have by rounding."""
    # The rounding of a sum of n terms grows like the root of n. That of an eigenvector is larger if its
    # eigenvalue is small; a millionth is where ``GramAgreement`` ends, too.
    return max(ROUNDING, math.sqrt(max(turned.shape[1:])) * torch.finfo(turned.dtype).eps)


def _eigenvectors(second_moments: Tensor) -> Tensor:
    """Eigenvectors of the sum, in double precision, because the signs of small numbers decide."""
    moments = second_moments.sum(0).double()
    if not bool(moments.isfinite().all()):
        return second_moments[0] * torch.nan  # So that it stays visible in the update.
    vectors: Tensor = torch.linalg.eigh(moments).eigenvectors
    return vectors.to(second_moments)
