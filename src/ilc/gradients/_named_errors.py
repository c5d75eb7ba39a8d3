"""Errors from inside a model or a loss that a batch has caused, as one line that names what to change."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from ilc.errors import UserError
from ilc.gradients._passes.calls import are_absent, arguments_of
from ilc.gradients._tensor_tree import TensorTree, Values


def named(
    error: Exception,
    model: nn.Module,
    loss_fn: Callable[..., Any],
    inputs: Values | Sequence[Values],
    targets: Values | Sequence[Values],
    together: bool,
) -> UserError | None:
    """The error as one line if the batch explains it, else None.

    Args:
        error: what ended the step.
        model: the model of the step.
        loss_fn: the objective of the step.
        inputs: of all environments.
        targets: of all environments.
        together: whether all environments go through the model as one batch.
    """
    if "Expected more than 1 value per channel" in str(error):
        return _of_one_example(inputs) if together else _of_single_examples(inputs)
    if not isinstance(error, TypeError):
        return None
    x, y = (values if isinstance(values, Tensor | TensorTree) else values[0] for values in (inputs, targets))
    return _of_the_model(model, x) or _of_the_loss(loss_fn, are_absent(y))


def _of_single_examples(inputs: Values | Sequence[Values]) -> UserError | None:
    """BatchNorm's error does not say which environment has one example."""
    if isinstance(inputs, Tensor | TensorTree):
        sizes = [inputs.shape[1]] * len(inputs)
    else:
        sizes = [len(one) for one in inputs]
    single = [e for e, n in enumerate(sizes) if n == 1]
    if not single:
        return None
    which = f"environment {single[0]} has" if len(single) < len(sizes) else "every environment has"
    return UserError(
        f"{which} one example, and BatchNorm in training mode cannot normalise a single value: give each "
        "environment two examples or more, call eval() on the BatchNorm layers, or, if every example is an "
        "environment of its own, take gradients='per_example', which normalises all examples together"
    )


def _of_one_example(inputs: Values | Sequence[Values]) -> UserError | None:
    """The same where all environments are one batch."""
    if not isinstance(inputs, Tensor | TensorTree) or inputs.shape[:2].numel() > 1:
        return None
    return UserError(
        "the batch has one example, and BatchNorm in training mode cannot normalise a single value: give two "
        "examples or more, or call eval() on the BatchNorm layers"
    )


def _of_the_model(model: nn.Module, x: Values) -> UserError | None:
    arguments, keywords = arguments_of(x)
    reason = _refused(model.forward, *arguments, **keywords)
    if reason is None:
        return None
    return UserError(
        f"the model does not take these inputs ({reason}): a dictionary gives its values by name, a tuple "
        "one after another, and a list has an entry per environment. Give a dictionary or tuple that is "
        "itself one argument in a tuple of one, (x,), and targets as targets"
    )


def _of_the_loss(loss_fn: Callable[..., Any], without_targets: bool) -> UserError | None:
    reason = _refused(loss_fn, *([None] if without_targets else [None, None]))
    if reason is None:
        return None
    if without_targets:
        return UserError(
            "there are no targets, so the loss is called as loss_fn(outputs), and loss_fn does not take this "
            f"call ({reason}): give targets, or a loss of the outputs alone"
        )
    return UserError(
        f"the loss is called as loss_fn(outputs, targets), and loss_fn does not take this call ({reason}): "
        "give a loss of outputs and targets, or leave the targets out"
    )


def _refused(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> str | None:
    """Why the function does not take these arguments; None if it does, or if it does not say."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*arguments, **keywords)
    except TypeError as reason:
        return str(reason)
    return None
