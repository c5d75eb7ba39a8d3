"""Adam whose steps keep only the components that agreed over time (paper, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from ilc._truth_values import check_truth_value
from ilc.errors import UserError
from ilc.optim._state import (
    check_at_least_zero,
    check_betas,
    check_gradient,
    check_left_out,
    check_state,
    check_trained,
    is_number,
    keep_wide,
    memory_of,
)
from ilc.optim._temporal_mask_update import Row, bundles, largest_masked, update

_REMEMBERED = ("momentum", "second_moment", "sign_average")


class TemporalMaskAdam(torch.optim.Optimizer):
    """The temporal AND-mask: steps only where the gradient's sign has agreed over time.

    If every batch comes from another environment, agreement over steps is agreement across environments. For
    each component with the gradient g (paper, Algorithm 1)::

        m <- b1 m + (1 - b1) g
        v <- b2 v + (1 - b2) g^2
        a <- b3 a + (1 - b3) sign(g)
        theta <- theta - lr * m * [|a| >= agreement_threshold] / sqrt(v + eps)

    There is no bias correction, and eps is inside the root, as printed. ``pytorch_form=True`` takes PyTorch's
    Adam around the same mask: m and v are corrected for their start at zero, and eps is added to the root.
    The average a does not change. Threshold 0 is plain Adam of the same form, to the bit.

    The average a starts from zero, so |a| is at most 1 - b3^t after t steps. No component moves before this
    bound reaches the threshold. At threshold 1 no component ever moves, except by rounding. Where the exact
    average equals the threshold, rounding may decide, because a is a sum of rounded products.

    m, v and a are float32 or wider, also for parameters of half precision. In bfloat16 an average of equal
    signs would stop at 0.8.

    The decay is a second update after the mask, theta <- theta (1 - lr * weight_decay). The mask does not
    affect it. ``decoupled=False`` adds weight_decay * theta to g at the beginning instead.

    Args:
        params: parameters or groups of them.
        lr: step size, at least 0.
        betas: b1, b2 and b3, each in [0, 1).
        agreement_threshold: tau in [0, 1]; the comparison is inclusive.
        eps: at least 0; inside the root, unless ``pytorch_form`` is set.
        weight_decay: at least 0.
        decoupled: see above.
        pytorch_form: see above.

    Raises:
        UserError: a value is out of range, or there are no parameters, or they are complex.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float, float] = (0.9, 0.999, 0.9),
        agreement_threshold: float = 0.4,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled: bool = True,
        pytorch_form: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "agreement_threshold": agreement_threshold,
            "eps": eps,
            "weight_decay": weight_decay,
            "decoupled": decoupled,
            "pytorch_form": pytorch_form,
        }
        self._masks: list[tuple[Tensor, float]] = []
        params = list(params)
        if not params:
            raise UserError("TemporalMaskAdam got no parameters: give it model.parameters()")
        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters with its own options.

        Raises:
            UserError: a value is out of range, or parameters are complex.
        """
        _check(self.defaults | param_group)
        super().add_param_group(param_group)
        try:
            check_trained("TemporalMaskAdam", self.param_groups[-1]["params"])
        except UserError:
            self.param_groups.pop()
            raise

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from the ``state_dict()`` of another optimizer of this kind.

        Raises:
            UserError: the state is of another kind of optimizer or of other parameters, or a value is out of
                range.
        """
        check_state(self, state_dict, _REMEMBERED, list(self.defaults))
        for group in state_dict["param_groups"]:
            _check(group)
        super().load_state_dict(state_dict)
        keep_wide(self, state_dict, _REMEMBERED)
        self._masks = []
        for group in self.param_groups:
            averages = [self.state[p]["sign_average"] for p in group["params"] if self.state.get(p)]
            self._masks += [(a, largest_masked(group["agreement_threshold"], a.dtype)) for a in averages]

    def __getstate__(self) -> dict[str, Any]:
        """Include the masks of the last step, so that a copy knows its kept share."""
        return {**super().__getstate__(), "_masks": self._masks}

    @property
    def kept_share(self) -> Tensor:
        """The share of components that the last step's mask kept (0-d); 1 before any step.

        It is computed on demand, so that a step does not pay for it.
        """
        if not self._masks:
            return torch.ones(())
        device = self._masks[0][0].device
        kept = torch.stack([(a.abs() > limit).sum().to(device) for a, limit in self._masks]).sum()
        return kept / sum(a.numel() for a, _ in self._masks)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step along the gradients. Parameters without a gradient do not change.

        Raises:
            UserError: a gradient is sparse, or an option is out of range by now.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._masks = []
        for group in self.param_groups:
            _check(group)
            every = [self._row(p) for p in group["params"] if p.grad is not None]
            for dtype in dict.fromkeys(row.a.dtype for row in every):
                rows = [row for row in every if row.a.dtype == dtype]
                limit = largest_masked(group["agreement_threshold"], dtype)
                self._masks += [(row.a, limit) for row in rows]
                for rows_at_once in bundles(rows):
                    update(rows_at_once, group, limit)
        return loss

    def _row(self, p: Tensor) -> Row:
        """A parameter with its gradient and its averages, which start from zero."""
        assert p.grad is not None
        check_gradient("TemporalMaskAdam", p.grad)
        state = self.state[p]
        if not state:
            for name in _REMEMBERED:
                state[name] = memory_of(p)
            state["step"] = torch.zeros(())
        state["step"] += 1
        memory = (state["momentum"], state["second_moment"], state["sign_average"])
        return Row(p, p.grad, *memory, float(state["step"]))


def _check(group: dict[str, Any]) -> None:
    """Raise UserError for the first value out of range."""
    check_at_least_zero(group, ("lr", "eps", "weight_decay"))
    check_betas(group["betas"], 3)
    for name in ("decoupled", "pytorch_form"):
        check_truth_value(name, group[name])
    check_left_out("TemporalMaskAdam", group, ("maximize", "amsgrad"))
    threshold = group["agreement_threshold"]
    if not is_number(threshold) or not 0 <= threshold <= 1:
        raise UserError(
            f"agreement_threshold must lie in [0, 1], got {threshold!r}: 0 keeps every component, and 0.4 "
            "keeps the components whose average sign is at least 0.4 or at most -0.4"
        )
