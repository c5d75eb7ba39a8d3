"""Gradient agreement filtering, a baseline against memorisation."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from ilc.errors import UserError
from lab.environment_task.methods.micro_batches import MicroBatchMethod


class GradientAgreementFiltering(MicroBatchMethod):
    """Micro-batches count only while their gradients point the same way (Chaubard, Eddy and Kochenderfer).

    The first gradient is the start; each further one is averaged in if its cosine distance to what
    there is so far is at most tau, and left out otherwise. If none agrees, there is no step: parameters
    and optimizer stay as they are. Source: arXiv 2412.18052; with more than two micro-batches each
    accepted gradient has half the weight of the result so far, as in the authors' code.
    Deviation: micro-batches are random; the authors' hold as many examples of every class.

    Args:
        n_micro_batches: K; two in the paper's experiments.
        max_cosine_distance: tau in [0, 2]; the authors search 0.9 to 1.

    Raises:
        UserError: a distance outside [0, 2].
    """

    def __init__(self, n_micro_batches: int = 2, max_cosine_distance: float = 0.97) -> None:
        super().__init__(n_micro_batches)
        if not 0 <= max_cosine_distance <= 2:
            raise UserError(
                f"max_cosine_distance must lie in [0, 2], got {max_cosine_distance!r}: 0 asks for equal "
                "directions, 1 leaves out those that point apart, 2 nothing"
            )
        self.max_cosine_distance = max_cosine_distance

    def combine(self, gradients: Tensor) -> tuple[Tensor | None, float]:
        """The mean of what agrees in ``[K, P]``, None if nothing does; the share of micro-batches used."""
        update, agreed = gradients[0], 0
        for gradient in gradients[1:]:
            distance = 1 - functional.cosine_similarity(update, gradient, dim=0)
            # Asked this way round, NaN is not filtered: a broken gradient stays visible.
            if not distance > self.max_cosine_distance:
                update, agreed = (update + gradient) / 2, agreed + 1
        return (update, (agreed + 1) / len(gradients)) if agreed else (None, 0.0)
