"""The layers that have parameters, and what passes through them in one forward and backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from ilc.errors import UserError
from ilc.gradients.shares.rules import RULES

Collect = Callable[[nn.Module, Tensor, Tensor], None]


def layers_of(model: nn.Module, trainable: dict[str, nn.Parameter]) -> dict[nn.Module, dict[str, str]]:
    """Layers with trainable parameters of their own: their keys and the parameters' full names."""
    if hasattr(model, "_orig_mod"):
        raise UserError(
            "example_share cannot look inside a compiled model: give the one before torch.compile"
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
                f"example_share has no rule for {where}: use gradients='per_example_loss', freeze "
                f"the layer, or build it from {known}"
            )
        for p in own.values():
            if id(p) in owners:
                raise UserError(
                    f"{where} shares a parameter with {owners[id(p)]}, so neither has a share of its own: "
                    "use gradients='per_example_loss'"
                )
            owners[id(p)] = where
        prefix = f"{path}." if path else ""
        layers[layer] = {key: prefix + key for key in own}
    assert sum(map(len, layers.values())) == len(trainable)
    return layers


@contextmanager
def watched(
    layers: dict[nn.Module, dict[str, str]], collect: Collect, leaves: list[Tensor]
) -> Iterator[None]:
    """Call ``collect(layer, input, output gradient)`` for each layer as the backward pass gets there."""
    called: set[nn.Module] = set()

    def watch(layer: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> Tensor:
        name = next(iter(layers[layer].values())).rpartition(".")[0] or "the model"
        if layer in called:
            raise UserError(
                f"{name} ({type(layer).__name__}) is used twice in one pass, so its shares cannot be told "
                "apart: use gradients='per_example_loss', or give each use a layer of its own"
            )
        called.add(layer)
        x = arguments[0].detach()
        if not output.requires_grad:
            leaves.append(output.detach().requires_grad_())
            # A copy, because the network may go on to change it in place, which a leaf forbids.
            output = leaves[-1].clone()
        output.register_hook(lambda delta: collect(layer, x, delta))  # type: ignore[no-untyped-call]
        return output

    handles: list[RemovableHandle] = [layer.register_forward_hook(watch) for layer in layers]
    try:
        yield
        missing = [names for layer, names in layers.items() if layer not in called]
        if missing:
            name = next(iter(missing[0].values())).rpartition(".")[0]
            raise UserError(
                f"{name} has trainable parameters but was not called as a layer in this pass, so its shares "
                "are unknown: freeze it, call it, or use gradients='per_example_loss'"
            )
    finally:
        for handle in handles:
            handle.remove()
