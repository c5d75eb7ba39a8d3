"""An AND-mask that does not change when a layer's inputs or outputs are rotated."""

from __future__ import annotations

import torch
from torch import Tensor

from ilc.aggregators._and_mask import AndMask
from ilc.aggregators._base import check_threshold
from ilc.aggregators._joint import EnvironmentsInStep, JointAggregator


class LayerAgreement(JointAggregator):
    """The AND-mask in the eigenbasis of each layer's second moments.

    A weight has environment gradients ``G_e`` ``[out, in...]``, taken as matrices ``[out, in]``. Their left
    and right second moments are ``sum_e G_e G_e^T`` and ``sum_e G_e^T G_e``, with eigenvectors U and V. The
    environments vote on the components of ``U^T G_e V``, and the kept part is rotated back. The basis is that
    of Shampoo (arXiv 1802.09568) and SOAP (arXiv 2409.11321), over the environments of one step. The vote in
    this basis is ours. For a linear model with one output the result is that of ``GramAgreement``. Biases and
    other vectors are masked by component. Threshold 0 is the mean.

    Args:
        agreement_threshold: tau in [0, 1]; the comparison is inclusive.

    Raises:
        UserError: the threshold is outside [0, 1].
    """

    needs_rows = True

    def __init__(self, agreement_threshold: float) -> None:
        self.agreement_threshold = check_threshold(agreement_threshold)
        self._mask = AndMask(agreement_threshold)

    def loss(self, environments: EnvironmentsInStep) -> tuple[Tensor, Tensor]:
        """Return the sum of the products of parameters and updates. Its gradient is the update."""
        rows = environments.gather(environments.rows())
        parts = torch.split(rows, [p.numel() for p in environments.parameters], 1)
        of_tensors = zip(environments.parameters, parts, strict=True)
        products = [(p * self.update(part.reshape(-1, *p.shape))).sum() for p, part in of_tensors]
        # Every process computes the whole update, so each counts with its share of the environments.
        share = len(environments.losses) / environments.n_environments
        return share * torch.stack(products).sum(), environments.risks.new_zeros(len(environments.risks))

    def update(self, gradients: Tensor) -> Tensor:
        """The update ``[*shape]`` of one tensor from gradients ``[E, *shape]``."""
        if gradients.ndim < 3:
            return self._mask(gradients)
        matrices = gradients.flatten(2)
        left, right = _eigenvectors(matrices @ matrices.mT), _eigenvectors(matrices.mT @ matrices)
        kept = self._mask(left.mT @ matrices @ right)
        return (left @ kept @ right.mT).view_as(gradients[0])


def _eigenvectors(second_moments: Tensor) -> Tensor:
    """Eigenvectors of the sum, in double precision, because the signs of small numbers decide."""
    vectors: Tensor = torch.linalg.eigh(second_moments.sum(0).double()).eigenvectors
    return vectors.to(second_moments)
