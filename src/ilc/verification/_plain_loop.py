"""Every way in a few plain lines of autograd, as a reference for the fast ways.

This file shares no code with the ways, except how model and loss are called with a batch. It calls
``loss.backward()`` once for each environment, from the same start. It is not fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ilc.gradients._passes.calls import outputs_of, rows_of_outputs, value_of
from ilc.gradients._tensor_tree import TensorTree, Values
from ilc.gradients._trials.random_numbers import set_torch_states, torch_states
from ilc.objectives import Objective, ObjectiveFunction

FreshModel = Callable[[], tuple[nn.Module, ObjectiveFunction]]
"""Returns model and loss in the state from which every environment starts. It draws no random number."""


class Row(NamedTuple):
    """What the loop finds for one environment.

    Attributes:
        risk: a 0-d tensor.
        gradients: those of each trainable parameter by name, as ``loss.backward()`` leaves them in ``.grad``
            without post-accumulate hooks.
        buffers: those of the model after the environment's pass, by name.
    """

    risk: Tensor
    gradients: dict[str, Tensor]
    buffers: dict[str, Tensor]


class ExpectedRows(NamedTuple):
    """What a way should give.

    Attributes:
        rows: one for each environment, with its risk and the buffers after its pass.
        sums: the rows whose gradients add up to the sum.
        votes: the rows that vote, or None if a plain loop cannot define the votes.
    """

    rows: list[Row]
    sums: list[Row]
    votes: list[Row] | None


def expected_rows(
    way: str, fresh: FreshModel, inputs: Values | Sequence[Values], targets: Values | Sequence[Values]
) -> ExpectedRows:
    """The rows of a way, by as many forward and backward passes as needed.

    Args:
        way: one of ``ilc.gradients.WAYS``.
        fresh: called before each forward pass.
        inputs: ``[E, N, ...]``, or a list of ``[N_e, ...]``.
        targets: like the inputs.
    """
    if (
        not isinstance(inputs, Tensor | TensorTree)
        or not isinstance(targets, Tensor | TensorTree)
        or way in ("vectorized", "sequential")
    ):
        rows = list(environment_rows(fresh, list(inputs), list(targets)))
        return ExpectedRows(rows, rows, rows)
    if way == "pooled":
        rows = list(environment_rows(fresh, [inputs.flatten(0, 1)], [targets.flatten(0, 1)]))
        return ExpectedRows(rows, rows, None)
    before = torch_states(inputs)
    again = [(inputs.clone(), targets.clone()) for _ in range(2)]
    rows = list(example_rows(fresh, inputs, targets))
    if way == "per_example_loss" or not _batch_norm_mixes(fresh()[0]):
        return ExpectedRows(rows, rows, rows)
    after = torch_states(inputs)
    set_torch_states(before, inputs)
    batch = _batch_row(fresh, *again[0])
    set_torch_states(before, inputs)
    local = None if way == "per_example_share" else list(example_rows(fresh, *again[1], cut=True))
    set_torch_states(after, inputs)
    return ExpectedRows(rows, [batch], local)


def environment_rows(fresh: FreshModel, inputs: Sequence[Values], targets: Sequence[Values]) -> Iterator[Row]:
    """``vectorized`` and ``sequential``: every environment passes through the model by itself."""
    for x, y in zip(inputs, targets, strict=True):
        model, loss_fn = fresh()
        yield _row(model, loss_fn, value_of(loss_fn, outputs_of(model, x), y))


def example_rows(fresh: FreshModel, inputs: Values, targets: Values, cut: bool = False) -> Iterator[Row]:
    """The ways per example: one pass of all examples, then the gradient of each example's own risk.

    ``cut`` gives the votes of ``per_example`` under BatchNorm. The gradients of other examples are set to
    zero at the input of each layer with weights. So batch statistics are followed into the layer below them
    and no further.
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
    outputs = _rows_of_outputs(model, inputs)
    for handle in handles:
        handle.remove()
    for example, y in enumerate(targets):
        yield _row(model, loss_fn, value_of(loss_fn, outputs[example : example + 1], y))


def _batch_row(fresh: FreshModel, inputs: Values, targets: Values) -> Row:
    """The gradient of the sum of all examples' risks, by one backward pass."""
    model, loss_fn = fresh()
    outputs = _rows_of_outputs(model, inputs)
    values = [value_of(loss_fn, outputs[i : i + 1], y) for i, y in enumerate(targets)]
    losses = [value.loss if isinstance(value, Objective) else value for value in values]
    return _row(model, loss_fn, torch.stack(losses).sum())


def _rows_of_outputs(model: nn.Module, inputs: Values) -> Values:
    """The outputs of one pass of all examples, with a row for each."""
    flat = inputs.flatten(0, 1)
    outputs = rows_of_outputs(outputs_of(model, flat), len(flat))
    assert outputs is not None, "the way itself refuses outputs without rows"
    return outputs


def trainable(model: nn.Module, loss_fn: ObjectiveFunction) -> dict[str, nn.Parameter]:
    """Trainable parameters of the model and, as ``loss_fn.NAME``, of the loss."""
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
    """Switch these hooks off: they act on the update in ``.grad``, once for all environments."""
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
