"""Adam whose steps keep only the components that agree with the gradient at hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

_SMALLEST_SHARE = 1e-3
"""The kept share that a step is divided by is at least this (authors' code)."""


class CautiousAdam(torch.optim.Adam):
    """The cautious optimizer (Liang et al., arXiv 2411.16085): no step against the present gradient.

    Beside the temporal mask, which asks whether a component's signs agreed over time: here the momentum m has
    to agree with the gradient g. Adam's step u is kept where ``m g > 0`` and divided by the kept share of its
    tensor, at least 1/1000, as in the authors' code (their paper: by (kept + 1) / size)::

        theta <- theta - lr * u * [m * g > 0] / max(mean [m * g > 0], 1e-3)

    With ``betas=(0, b2)`` it is Adam, but for gradients of exactly zero. A weight decay is another's affair:
    ``ilc.optim.Regularizer``.

    Args:
        params: parameters or groups of them.
        lr: step size.
        betas: b1 and b2, each in [0, 1).
        eps: added to the root.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(params, lr, betas, eps)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Let Adam remember, then take its step masked and lengthened instead."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        trained = [(p, group) for group in self.param_groups for p in group["params"] if p.grad is not None]
        before = [p.clone() for p, _ in trained]
        super().step()
        for (p, group), start in zip(trained, before, strict=True):
            p.copy_(start).sub_(self._masked(p, group), alpha=group["lr"])
        return loss

    def _masked(self, p: Tensor, group: dict[str, Any]) -> Tensor:
        """Adam's step of length 1 where it agrees with the gradient, over the kept share."""
        assert p.grad is not None
        m, v, t = (self.state[p][name] for name in ("exp_avg", "exp_avg_sq", "step"))
        b1, b2 = group["betas"]
        root = (v / (1 - b2 ** float(t))).sqrt_().add_(group["eps"])
        agrees = (m * p.grad > 0).to(p.dtype)
        share = agrees.mean().clamp_min(_SMALLEST_SHARE)
        update: Tensor = m / root * agrees / (share * (1 - math.pow(b1, float(t))))
        return update
