"""One vote per example, its term of the batch gradient, from a single backward pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from torch import Tensor, nn
from torch.autograd.graph import GradientEdge

from ilc.aggregators import GradientStatistics
from ilc.errors import UserError
from ilc.gradients._environment import EnvironmentGradients, of_all_parameters, trainable_parameters
from ilc.gradients._example_terms.batch_norm import normalises_by_batch
from ilc.gradients._example_terms.rules import RULES, WRITTEN_OUT, Rule
from ilc.gradients._example_terms.sums import summed
from ilc.gradients._example_terms.terms import ExampleTerms, RankOneTerms
from ilc.gradients._example_terms.used_elsewhere import around_the_model, reached
from ilc.gradients._example_terms.watched_layers import layers_with_rules, watched
from ilc.gradients._example_terms.watched_uses import Collect
from ilc.gradients._passes.calls import outputs_of
from ilc.gradients._passes.example_losses import losses_of_examples
from ilc.gradients._passes.own_gradients import AddedUp
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.noted_operations import note_operations
from ilc.gradients._trials.routes import routes
from ilc.gradients._ways.without_rule import votes_without_rule
from ilc.objectives import Objective, ObjectiveFunction


def example_share(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Values,
    targets: Values,
    also: Sequence[str] = (),
    written_out: bool = True,
) -> EnvironmentGradients:
    """Let every example vote with its term of the batch gradient.

    Take the risk ``R = sum_i r_i`` of a batch, and a layer with input ``x_i`` and output gradient
    ``delta_i = dR / dy_i``. The gradient of the layer's weight is a sum over examples. Example i votes with
    its term of this sum, which is ``delta_i x_i^T`` for a linear layer. The terms add up to the batch
    gradient.

    If examples do not mix (GroupNorm, LayerNorm, no normalisation), the term is the gradient of the example's
    own risk. Under BatchNorm in training mode it is not: ``delta_i`` then includes what a change of ``y_i``
    does to all examples through the batch statistics. ``example_local`` compares the votes.

    Compared with a plain step this needs memory for the statistics, which is twice the parameters, and for a
    few terms at a time. Weight gradients are not computed a second time. Parameters and their hooks do not
    change, and BatchNorm's running statistics move once, as in a plain step. Frozen parameters and autocast
    work.

    Args:
        model: maps ``[E, ...]`` to outputs ``[E, ...]``, one row per example.
        loss_fn: risk of one example, called with batches of one.
        inputs: ``[E, 1, ...]``, every example an environment of its own.
        targets: ``[E, 1, ...]``.
        also: sums that the aggregator needs besides the usual ones.
        written_out: compute every term of a layer with a rule, and add all terms in the same order on every
            machine, as for the committed results of section 3.2. Otherwise the fastest computation is used.

    Raises:
        UserError: compiled code would run, an environment has more than one example, or under BatchNorm in
            training mode a parameter needs a backward pass for each example, which gives another vote.
    """
    found = shares(model, loss_fn, inputs, targets, also, written_out)
    exact = routes(model, loss_fn).passes
    if exact and any(normalises_by_batch(layer) for layer in model.modules()):
        raise UserError(
            f"the share of an example in the gradient of {min(exact)} cannot be told under BatchNorm in "
            "training mode: use gradients='per_example' or 'per_example_loss', or GroupNorm"
        )
    return found


def shares(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Values,
    targets: Values,
    also: Sequence[str] = (),
    written_out: bool = True,
) -> EnvironmentGradients:
    """Do the same; a parameter that needs a backward pass for each example gets one, whatever mixes them."""
    trainable = trainable_parameters(model)
    n = len(inputs)
    statistics: dict[str, GradientStatistics] = {}

    def collect(name: str, terms: ExampleTerms | RankOneTerms) -> None:
        statistics[name] = summed(terms, trainable[name], n, also, in_order=written_out)

    rules = WRITTEN_OUT if written_out else RULES
    objectives, exact = terms_of_examples(model, loss_fn, inputs, targets, collect, rules, also)
    return of_all_parameters(objectives, statistics | exact, trainable, also)


def terms_of_examples(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Values,
    targets: Values,
    collect: Collect,
    rules: Mapping[type[nn.Module], Rule] = RULES,
    also: Sequence[str] = (),
    sums_of: Callable[[str, Tensor], AddedUp] | None = None,
) -> tuple[Objective, dict[str, GradientStatistics]]:
    """Make one forward and one backward pass that bring the terms of each parameter to ``collect``.

    Args:
        model: as for ``example_share``.
        loss_fn: as for ``example_share``.
        inputs: ``[E, 1, ...]``.
        targets: ``[E, 1, ...]``.
        collect: called with the name and the terms of a parameter when the backward pass has reached it.
        rules: the rules of layers.
        also: sums that the aggregator needs besides the usual ones.
        sums_of: as for ``votes_without_rule``.

    Returns:
        The objectives of the examples ``[E]``, and statistics of the parameters that had a backward pass for
        each example, which are not collected.
    """
    layers = layers_with_rules(model, without=routes(model, loss_fn).without_rule())
    n = len(inputs)
    starts: list[GradientEdge] = []
    last_pass = False

    def collect_layer(layer: nn.Module, x: Tensor, delta: Tensor) -> None:
        if not last_pass:
            return
        terms = rules[type(layer)](layer, x, delta)
        for key, name in layers[layer].items():
            if name in followed:
                collect(name, terms[key])

    with watched(layers, n, collect_layer, starts) as calls:
        outputs = outputs_of(model, inputs.detach().flatten(0, 1))
        around = around_the_model(outputs)  # The loss may write into the outputs.
        objectives = losses_of_examples(model, loss_fn, outputs, targets)
        calls.end()
        note_operations(model, loss_fn, outputs, calls.detours)
        followed = calls.followed_names()
        trainable = trainable_parameters(model)
        followed -= reached(objectives.loss, [calls.detours, around], trainable)
        others = {name: p for name, p in trainable.items() if name not in followed}
        rest = votes_without_rule(
            model, loss_fn, inputs, outputs, objectives.loss, others, collect, also, sums_of=sums_of
        )
        last_pass = True
        # The gradients of the weights are not requested, so autograd does not compute them again.
        rest.differentiate(objectives.loss.sum(), starts)
    return objectives, rest.exact
