"""Value, gradient, Hessian-vector products and Hessian of one environment's risk."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ilc.errors import UserError

Loss = Callable[[Tensor], Tensor]
"""Risk of one environment as a function of the flat parameters ``[P]``: a scalar."""


class LocalRisk:
    """One environment's risk at ``theta``, differentiated once and ready for Hessian-vector products.

    The graph of the gradient stays in memory, so that every product costs one backward pass through it.

    Attributes:
        risk: the value.
        gradient: ``[P]``, in the dtype of ``theta``.

    Raises:
        UserError: the loss is not a finite, differentiable scalar.
    """

    def __init__(self, loss: Loss, theta: Tensor) -> None:
        self._theta = theta.detach().clone().requires_grad_()
        risk = loss(self._theta)
        if not isinstance(risk, Tensor) or risk.numel() != 1:
            got = f"shape {tuple(risk.shape)}" if isinstance(risk, Tensor) else type(risk).__name__
            raise UserError(
                f"every loss must map the parameters [P] to a scalar tensor, got {got}: average over the "
                "examples, and return a tensor"
            )
        if not bool(risk.isfinite()):
            raise UserError(
                f"a loss is {float(risk.detach())} at theta_star, but it must be finite there: check the "
                "parameters and the data"
            )
        if not risk.requires_grad:
            raise UserError(
                "a loss does not depend on its argument, the parameters [P]: compute the risk from this "
                "argument"
            )
        (self._gradient,) = torch.autograd.grad(
            risk.reshape(()), self._theta, create_graph=True, materialize_grads=True
        )
        self.risk = float(risk.detach())
        self.gradient = self._gradient.detach()

    def hessian_times(self, vectors: Tensor) -> Tensor:
        """Products of the Hessian with one vector ``[P]`` or with the rows of ``[K, P]``."""
        if not self._gradient.requires_grad:  # a linear risk
            return torch.zeros_like(vectors)
        (product,) = torch.autograd.grad(
            self._gradient,
            self._theta,
            vectors,
            retain_graph=True,
            materialize_grads=True,
            is_grads_batched=vectors.ndim == 2,
        )
        return product

    def hessian(self) -> Tensor:
        """The symmetric Hessian ``[P, P]`` in float64."""
        n = len(self._theta)
        hessian = self.hessian_times(torch.eye(n, dtype=self._theta.dtype)).double()
        return 0.5 * (hessian + hessian.mT)
