"""The layers that have parameters, and what passes through them in one forward and one backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.utils.hooks import RemovableHandle

from ilc.errors import UserError
from ilc.gradients._example_terms.rules import RULES

Collect = Callable[[nn.Module, Tensor, Tensor], None]


def layers_of(model: nn.Module, trainable: dict[str, nn.Parameter]) -> dict[nn.Module, dict[str, str]]:
    """The layers with trainable parameters of their own, each with its keys and the full names."""
    if any(hasattr(part, "_orig_mod") or part._compiled_call_impl is not None for part in model.modules()):
        raise UserError(
            "votes per example cannot look inside a compiled model: give the model from before "
            "torch.compile, or use gradients='per_example_loss'"
        )
    layers: dict[nn.Module, dict[str, str]] = {}
    owners: dict[int, str] = {}
    for path, layer in model.named_modules():
        own = {key: p for key, p in layer.named_parameters(recurse=False) if p.requires_grad}
        if not own:
            continue
        where = f"{path or 'the model'} ({type(layer).__name__})"
        if type(layer) not in RULES:
            known = ", ".join(kind.__name__ for kind in RULES)
            raise UserError(
                f"votes per example have no rule for {where}: use gradients='per_example_loss', freeze "
                f"the layer, or build it from {known}"
            )
        if getattr(layer, "scale_grad_by_freq", False):
            raise UserError(
                f"{where} divides its gradient by how often an index occurs in the batch, so examples mix: "
                "use gradients='per_example_loss', or make it with scale_grad_by_freq=False"
            )
        for p in own.values():
            if id(p) in owners:
                raise UserError(
                    f"{where} shares a parameter with {owners[id(p)]}, so neither has a vote of its own: "
                    "use gradients='per_example_loss'"
                )
            owners[id(p)] = where
        prefix = f"{path}." if path else ""
        layers[layer] = {key: prefix + key for key in own}
    assert sum(map(len, layers.values())) == len(trainable)
    return layers


@contextmanager
def watched(
    layers: dict[nn.Module, dict[str, str]], collect: Collect, starts: list[GradientEdge]
) -> Iterator[None]:
    """Call ``collect(layer, input, output gradient)`` for each layer when the backward pass reaches it.

    ``starts`` is filled with the outputs of those layers below which nothing is trained. A caller that asks
    autograd for the gradients of these outputs makes the backward pass go through every layer. Autograd then
    computes no weight gradients.
    """
    called: set[nn.Module] = set()

    def watch(layer: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> None:
        if not output.requires_grad:  # Called under no_grad, so the risk does not depend on this call.
            return
        refuse_second_use(layer, called, name_of(layers[layer]))
        x = arguments[0]
        if not x.requires_grad:
            # The edge is kept instead of the tensor, because the network may change the tensor in place.
            starts.append(get_gradient_edge(output))
        x = x.detach()
        output.register_hook(lambda delta: _in_full_precision(collect, layer, x, delta))  # type: ignore[no-untyped-call]

    handles: list[RemovableHandle] = [layer.register_forward_hook(watch) for layer in layers]
    try:
        yield
        missing = [names for layer, names in layers.items() if layer not in called]
        if missing:
            raise UserError(
                f"{name_of(missing[0])} has trainable parameters but was not called as a layer in this "
                "pass, so its votes are unknown: freeze it, call it, or use gradients='per_example_loss'"
            )
    finally:
        starts.clear()  # The edges keep the graph alive, whose hooks keep this list alive.
        for handle in handles:
            handle.remove()


def name_of(names: dict[str, str]) -> str:
    """The layer's name, taken from the names of its parameters."""
    return next(iter(names.values())).rpartition(".")[0] or "the model"


def check_first_axis(name: str, x: Tensor, delta: Tensor, n: int) -> None:
    """Raise UserError unless a layer's input and output have a row for each of ``n`` examples."""
    if not len(x) == len(delta) == n:
        raise UserError(
            f"the input and the output of {name} must have one row for each of the {n} examples, got "
            f"{len(x)} and {len(delta)} rows, so that its votes cannot be told apart (this happens with time "
            "on the first axis, or with positions or a query that are looked up once): use "
            "gradients='per_example_loss'"
        )


def refuse_second_use(layer: nn.Module, called: set[nn.Module], name: str) -> None:
    """Note that the layer was called.

    Raises:
        UserError: it was called before in this pass.
    """
    if layer in called:
        raise UserError(
            f"{name} ({type(layer).__name__}) is used twice in one pass, so its votes cannot be told "
            "apart: use gradients='per_example_loss', or give each use a layer of its own"
        )
    called.add(layer)


def _in_full_precision(collect: Collect, layer: nn.Module, x: Tensor, delta: Tensor) -> None:
    with torch.autocast(delta.device.type, enabled=False):
        collect(layer, x, delta)
