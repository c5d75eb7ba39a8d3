"""The votes for parameters of which no layer's rule says the votes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge

from ilc.aggregators import GradientStatistics
from ilc.gradients._example_terms.outline import SHOWS_SHAPES, Axes, Outline, axes_of_few, operations
from ilc.gradients._example_terms.parameter_uses import Use, uses_of
from ilc.gradients._example_terms.used_elsewhere import around_the_model, reached
from ilc.gradients._example_terms.watched_uses import Collect, WatchedUses
from ilc.gradients._passes.calls import outputs_of
from ilc.gradients._passes.graph import check_graph
from ilc.gradients._passes.own_gradients import AddedUp, add_own_gradients
from ilc.gradients._tensor_tree import Values, sizes_of
from ilc.gradients._trials.findings import findings
from ilc.gradients._trials.routes import routes
from ilc.gradients._trials.trial_passes import buffers_untouched, trial_passes
from ilc.objectives import ObjectiveFunction

_QUESTION = "what a pass of few examples looks like"


class WithoutRule:
    """How the votes for some parameters are made in one pass.

    Most come from the operations of the graph that use the parameters (``uses``). Those that cannot be
    followed in this way get a backward pass for each example, and no other parameter does.

    Attributes:
        uses: the uses to watch.
        exact: the statistics of the parameters that had a backward pass for each example.
        edges: where the backward pass of all examples has to go.
    """

    def __init__(self, uses: WatchedUses, exact: dict[str, GradientStatistics], edges: list[GradientEdge]):
        self.uses, self.exact, self.edges = uses, exact, edges

    def differentiate(self, risk: Tensor, starts: Sequence[GradientEdge]) -> None:
        """Make the backward pass of all examples, down to the starts of the layers and to the edges."""
        ends = [*starts, *self.edges, *self.uses.edges]
        if not ends:
            return
        with self.uses.hooked():
            keep_graph = self.uses.needs_graph or bool(self.exact)
            found = torch.autograd.grad(risk, ends, allow_unused=True, retain_graph=keep_graph)
        self.uses.finish(found[len(found) - len(self.uses.edges) :])


def votes_without_rule(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Values,
    outputs: Any,
    losses: Tensor,
    parameters: dict[str, nn.Parameter],
    collect: Collect,
    also: Sequence[str],
    surroundings: Callable[[], AbstractContextManager[object]] = nullcontext,
    sums_of: Callable[[str, Tensor], AddedUp] | None = None,
) -> WithoutRule:
    """Find how the votes for these parameters are made, and make those that need passes of their own.

    Args:
        model: the model.
        loss_fn: the loss.
        inputs: ``[E, 1, ...]``.
        outputs: what the model returned for them, a tensor or a nest of tensors.
        losses: ``[E]``, made of the outputs.
        parameters: those without a rule, by name.
        collect: called with the name and the terms of a parameter in the backward pass.
        also: sums that the aggregator needs besides the usual ones.
        surroundings: what has to surround a pass so that it makes the same graph as this one.
        sums_of: makes what the gradients of a parameter's own passes are added to, instead of statistics.
    """
    known, n = routes(model, loss_fn), len(losses)
    if parameters:
        check_graph(losses, model)
        in_the_loss = reached(losses, [around_the_model(outputs)], parameters)
        known.need_passes(in_the_loss, "the loss itself uses them")
    by_uses = {name: p for name, p in parameters.items() if name not in known.passes}
    uses: dict[str, list[Use]] = {}
    if by_uses:
        nodes, axes = operations(outputs), None
        reason = f"torch {torch.__version__} does not show the shapes of operations"
        if SHOWS_SHAPES:
            axes = _axes(model, loss_fn, inputs, nodes, surroundings)
            reason = "the operations of a pass depend on the number of examples"
        if axes is None:
            known.need_passes(by_uses, reason)
            by_uses = {}
        else:
            uses, lost = uses_of(nodes, axes, by_uses, n)
            known.need_passes(lost, "an operation that uses them does not show which example is which")
            by_uses = {name: p for name, p in by_uses.items() if name not in lost}
    known.uses.update(by_uses)
    exact = {name: p for name, p in parameters.items() if name in known.passes}
    statistics = {name: GradientStatistics.zeros(p, also) for name, p in exact.items()}
    if exact:
        sums = [statistics[name] if sums_of is None else sums_of(name, p) for name, p in exact.items()]
        add_own_gradients(losses, list(exact.values()), sums, keep_graph=True)
    watched = WatchedUses({name: uses[name] for name in by_uses}, by_uses, n, collect)
    return WithoutRule(watched, statistics, [get_gradient_edge(p) for p in exact.values()])


def _axes(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Values,
    nodes: list[Node],
    surroundings: Callable[[], AbstractContextManager[object]],
) -> Axes | None:
    """The axes of the examples, by passes of two and of three examples; None if they make another graph."""
    known, n = findings(model, loss_fn), len(inputs)
    question = (_QUESTION, sizes_of(inputs))
    if question in known:
        axes = axes_of_few(nodes, n, *known[question])
        if axes is not None:
            return axes

    def outline(few: list[int]) -> Outline:
        passes.reset()
        with buffers_untouched(model):
            outputs = outputs_of(model, inputs[few].detach().clone().flatten(0, 1))
        return Outline.of(operations(outputs), len(few))

    with _copies_of_buffers(model), trial_passes(model, loss_fn, inputs) as passes, surroundings():
        known[question] = outline([0, n - 1]), outline([0, n - 1, 0])
    return axes_of_few(nodes, n, *known[question])


@contextmanager
def _copies_of_buffers(model: nn.Module) -> Iterator[None]:
    """Let passes write into copies, because the graph of another pass needs the buffers as they are."""
    places = [module._buffers for module in model.modules() if not isinstance(module, torch.jit.ScriptModule)]
    before = [dict(place) for place in places]
    copies = {id(b): b.detach().clone() for kept in before for b in kept.values() if b is not None}
    try:
        for place in places:
            place.update({key: None if b is None else copies[id(b)] for key, b in place.items()})
        yield
    finally:
        for place, kept in zip(places, before, strict=True):
            place.clear()
            place.update(kept)
