"""One vote per example from its own risk, batch statistics followed one layer, for two backward passes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge

from ilc._precision import is_narrow, widened
from ilc.aggregators import ON_REQUEST, GradientStatistics
from ilc.gradients._environment import EnvironmentGradients, trainable_parameters
from ilc.gradients._example_terms.batch_norm import Seen, mixes_examples
from ilc.gradients._example_terms.rules import RULES
from ilc.gradients._example_terms.sums import summed
from ilc.gradients._example_terms.tracked_batch_norms import following
from ilc.gradients._example_terms.watched_layers import check_first_axis, layers_of, name_of, watched
from ilc.gradients._passes.example_losses import losses_of_examples
from ilc.gradients._ways.example_share import example_share
from ilc.objectives import ObjectiveFunction


def example_local(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Tensor, targets: Tensor, also: Sequence[str] = ()
) -> EnvironmentGradients:
    """Let every example vote with its own risk's gradient, batch statistics followed one layer.

    Three votes, equal unless BatchNorm in training mode mixes examples; there, against the exact mask:
    ``per_example`` (this one): own risk, batch statistics followed one layer; overlap .57, keeps .10.
    ``per_example_share`` (``example_share``): a term of the batch gradient; overlap .12, keeps .35.
    ``per_example_loss`` (``example_loss``): dr_i/dw, exact, the authors'; N backward passes, keeps .10.
    (Threshold 0.2, weights of convolutions and linear layers; overlap: what both masks keep of what
    either keeps. FastResNet of width 8, batches of 80 procedural images of 32 x 32, random labels, means
    of steps 60 and 180, one seed. On 16 x 16 random images the overlap is .48 to .52.)

    Through BatchNorm's mean and deviation the risk of example i reaches all examples. Here it does so
    as far as the layer where that happens and the weights of the convolution or linear layer which feeds it,
    exactly (``batch_norm_correction``); further down it goes through example i's own activations alone. So the
    vote is exact for the last BatchNorm, the layer that feeds it and all above.

    These votes do not sum to the batch gradient, so that is computed for itself, by a first backward pass
    through the same graph, and is ``total``: threshold 0 and the mean train as without environments.
    Without BatchNorm in training mode one pass does for both, which is ``example_share``. A bias in front
    of BatchNorm moves nothing and has no vote. Running statistics move once.

    BatchNorm on data, with nothing to learn below, leaves nothing to follow. BatchNorm on activations
    or on a sum, as in pre-activation networks, has no weights directly below: what its statistics do
    through other examples would be lost without a word, so that is an error. Mixing by anything but an
    ``nn.BatchNorm`` module cannot be seen, and is not followed.

    Args:
        model: maps ``[E, ...]`` to outputs ``[E, ...]``, one row per example.
        loss_fn: risk of one example, called with batches of one.
        inputs: ``[E, 1, ...]``, every example an environment of its own.
        targets: ``[E, 1, ...]``.
        also: sums that the aggregator asks for beside the usual ones.

    Raises:
        UserError: batch statistics that cannot be followed, and all of ``example_share``.
    """
    if not any(mixes_examples(layer) for layer in model.modules()):
        return example_share(model, loss_fn, inputs, targets, also, written_out=False)
    trainable = trainable_parameters(model)
    layers = layers_of(model, trainable)
    batch_norms = {layer: layers.pop(layer) for layer in list(layers) if mixes_examples(layer)}
    n = len(inputs)
    statistics: dict[str, GradientStatistics] = {}
    starts: list[GradientEdge] = []

    def collect(layer: nn.Module, x: Tensor, delta: Tensor) -> None:
        if not local:
            return
        check_first_axis(name_of(layers[layer]), x, delta, n)
        found = following_.votes(layer, x, delta)
        shares, mixing = found if found is not None else (RULES[type(layer)](layer, x, delta), None)
        for key, name in layers[layer].items():
            of_weight = mixing if key == "weight" else None
            statistics[name] = summed(shares[key], trainable[name], n, also, of_weight)

    def collect_batch_norm(layer: nn.Module, seen: Seen) -> None:
        votes = {"weight": seen.normed * seen.n_values, "bias": seen.ones * seen.n_values}
        for key, name in batch_norms.get(layer, {}).items():
            # One row per example, so few that the sums are taken at once.
            requested = {each: ON_REQUEST[each](votes[key]).sum(0) for each in also}
            signs = votes[key].sign().sum(0)
            statistics[name] = GradientStatistics(n, votes[key].sum(0), signs, **requested)

    local = False
    with following(model, collect_batch_norm, starts) as following_, watched(layers, collect, starts):
        objectives = losses_of_examples(model, loss_fn, model(inputs.detach().flatten(0, 1)), targets)
        risk = objectives.loss.sum()
        # In half precision a sum over many examples may be out of range where their mean is not.
        narrow = torch.is_autocast_enabled(inputs.device.type) or any(
            is_narrow(p.dtype) for p in trainable.values()
        )
        divisor = n if narrow else 1
        gradients = torch.autograd.grad(
            risk / divisor,
            list(trainable.values()),
            retain_graph=True,
            allow_unused=True,
            materialize_grads=True,
        )
        totals = [g if divisor == 1 else widened(g) * divisor for g in gradients]
        local = True
        following_.start_local_pass()
        if starts:
            torch.autograd.grad(risk, starts, allow_unused=True)
    for (name, p), total in zip(trainable.items(), totals, strict=True):
        if name not in statistics:  # Called, but the risk does not reach it: no vote.
            statistics[name] = GradientStatistics.of_zeros(n, p, also)
        statistics[name].total = total
    ordered = {name: statistics[name] for name in trainable}
    risks, penalties = (widened(values.detach()) for values in (objectives.risk, objectives.penalty))
    return EnvironmentGradients(risks, ordered, penalties)
