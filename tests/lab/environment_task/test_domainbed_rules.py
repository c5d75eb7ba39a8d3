"""Steps of every method that DomainBed has too, against its update rules in NumPy, with Adam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc._processes import ONE_PROCESS
from ilc.aggregators import Aggregator, AndMask, GroupDro, Iga, Mean, SandMask
from ilc.errors import UserError
from lab.data import Environments, Split
from lab.environment_task import TrainingMethod
from lab.environment_task.batches import BatchOptions
from lab.environment_task.method import as_method
from lab.environment_task.methods import (
    FeatureMatching,
    Fishr,
    IrmPenalty,
    LateVRex,
    MetaLearning,
    Mixup,
    SelfChallenging,
)
from lab.models import ReluMLP

from .domainbed_in_numpy import RULES, C, D, H, State, adam_step

E, N, STEPS, JUMP, LR = 3, 7, 4, 2, 0.01
RANDOM, CPU = torch.Generator(), torch.device("cpu")
CLASSES: Any = SimpleNamespace(targets_are="classes")


@dataclass(frozen=True)
class Pair:
    """A method of ours, and the options of DomainBed's rule with the same meaning."""

    method: TrainingMethod | Aggregator
    options: dict[str, float]
    gradients: Sequence[str] = ("vectorized", "sequential")
    jumps: bool = False


def pairs() -> dict[str, Pair]:
    late = {"weight": 20.0, "steps": JUMP}
    irm = IrmPenalty(20.0, "step", JUMP, 1.0, 1.6, "two_halves", rescale_loss=False, reset_optimizer=True)
    return {
        "erm": Pair(Mean(), {}, ("vectorized", "sequential", "pooled")),
        "irm": Pair(irm, late, jumps=True),
        "v_rex": Pair(LateVRex(20.0, JUMP), late, jumps=True),
        "group_dro": Pair(GroupDro(0.5), {"eta": 0.5}),
        "iga": Pair(Iga(10.0), {"weight": 10.0}),
        "and_mask": Pair(AndMask(0.9, rescale=True), {"tau": 0.9}),
        "sand_mask": Pair(SandMask(0.2, 1e-3), {"tau": 0.2, "k": 1e-3}),
        "fishr": Pair(
            Fishr(50.0, 0.6, JUMP), {"weight": 50.0, "steps": JUMP, "ema": 0.6}, ["sequential"], True
        ),
        "mmd": Pair(FeatureMatching("gaussian", 3.0), {"gamma": 3.0}),
        "coral": Pair(FeatureMatching("mean_covariance", 3.0), {"gamma": 3.0}),
        "mixup": Pair(Mixup(0.4), {}),
        "mldg": Pair(MetaLearning(2.0), {"beta": 2.0}),
        "rsc": Pair(SelfChallenging(0.4, 0.3), {"f": 0.4, "b": 0.3}),
    }


def batch(step: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(step)
    inputs = torch.randn(E, N, D, generator=generator, dtype=torch.float64)
    scales = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)[:, None, None]
    return inputs * scales, torch.randint(C, (E, N), generator=generator)


def model_of(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return ReluMLP(D, C, hidden_units=H).double()


def flat(model: nn.Module) -> np.ndarray[Any, Any]:
    return torch.cat([p.detach().flatten() for p in model.parameters()]).numpy().copy()


def ours(pair: Pair, gradients: str) -> list[np.ndarray[Any, Any]]:
    """The parameters after each step."""
    model, method = model_of(), as_method(pair.method, "method")
    method.check_model(model, CLASSES)
    adam = torch.optim.Adam(model.parameters(), lr=LR)
    found = []
    for step in range(STEPS):
        inputs, targets = batch(step)
        method.before_step(step, adam)
        torch.manual_seed(step)
        objective = method.objective(F.cross_entropy)
        result = method.backward(ONE_PROCESS, model, objective, inputs, targets, gradients)
        assert len(result.risks) in (1, E)
        adam.step()
        found.append(flat(model))
    return found


@cache
def theirs(name: str) -> list[np.ndarray[Any, Any]]:
    """The same by the rule in NumPy."""
    pair = pairs()[name]
    theta, state = flat(model_of()), State(lr=LR)
    m, v, t = np.zeros_like(theta), np.zeros_like(theta), 0
    found = []
    for step in range(STEPS):
        state.step = step
        torch.manual_seed(step)
        state.order = torch.randperm(E).tolist()
        alpha = torch.full((E,), 0.4)
        state.mixing = torch.distributions.Beta(alpha, alpha).sample().double().tolist()
        if pair.jumps and step == JUMP:
            m, v, t = np.zeros_like(theta), np.zeros_like(theta), 0
        environments = [(x.numpy(), y.numpy()) for x, y in zip(*batch(step), strict=True)]
        t += 1
        theta, m, v = adam_step(theta, RULES[name](theta, environments, pair.options, state), m, v, t, LR)
        found.append(theta)
    return found


CASES = [(name, gradients) for name, pair in pairs().items() for gradients in pair.gradients]


@pytest.mark.parametrize(("name", "gradients"), CASES)
def test_steps_are_those_of_domainbeds_rule(
    name: str, gradients: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = theirs(name)
    # DomainBed takes the even and the odd examples of a batch, ours of a batch in random order.
    monkeypatch.setattr(torch, "rand", lambda n, device=None: torch.arange(n, device=device) / n)
    for found, wanted in zip(ours(pairs()[name], gradients), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)


def test_mldg_moves_by_the_present_learning_rate() -> None:
    """A rate that a milestone has lowered is not the one at which the optimizer began."""
    found = []
    for first in (LR, 100 * LR):
        model, method = model_of(), MetaLearning(2.0)
        adam = torch.optim.Adam(model.parameters(), lr=first)
        adam.param_groups[0]["lr"] = LR
        method.before_step(0, adam)
        torch.manual_seed(0)
        method.backward(ONE_PROCESS, model, F.cross_entropy, *batch(0), "vectorized")
        found.append(torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]))
    assert torch.equal(*found)


def test_no_two_rules_are_the_same() -> None:
    ends = {name: theirs(name)[-1] for name in pairs()}
    names = list(ends)
    for i, one in enumerate(names):
        for other in names[:i]:
            assert np.abs(ends[one] - ends[other]).max() > 1e-4, (one, other)


@pytest.mark.parametrize(
    "options",
    [
        BatchOptions("vectorized", RANDOM, CPU, batches="one_environment"),
        BatchOptions("per_example", RANDOM, CPU),
    ],
)
@pytest.mark.parametrize("name", ["mmd", "mixup", "mldg", "rsc"])
def test_methods_of_whole_batches_need_every_environment(name: str, options: BatchOptions) -> None:
    method = as_method(pairs()[name].method, name)
    with pytest.raises(UserError, match=f"aggregator={name} compares the environments of one batch"):
        method.sampler(Environments(*batch(0), {"test": Split(batch(0)[0][0], batch(0)[1][0])}), options)


@pytest.mark.parametrize(("size", "same_partners"), [(None, False), (N, False), (N - 1, True)])
def test_mixup_of_the_whole_data_changes_the_partners(size: int | None, same_partners: bool) -> None:
    # The first environment is 0, so the mixture shows the order of the second one's examples.
    inputs = torch.stack([torch.zeros(N, 1), torch.arange(1.0, N + 1)[:, None]])
    data = Environments(inputs, torch.zeros(2, N, dtype=torch.long), {"test": Split(*batch(0))})
    method, seen = Mixup(100.0), []  # Both weights are near one half.
    method.sampler(data, BatchOptions("vectorized", torch.Generator(), CPU, size))
    model = nn.Linear(1, 2)
    model.register_forward_pre_hook(lambda _, mixed: seen.append(mixed[0].view(2, N)))
    for _ in range(5):
        method.loss(model, F.cross_entropy, data.inputs, data.targets)
    orders = [tuple(pair.argsort().tolist()) for mixed in seen for pair in mixed]
    # Of the two pairs one has the zeros as x, and the other one as x'.
    assert ({tuple(range(N))} == set(orders)) == same_partners


def test_a_model_without_a_last_layer_and_targets_that_are_no_classes_are_refused() -> None:
    for method in (FeatureMatching("gaussian"), SelfChallenging()):
        with pytest.raises(UserError, match="ends in a linear layer"):
            method.check_model(nn.Conv1d(1, 1, 1), CLASSES)
    numbers: Any = SimpleNamespace(targets_are="numbers")
    with pytest.raises(UserError, match="needs classes as targets"):
        SelfChallenging().check_model(model_of(), numbers)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (lambda: FeatureMatching("cosine"), "one of gaussian, mean_covariance"),
        (lambda: FeatureMatching("gaussian", -1.0), "penalty_weight must be finite"),
        (lambda: Mixup(0.0), "alpha must be finite and above 0"),
        (lambda: MetaLearning(-1.0), "at least 0"),
        (lambda: SelfChallenging(1.5), r"must lie in \[0, 1\]"),
        (lambda: LateVRex(-1.0), "at least 0"),
        (lambda: LateVRex(1.0, -1), "at least 0"),
    ],
)
def test_what_makes_no_sense_is_refused(method: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        method()
