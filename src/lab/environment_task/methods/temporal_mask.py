"""The temporal AND-mask: agreement over steps instead of over the environments of one step."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor, nn, optim

from ilc.aggregators import Mean
from ilc.aggregators._base import check_threshold
from ilc.errors import UserError
from ilc.gradients import BackwardResult
from ilc.optim import CautiousAdam, TemporalMaskAdam
from lab.data import Batches, Environments, OneEnvironmentBatches
from lab.environment_task.batches import BatchOptions
from lab.environment_task.method import TrainingMethod


class TemporalMask(TrainingMethod):
    """Plain gradients of one environment per step. The optimizer applies the mask (paper, Algorithm 1).

    The mask compares steps, so nothing is combined within a step: the aggregator is the mean. The method
    has its own Adam, and batches of one environment each.

    Args:
        agreement_threshold: tau in [0, 1]; the comparison is inclusive.
        beta_3: the weight of the past in the average of signs, in [0, 1).
        eps: is added inside the square root, unless ``pytorch_form``.
        pytorch_form: whether bias correction and eps stand outside the root; see ``TemporalMaskAdam``.

    Raises:
        UserError: a value is out of range (the optimizer checks all values but the threshold).
    """

    def __init__(
        self, agreement_threshold: float, beta_3: float, eps: float = 1e-8, pytorch_form: bool = False
    ) -> None:
        super().__init__(Mean())
        self.agreement_threshold = check_threshold(agreement_threshold)
        self.beta_3 = beta_3
        self.eps = eps
        self.pytorch_form = pytorch_form

    def sampler(self, data: Environments, options: BatchOptions) -> Batches:
        """A sampler with batches of one environment each.

        Raises:
            UserError: the config asks for other batches or gradients.
        """
        if options.batches not in (None, "one_environment"):
            raise UserError(
                f"aggregator={self.name} compares the environments over time, so every batch must come from "
                f"one environment: take dataset.batches=one_environment instead of {options.batches}"
            )
        if options.gradients not in ("vectorized", "sequential"):
            raise UserError(
                f"aggregator={self.name} votes over steps, not over examples: take gradients=sequential "
                f"instead of gradients={options.gradients}"
            )
        return OneEnvironmentBatches(data, options.batch_size, options.generator, options.device)

    def optimizer(self, parameters: Iterable[nn.Parameter], configured: optim.Optimizer) -> TemporalMaskAdam:
        """An Adam with the mask, which has the learning rate and the betas of the optimizer in the config.

        Raises:
            UserError: the optimizer in the config is not an Adam, or a value is out of range.
        """
        if not isinstance(configured, optim.Adam) or isinstance(configured, CautiousAdam):
            raise UserError(
                f"aggregator={self.name} is a form of Adam and takes its lr and betas from optimizer=adam, "
                f"got {type(configured).__name__}: choose optimizer=adam"
            )
        return TemporalMaskAdam(
            parameters,
            configured.defaults["lr"],
            (*configured.defaults["betas"], self.beta_3),
            self.agreement_threshold,
            self.eps,
            pytorch_form=self.pytorch_form,
        )

    def kept_share(self, result: BackwardResult, optimizer: optim.Optimizer) -> Tensor:
        """The share of components that the mask of the optimizer kept."""
        assert isinstance(optimizer, TemporalMaskAdam), "made above"
        return optimizer.kept_share
