"""One call from a trained model and its environments to a score that says how far to trust it."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ilc.consistency._ascent import search
from ilc.consistency._consistency import Consistency
from ilc.consistency._damping import default_damping
from ilc.consistency._jackknife import groups_of, interval, without_group
from ilc.consistency._network import losses_of_batches
from ilc.consistency._parts import parts_of
from ilc.consistency._progress_line import ProgressLine
from ilc.consistency._repeatable import check_draws_nothing
from ilc.consistency._second_order import hessian_vector, quadratic
from ilc.consistency._solution_checks import check_call, in_training_mode
from ilc.consistency._solution_score import SolutionScore
from ilc.consistency._trust import reasons_for_doubt, truth_at_step
from ilc.gradients._batches import Batch, as_batches
from ilc.gradients._environment import device_of, trainable_parameters
from ilc.objectives import ObjectiveFunction

METHODS: dict[str, Callable[..., Consistency]] = {
    "quadratic": quadratic,
    "hessian_vector": hessian_vector,
    "search": search,
}

# The small problem of a pair of environments has twice as many dimensions as there are Lanczos steps.
_AS_CHEAP = 120

_GROUPS = 5


def score_solution(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Batch,
    targets: Batch = None,
    epsilon: float = 0.01,
    method: str = "auto",
    damping: float | None = None,
    groups: int | None = None,
    confidence: float = 0.95,
    progress: bool | None = None,
    seed: int = 0,
) -> SolutionScore:
    """Score the present parameters of a model, and say how the score was made and how far to trust it.

    The model does not change. Give it in double precision (``model.double()``) if you can: curvatures of
    float32 have few digits.

    Args:
        model: on the CPU, in evaluation mode if it has dropout or BatchNorm. Its trainable parameters count.
        loss_fn: as for ``ilc.backward``.
        inputs: E environments as for ``ilc.backward``, at least two.
        targets: as for ``ilc.backward``.
        epsilon: the increase of a risk up to which parameters count as equally good, in units of the risk.
        method: ``quadratic``, ``hessian_vector`` or ``search``. ``auto`` takes ``quadratic`` for at most 120
            parameters, because it is exact and then costs no more, and ``hessian_vector`` for more.
            ``search`` is only taken by name: it needs no quadratic model, but it is a lower bound on the
            inconsistency and takes ``E^2`` ascents.
        damping: as for ``quadratic``; None is the default of both second-order forms.
        groups: the number of parts into which the examples are divided for the interval. The interval comes
            from one score without each part, so 5 parts make a call six times as expensive. 0 makes no
            interval. None is 5, but 0 for ``search``.
        confidence: the level of the interval.
        progress: whether to write a line on the error output; None does so on a terminal.
        seed: the seed of random starts. Each of the ``groups`` scores has starts of its own, so the interval
            contains their spread, too.

    Raises:
        UserError: as for ``consistency_score`` and ``ilc.backward``; the model is not on the CPU, or random
            numbers or batch statistics would change its risk.
    """
    check_call(model, method, METHODS, groups, confidence)
    start = time.monotonic()
    x, y = as_batches(inputs, targets, device_of(model))
    batches = list(zip(x, y, strict=True))
    trained = trainable_parameters(model).values()
    theta = torch.cat([p.detach().flatten() for p in trained])
    chosen, why = _choice(method, len(theta))
    options: dict[str, Any] = {}
    if chosen == "search":
        damping = 0.0
    else:
        damping = default_damping(len(theta), theta.dtype) if damping is None else damping
        options["damping"] = damping
    if groups is None:
        groups = 0 if chosen == "search" else _GROUPS
    n_groups = groups_of(batches, groups)
    line = ProgressLine("consistency score", (1 + n_groups) * parts_of(len(batches)), progress)

    def scored(some: Any, seed_of_group: int) -> Consistency:
        own = {} if chosen == "quadratic" else {"seed": seed_of_group}
        losses = losses_of_batches(model, loss_fn, some)
        return METHODS[chosen](losses, theta, epsilon, progress=line.part, **options, **own)

    if in_training_mode(model, loss_fn):
        check_draws_nothing(losses_of_batches(model, loss_fn, batches), theta)
    try:
        found = scored(batches, seed)
        low = high = math.nan
        if n_groups:
            low, high = interval(
                found.inconsistency,
                lambda group: scored(without_group(batches, group, n_groups), seed + 1 + group).inconsistency,
                n_groups,
                confidence,
            )
    finally:
        line.end()
    risks, rise, gap = truth_at_step(losses_of_batches(model, loss_fn, batches), theta, found)
    doubts = [] if chosen == "search" else reasons_for_doubt(found, epsilon, damping, rise, gap)
    for doubt in doubts:
        warnings.warn(f"the consistency score {found.score:.4g} may mislead: {doubt}", stacklevel=2)
    return SolutionScore(
        found.score,
        -high,
        -low,
        confidence,
        epsilon,
        damping,
        chosen,
        why,
        time.monotonic() - start,
        max(risks) - min(risks),
        rise,
        gap,
        tuple(doubts),
        found,
    )


def _choice(method: str, n_parameters: int) -> tuple[str, str]:
    """The method, and why."""
    if method != "auto":
        return method, f"{method}, as asked"
    if n_parameters <= _AS_CHEAP:
        return (
            "quadratic",
            f"quadratic: exact in second order; for {n_parameters} parameters as cheap as hessian_vector",
        )
    return "hessian_vector", f"hessian_vector: {n_parameters} parameters are too many for whole Hessians"
