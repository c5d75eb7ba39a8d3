"""An AND-mask that no rotation of a layer's inputs or outputs changes."""

from __future__ import annotations

import torch
from torch import Tensor

from ilc.aggregators._and_mask import AndMask
from ilc.aggregators._base import check_threshold
from ilc.aggregators._joint import JointAggregator, Together


class LayerAgreement(JointAggregator):
    """The AND-mask in the eigenbasis of each layer's second moments.

    Of a weight with environment gradients ``G_e`` ``[out, in...]``, taken as ``[out, in]``, the left and
    right second moments are ``sum_e G_e G_e^T`` and ``sum_e G_e^T G_e``. With their eigenvectors U and V
    signs are counted in ``U^T G_e V``, and what is kept is turned back. The basis is that of Shampoo (arXiv
    1802.09568) and SOAP (arXiv 2409.11321), over the environments of one step; the vote in it is ours. A
    linear model with one output is masked as by ``GramAgreement``. Biases and other vectors are masked by
    component. Threshold 0 is the mean.

    Args:
        agreement_threshold: tau in [0, 1]; the comparison is inclusive.

    Raises:
        UserError: a threshold outside [0, 1].
    """

    needs_rows = True

    def __init__(self, agreement_threshold: float) -> None:
        self.agreement_threshold = check_threshold(agreement_threshold)
        self._mask = AndMask(agreement_threshold)

    def loss(self, together: Together) -> tuple[Tensor, Tensor]:
        """The products of parameters and their updates, whose gradient the updates are."""
        rows = together.everywhere(together.rows())
        parts = torch.split(rows, [p.numel() for p in together.parameters], 1)
        of_tensors = zip(together.parameters, parts, strict=True)
        products = [(p * self.update(part.reshape(-1, *p.shape))).sum() for p, part in of_tensors]
        # Every process has the whole update; their parts are to add up to one.
        share = len(together.losses) / together.n_environments
        return share * torch.stack(products).sum(), together.risks.new_zeros(len(together.risks))

    def update(self, gradients: Tensor) -> Tensor:
        """Of one tensor, ``[*shape]``, from ``[E, *shape]``."""
        if gradients.ndim < 3:
            return self._mask(gradients)
        matrices = gradients.flatten(2)
        left, right = _eigenvectors(matrices @ matrices.mT), _eigenvectors(matrices.mT @ matrices)
        kept = self._mask(left.mT @ matrices @ right)
        return (left @ kept @ right.mT).view_as(gradients[0])


def _eigenvectors(second_moments: Tensor) -> Tensor:
    """Of their sum; in double precision, because what decides is the sign of small numbers."""
    vectors: Tensor = torch.linalg.eigh(second_moments.sum(0).double()).eigenvectors
    return vectors.to(second_moments)
