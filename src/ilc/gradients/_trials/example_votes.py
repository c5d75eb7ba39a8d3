"""The terms of a few examples beside the gradients of their own risks."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import torch
from torch import Tensor, nn

from ilc.gradients._environment import trainable_parameters
from ilc.gradients._passes.example_losses import pass_of_examples
from ilc.gradients._tensor_tree import Values, differs_from_first
from ilc.gradients._trials.routes import VotesDifferError
from ilc.gradients._trials.tolerance import COMPARED_SUMS, Tolerance, differences, largest_value, nudge_shows
from ilc.gradients._trials.trial_passes import DRAWS, TrialPasses, buffers_untouched
from ilc.gradients._ways.example_share import shares
from ilc.objectives import ObjectiveFunction


def votes_agree(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Values,
    targets: Values,
    passes: TrialPasses,
    rounding_may_differ: bool,
) -> bool:
    """Compare the votes of a few examples that share one pass; return False if no few of them show anything.

    Examples may differ and have equal gradients all the same, such as texts of the same words in another
    order. So further examples are compared until the gradients of each parameter have differed, as far as
    they do.

    Raises:
        VotesDifferError: they differ by more than rounding.
    """
    n, others = len(inputs), different_examples(inputs, targets)
    shown: set[str] | None = None
    for few in _groups([0, *others] if others else [0, n - 1], n):
        now = _shown_by_few(model, loss_fn, inputs, targets, passes, few, rounding_may_differ)
        if now is not None:
            shown = now | (shown or set())
        if shown == trainable_parameters(model).keys():
            break
    return shown is not None


def _groups(examples: list[int], n: int) -> list[list[int]]:
    """A few of these examples at a time, in another number than the ``n`` of the step.

    Three are better than two: two examples lie opposite to each other about their mean, so that a mean over
    the examples may not show.
    """
    if n == 2:
        return [[one, other, one] for one, other in pairwise(examples)]
    if n == 3 or len(examples) == 2:
        return [[one, other] for one, other in pairwise(examples)]
    return [examples[i : i + 3] for i in range(len(examples) - 2)]


def _shown_by_few(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Values,
    targets: Values,
    passes: TrialPasses,
    few: list[int],
    rounding_may_differ: bool,
) -> set[str] | None:
    """Compare these few; return the parameters of which their gradients differ.

    It is None if a gradient is not finite, is only rounding, or is missing.
    """
    parameters = trainable_parameters(model)
    x, y = inputs[few].detach(), targets[few].detach()
    tolerance = Tolerance.of_pass([*parameters.values(), inputs])

    def rows_of(seed: int) -> dict[str, Tensor]:
        return _rows_of_examples(model, loss_fn, x, y, passes, seed)[0]

    shown: set[str] = set()
    for seed in range(DRAWS):
        rows, draws = _rows_of_examples(model, loss_fn, x, y, passes, seed)
        if not all(bool(value.isfinite().all()) for value in rows.values()):
            return None
        found = [value.reshape(len(value), -1).any(1) for value in rows.values()]
        if not bool(torch.stack(found).any(0).all()):
            return None  # An example without any gradient shows nothing, such as one with masked labels.
        with buffers_untouched(model):
            passes.reset(seed)
            statistics = shares(model, loss_fn, x.clone(), y.clone(), COMPARED_SUMS).statistics
        different = list(differences(statistics, rows, tolerance))
        if different:
            if rounding_may_differ and nudge_shows(model, partial(rows_of, seed), rows, tolerance, seed):
                return None
            raise VotesDifferError(
                different,
                f"the votes per example for {different[0]} are not the gradients of the examples' own risks. "
                "Either something other than BatchNorm mixes the examples, or the first axis of a layer "
                "does not hold them (this happens with time on the first axis, or with positions or a query "
                "that are looked up once): use gradients='per_example_loss'",
            )
        shown |= {name for name, row in rows.items() if _differ(row, tolerance)}
        if not draws:
            break
    return shown


def _differ(rows: Tensor, tolerance: Tolerance) -> bool:
    return largest_value(rows[1:] - rows[:1]) > tolerance.of_the_parameter * largest_value(rows)


def _rows_of_examples(
    model: nn.Module, loss_fn: ObjectiveFunction, x: Values, y: Values, passes: TrialPasses, seed: int
) -> tuple[dict[str, Tensor], bool]:
    """Each example's own gradient ``[N, ...]`` by parameter, and whether the pass drew random numbers."""
    parameters = trainable_parameters(model)
    with buffers_untouched(model):
        passes.reset(seed)
        losses = pass_of_examples(model, loss_fn, x.clone(), y.clone()).loss
        draws = passes.has_drawn()
        rows = {name: p.new_empty(len(losses), *p.shape) for name, p in parameters.items()}
        for i, loss in enumerate(losses):
            gradients = torch.autograd.grad(
                loss, list(parameters.values()), retain_graph=True, allow_unused=True, materialize_grads=True
            )
            for row, gradient in zip(rows.values(), gradients, strict=True):
                row[i] = gradient
    return rows, draws


def examples_mix(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, passes: TrialPasses
) -> bool:
    """Whether the risks of two examples change if copies of themselves are beside them, or nothing shows."""
    others = different_examples(inputs, targets)

    def risks(which: list[int]) -> Tensor:
        with buffers_untouched(model):
            passes.reset()
            x, y = inputs[which].detach().clone(), targets[which].clone()
            return pass_of_examples(model, loss_fn, x, y).risk.detach()

    for other in others:
        few = [0, other] if len(inputs) != 2 else [0, other, 0]
        together = risks(few)
        apart = torch.stack([risks([one] * len(few))[i] for i, one in enumerate(few)])
        rounding = 100 * torch.finfo(together.dtype).eps
        if not bool(((together - apart).abs() <= rounding * (1 + together.abs())).all()):
            return True
    return not others


def different_examples(inputs: Values, targets: Values) -> list[int]:
    """A few examples that differ from the first one; none if all are equal."""
    differ = differs_from_first(inputs)
    if targets.shape[0] == len(inputs):
        differ |= differs_from_first(targets).to(differ.device)
    others: list[int] = differ.nonzero().flatten().tolist()
    return others[:: -max(1, len(others) // 3)]
