"""Whether convolutions of this size are faster one environment after another: a rule, without a stopwatch."""

from __future__ import annotations

import torch
from torch import nn

from ilc.gradients._passes.calls import outputs_of
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.trial_passes import copied, trial_passes
from ilc.objectives import ObjectiveFunction

# Measured on one thread (docs/cost.md). In one pass over all environments, a convolution of PyTorch takes up
# to 1.6 times as long. One environment after another costs each layer as much as so many operations.
_OPERATIONS_PER_LAYER = 6.25e6
_LITTLE_WORK = 50e6
"""Below so many operations in all forward passes, either way takes a few milliseconds."""

_CONVOLUTIONS = (nn.modules.conv._ConvNd,)


def convolutions_are_faster_in_turn(model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values) -> bool:
    """Whether one environment after another is faster than all in one pass, on a CPU and with convolutions.

    ``torch.func.vmap`` computes the environments' convolutions as one convolution in groups, for which CPUs
    have slower code. This matters where a pass has much to compute. Where it has little, the fixed costs of
    a pass per environment matter more. The rule counts the operations of one environment's forward pass.
    The answer never depends on a clock, so that equal runs stay equal.

    Args:
        model: the model as it is now. The pass leaves no trace in it.
        loss_fn: the objective, which is not called.
        inputs: ``[E, N, ...]``.
    """
    layers = [layer for layer in model.modules() if any(True for _ in layer.parameters(recurse=False))]
    n = len(inputs)
    if n < 2 or inputs.device.type != "cpu" or not any(isinstance(layer, _CONVOLUTIONS) for layer in layers):
        return False
    from torch.utils.flop_counter import FlopCounterMode  # It loads triton, where that is installed.

    counter = FlopCounterMode(display=False)
    with trial_passes(model, loss_fn, inputs), torch.no_grad(), counter:
        try:
            outputs_of(model, copied(inputs, [0])[0])
        except Exception:  # The step itself will report what is wrong.
            return False
    operations = counter.get_total_flops()
    fixed = _OPERATIONS_PER_LAYER * len(layers) * (n - 2) / n
    return operations > fixed and n * operations > _LITTLE_WORK
