"""What the graph behind a loss shows: the parameters that it reaches, and unsupported checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import Any
from weakref import WeakSet

from torch import Tensor, nn

from ilc.errors import UserError
from ilc.gradients._trials.findings import current_step

_QUESTION = "whether the graph was looked through"
_DEEPEST = 3

_seen_outside_a_step: WeakSet[nn.Module] = WeakSet()


def check_graph(loss: Tensor, model: nn.Module) -> None:
    """Search the graph behind a loss, when model and loss are new or have changed.

    Raises:
        UserError: the graph has activation checkpoints of the kind that ``torch.autograd.grad`` does not
            support; or it has parameters that do not belong to the model, so that nothing would train them.
    """
    step = current_step(model)
    if (_QUESTION in step.known) if step else (model in _seen_outside_a_step):
        return
    leaves = _leaves(loss)
    own = {id(p) for p in model.parameters()}
    held = dict(_held(step.loss_fn if step else None, "", 0))
    for leaf in leaves:
        if id(leaf) not in own and (isinstance(leaf, nn.Parameter) or id(leaf) in held):
            raise UserError(_not_trained(leaf, held.get(id(leaf))))
    if step:
        step.known[_QUESTION] = True
    else:
        _seen_outside_a_step.add(model)


def check_what_the_loss_holds(loss: Tensor, model: nn.Module, loss_fn: Any) -> None:
    """Raise UserError if the loss depends on trainable tensors that ``loss_fn`` holds beside the model.

    The leaves of a sharded model are parameters that exist during a pass only, so no leaf is looked at that
    ``loss_fn`` does not hold.
    """
    own = {id(p) for p in model.parameters()}
    held = {number: name for number, name in _held(loss_fn, "", 0) if number not in own}
    for leaf in _leaves(loss) if held else ():
        if id(leaf) in held:
            raise UserError(_not_trained(leaf, held[id(leaf)]))


def _not_trained(leaf: Tensor, name: str | None) -> str:
    if name is None:
        return (
            f"the risk depends on a parameter of shape {tuple(leaf.shape)} that is not among "
            "model.parameters(), so nothing would train it: register it in the model, or set its "
            "requires_grad to False. If loss_fn uses it, let the model return it beside its outputs"
        )
    return (
        f"loss_fn{name} is trainable but no parameter of the model, so it would get no gradient: make it a "
        "part of the model and let the model return it beside its outputs, so that loss_fn can use it, or "
        "set its requires_grad to False"
    )


def _leaves(loss: Tensor) -> list[Tensor]:
    """The tensors at the ends of the graph that need a gradient."""
    waiting, visited, leaves = [loss.grad_fn], set(), []
    while waiting:
        node = waiting.pop()
        if node is None or node in visited:
            continue
        visited.add(node)
        if node.name() == "CheckpointFunctionBackward":
            raise UserError(
                "activation checkpointing with use_reentrant=True works only with loss.backward(), which "
                "ilc does not call: call torch.utils.checkpoint.checkpoint(..., use_reentrant=False)"
            )
        variable = getattr(node, "variable", None)
        if isinstance(variable, Tensor):
            leaves.append(variable)
        waiting += [following for following, _ in node.next_functions]
    return leaves


def _held(  # noqa: PLR0912
    value: Any, name: str, depth: int
) -> Iterator[tuple[int, str]]:
    """The identity of each trainable tensor that a loss holds, with its name there."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Tensor):
        if value.requires_grad:
            yield id(value), name
    elif isinstance(value, nn.Module):
        for key, p in value.named_parameters():
            yield id(p), f"{name}.{key}"
        for key, one in vars(value).items():
            if isinstance(one, Tensor):
                yield from _held(one, f"{name}.{key}", depth + 1)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _held(one, f"{name}[{key!r}]", depth + 1)
    elif isinstance(value, (list, tuple)):
        for i, one in enumerate(value):
            yield from _held(one, f"{name}[{i}]", depth + 1)
    elif isinstance(value, FunctionType):
        variables = dict(zip(value.__code__.co_freevars, value.__closure__ or (), strict=True))
        for key, cell in variables.items():
            yield from _held(_contents(cell), f"'s {key}", depth + 1)
        for key in value.__code__.co_names:
            if isinstance(value.__globals__.get(key), (Tensor, nn.Module)):
                yield from _held(value.__globals__[key], f"'s {key}", depth + 1)
    elif isinstance(value, MethodType):
        yield from _held(value.__func__, name, depth + 1)
        yield from _held(value.__self__, name, depth + 1)
    elif isinstance(value, partial):
        yield from _held(value.func, name, depth + 1)
        yield from _held(value.args, f"{name}.args", depth + 1)
        yield from _held(value.keywords, f"{name}.keywords", depth + 1)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        for key, one in list(vars(value).items()):
            yield from _held(one, f"{name}.{key}", depth + 1)


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
