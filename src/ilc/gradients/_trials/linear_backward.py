"""Whether a backward pass is linear in the gradient from which it starts.

An autograd function or a hook on a node of the graph may change a gradient by its size, as clipping does. The
gradient of a sum of risks is then not the sum of the gradients, and one pass cannot serve many environments.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from ilc.gradients._environment import trainable_parameters
from ilc.gradients._passes.local_environments import differentiated_all
from ilc.gradients._trials.findings import findings
from ilc.gradients._trials.reference_loop import ReferenceRows, reference_row
from ilc.gradients._trials.tolerance import Tolerance, unequal
from ilc.gradients._trials.trial_passes import TrialPasses
from ilc.objectives import ObjectiveFunction

NOT_LINEAR = "the backward pass changes gradients by their size, as clipping does"
FACTOR = -1024.0
"""The factor of the risk in a second pass. A power of two leaves the digits as they are.

It is large because a limit may be far away, and negative because a limit may have one side."""
_STEPS_LEFT, _MOST_STEPS = "steps in which the backward pass is examined", 8


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


def what_bends_gradients(
    model: nn.Module, loss_fn: ObjectiveFunction, losses: Sequence[Tensor]
) -> str | None:
    """``NOT_LINEAR`` if the backward pass of the first loss is not linear, else None. Graphs are kept.

    The answer holds for the model and the loss function as they are, once every parameter has had a gradient
    other than zero, or after the eighth step.
    """
    known = findings(model, loss_fn)
    left = known.setdefault(_STEPS_LEFT, _MOST_STEPS)
    if losses and left:
        parameters = list(trainable_parameters(model).values())
        plain, scaled = (
            differentiated_all(factor * losses[0], parameters, create_graph=False) for factor in (1.0, FACTOR)
        )
        known[NOT_LINEAR] = not scales(plain, scaled, Tolerance.of_pass(parameters))
        sure = known[NOT_LINEAR] or all(bool(gradient.any()) for gradient in plain)
        known[_STEPS_LEFT] = 0 if sure else left - 1
    return NOT_LINEAR if known.get(NOT_LINEAR) else None
