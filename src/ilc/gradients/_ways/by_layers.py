"""Gradients of environments, computed layer by layer, for models that mix no examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge
from torch.func import vmap

from ilc.aggregators import GradientStatistics
from ilc.gradients._environment import (
    EnvironmentGradients,
    checked_risk,
    of_all_parameters,
    scalar_objective,
    trainable_parameters,
)
from ilc.gradients._example_terms.operation_names import operation_names
from ilc.gradients._example_terms.outline import operations
from ilc.gradients._example_terms.rules import RULES
from ilc.gradients._example_terms.sums import summed
from ilc.gradients._example_terms.terms import ExampleTerms, RankOneTerms
from ilc.gradients._example_terms.used_elsewhere import around_the_model, reached
from ilc.gradients._example_terms.watched_layers import layers_with_rules, watched
from ilc.gradients._example_terms.watched_uses import Collect
from ilc.gradients._passes.calls import outputs_of, value_of
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.findings import all_findings, findings
from ilc.objectives import Objective, ObjectiveFunction

# The rules of these layers allow any axes between environment and features.
_KINDS = (nn.Linear, nn.LayerNorm, nn.Embedding)


def by_layers(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, also: Sequence[str] = ()
) -> EnvironmentGradients:
    """Give the same as ``vectorized`` for models in which each output depends only on its own example.

    All examples go through the model as one batch. The gradient of an environment's risk with respect to a
    linear layer's weight is then ``delta_e^T x_e``. Here ``delta_e [N, out]`` and ``x_e [N, in]`` are the
    environment's rows of that batch. The product is made, added and signed tile by tile, and never stored as
    a whole.

    Raises:
        NoLayerError: a parameter belongs to no layer with a rule, or to a layer that is used twice.
    """
    trainable = trainable_parameters(model)
    n = inputs.shape[0]
    statistics: dict[str, GradientStatistics] = {}

    def collect(name: str, terms: ExampleTerms | RankOneTerms) -> None:
        statistics[name] = summed(terms, trainable[name], n, also)

    objectives = terms_of_environments(model, loss_fn, inputs, targets, collect)
    return of_all_parameters(objectives, statistics, trainable, also)


def terms_of_environments(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, collect: Collect
) -> Objective:
    """Make one pass that brings the environments' terms of each parameter to ``collect``.

    Returns:
        The objectives of the environments ``[E]``.

    Raises:
        NoLayerError: as for ``by_layers``.
    """
    layers = layers_with_rules(model)
    shape = inputs.shape[:2]
    starts: list[GradientEdge] = []

    def collect_layer(layer: nn.Module, x: Tensor, delta: Tensor) -> None:
        terms = RULES[type(layer)](layer, _by_environment(x, shape), _by_environment(delta, shape))
        for key, name in layers[layer].items():
            collect(name, terms[key])

    with watched(layers, None, collect_layer, starts) as calls:
        outputs = outputs_of(model, inputs.detach().flatten(0, 1))
        trainable = trainable_parameters(model)
        if missing := trainable.keys() - calls.followed_names():
            raise NoLayerError(min(missing))
        _check_operations(model, loss_fn, outputs)
        around = around_the_model(outputs)  # The loss may write into the outputs.
        objectives = losses_of_environments(loss_fn, outputs, targets, shape)
        risk = checked_risk(objectives.loss.sum())
        # What the loss reads inside the model, such as an auxiliary loss, belongs to all environments.
        if elsewhere := reached(risk, [calls.detours, around], trainable):
            raise NoLayerError(min(elsewhere))
        if starts:  # Without any, no layer is trained.
            torch.autograd.grad(risk, starts, allow_unused=True)
    return objectives


@contextmanager
def operations_noted() -> Iterator[None]:
    """Surround trial passes: their operations are those that later passes may have."""
    token = _in_trial.set(True)
    try:
        yield
    finally:
        _in_trial.reset(token)


def _check_operations(model: nn.Module, loss_fn: ObjectiveFunction, outputs: Tensor) -> None:
    """Raise NoLayerError if a step has operations that no trial had, since only those were compared.

    A global variable, a counter or the number of examples may have switched on something that mixes them.
    """
    tried = findings(model, loss_fn).setdefault(_OPERATIONS, set())
    names = operation_names(operations(outputs))
    if _in_trial.get():
        tried.add(names)
    elif names not in tried:
        raise NoLayerError("the model computes something else than before")


_OPERATIONS = "operations of a pass by layers"
_in_trial: ContextVar[bool] = ContextVar("in_trial", default=False)


def losses_of_environments(
    loss_fn: ObjectiveFunction, outputs: Tensor, targets: Values, shape: torch.Size
) -> Objective:
    """The objectives ``[E]`` of outputs ``[E * N, ...]`` of one pass, where ``shape`` is ``[E, N]``.

    Raises:
        NotByExamplesError: the outputs have another first axis.
    """
    each = vmap(lambda out, y: scalar_objective(value_of(loss_fn, out, y)), randomness="different")
    objectives: Objective = each(_by_environment(outputs, shape), targets)
    return objectives


def _by_environment(values: Tensor, shape: torch.Size) -> Tensor:
    if len(values) != shape.numel():
        raise NotByExamplesError(
            f"a first axis of length {len(values)} does not belong to {shape.numel()} examples"
        )
    return values.reshape(*shape, *values.shape[1:])


LAYERS_TRIED = "whether by layers"


def known_answers(model: nn.Module) -> dict[object, bool]:
    """For each trial of this model so far, whether going layer by layer was right."""
    every = (known.get(LAYERS_TRIED, {}) for known in all_findings(model))
    return dict(enumerate(answer for answers in every for answer in answers.values()))


class NoLayerError(Exception):
    """A parameter belongs to no layer with a rule, or is used in another way, or the model has changed."""


class NotByExamplesError(Exception):
    """The first axis of a layer's input or output is not the examples."""


def may_go_by_layers(model: nn.Module, inputs: Values) -> bool:
    """Whether a trial makes sense: on a CPU, with known layers, without state or dropout."""
    if inputs.device.type != "cpu" or inputs.shape[0] < 2:
        return False
    for layer in model.modules():
        known = type(layer) in _KINDS
        if not known and any(p.requires_grad for p in layer.parameters(recurse=False)):
            return False
        if layer.training and isinstance(layer, nn.modules.dropout._DropoutNd):
            return False
    return not model.training or next(model.buffers(), None) is None
