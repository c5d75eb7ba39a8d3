"""Gradient agreement filtering, a baseline against memorisation."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from ilc.errors import UserError
from lab.environment_task.methods.micro_batches import MicroBatchMethod


class GradientAgreementFiltering(MicroBatchMethod):
    """A micro-batch counts only if its gradient points in a similar direction (Chaubard, Eddy, Kochenderfer).

    The result begins with the first gradient. A further gradient is averaged into the result if its cosine
    distance to the result so far is at most tau; otherwise it is left out. If no further gradient agrees,
    there is no step: parameters and optimizer stay as they are. Source: arXiv 2412.18052. Each accepted
    gradient is averaged with the result so far, with equal weights, also for more than two micro-batches,
    as in the authors' code. Deviation: our micro-batches are random; those of the authors hold equally many
    examples of every class.

    Args:
        n_micro_batches: K; two in the experiments of the paper.
        max_cosine_distance: tau in [0, 2]; the authors search from 0.9 to 1.

    Raises:
        UserError: the distance is outside [0, 2].
    """

    def __init__(self, n_micro_batches: int = 2, max_cosine_distance: float = 0.97) -> None:
        super().__init__(n_micro_batches)
        if not 0 <= max_cosine_distance <= 2:
            raise UserError(
                f"aggregator.max_cosine_distance must lie in [0, 2], got {max_cosine_distance!r}: 0 keeps "
                "only gradients of equal direction, 1 leaves out gradients that point apart, and 2 leaves "
                "out none"
            )
        self.max_cosine_distance = max_cosine_distance

    def combine(self, gradients: Tensor) -> tuple[Tensor | None, float]:
        """Average the gradients in ``[K, P]`` that agree; None if none does.

        Also return the share that is used.
        """
        update, agreed = gradients[0], 0
        for gradient in gradients[1:]:
            distance = 1 - functional.cosine_similarity(update, gradient, dim=0)
            # The comparison is false for NaN, so a gradient with NaN is used and stays visible.
            if not distance > self.max_cosine_distance:
                update, agreed = (update + gradient) / 2, agreed + 1
        return (update, (agreed + 1) / len(gradients)) if agreed else (None, 0.0)
