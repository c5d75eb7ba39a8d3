"""Risks: the mean loss of one environment, chosen by name in the config."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from ilc.objectives.objective import RiskFunction


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


RISKS: dict[str, RiskFunction] = {
    "cross_entropy": cross_entropy,
    "kl_divergence": kl_divergence,
    "mean_squared_error": mean_squared_error,
}
