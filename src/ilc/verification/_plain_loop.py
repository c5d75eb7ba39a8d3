"""The definition of every way in a few plain lines of autograd: what fast ways are compared with.

Nothing here is fast, and nothing is shared with the ways themselves: one ``loss.backward()`` for each
environment, from the same start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ilc.objectives import Objective, ObjectiveFunction

Fresh = Callable[[], tuple[nn.Module, ObjectiveFunction]]
"""Gives model and loss in the state that every environment starts from, and moves no random number."""


class Row(NamedTuple):
    """What one environment says.

    Attributes:
        risk: 0-d.
        gradients: of each trainable parameter by name, as ``loss.backward()`` leaves them in ``.grad``,
            but for post-accumulate hooks.
        buffers: of the model after the environment's pass, by name.
    """

    risk: Tensor
    gradients: dict[str, Tensor]
    buffers: dict[str, Tensor]


class Definition(NamedTuple):
    """What a way should give.

    Attributes:
        rows: of each environment: its risk, and the buffers after its pass.
        sums: rows whose gradients add up to the sum.
        votes: rows that vote, or None where votes have no plain definition.
    """

    rows: list[Row]
    sums: list[Row]
    votes: list[Row] | None


def definition(
    way: str, fresh: Fresh, inputs: Tensor | Sequence[Tensor], targets: Tensor | Sequence[Tensor]
) -> Definition:
    """The rows of a way, by as many forward and backward passes as it takes.

    Args:
        way: one of ``ilc.gradients.WAYS``.
        fresh: called before each forward pass.
        inputs: ``[E, N, ...]``, or a list of ``[N_e, ...]``.
        targets: alike.
    """
    if (
        not isinstance(inputs, Tensor)
        or not isinstance(targets, Tensor)
        or way in ("vectorized", "sequential")
    ):
        rows = list(environment_rows(fresh, list(inputs), list(targets)))
        return Definition(rows, rows, rows)
    if way == "pooled":
        rows = list(environment_rows(fresh, [inputs.flatten(0, 1)], [targets.flatten(0, 1)]))
        return Definition(rows, rows, None)
    before = random_state(inputs)
    again = [(inputs.clone(), targets.clone()) for _ in range(2)]
    rows = list(example_rows(fresh, inputs, targets))
    if way == "per_example_loss" or not _batch_norm_mixes(fresh()[0]):
        return Definition(rows, rows, rows)
    after = random_state(inputs)
    set_random_state(inputs, before)
    batch = _batch_row(fresh, *again[0])
    set_random_state(inputs, before)
    local = None if way == "per_example_share" else list(example_rows(fresh, *again[1], cut=True))
    set_random_state(inputs, after)
    return Definition(rows, [batch], local)


def environment_rows(fresh: Fresh, inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> Iterator[Row]:
    """``vectorized`` and ``sequential``: every environment passes through the model by itself."""
    for x, y in zip(inputs, targets, strict=True):
        model, loss_fn = fresh()
        yield _row(model, loss_fn, loss_fn(model(x), y))


def example_rows(fresh: Fresh, inputs: Tensor, targets: Tensor, cut: bool = False) -> Iterator[Row]:
    """The ways per example: one pass of all examples, then the gradient of each example's own risk.

    With ``cut`` the vote of ``per_example`` under BatchNorm: at the input of each layer with weights other
    examples' gradients end, so that batch statistics are followed into the layer below them and no further.
    """
    model, loss_fn = fresh()
    example, handles = 0, []

    def cut_others(layer: nn.Module, arguments: tuple[Tensor, ...]) -> Tensor | None:
        if not arguments[0].requires_grad:
            return None
        x = arguments[0].view_as(arguments[0])
        rows = torch.arange(len(x), device=x.device).view(-1, *[1] * (x.ndim - 1))
        x.register_hook(lambda gradient: gradient * (rows == example))  # type: ignore[no-untyped-call]
        return x

    for layer in model.modules():
        if cut and isinstance(layer, (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Linear)):
            handles.append(layer.register_forward_pre_hook(cut_others))
    outputs = model(inputs.flatten(0, 1))
    for handle in handles:
        handle.remove()
    for example, y in enumerate(targets):
        yield _row(model, loss_fn, loss_fn(outputs[example : example + 1], y))


def _batch_row(fresh: Fresh, inputs: Tensor, targets: Tensor) -> Row:
    """The gradient of the sum of all examples' risks, by one backward pass."""
    model, loss_fn = fresh()
    outputs = model(inputs.flatten(0, 1))
    values = [loss_fn(outputs[i : i + 1], y) for i, y in enumerate(targets)]
    losses = [value.loss if isinstance(value, Objective) else value for value in values]
    return _row(model, loss_fn, torch.stack(losses).sum())


def trainable(model: nn.Module, loss_fn: ObjectiveFunction) -> dict[str, nn.Parameter]:
    """Trainable parameters of the model and, as ``loss_fn.NAME``, of a loss that has its own."""
    found = {name: p for name, p in model.named_parameters() if p.requires_grad}
    known = {id(p) for p in found.values()}
    own = loss_fn.named_parameters() if isinstance(loss_fn, nn.Module) else ()
    return found | {f"loss_fn.{name}": p for name, p in own if p.requires_grad and id(p) not in known}


def _row(model: nn.Module, loss_fn: ObjectiveFunction, value: Tensor | Objective) -> Row:
    loss, risk = (value.loss, value.risk) if isinstance(value, Objective) else (value, value)
    parameters = trainable(model, loss_fn)
    for p in parameters.values():
        p.grad = None
    with _no_post_accumulate_hooks(parameters):
        loss.backward(retain_graph=True)  # type: ignore[no-untyped-call]
    gradients = {name: _dense(p) for name, p in parameters.items()}
    return Row(risk.detach().clone(), gradients, {name: b.clone() for name, b in model.named_buffers()})


@contextmanager
def _no_post_accumulate_hooks(parameters: dict[str, nn.Parameter]) -> Iterator[None]:
    """They act on the update in ``.grad``, once for all environments."""
    hooks = [(held, dict(held)) for p in parameters.values() if (held := p._post_accumulate_grad_hooks)]
    for held, _ in hooks:
        held.clear()
    try:
        yield
    finally:
        for held, all_of_them in hooks:
            held.update(all_of_them)


def _dense(p: nn.Parameter) -> Tensor:
    if p.grad is None:
        return torch.zeros_like(p, requires_grad=False)
    return p.grad.to_dense() if p.grad.is_sparse else p.grad.clone()


def _batch_norm_mixes(model: nn.Module) -> bool:
    return any(
        isinstance(layer, nn.modules.batchnorm._BatchNorm) and (layer.training or layer.running_mean is None)
        for layer in model.modules()
    )


def random_state(like: Tensor) -> list[Tensor]:
    """Of the generators from which a pass on this tensor's device draws."""
    return [torch.get_rng_state(), *([torch.cuda.get_rng_state(like.device)] if like.is_cuda else [])]


def set_random_state(like: Tensor, state: list[Tensor]) -> None:
    """Draw from there on."""
    torch.set_rng_state(state[0])
    if like.is_cuda:
        torch.cuda.set_rng_state(state[1], like.device)
