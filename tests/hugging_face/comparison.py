"""Sums and votes of a model in each way, beside a plain loop of ``loss.backward()``."""

from __future__ import annotations

import re
import warnings

import torch
from torch import Tensor

from hugging_face.models import Case, make, risk
from ilc.aggregators import AndMask, Mean
from ilc.errors import UserError
from ilc.gradients import PER_EXAMPLE, WAYS, environment_gradients

RIGHT = "right"
_ROUNDING = 1e-6
"""Relative to the largest gradient: some models compute norms in single precision."""


def cells(kind: str) -> dict[str, str]:
    """What each way makes of a model: that it is right, which way it names instead, or what is wrong."""
    case = make(kind)
    by_examples = {n: _rows(case, n) for n in (1, 2)}
    return {way: _cell(case, way, by_examples[1 if way in PER_EXAMPLE else 2]) for way in WAYS}


def _cell(case: Case, way: str, rows: dict[str, Tensor]) -> str:
    inputs, targets = _by_environment(case, 1 if way in PER_EXAMPLE else 2)
    aggregator = Mean() if way == "pooled" else AndMask(0.5)
    try:
        with warnings.catch_warnings():  # torch.func warns where it has no fast kernel.
            warnings.filterwarnings("ignore", message="There is a performance drop")
            found = environment_gradients(case.model, risk, inputs, targets, aggregator, way).statistics
    except UserError as error:
        named = re.findall(r"use gradients='(\w+)'", str(error))
        return f"use `{named[-1]}`" if named else f"wrong: {error}"
    largest = max(float(row.abs().max()) for row in rows.values())
    for name, row in rows.items():
        total = row.mean(0) if way == "pooled" else row.sum(0)
        if not torch.allclose(found[name].total.double(), total, rtol=_ROUNDING, atol=_ROUNDING * largest):
            return f"wrong: sum of {name}"
        clear = ((row.abs() > _ROUNDING * largest) | (row == 0)).all(0)
        votes = found[name].sign_sum.double()
        if way != "pooled" and not torch.equal(votes[clear], row.sign().sum(0)[clear]):
            return f"wrong: votes of {name}"
    return RIGHT


def compared_share(kind: str) -> float:
    """The share of all components, over the examples, whose sign is clear of rounding."""
    rows = _rows(make(kind), 1).values()
    largest = max(float(row.abs().max()) for row in rows)
    clear = [((row.abs() > _ROUNDING * largest) | (row == 0)).all(0) for row in rows]
    return sum(int(one.sum()) for one in clear) / sum(one.numel() for one in clear)


def _rows(case: Case, n: int) -> dict[str, Tensor]:
    """The oracle: the gradients ``[E, ...]`` of environments of ``n`` examples, one after another."""
    named = {name: p for name, p in case.model.named_parameters() if p.requires_grad}
    found: dict[str, list[Tensor]] = {name: [] for name in named}
    for x, y in zip(*_by_environment(case, n), strict=True):
        case.model.zero_grad()
        risk(case.model(x), y).backward()  # type: ignore[no-untyped-call]
        for name, p in named.items():
            found[name].append(torch.zeros_like(p) if p.grad is None else p.grad.clone())
    case.model.zero_grad()
    return {name: torch.stack(row) for name, row in found.items()}


def _by_environment(case: Case, n: int) -> tuple[Tensor, Tensor]:
    inputs, targets = (values.view(-1, n, *values.shape[1:]) for values in (case.inputs, case.targets))
    return inputs, targets
