"""Whether a model has the parameters, in the same memory, with which its environments were differentiated."""

from __future__ import annotations

from typing import Any

from torch import nn

from ilc.errors import UserError
from ilc.gradients._sharded import local_part


def marks_of(model: nn.Module) -> list[tuple[Any, ...]]:
    """What tells whether parameters are others than before, have been written or lie elsewhere.

    A write in place through ``p.data`` does not show.
    """
    return [
        (name, id(p), p._version, p.requires_grad, local_part(p.detach()).data_ptr())
        for name, p in model.named_parameters()
    ]


def check_same_parameters(model: nn.Module, marks: list[tuple[Any, ...]]) -> None:
    """Raise UserError if the update would be written for other parameters than those that had the votes."""
    if marks_of(model) != marks:
        raise UserError(
            "the parameters have changed between the last environment of this update and its end, as at the "
            "end of a block of ilc.lora.product_basis: open such a block around the whole update, and make "
            "the optimizer's step after it"
        )
