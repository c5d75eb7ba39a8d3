"""How model and loss are called with a batch, whatever it consists of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from ilc.gradients._tensor_tree import TensorTree, Values


def arguments_of(inputs: Values) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a model: a dictionary gives keywords, a tuple positions, all else is the argument."""
    content = inputs.content if isinstance(inputs, TensorTree) else inputs
    if type(content) is tuple:
        return content, {}
    if isinstance(content, dict) and all(isinstance(key, str) for key in content):
        return (), content
    return (content,), {}


def outputs_of(model: nn.Module, inputs: Values) -> Any:
    """What the model makes of these inputs."""
    if isinstance(inputs, Tensor):
        return model(inputs)
    arguments, keywords = arguments_of(inputs)
    return model(*arguments, **keywords)


def rows_of_outputs(outputs: Any, n: int) -> Values | None:
    """Outputs that can be divided into the rows of ``n`` examples; None if no tensor has that many rows.

    Tensors without a row for each example, such as a loss of all of them, become None.
    """

    def has_rows(value: Any) -> bool:
        return isinstance(value, Tensor) and value.ndim > 0 and len(value) == n

    if isinstance(outputs, Tensor):
        return outputs if has_rows(outputs) else None
    if isinstance(outputs, TensorTree):  # Divided already.
        return outputs
    leaves, spec = tree_flatten(outputs)
    if not any(map(has_rows, leaves)):
        return None
    kept = [None if isinstance(leaf, Tensor) and not has_rows(leaf) else leaf for leaf in leaves]
    device = next(leaf for leaf in leaves if has_rows(leaf)).device
    return TensorTree.of(tree_unflatten(kept, spec), device)


def value_of(loss_fn: Callable[..., Any], outputs: Any, targets: Values) -> Any:
    """What the loss makes of outputs and targets, or of the outputs if there are no targets."""
    outputs = outputs.content if isinstance(outputs, TensorTree) else outputs
    if isinstance(targets, Tensor):
        return loss_fn(outputs, targets)
    return loss_fn(outputs) if are_absent(targets) else loss_fn(outputs, targets.content)


class NoTargets:
    """Stands for the targets of a loss that takes none: ``loss_fn(outputs)``."""


NO_TARGETS = NoTargets()


def no_targets(shape: Sequence[int], device: torch.device) -> TensorTree:
    """Targets with these first axes for a loss that takes none."""
    return TensorTree.of((NO_TARGETS, torch.zeros(*shape, dtype=torch.int8)), device)


def are_absent(targets: Values) -> bool:
    """Whether these are targets of a loss that takes none."""
    return isinstance(targets, TensorTree) and targets.form.others[0] is NO_TARGETS
