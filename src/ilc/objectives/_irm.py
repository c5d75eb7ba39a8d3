"""The IRM penalty: how much an environment would gain from rescaling the classifier.

Arjovsky et al., Invariant Risk Minimization: || d/dw R(w * logits) at w = 1 ||^2, with one scalar w for the
whole environment. It is zero where w = 1 is already optimal. It is also zero where all logits are zero, so a
network without any output has a perfect penalty.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch._C import _functorch as functorch
from torch.func import grad_and_value
from torch.nn import functional as F

from ilc.errors import UserError
from ilc.objectives._objective import RiskFunction


def irm_penalty(
    logits: Tensor, targets: Tensor, risk: RiskFunction | None = None, estimator: str = "squared_norm"
) -> Tensor:
    """The IRM penalty of one environment, a differentiable scalar: ``(d/dw risk(w * logits, targets))^2``.

    The derivative is taken at w = 1, with one scalar w for the whole environment.

    Args:
        logits: ``[N, C]`` for classes, ``[N]`` or ``[N, 1]`` for two classes by one logit, any shape
            for regression.
        targets: class indices ``[N]``, or 0 and 1 in the shape of single logits (integers or
            booleans), or real values in the shape of ``logits``.
        risk: ``risk(logits, targets)``, the mean loss over the examples. The default is cross-entropy for
            integer targets and mean squared error for floating-point ones. Targets that are all 0.0 or 1.0
            may be classes or numbers, so for them the risk must be given, such as
            ``torch.nn.functional.binary_cross_entropy_with_logits``.
        estimator: ``squared_norm`` is exact on the given examples, but biased upwards by the variance of the
            slope, which falls with 1/N. ``two_halves`` multiplies the slopes of two halves of the
            examples. It has no bias, but it is noisier and may be negative, and it needs the examples in a
            new random order at each step.

    Raises:
        UserError: the estimator is unknown, shapes do not match, there are no examples or there is one where
            two are needed, two classes are not 0 and 1, or targets are 0.0 and 1.0 without a risk.
    """
    if not isinstance(estimator, str) or estimator not in ESTIMATORS:
        raise UserError(f"the estimator must be one of {', '.join(ESTIMATORS)}, got {estimator!r}")
    for name, value in (("logits", logits), ("targets", targets)):
        if not isinstance(value, Tensor):
            raise UserError(
                f"the IRM penalty needs tensors, got {name} of type {type(value).__name__}: use torch.tensor"
            )
    if risk is not None and not callable(risk):
        raise UserError(
            f"the risk must be a function of logits and targets, such as torch.nn.functional.mse_loss, got "
            f"{risk!r}"
        )
    if logits.ndim < 1 or targets.ndim < 1 or len(logits) != len(targets) or not logits.is_floating_point():
        raise UserError(
            "the IRM penalty needs floating-point logits with one row per example and equally many targets, "
            f"got {logits.dtype} {tuple(logits.shape)} and {targets.dtype} {tuple(targets.shape)}"
        )
    if not len(logits):
        raise UserError(
            "the IRM penalty needs at least one example per environment, got no examples: leave out an "
            "empty environment"
        )
    if risk is None:
        risk = default_risk(logits, targets)
        _check_values(targets, risk)
        if risk is F.cross_entropy:
            # Logits relative to the first class give the same risk. If the logits are equal for all classes,
            # the penalty is then exactly zero, without rounding.
            logits = logits - logits[:, :1]
    return ESTIMATORS[estimator](logits, targets, risk)


def slope(logits: Tensor, targets: Tensor, risk: RiskFunction) -> Tensor:
    """The exact derivative d/dw risk(w * logits, targets) at w = 1, differentiable, also by ``torch.func``.

    It is NaN where the risk is NaN, for example if all targets are ignored, because then no example shows
    that w = 1 is optimal.
    """
    w = torch.ones((), dtype=logits.dtype, device=logits.device)
    derivative: Tensor
    derivative, value = grad_and_value(lambda w: risk(w * logits, targets))(w)
    return derivative.where(~value.detach().isnan(), torch.nan)


def squared_norm(logits: Tensor, targets: Tensor, risk: RiskFunction) -> Tensor:
    """The squared slope of all examples, as in the IRM authors' experiments.

    Its expectation over samples is the squared true slope plus the variance of the estimated slope. So in
    small batches even the invariant solution has a penalty.
    """
    return slope(logits, targets, risk).square()


def two_halves(logits: Tensor, targets: Tensor, risk: RiskFunction) -> Tensor:
    """The product of the slopes of the even and of the odd examples (IRM paper, appendix D).

    The halves are independent, so the expectation of the product is the squared true slope. The estimate is
    unbiased but noisier, and it may be negative. The examples must be in a new random order at every step. If
    the halves stayed the same, training would make the two slopes oppose each other.
    """
    if len(logits) < 2:
        raise UserError(
            "estimator='two_halves' needs at least two examples per environment, got 1: give more examples, "
            "or take estimator='squared_norm'"
        )
    even, odd = (slope(logits[half::2], targets[half::2], risk) for half in (0, 1))
    return even * odd


ESTIMATORS: dict[str, Callable[[Tensor, Tensor, RiskFunction], Tensor]] = {
    "squared_norm": squared_norm,
    "two_halves": two_halves,
}
"""Estimators of the squared norm of the slope, by the name used in configs."""


def default_risk(logits: Tensor, targets: Tensor) -> RiskFunction:
    """The usual risk for targets of this kind.

    Raises:
        UserError: the shapes fit no usual risk.
    """
    if targets.is_floating_point() and logits.shape == targets.shape:
        return F.mse_loss
    single = logits.ndim == 1 or (logits.ndim == 2 and logits.shape[1] == 1)
    if not targets.is_floating_point():
        if single and targets.numel() == logits.numel():
            return _binary_cross_entropy
        if logits.ndim >= 2 and targets.ndim == logits.ndim - 1:
            return F.cross_entropy
    raise UserError(
        "the IRM penalty needs class indices [N] for logits [N, C], or targets with the shape of the "
        f"logits, got {targets.dtype} {tuple(targets.shape)} for logits {tuple(logits.shape)}"
    )


def _check_values(targets: Tensor, risk: RiskFunction) -> None:
    """Raise UserError for classes of one logit that are not 0 and 1, or that may be numbers."""
    if targets.dtype == torch.bool or risk is F.cross_entropy or torch.compiler.is_compiling():
        return
    while functorch.is_functorch_wrapped_tensor(targets):  # Under vmap: get all values.
        targets = functorch.get_unwrapped(targets)
    binary = bool(((targets == 0) | (targets == 1)).all())
    if risk is _binary_cross_entropy and not binary:
        raise UserError(
            "the targets of single logits must be the classes 0 and 1, got values from "
            f"{targets.min().item()} to {targets.max().item()}: give logits [N, C] for more classes, or "
            "floating-point targets for a regression"
        )
    if risk is F.mse_loss and binary:
        raise UserError(
            "the targets are all 0.0 or 1.0, and these may be classes or numbers: say which they are by "
            "risk=torch.nn.functional.binary_cross_entropy_with_logits or risk=torch.nn.functional.mse_loss"
        )


def _binary_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(logits, targets.reshape(logits.shape).to(logits.dtype))
