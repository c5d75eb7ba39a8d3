"""Whether a backward pass is linear in the gradient from which it starts.

An autograd function or a hook on a node of the graph may change a gradient by its size, as clipping does. The
gradient of a sum of risks is then not the sum of the gradients, and one pass cannot serve many environments.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import torch
from torch import Tensor, nn

from ilc.gradients._environment import trainable_parameters
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.findings import findings
from ilc.gradients._trials.reference_loop import ReferenceRows, reference_row
from ilc.gradients._trials.tolerance import Tolerance, unequal
from ilc.gradients._trials.trial_parameters import zeros_replaced
from ilc.gradients._trials.trial_passes import TrialPasses, trial_passes, without_dropout
from ilc.objectives import ObjectiveFunction

NOT_LINEAR = "the backward pass changes gradients by their size, as clipping does"
FACTOR = -1024.0
"""The factor of the risk in a second pass. A power of two leaves the digits as they are.

It is large because a limit may be far away, and negative because a limit may have one side."""


def rows_scale(
    model: nn.Module, loss_fn: ObjectiveFunction, rows: ReferenceRows, passes: TrialPasses
) -> bool:
    """Whether the gradients of these environments have the factor of their risks."""
    tolerance = Tolerance.of([*trainable_parameters(model).values(), rows.inputs])
    for e, (x, y) in enumerate(zip(rows.inputs, rows.targets, strict=True)):
        _, scaled = reference_row(model, loss_fn, x.clone(), y.clone(), passes, factor=FACTOR)
        if not scales([row[e] for row in rows.gradients.values()], scaled, tolerance):
            return False
    return True


def scales(gradients: Sequence[Tensor], scaled: Sequence[Tensor], tolerance: Tolerance) -> bool:
    """Whether ``scaled`` is ``FACTOR`` times the gradients; values that are not finite show nothing."""
    if not all(bool(gradient.isfinite().all()) for gradient in (*gradients, *scaled)):
        return True
    return not unequal([gradient.double() / FACTOR for gradient in scaled], gradients, tolerance)


def bends_gradients(model: nn.Module, loss_fn: ObjectiveFunction, x: Values, y: Values) -> bool:
    """Whether the backward pass of one environment is not linear. Asked once for a model and a loss."""
    known = findings(model, loss_fn)
    if NOT_LINEAR not in known:
        known[NOT_LINEAR] = False
        # The step itself will report what is wrong.
        with (
            suppress(Exception),
            without_dropout(model),
            zeros_replaced(model),
            trial_passes(model, loss_fn, x) as passes,
            torch.autocast(x.device.type, enabled=False),
        ):
            tolerance = Tolerance.of([*trainable_parameters(model).values(), x])
            x, y = x.detach(), y.detach()
            _, plain = reference_row(model, loss_fn, x.clone(), y.clone(), passes)
            _, scaled = reference_row(model, loss_fn, x.clone(), y.clone(), passes, factor=FACTOR)
            known[NOT_LINEAR] = not scales(plain, scaled, tolerance)
    return bool(known[NOT_LINEAR])
