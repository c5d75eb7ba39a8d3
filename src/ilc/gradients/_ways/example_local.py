"""One vote per example from its own risk, with batch statistics followed one layer: two backward passes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge

from ilc._precision import is_narrow, widened
from ilc.aggregators import ON_REQUEST, GradientStatistics
from ilc.gradients._environment import EnvironmentGradients, of_all_parameters, trainable_parameters
from ilc.gradients._example_terms.batch_norm import BatchNormRecord, normalises_by_batch
from ilc.gradients._example_terms.rules import RULES
from ilc.gradients._example_terms.sums import summed
from ilc.gradients._example_terms.terms import ExampleTerms, RankOneTerms
from ilc.gradients._example_terms.tracked_batch_norms import track_batch_norms
from ilc.gradients._example_terms.used_elsewhere import around_the_model, reached
from ilc.gradients._example_terms.watched_layers import layers_with_rules, watched
from ilc.gradients._passes.calls import outputs_of
from ilc.gradients._passes.example_losses import losses_of_examples
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.noted_operations import note_operations
from ilc.gradients._trials.routes import routes
from ilc.gradients._ways.example_share import example_share
from ilc.gradients._ways.without_rule import votes_without_rule
from ilc.objectives import ObjectiveFunction


def example_local(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, also: Sequence[str] = ()
) -> EnvironmentGradients:
    """Let every example vote with the gradient of its own risk, with batch statistics followed one layer.

    There are three votes per example. They are equal unless BatchNorm in training mode mixes the examples. In
    that case they compare as follows with the exact mask:

    - ``per_example`` (this function): gradient of the example's own risk, batch statistics followed one
      layer; overlap .54, keeps .12.
    - ``per_example_share`` (``example_share``): a term of the batch gradient; overlap .13, keeps .38.
    - ``per_example_loss`` (``example_loss``): dr_i/dw, the exact vote of the authors; N backward passes,
      keeps .12.

    The overlap is what both masks keep, divided by what at least one keeps. It was measured at threshold 0.2
    on weights of convolutions and linear layers: FastResNet of width 8, batches of 80 of the embedded images,
    random labels, means over 30 steps of the first 1,200, one seed (``scripts/study.py votes``).

    The mean and the deviation of BatchNorm connect the risk of example i with all examples. This way follows
    the connection exactly into the BatchNorm where it happens and into the weights of the convolution or
    linear layer that feeds it (``batch_norm_correction``). Further down it follows only example i's own
    activations. So the vote is exact for the last BatchNorm, for the layer that feeds it and for everything
    above.

    These votes do not sum to the batch gradient. A first backward pass through the same graph computes that
    gradient, which becomes ``total``. So threshold 0 and the mean train as without environments. Without
    BatchNorm in training mode one pass is enough, and the way is ``example_share``. A bias in front of
    BatchNorm changes nothing and has no vote. The running statistics move once.

    A BatchNorm on data has nothing to train below it, so there is nothing to follow. A BatchNorm on
    activations or on a sum, as in pre-activation networks, has no weights directly below it. The effect of
    its statistics would be lost silently, so that is an error. Mixing by anything except an ``nn.BatchNorm``
    module cannot be seen, and is not followed.

    Args:
        model: maps ``[E, ...]`` to outputs ``[E, ...]``, one row per example.
        loss_fn: risk of one example, called with batches of one.
        inputs: ``[E, 1, ...]``, every example an environment of its own.
        targets: ``[E, 1, ...]``.
        also: sums that the aggregator needs besides the usual ones.

    Raises:
        UserError: batch statistics cannot be followed, and as for ``example_share``.
    """
    if not any(normalises_by_batch(layer) for layer in model.modules()):
        return example_share(model, loss_fn, inputs, targets, also, written_out=False)
    trainable = trainable_parameters(model)
    layers = layers_with_rules(model, without=routes(model, loss_fn).without_rule())
    batch_norms = {layer: layers.pop(layer) for layer in list(layers) if normalises_by_batch(layer)}
    n = len(inputs)
    statistics: dict[str, GradientStatistics] = {}
    starts: list[GradientEdge] = []
    last_pass = False

    def collect_layer(layer: nn.Module, x: Tensor, delta: Tensor) -> None:
        """Add up the votes of a layer, in the last pass only."""
        if not last_pass:
            return
        below_batch_norm = tracked.votes(layer, x, delta)
        if below_batch_norm is None:
            terms, correction = RULES[type(layer)](layer, x, delta), None
        else:
            terms, correction = below_batch_norm
        for key, name in layers[layer].items():
            if name not in followed:
                continue
            of_weight = correction if key == "weight" else None
            statistics[name] = summed(terms[key], trainable[name], n, also, of_weight)

    def collect_batch_norm(layer: nn.Module, record: BatchNormRecord) -> None:
        """Add up the votes of BatchNorm's own scale and shift, in the last pass only."""
        if not last_pass:
            return
        votes = {"weight": record.normed * record.n_values, "bias": record.ones * record.n_values}
        for key, name in batch_norms.get(layer, {}).items():
            # There is one small row per example, so all rows are summed at once.
            requested = {each: ON_REQUEST[each](votes[key]).sum(0) for each in also}
            signs = votes[key].sign().sum(0)
            statistics[name] = GradientStatistics(n, votes[key].sum(0), signs, **requested)

    def collect_terms(name: str, terms: ExampleTerms | RankOneTerms) -> None:
        statistics[name] = summed(terms, trainable[name], n, also)

    with (
        track_batch_norms(model, collect_batch_norm, starts) as tracked,
        watched(layers, n, collect_layer, starts) as calls,
    ):
        outputs = outputs_of(model, inputs.detach().flatten(0, 1))
        around = around_the_model(outputs)  # The loss may write into the outputs.
        objectives = losses_of_examples(model, loss_fn, outputs, targets)
        calls.end()
        tracked.end()
        detours = {**calls.detours, **tracked.detours}
        note_operations(model, loss_fn, outputs, detours)
        followed = calls.followed_names().union(*(names.values() for names in batch_norms.values()))
        followed -= reached(objectives.loss, [detours, around], trainable)
        tracked.check_followed(followed)
        risk = objectives.loss.sum()
        totals = _batch_gradients(risk, list(trainable.values()), n)
        tracked.start_local_pass()
        rest = votes_without_rule(
            model,
            loss_fn,
            inputs,
            outputs,
            objectives.loss,
            {name: p for name, p in trainable.items() if name not in followed},
            collect_terms,
            also,
            lambda: track_batch_norms(model, lambda layer, record: None, []),
        )
        last_pass = True
        rest.differentiate(risk, starts)
    found = of_all_parameters(objectives, statistics | rest.exact, trainable, also)
    for each, total in zip(found.statistics.values(), totals, strict=True):
        each.total = total
    return found


def _batch_gradients(risk: Tensor, parameters: list[nn.Parameter], n: int) -> list[Tensor]:
    """The gradients of the summed risk of ``n`` examples; the graph is kept for the local pass.

    In half precision a sum over many examples may be out of range where their mean is not. So the mean is
    differentiated there, and multiplied by ``n`` in a wider type.
    """
    narrow = torch.is_autocast_enabled(risk.device.type) or any(is_narrow(p.dtype) for p in parameters)
    divisor = n if narrow else 1
    gradients = torch.autograd.grad(
        risk / divisor, parameters, retain_graph=True, allow_unused=True, materialize_grads=True
    )
    return [gradient if divisor == 1 else widened(gradient) * divisor for gradient in gradients]
