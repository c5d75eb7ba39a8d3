"""The layers that have a rule, and what passes through them in one forward and one backward pass."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.utils.hooks import RemovableHandle

from ilc.errors import UserError
from ilc.gradients._compiled_models import check_as_written
from ilc.gradients._example_terms.own_parameters import has_its_own, own_parameters
from ilc.gradients._example_terms.rules import RULES
from ilc.gradients._example_terms.used_elsewhere import Detours, note_detour

Collect = Callable[[nn.Module, Tensor, Tensor], None]
Layers = dict[nn.Module, dict[str, str]]
"""Layers, each with the keys of its own trainable parameters and their full names."""


def layers_with_rules(model: nn.Module, without: Collection[str] = ()) -> Layers:
    """The layers with a rule, and those of their trainable parameters that no other layer has.

    Args:
        model: the model; compiled code shows no layers.
        without: names of parameters that are left out.

    Raises:
        UserError: compiled code would run, or a layer divides its gradient by counts over the batch.
    """
    check_as_written(model)
    layers: Layers = {}
    owners: dict[int, list[tuple[nn.Module, str]]] = {}
    for path, layer in model.named_modules():
        if getattr(layer, "scale_grad_by_freq", False) and _is_trained(layer):
            raise UserError(
                f"{path or 'the model'} ({type(layer).__name__}) divides its gradient by how often an index "
                "occurs in the batch, so examples mix: use gradients='per_example_loss', or "
                "make this layer with scale_grad_by_freq=False"
            )
        prefix = f"{path}." if path else ""
        for key, p in layer.named_parameters(recurse=False):
            owners.setdefault(id(p), []).append((layer, key))
            if p.requires_grad and _computes_as_its_class(layer) and prefix + key not in without:
                layers.setdefault(layer, {})[key] = prefix + key
    for shared in owners.values():
        for layer, key in shared if len(shared) > 1 else ():
            layers.get(layer, {}).pop(key, None)
    return {layer: names for layer, names in layers.items() if names}


def _computes_as_its_class(layer: nn.Module) -> bool:
    # Pruning, and the old weight_norm and spectral_norm, leave the class and make the weight of others.
    own = set(layer._parameters.keys()) <= {"weight", "bias"} and "weight" in layer._parameters
    return type(layer) in RULES and own and "forward" not in vars(layer)


def _is_trained(layer: nn.Module) -> bool:
    return any(p.requires_grad for p in layer.parameters(recurse=False))


class Calls:
    """Which layers were called as their rule expects: once, with their own weights and a row per example.

    Attributes:
        detours: the ways around these layers.
    """

    def __init__(self, layers: Layers, n: int | None, collect: Collect, starts: list[GradientEdge]) -> None:
        self._layers, self._n, self._collect, self._starts = layers, n, collect, starts
        self._called: dict[nn.Module, bool] = {}
        self._own = {layer: own_parameters(layer) for layer in layers}
        self.detours: Detours = {}
        self._handles: list[RemovableHandle] = [
            layer.register_forward_hook(self._watch, prepend=True) for layer in layers
        ]

    def followed(self, layer: nn.Module) -> bool:
        """Whether the layer was called in this way, and in no other."""
        return self._called.get(layer, False)

    def followed_names(self) -> set[str]:
        """The names of the parameters of all such layers."""
        return {
            name for layer, names in self._layers.items() if self.followed(layer) for name in names.values()
        }

    def end(self) -> None:
        """End the watch over forward passes."""
        for handle in self._handles:
            handle.remove()

    def _watch(self, layer: nn.Module, arguments: tuple[object, ...], output: Tensor) -> None:
        if not output.requires_grad:  # Called under no_grad, so the risk does not depend on this call.
            return
        given = arguments[0] if arguments else None
        again = layer in self._called
        fits = not again and isinstance(given, Tensor) and self._fits(given, output)
        self._called[layer] = fits and has_its_own(layer, self._own[layer])
        if not self._called[layer] or not isinstance(given, Tensor):
            return
        if not given.requires_grad:
            # The edge is kept instead of the tensor, because the network may change the tensor in place.
            self._starts.append(get_gradient_edge(output))
        note_detour(self.detours, given, output)
        x = given.detach()

        def reached(delta: Tensor) -> None:
            if self.followed(layer):
                with torch.autocast(delta.device.type, enabled=False):
                    self._collect(layer, x, delta)

        output.register_hook(reached)  # type: ignore[no-untyped-call]

    def _fits(self, x: Tensor, output: Tensor) -> bool:
        return self._n is None or (x.ndim > 0 and len(x) == len(output) == self._n)


@contextmanager
def watched(layers: Layers, n: int | None, collect: Collect, starts: list[GradientEdge]) -> Iterator[Calls]:
    """Call ``collect(layer, input, output gradient)`` for each layer when the backward pass reaches it.

    ``starts`` is filled with the outputs of those layers below which nothing is trained. A caller that asks
    autograd for the gradients of these outputs makes the backward pass go through every layer. Autograd then
    computes no weight gradients.

    Args:
        layers: the layers to watch.
        n: the number of rows of their inputs and outputs; None if any number will do.
        collect: called for each layer that is called once and with so many rows.
        starts: a list to fill.
    """
    calls = Calls(layers, n, collect, starts)
    try:
        yield calls
    finally:
        # The edges keep the graph alive, whose hooks keep this list and the calls alive.
        starts.clear()
        calls.detours.clear()
        calls.end()
