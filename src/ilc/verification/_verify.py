"""One call that compares a way with a plain loop of autograd on a user's own model and batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ilc.aggregators import Aggregator
from ilc.aggregators._joint import JointAggregator
from ilc.errors import UserError
from ilc.gradients import PER_EXAMPLE, EnvironmentGradients, environment_gradients
from ilc.gradients._batches import Batch, as_batches
from ilc.gradients._compiled_models import as_written
from ilc.gradients._environment import device_of
from ilc.gradients._environment_gradients import check_way
from ilc.gradients._refusals import check_is_module, check_loss_function, checked_aggregator
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.held_state import ModuleState
from ilc.gradients._trials.random_numbers import (
    random_numbers_untouched,
    set_torch_states,
    torch_states,
)
from ilc.gradients._trials.trial_passes import buffers_untouched, modules_of
from ilc.gradients._ways.of_losses import Loss
from ilc.objectives import ObjectiveFunction
from ilc.verification._comparison import Compared, compare
from ilc.verification._plain_loop import ExpectedRows, expected_rows
from ilc.verification._rounding import rounding


@dataclass(frozen=True)
class Verification:
    """What ``verify`` found; ``print`` shows it as a table.

    Attributes:
        gradients: the way that was verified.
        parameters: one entry for each trainable parameter; none if the way refused.
        risks_error: the largest difference of the risks, relative to the largest risk.
        ways: the result for this way and for all ways that should give the same numbers: ``right``, or what
            was wrong.
    """

    gradients: str
    parameters: tuple[Compared, ...]
    risks_error: float
    ways: dict[str, str]

    @property
    def right(self) -> bool:
        """Whether the way gives the same as the loop."""
        return self.ways[self.gradients] == "right"

    def __str__(self) -> str:
        width = max([len(one.name) for one in self.parameters] + [len("parameter")])
        lines = [f"{'parameter':{width}}  components  votes compared  votes wrong  error of the sum"]
        for one in self.parameters:
            lines.append(
                f"{one.name:{width}}  {one.components:10}  {one.votes:14}  {one.wrong_votes:11}  "
                f"{_seen(one):>16}"
            )
        return "\n".join([*(lines if self.parameters else []), *[f"{w}: {s}" for w, s in self.ways.items()]])


def verify(
    model: nn.Module,
    loss_fn: Loss,
    inputs: Batch = None,
    targets: Batch = None,
    aggregator: Aggregator | None = None,
    gradients: str = "vectorized",
) -> Verification:
    """Compare votes and sums of this very model and batch with a plain loop of ``loss.backward()``.

    Call it once before a training: it costs E forward and backward passes, and memory for E gradients. The
    model does not change: gradients, buffers, random numbers and attributes are as before.

    The sums on request of the aggregator, such as the sum of logarithms, are compared too. A sign is not
    compared if the number may be zero up to rounding. Under BatchNorm in training mode a plain loop cannot
    compute the votes of ``per_example_share``, so that only its sums of gradients are compared. If no
    gradient is larger than rounding, or no sum of signs with a vote is certain, the answer is not ``right``.

    Args:
        model: as for ``backward``.
        loss_fn: as for ``backward``.
        inputs: as for ``backward``.
        targets: as for ``backward``.
        aggregator: as for ``backward``, but it must keep sums over environments.
        gradients: the way to verify. Others that should give the same numbers are tried too, and are named in
            ``ways``.

    Raises:
        UserError: as for ``backward`` with wrong arguments; the aggregator looks at all environments
            together; or the model draws random numbers, which ``vectorized`` draws in another order.
    """
    check_way(gradients)
    if isinstance(aggregator, JointAggregator):
        raise UserError(
            f"{type(aggregator).__name__} looks at all environments together and keeps no sums to compare: "
            "verify with Mean() or AndMask(agreement_threshold=0.8), which use the same gradients"
        )
    aggregator = checked_aggregator(aggregator, inputs, targets)
    check_is_module(model)
    check_loss_function(loss_fn)
    if not callable(loss_fn):
        raise UserError(
            "verify makes the passes of every environment again, and loss_fn is a list of losses: give one "
            "loss_fn and a batch"
        )
    x, y = as_batches(inputs, targets, device_of(model))
    allowed = rounding(_narrowest(model, x))
    ways: dict[str, str] = {}
    asked: tuple[tuple[Compared, ...], float] = (), 0.0
    with _untouched(model, loss_fn, x) as fresh:
        start = torch_states(x[0])
        for way in (gradients, *(other for other in _ALIKE[gradients] if other != gradients)):
            fresh()
            set_torch_states(start, x[0])
            try:
                found = environment_gradients(model, loss_fn, _copies(x), _copies(y), aggregator, way)
            except UserError as refusal:
                ways[way] = f"refused: {refusal}"
                continue
            set_torch_states(start, x[0])
            with as_written(model, "verify", "its plain loop keeps the graphs of its passes"):
                wanted = expected_rows(way, fresh, _copies(x), _copies(y))
            if way == "vectorized" and not all(map(torch.equal, start, torch_states(x[0]))):
                ways[way] = _OTHER_DRAWS
                continue
            compared, risks = tuple(compare(found.statistics, wanted, allowed)), _risks_error(found, wanted)
            ways[way] = _verdict(compared, risks, allowed.own)
            votes = aggregator.needs_votes and wanted.votes is not None
            if ways[way] == "right" and not any(one.clear for one in compared):
                ways[way] = _NO_GRADIENT_IS_CLEAR
            elif ways[way] == "right" and votes and not any(one.clear_votes for one in compared):
                ways[way] = _NO_VOTE_IS_CERTAIN
            asked = (compared, risks) if way == gradients else asked
    return Verification(gradients, *asked, ways)


_ALIKE = {
    **dict.fromkeys(("vectorized", "sequential"), ("vectorized", "sequential")),
    **dict.fromkeys(PER_EXAMPLE, PER_EXAMPLE),
    "pooled": ("pooled",),
}
_OTHER_DRAWS = (
    "not compared: the model draws random numbers, but this way draws other numbers than the plain loop. "
    "Call model.eval(), or set every dropout to 0, and verify again"
)
_NO_GRADIENT_IS_CLEAR = (
    "not compared: no gradient is larger than the rounding of the risk and of the other gradients, so that a "
    "wrong one would not show. Verify a copy of the model in double precision, or with a loss without large "
    "constants, or with a batch that the model does not fit"
)
_NO_VOTE_IS_CERTAIN = (
    "not compared: the sums are right, but each sum of signs may be another one by rounding. Verify a copy "
    "of the model in double precision, or fewer environments or examples"
)


def _verdict(parameters: tuple[Compared, ...], risks: float, rel: float) -> str:
    wrong = [one.name for one in parameters if not one.right]
    if wrong:
        few = ", ".join([*wrong[:3], *["..."][: len(wrong) - 3]])
        return f"wrong in {len(wrong)} of {len(parameters)} parameters ({few})"
    return "right" if risks <= rel else f"the risks are wrong by {risks:.1e}"


def _seen(one: Compared) -> str:
    """What the table says of a parameter's sums."""
    if one.missing:
        return "missing"
    if one.wrong_sum:
        return f"{one.sum_error:.1e}"
    return ", ".join(one.wrong_on_request) or ("rounding" if one.clear else "not compared")


def _risks_error(found: EnvironmentGradients, wanted: ExpectedRows) -> float:
    risks = torch.stack([row.risk.double() for row in wanted.rows])
    ours = found.risks.double()
    off = (ours - risks).abs()[(ours != risks) & ~(ours.isnan() & risks.isnan())]
    size = float(risks.abs().nan_to_num(0, 0, 0).max()) or 1.0
    return float(off.nan_to_num(torch.inf).max()) / size if off.numel() else 0.0


def _narrowest(model: nn.Module, x: Values | list[Values]) -> torch.dtype:
    device = x[0].device.type
    if torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    kinds = {p.dtype for p in model.parameters() if p.requires_grad}
    return max(kinds, key=lambda kind: torch.finfo(kind).eps, default=torch.float32)


def _copies(batch: Values | list[Values]) -> Any:
    return [one.clone() for one in batch] if isinstance(batch, list) else batch.clone()


@contextmanager
def _untouched(
    model: nn.Module, loss_fn: ObjectiveFunction, x: Values | list[Values]
) -> Iterator[Callable[[], tuple[nn.Module, ObjectiveFunction]]]:
    """Yield a function that puts model and loss back as they are now; this also happens at the end."""
    parts = nn.ModuleList([model, *modules_of(loss_fn, model)])
    memory = ModuleState(parts)
    parameters = [(p, p.grad, p.detach().clone()) for p in parts.parameters()]
    buffers = ExitStack()

    def fresh() -> tuple[nn.Module, ObjectiveFunction]:
        memory.restore()
        buffers.close()
        buffers.enter_context(buffers_untouched(parts))
        for p, gradient, value in parameters:
            p.grad = gradient
            if not torch.equal(p, value):  # A hook may have changed it.
                p.data.copy_(value)
        return model, loss_fn

    with random_numbers_untouched(x[0], memory.generators), buffers:
        try:
            yield fresh
        finally:
            fresh()
