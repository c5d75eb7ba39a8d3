"""One program in its way, step by step, each compared with the plain loop on fresh copies.

Needs torch, ilc and the plain loop alone, so that a reproduction can hold it as it stands.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from ilc.aggregators import Aggregator, AndMask, Mean
from ilc.errors import UserError
from ilc.gradients import combined, environment_gradients
from ilc.verification._comparison import compare
from ilc.verification._plain_loop import ExpectedRows, Row, expected_rows
from ilc.verification._rounding import Rounding, floors, rounding

SEED = 17


@dataclass
class Answer:
    """What a program did.

    Attributes:
        wrong: ``(step, kind, detail)`` of the first difference, or None.
        refused: messages of steps that were refused.
        compared: how many steps were compared.
        invalid: why the plain loop itself failed, or None.
    """

    wrong: tuple[int, str, str] | None = None
    refused: list[str] = field(default_factory=list)
    compared: int = 0
    invalid: str | None = None


class Wrong(Exception):
    """A difference: its kind, and where."""


def check(program: dict[str, Any]) -> Answer:
    """Run every step; stop at the first difference."""
    answer = Answer()
    try:
        model = program["make"]()
        loss_fn = program["make_loss"](model)
    except Exception as error:  # Nothing left to freeze or to hook, say.
        answer.invalid = f"make: {error!r}"
        return answer
    for i, change in enumerate(program["CHANGES"]):
        try:
            change(model)
        except Exception as error:
            answer.invalid = f"change: {error!r}"
            return answer
        try:
            _step(program, i, model, loss_fn, answer)
        except Wrong as wrong:
            kind, detail = wrong.args
            answer.wrong = (i, kind, detail)
            return answer
        if answer.invalid:
            return answer
    return answer


def _step(program: dict[str, Any], i: int, model: nn.Module, loss_fn: Any, answer: Answer) -> None:
    way, aggregator = program["WAY"], program["AGGREGATOR"]
    inputs, targets = program["BATCHES"][i]()
    looped_inputs, looped_targets = program["BATCHES"][i]()
    before = _state(model, loss_fn)
    fresh = _fresh(program, i, model, loss_fn)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=program["AUTOCAST"]):
        _seed()
        start = torch.get_rng_state()
        try:
            wanted = expected_rows(way, fresh, looped_inputs, looped_targets)
        except Exception as error:
            answer.invalid = f"loop: {error!r}"[:300]
            return
        random_after = torch.get_rng_state()
        own_draws = way == "vectorized" and (
            not torch.equal(start, random_after) or _draws(fresh, program["BATCHES"][i]()[0])
        )
        _seed()
        try:
            found = environment_gradients(model, loss_fn, inputs, targets, aggregator, way)
        except UserError as error:
            answer.refused.append(str(error))
            if "\n" in str(error):
                raise Wrong("a refusal of several lines", str(error)) from error
            _same_state(before, model, loss_fn, buffers=True)
            _same_values("inputs", inputs, program["BATCHES"][i]()[0], looped_inputs)
            _same_values("targets", targets, program["BATCHES"][i]()[1], looped_targets)
            return
        except Exception as error:
            if type(error).__name__ == "TooSlow":
                raise
            raise Wrong(f"exception {type(error).__name__}", str(error)) from error
    answer.compared += 1
    _same_values("inputs", inputs, program["BATCHES"][i]()[0], looped_inputs)
    _same_values("targets", targets, program["BATCHES"][i]()[1], looped_targets)
    _same_state(before, model, loss_fn, buffers=False)
    if own_draws:
        return
    allowed = rounding(torch.bfloat16 if program["AUTOCAST"] else program["DTYPE"])
    if not program["AUTOCAST"] or _half_precision_has_digits(program, i, fresh, wanted, allowed):
        _same_gradients(found, wanted, program, allowed)
        _same_update(found, model, aggregator, allowed.own)
    _same_buffers(model, wanted.rows, allowed.own)
    if not torch.equal(torch.get_rng_state(), random_after):
        raise Wrong("random state", "other random numbers follow than after the loop")


def _half_precision_has_digits(
    program: dict[str, Any], i: int, fresh: Callable[[], Any], wanted: ExpectedRows, allowed: Rounding
) -> bool:
    """Whether the plain loop itself finds the same sums in single precision.

    BatchNorm over two examples makes them 1 and -1, and what is left of the gradient is then rounding.
    """
    inputs, targets = program["BATCHES"][i]()
    with torch.random.fork_rng():
        _seed()
        single = expected_rows(program["WAY"], fresh, inputs, targets)
    for name in wanted.rows[0].gradients:
        half, whole = (
            torch.stack([row.gradients[name].double() for row in rows]).sum(0)
            for rows in (wanted.sums, single.sums)
        )
        size = sum(each[name] for each in floors(wanted.sums, allowed))
        if not torch.isclose(half, whole, rtol=0, atol=size, equal_nan=True).all():
            return False
    return True


def _draws(fresh: Callable[[], Any], inputs: Any) -> bool:
    """Whether a pass of all environments at once draws random numbers, as one of each need not."""
    model, _ = fresh()
    before = torch.get_rng_state()
    with torch.no_grad():
        model(inputs.flatten(0, 1) if isinstance(inputs, Tensor) else torch.cat(inputs))
    return not torch.equal(before, torch.get_rng_state())


def _seed() -> None:
    torch.manual_seed(SEED)
    random.seed(SEED)


def _fresh(program: dict[str, Any], i: int, model: nn.Module, loss_fn: Any) -> Callable[[], Any]:
    """Makes the model anew as it is before step ``i``, without what earlier steps may have left hidden."""
    states = [
        {name: value.clone() for name, value in part.state_dict().items()}
        for part in (model, loss_fn)
        if isinstance(part, nn.Module)
    ]
    plain = [_plain_attributes(module) for module in model.modules()]

    def fresh() -> tuple[nn.Module, Any]:
        with torch.random.fork_rng(devices=[]):
            made = program["make"]()
            made_loss = program["make_loss"](made)
            for change in program["CHANGES"][: i + 1]:
                change(made)
        parts = [part for part in (made, made_loss) if isinstance(part, nn.Module)]
        for part, state in zip(parts, states, strict=True):
            part.load_state_dict(state)
        for module, attributes in zip(made.modules(), plain, strict=True):
            vars(module).update(copy.copy(attributes))
        return made, made_loss

    return fresh


def _plain_attributes(module: nn.Module) -> dict[str, Any]:
    kinds = (int, float, Tensor)
    return {key: value for key, value in vars(module).items() if key[0] != "_" and isinstance(value, kinds)}


def _same_gradients(found: Any, wanted: ExpectedRows, program: dict[str, Any], allowed: Rounding) -> None:
    rows = wanted.rows
    risks = torch.stack([row.risk.double() for row in rows])
    # Half precision leaves log-probabilities, which are of order one, two digits.
    near = 0.02 if allowed.makes_zeros else allowed.own / 100
    if not torch.isclose(found.risks.double(), risks, rtol=allowed.own, atol=near, equal_nan=True).all():
        raise Wrong("risks", f"{found.risks.tolist()} instead of {risks.tolist()}")
    if found.statistics.keys() != rows[0].gradients.keys():
        raise Wrong("names", f"{sorted(found.statistics)} instead of {sorted(rows[0].gradients)}")
    for one in compare(found.statistics, wanted, allowed):
        statistics = found.statistics[one.name]
        if statistics.n_environments != len(rows):
            raise Wrong("n_environments", f"{one.name}: {statistics.n_environments} instead of {len(rows)}")
        if one.wrong_sum:
            total = torch.stack([row.gradients[one.name] for row in wanted.sums]).sum(0)
            raise Wrong("sum", f"{one.name}: {_some(statistics.total)} instead of {_some(total)}")
        if one.wrong_votes:
            signs = torch.stack([row.gradients[one.name].sign() for row in wanted.votes or ()]).sum(0)
            raise Wrong("votes", f"{one.name}: {_some(statistics.sign_sum)} instead of {_some(signs)}")
        if one.wrong_on_request:
            raise Wrong("sums on request", f"{one.name}: {', '.join(one.wrong_on_request)}")
        if statistics.log_sum is not None and program["DTYPE"] == torch.float64 and wanted.votes:
            _same_logs(one.name, statistics, wanted.votes, allowed)


def _same_update(found: Any, model: nn.Module, aggregator: Aggregator, rel: float) -> None:
    """What the second half of ``backward`` leaves in ``.grad``, post-accumulate hooks included."""
    expected = {}
    for name, p in model.named_parameters():
        if name in found.statistics and type(aggregator) in (Mean, AndMask):
            one = found.statistics[name]
            kept = type(aggregator) is Mean or one.sign_sum.abs() >= 0.5 * one.n_environments
            stand_in = nn.Parameter(p.detach().clone())
            stand_in.grad = (one.total / one.n_environments * kept).to(p.dtype)
            for hook in (p._post_accumulate_grad_hooks or {}).values():
                hook(stand_in)
            expected[name] = stand_in.grad
    try:
        combined(model, found, aggregator)
    except Exception as error:
        raise Wrong(f"exception {type(error).__name__}", str(error)) from error
    for name, p in model.named_parameters():
        if name in expected and not torch.allclose(p.grad, expected[name], rtol=rel, atol=0, equal_nan=True):  # type: ignore[arg-type]
            raise Wrong("update", f"{name}: {_some(p.grad)} instead of {_some(expected[name])}")  # type: ignore[arg-type]


def _same_logs(name: str, statistics: Any, rows: list[Row], allowed: Rounding) -> None:
    """Where no environment's component is within rounding of zero, and for a parameter that none reaches."""
    stacked = torch.stack([row.gradients[name] for row in rows])
    sizes = torch.tensor([each[name] for each in floors(rows, allowed)], dtype=stacked.dtype)
    logs = stacked.abs().log().sum(0)
    clear = (stacked.abs() > sizes.view(-1, *[1] * logs.ndim)).all(0) | torch.tensor(not stacked.any())
    if not torch.isclose(statistics.log_sum[clear], logs[clear], rtol=1e-5, atol=1e-3, equal_nan=True).all():
        raise Wrong("logs", f"{name}: {_some(statistics.log_sum)} instead of {_some(logs)}")


def _same_buffers(model: nn.Module, rows: list[Row], rel: float) -> None:
    for name, buffer in model.named_buffers():
        values = torch.stack([row.buffers[name].double() for row in rows])
        mean = values.mean(0)
        if not buffer.is_floating_point():
            mean = (mean + 0.5).floor()
        if not torch.allclose(buffer.double(), mean, rtol=rel, atol=rel, equal_nan=True):
            raise Wrong("buffers", f"{name}: {buffer.tolist()} instead of {mean.tolist()}")


def _some(values: Tensor) -> list[float]:
    return values.to_dense().flatten()[:8].tolist() if values.is_sparse else values.flatten()[:8].tolist()


def _same_values(what: str, found: Any, before: Any, looped: Any) -> None:
    """As it was, or as the model itself changes it."""
    for one, old, other in zip(found, before, looped, strict=True):
        same = [torch.equal(one.nan_to_num(nan=9e9), v.nan_to_num(nan=9e9)) for v in (old, other)]
        if not any(same):
            raise Wrong(what, "the user's tensor is changed")


def _state(model: nn.Module, loss_fn: Any) -> dict[str, Any]:
    parts = [model, *([loss_fn] if isinstance(loss_fn, nn.Module) else [])]
    modules = [module for part in parts for module in part.modules()]
    parameters = [p for part in parts for p in part.parameters()]
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return {
        "parameters": [p.detach().clone() for p in parameters],
        "identity of parameters": [id(p) for p in parameters],
        ".grad": [None if p.grad is None else (id(p.grad), p.grad.sum().item()) for p in parameters],
        "requires_grad": [p.requires_grad for p in parameters],
        "mode": [module.training for module in modules],
        "hooks of modules": [[len(getattr(module, name)) for name in hooks] for module in modules],
        "hooks of parameters": [
            [len(getattr(p, name, None) or {}) for name in ("_backward_hooks", "_post_accumulate_grad_hooks")]
            for p in parameters
        ],
        "forward": ["forward" in vars(module) for module in modules],
        "buffers": [b.clone() for b in model.buffers()],
    }


def _same_state(before: dict[str, Any], model: nn.Module, loss_fn: Any, buffers: bool) -> None:
    after = _state(model, loss_fn)
    for what, old in before.items():
        if what == "buffers" and not buffers:
            continue
        for one, other in zip(old, after[what], strict=True):
            if isinstance(one, Tensor):
                same = torch.equal(torch.nan_to_num(one), torch.nan_to_num(other))
            else:
                same = one == other or one != one or (isinstance(one, tuple) and one[1] != one[1])
            if not same:
                raise Wrong(f"{what} moved{' by a refusal' if buffers else ''}", f"{one} became {other}")
