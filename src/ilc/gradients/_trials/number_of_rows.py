"""Whether an environment's outputs depend on how many environments share a pass."""

from __future__ import annotations

from torch import Tensor, nn

from ilc.gradients._environment import trainable_parameters
from ilc.gradients._passes.calls import outputs_of
from ilc.gradients._tensor_tree import Values, sizes_of
from ilc.gradients._trials.findings import findings
from ilc.gradients._trials.tolerance import Tolerance, unequal
from ilc.gradients._trials.trial_passes import buffers_untouched, trial_passes
from ilc.objectives import ObjectiveFunction

_QUESTION = "whether outputs depend on the number of rows"


def number_of_rows_matters(model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values) -> bool:
    """Whether the first or the last environment has other outputs alone than in a pass of all.

    A trial has few environments. A constant such as ``16 / max(len(x), 16)`` may then be another one than in
    the step, and no operation shows that. So this looks at the number of environments of the step itself,
    once for each number.

    Args:
        model: gives outputs whose first axis is that of its inputs.
        loss_fn: the objective.
        inputs: ``[E, N, ...]``.
    """
    known: dict[object, bool] = findings(model, loss_fn).setdefault(_QUESTION, {})
    sizes = len(inputs), sizes_of(inputs)
    if sizes not in known:
        n = inputs.shape[1]
        tolerance = Tolerance.of([*trainable_parameters(model).values(), inputs])
        with trial_passes(model, loss_fn, inputs) as passes:

            def outputs(values: Values) -> Tensor:
                passes.reset()
                with buffers_untouched(model):
                    found: Tensor = outputs_of(model, values.detach().clone())
                return found.detach()

            every = outputs(inputs.flatten(0, 1))
            known[sizes] = bool(
                unequal([every[:n], every[-n:]], [outputs(inputs[0]), outputs(inputs[-1])], tolerance)
            )
    return known[sizes]
