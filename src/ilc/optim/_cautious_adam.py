"""Adam whose steps keep only the components that agree with the present gradient."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from ilc.errors import UserError
from ilc.optim._state import (
    check_at_least_zero,
    check_betas,
    check_gradient,
    check_left_out,
    check_state,
    check_trained,
    keep_wide,
    memory_of,
)

_REMEMBERED = ("exp_avg", "exp_avg_sq")
_SMALLEST_SHARE = 1e-3
"""A step is divided by the kept share, but at least by this (authors' code)."""


class CautiousAdam(torch.optim.Adam):
    """The cautious optimizer (Liang et al., arXiv 2411.16085): no step against the present gradient.

    The temporal mask asks whether a component's signs agreed over time. Here the momentum m has to agree with
    the gradient g. Adam's step u is kept where ``m g > 0``. It is divided by the kept share of its tensor,
    but at least by 1/1000, as in the authors' code (in their paper: by (kept + 1) / size)::

        theta <- theta - lr * u * [m * g > 0] / max(mean [m * g > 0], 1e-3)

    With ``betas=(0, b2)`` it is Adam, except for gradients of exactly zero. For weight decay use
    ``ilc.optim.Regularizer``. m and v are float32 or wider, also for parameters of half precision.

    Args:
        params: parameters or groups of them.
        lr: step size, at least 0.
        betas: b1 and b2, each in [0, 1).
        eps: added to the root, at least 0.

    Raises:
        UserError: a value is out of range, an option of Adam is not supported, or parameters are complex.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        _check({"lr": lr, "betas": betas, "eps": eps})
        super().__init__(params, lr, betas, eps)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters with its own options.

        Raises:
            UserError: as for the constructor.
        """
        _check(self.defaults | param_group)
        super().add_param_group(param_group)
        try:
            check_trained("CautiousAdam", self.param_groups[-1]["params"])
        except UserError:
            self.param_groups.pop()
            raise

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from the ``state_dict()`` of another optimizer of this kind.

        Raises:
            UserError: the state is of another kind of optimizer or of other parameters, or a value is out of
                range.
        """
        check_state(self, state_dict, _REMEMBERED, ("lr", "betas", "eps"))
        for group in state_dict["param_groups"]:
            _check(group)
        super().load_state_dict(state_dict)
        keep_wide(self, state_dict, _REMEMBERED)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take Adam's step, masked and lengthened. Parameters without a gradient do not change.

        Raises:
            UserError: a gradient is sparse, or an option is out of range by now.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            _check(group)
            for p in group["params"]:
                if p.grad is not None:
                    update = self._masked(p, p.grad, group)
                    p.copy_(p.to(update.dtype).sub(update, alpha=group["lr"]))
        return loss

    def _masked(self, p: Tensor, gradient: Tensor, group: dict[str, Any]) -> Tensor:
        """Adam's step for lr = 1 where it agrees with the gradient, divided by the kept share."""
        check_gradient("CautiousAdam", gradient)
        state = self.state[p]
        if not state:
            state["step"] = torch.zeros(())
            state.update({name: memory_of(p) for name in _REMEMBERED})
        state["step"] += 1
        m, v, t = state["exp_avg"], state["exp_avg_sq"], float(state["step"])
        b1, b2 = group["betas"]
        g = gradient.to(m.dtype)
        m.lerp_(g, 1 - b1)
        v.mul_(b2).addcmul_(g, g, value=1 - b2)
        root = (v / (1 - b2**t)).sqrt_().add_(group["eps"])
        # Signs, because a product of two numbers of 1e-23 is 0 in single precision.
        agrees = (m.sign() * g.sign() > 0).to(m.dtype)
        share = agrees.mean().clamp_min(_SMALLEST_SHARE)
        update: Tensor = m / root * agrees / (share * (1 - math.pow(b1, t)))
        return update


def _check(group: dict[str, Any]) -> None:
    """Raise UserError for the first value out of range."""
    check_at_least_zero(group, ("lr", "eps"))
    check_betas(group["betas"], 2)
    offered = " (ilc.optim.Regularizer offers weight decay)"
    check_left_out("CautiousAdam", group, ("weight_decay", "amsgrad", "maximize"), offered)
