"""GroupDRO: an environment with a high risk gains weight from step to step."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ilc._numbers import check_number
from ilc.aggregators._joint import Weighting
from ilc.errors import UserError


class GroupDro(Weighting):
    """Follow the worst environments (Sagawa et al., arXiv 1911.08731, algorithm 1).

    Each step sets ``q_e <- q_e exp(step_size R_e)`` and divides q by its sum. The update is
    ``sum_e q_e g_e``. q begins uniform and is remembered from step to step. So every environment must keep
    its place along the first axis of a batch.

    Args:
        step_size: the step size of q, at least 0. 0 is the mean. The authors and DomainBed take 0.01.

    Raises:
        UserError: the step size is no number, negative or not finite, or the number of environments has
            changed.
    """

    def __init__(self, step_size: float = 0.01) -> None:
        self.step_size = check_number("step_size", step_size)
        if not 0 <= self.step_size < math.inf:
            raise UserError(f"step_size must be finite and at least 0, got {step_size!r}")
        self.log_q: Tensor | None = None

    def weights(self, risks: Tensor, gram: Tensor | None) -> Tensor:
        """Return the new q, which adds up to 1."""
        before = torch.zeros_like(risks) if self.log_q is None else self.log_q.to(risks)
        if before.shape != risks.shape:
            raise UserError(
                f"GroupDro remembers {before.shape[-1]} environments, got {risks.shape[-1]}: give it all "
                "environments in every step, always in the same order"
            )
        # Logarithms do not overflow.
        self.log_q = (before + self.step_size * risks).log_softmax(-1)
        return self.log_q.exp()

    def state_dict(self) -> dict[str, Tensor]:
        """The logarithm of q, if there is one."""
        return {} if self.log_q is None else {"log_q": self.log_q}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from a state that ``state_dict`` returned."""
        self.log_q = state.get("log_q")
