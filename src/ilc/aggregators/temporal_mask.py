"""The temporal AND-mask: agreement over steps instead of over the environments of one step."""

from __future__ import annotations

from collections.abc import Iterable

from torch import nn

from ilc.aggregators.base import check_threshold
from ilc.aggregators.mean import Mean
from ilc.optim import TemporalMaskAdam


class TemporalMask(Mean):
    """Plain gradients of one environment per step; the mask sits in the optimizer (paper, Algorithm 1).

    Its memory is over steps, so there is nothing to combine within one: the aggregator is a mean,
    chosen like the others, that brings its own Adam and asks for batches of one environment each.

    Args:
        agreement_threshold: tau in [0, 1]; the comparison is inclusive.
        beta_3: how long the average of signs remembers, in [0, 1).
        eps: inside the root unless ``pytorch_form``.
        pytorch_form: bias correction and eps outside the root; see ``TemporalMaskAdam``.

    Raises:
        UserError: a value out of range (the optimizer checks all but the threshold).
    """

    def __init__(
        self, agreement_threshold: float, beta_3: float, eps: float = 1e-8, pytorch_form: bool = False
    ) -> None:
        self.agreement_threshold = check_threshold(agreement_threshold)
        self.beta_3 = beta_3
        self.eps = eps
        self.pytorch_form = pytorch_form

    def optimizer(
        self, parameters: Iterable[nn.Parameter], lr: float, betas: tuple[float, float]
    ) -> TemporalMaskAdam:
        """The optimizer that masks.

        Args:
            parameters: of the model.
            lr: step size.
            betas: beta_1 and beta_2 of Adam.

        Raises:
            UserError: a value out of range.
        """
        return TemporalMaskAdam(
            parameters,
            lr,
            (*betas, self.beta_3),
            self.agreement_threshold,
            self.eps,
            pytorch_form=self.pytorch_form,
        )
