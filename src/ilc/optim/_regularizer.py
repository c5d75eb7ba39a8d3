"""Weight decay and L1 regularisation outside the mask."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from ilc.errors import UserError
from ilc.optim._state import check_at_least_zero, check_gradient, check_trained, is_number


class Regularizer:
    """Pulls parameters towards zero after the environments' gradients were aggregated.

    L1 and coupled weight decay add the gradient of ``l1 * |p|_1 + weight_decay / 2 * |p|^2`` to ``.grad``.
    Decoupled weight decay is a second update after the optimizer's, ``p -= lr * weight_decay * p``. Under
    Adam the difference matters. Where the gradient is fully masked, Adam normalises a coupled term to a whole
    step of size lr, however weak the term is. A decoupled decay stays in proportion. A coupled L1 term
    silences neurons that respond to shortcuts from the start (paper, section 3.1). A coupled L2 term can
    shrink the whole network to zero.

    Args:
        parameters: the parameters to regularise; frozen ones are left out.
        weight_decay: the strength of the weight decay, at least 0.
        l1: the strength of the L1 term, at least 0.
        decoupled: whether weight decay is the second update and not a part of ``.grad``. L1 is always in
            ``.grad``.

    Raises:
        UserError: a strength is negative or beyond 32-bit numbers, or parameters are complex.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        weight_decay: float = 0.0,
        l1: float = 0.0,
        decoupled: bool = False,
    ) -> None:
        largest = torch.finfo(torch.float32).max
        if not all(is_number(strength) and 0 <= strength <= largest for strength in (weight_decay, l1)):
            raise UserError(
                "weight_decay and l1 (keys optimizer.weight_decay and optimizer.l1) must be finite 32-bit "
                f"numbers of at least 0, got {weight_decay} and {l1}"
            )
        self._parameters = [p for p in parameters if p.requires_grad]
        check_trained("a Regularizer", self._parameters)
        self._weight_decay = weight_decay
        self._l1 = l1
        self._decoupled = decoupled

    @torch.no_grad()
    def before_step(self, scale: float = 1.0) -> None:
        """Add the coupled gradients; call between ``backward`` and ``optimizer.step``.

        Args:
            scale: the factor of the loss, so that the regularisation keeps its proportion.

        Raises:
            UserError: the scale is no finite number of at least 0, or a gradient is sparse.
        """
        check_at_least_zero({"scale": scale}, ["scale"])
        gradients = [p.grad for p in self._parameters if p.grad is not None]
        parameters = [p.data for p in self._parameters if p.grad is not None]
        if not parameters:
            return
        for gradient in gradients:
            check_gradient("a Regularizer", gradient)
        if self._weight_decay and not self._decoupled:
            torch._foreach_add_(gradients, parameters, alpha=scale * self._weight_decay)
        if self._l1:
            torch._foreach_add_(gradients, torch._foreach_sign(parameters), alpha=scale * self._l1)

    @torch.no_grad()
    def after_step(self, lr: float) -> None:
        """Apply the decoupled decay with the current learning rate; call after ``optimizer.step``.

        Raises:
            UserError: the rate is no finite number of at least 0.
        """
        check_at_least_zero({"lr": lr}, ["lr"])
        if self._weight_decay and self._decoupled and self._parameters:
            torch._foreach_mul_([p.data for p in self._parameters], 1 - lr * self._weight_decay)
