"""Masks that hide a whole example or all labels, in batches with the names that Hugging Face uses."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ilc.errors import UserError
from ilc.gradients._tensor_tree import TensorTree, Values

_IGNORED_LABEL = -100


def check_masks(inputs: Values | Sequence[Values]) -> None:
    """Raise UserError if ``attention_mask`` hides a whole example, or ``labels`` all of an environment.

    A transformer attends to padding then, or its loss is 0 / 0, and neither gradient means anything.
    """
    if isinstance(inputs, Tensor) or not len(inputs):
        return
    environments = list(inputs)
    for e, one in enumerate(environments):
        batch = one.content if isinstance(one, TensorTree) else None
        if not isinstance(batch, dict):
            return
        mask, labels = batch.get("attention_mask"), batch.get("labels")
        if isinstance(mask, Tensor) and mask.ndim == 2 and mask.shape[1]:
            hidden = ~mask.bool().any(1)
            if bool(hidden.any()):
                raise UserError(
                    f"attention_mask hides all of example {int(hidden.nonzero()[0])} of environment {e}: "
                    "leave the example out, or let the mask keep one position"
                )
        if isinstance(labels, Tensor) and bool((labels == _IGNORED_LABEL).all()):
            raise UserError(
                f"all labels of environment {e} are {_IGNORED_LABEL}, which the loss ignores, so that its "
                "risk is not a number: leave the environment out, or give it a label"
            )
