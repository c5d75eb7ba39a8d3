"""Risks, which are the mean loss of one environment, by the name used in configs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional as F

from ilc.objectives._objective import RiskFunction


@dataclass(frozen=True)
class Risk:
    """A risk, called as ``risk(outputs, targets)``, with a description.

    Attributes:
        function: the mean over the examples, a scalar.
        takes: the kind of targets of this risk: ``classes``, ``numbers`` or ``distributions``.
        true_classes: returns the class ``[N]`` of each target, for accuracies; None if targets are no
            classes.
        also_reported_as: a second name of the average risk in the metrics, besides ``loss``.
    """

    function: RiskFunction
    takes: str
    true_classes: Callable[[Tensor], Tensor | None]
    also_reported_as: str | None = None

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The mean risk of the examples, a scalar."""
        return self.function(outputs, targets)


def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of logits ``[N, C]`` against class indices ``[N]``."""
    return F.cross_entropy(outputs, targets)


def mean_squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """Mean squared error of ``[N, C]`` against ``[N, C]``."""
    return F.mse_loss(outputs, targets)


def kl_divergence(outputs: Tensor, targets: Tensor) -> Tensor:
    """Mean KL divergence of distributions ``[N, C]`` from the softmax of logits ``[N, C]``.

    D_KL(target || output) in nats (paper, section 3.3: the expert's policy from the student's).
    """
    return F.kl_div(F.log_softmax(outputs, dim=1), targets, reduction="batchmean")


def _class_indices(targets: Tensor) -> Tensor | None:
    return None if targets.is_floating_point() else targets


def _most_likely(targets: Tensor) -> Tensor:
    return targets.argmax(dim=1)


RISKS: dict[str, Risk] = {
    "cross_entropy": Risk(cross_entropy, "classes", _class_indices),
    "kl_divergence": Risk(kl_divergence, "distributions", _most_likely, also_reported_as="kl"),
    "mean_squared_error": Risk(mean_squared_error, "numbers", _class_indices),
}
"""Risks by the name used in configs."""
