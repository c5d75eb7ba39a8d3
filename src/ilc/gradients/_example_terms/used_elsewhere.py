"""Parameters that a risk reaches on another way than through the layers whose rules give their votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor
from torch.autograd.graph import Node, get_gradient_edge
from torch.utils._pytree import tree_leaves

from ilc.gradients._example_terms.outline import operations

Detours = dict[Node, Node | None]
"""The operation at the end of a layer, and the one before the layer; None if there is none."""


def note_detour(detours: Detours, x: Tensor, output: Tensor) -> None:
    """Note the way around a layer, from its output to its input."""
    if output.grad_fn is not None:
        detours[output.grad_fn] = get_gradient_edge(x).node if x.requires_grad else None


def around_the_model(outputs: object) -> Detours:
    """What ends a search at the outputs of the model, so that it finds what the loss itself uses."""
    tensors = [value for value in tree_leaves(outputs) if isinstance(value, Tensor)]
    return {tensor.grad_fn: None for tensor in tensors if tensor.grad_fn is not None}


def reached(risk: Tensor, searches: Sequence[Detours], parameters: Mapping[str, Tensor]) -> set[str]:
    """The names of those parameters that one of several searches from the risk finds.

    Each search takes every detour of its own.

    Numbers would not show a use with a small effect, such as a penalty on weights with a small factor. The
    graph does.
    """
    names = {id(p): name for name, p in parameters.items()}
    nodes = (node for detours in searches for node in operations(risk, detours))
    leaves = (id(getattr(node, "variable", None)) for node in nodes)
    return {names[leaf] for leaf in leaves if leaf in names}
