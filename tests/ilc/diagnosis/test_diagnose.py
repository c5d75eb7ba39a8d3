"""Every number of a diagnosis beside plain loops over environments and components."""

from __future__ import annotations

import math
import sys
from itertools import product

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc import AndMask, backward, diagnose
from ilc.errors import UserError

E, N, D = 6, 4, 5


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(D, 7), nn.ReLU(), nn.Linear(7, 3)).double()


def with_a_parameter_of_its_own() -> nn.Module:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale, self.unused = nn.Parameter(torch.ones(D)), nn.Parameter(torch.ones(3))
            self.layer = nn.Linear(D, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(torch.tanh(x * self.scale))  # type: ignore[no-any-return]

    return Scaled().double()


def convolution() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, 1, D)), nn.Conv2d(1, 3, (1, 2)), nn.Tanh(), nn.Flatten(), nn.Linear(12, 3)
    ).double()


def time_first() -> nn.Module:
    """Its examples cannot be told apart in the product, so its weight needs a pass for each example."""

    class TimeFirst(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(D, 3))

        def forward(self, x: Tensor) -> Tensor:
            steps = x[:, None].repeat(1, 2, 1) * torch.tensor([1.0, -0.5])[:, None]
            rows = steps.transpose(0, 1).reshape(-1, D)
            out = (rows @ self.weight).tanh()
            return out.reshape(2, -1, 3).sum(0)

    return TimeFirst().double()


MODELS = [perceptron, with_a_parameter_of_its_own, convolution, time_first]


def batch(n: int = N) -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    inputs = torch.randn(E, n, D, dtype=torch.float64) + torch.randn(D, dtype=torch.float64)
    return inputs, torch.randint(3, (E, n))


def gradients_of(model: nn.Module, inputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
    rows: dict[str, list[Tensor]] = {name: [] for name, _ in model.named_parameters()}
    for x, y in zip(inputs, targets, strict=True):
        model.zero_grad()
        F.cross_entropy(model(x), y).backward()
        for name, p in model.named_parameters():
            rows[name].append(torch.zeros(p.numel()).double() if p.grad is None else p.grad.flatten())
    model.zero_grad()
    return {name: torch.stack(each) for name, each in rows.items()}


def sign(value: float) -> int:
    return (value > 0) - (value < 0)


def coins(votes: int, required: float) -> float:
    """The share of all throws of so many coins with enough heads or tails."""
    throws = list(product((1, -1), repeat=votes))
    return sum(abs(sum(throw)) >= required for throw in throws) / len(throws)


def oracle(rows: Tensor, threshold: float) -> dict[str, float]:
    columns = rows.T.tolist()
    agreements = [abs(sum(map(sign, column))) for column in columns]
    means = [sum(column) / E for column in columns]
    variances = [
        sum((g - m) ** 2 for g in column) / (E - 1) for column, m in zip(columns, means, strict=True)
    ]
    signal = sum(m**2 for m in means) - sum(variances) / E
    ratios = sorted(m**2 / v for m, v in zip(means, variances, strict=True) if v > 0)
    return {
        "agreement": sum(agreements) / E / len(columns),
        "kept_share": sum(one >= threshold * E for one in agreements) / len(columns),
        "by_chance": sum(coins(sum(g != 0 for g in column), threshold * E) for column in columns)
        / len(columns),
        "noise_scale": sum(variances) / signal if signal > 0 else math.inf if sum(variances) else math.nan,
        "signal_to_noise": ratios[(len(ratios) - 1) // 2] if ratios else math.nan,
    }


def dissent_of(rows: Tensor) -> tuple[list[float], list[float]]:
    """By signs and by size, environment by environment and component by component."""
    dissents, oppositions = [], []
    for e in range(E):
        against = asked = 0
        opposed = size = 0.0
        for column in rows.T.tolist():
            others = [g for f, g in enumerate(column) if f != e]
            majority = sign(sum(map(sign, others)))
            asked += bool(majority and sign(column[e]))
            against += majority * sign(column[e]) < 0
            opposed += abs(column[e]) * (sum(others) * column[e] < 0)
            size += abs(column[e])
        dissents.append(against / asked)
        oppositions.append(opposed / size)
    return dissents, oppositions


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("way", ["vectorized", "sequential", "per_example", "lists"])
def test_every_number_is_that_of_a_plain_loop(make, way: str) -> None:
    torch.manual_seed(0)
    model = make()
    inputs, targets = batch(1 if way == "per_example" else N)
    rows = gradients_of(model, inputs, targets)
    given = (list(inputs), list(targets)) if way == "lists" else (inputs, targets)
    how = "vectorized" if way == "lists" else way
    found = diagnose(model, F.cross_entropy, *given, how, agreement_threshold=0.6, components=None)
    assert [one.name for one in found.parameters] == list(rows)
    for one in found.parameters:
        assert one.looked_at == one.components == rows[one.name].shape[1]
        for name, expected in oracle(rows[one.name], 0.6).items():
            assert getattr(one, name) == pytest.approx(expected, rel=1e-6, nan_ok=True), (one.name, name)
    whole = oracle(torch.cat(list(rows.values()), 1), 0.6)
    for name in ("agreement", "kept_share", "by_chance", "noise_scale"):
        assert getattr(found.overall, name) == pytest.approx(whole[name], rel=1e-6)
    dissents, oppositions = dissent_of(torch.cat(list(rows.values()), 1))
    assert found.dissent.tolist() == pytest.approx(dissents, rel=1e-6)
    assert found.opposition.tolist() == pytest.approx(oppositions, rel=1e-6)
    assert found.dissenters()[0] == dissents.index(max(dissents))
    assert found.risks.tolist() == pytest.approx(
        [F.cross_entropy(model(x), y).item() for x, y in zip(inputs, targets, strict=True)]
    )


def test_the_kept_share_is_that_of_the_step() -> None:
    model = perceptron()
    result = backward(model, F.cross_entropy, *batch(), AndMask(0.6))
    found = diagnose(model, F.cross_entropy, *batch(), agreement_threshold=0.6, components=None)
    kept = {name: float(share) for name, share in result.kept_share.items()}
    assert {one.name: one.kept_share for one in found.parameters} == pytest.approx(kept)


@pytest.mark.parametrize("way", ["vectorized", "sequential", "per_example"])
def test_few_components_estimate_all_of_them(way: str) -> None:
    """The mean over draws is near what all components say, and no draw looks at more than a row too many."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(D, 60), nn.Tanh(), nn.Linear(60, 40), nn.Tanh(), nn.Linear(40, 3))
    inputs, targets = (values.float() if i == 0 else values for i, values in enumerate(batch()))
    inputs, targets = (inputs[:, :1], targets[:, :1]) if way == "per_example" else (inputs, targets)
    exact = diagnose(model, F.cross_entropy, inputs, targets, way, 0.6, None)
    draws = [diagnose(model, F.cross_entropy, inputs, targets, way, 0.6, 100, seed) for seed in range(40)]
    assert all(one.looked_at <= max(100, 60) + 60 for draw in draws for one in draw.parameters)
    assert len({draw.overall.agreement for draw in draws}) > 10
    agreements = [draw.overall.agreement for draw in draws]
    assert sum(agreements) / 40 == pytest.approx(exact.overall.agreement, abs=0.02)
    dissent = torch.stack([draw.dissent for draw in draws]).mean(0)
    torch.testing.assert_close(dissent, exact.dissent, rtol=0, atol=0.03)
    again = diagnose(model, F.cross_entropy, inputs, targets, way, 0.6, 100, seed=3)
    assert torch.equal(again.dissent, draws[3].dissent)


def test_the_model_stays_as_it_is() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(D, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3)).double()
    for p in model.parameters():
        p.grad = torch.full_like(p, 7.0)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    inputs, targets = batch()
    random = torch.get_rng_state()
    diagnose(model, F.cross_entropy, inputs, targets, "sequential")
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(p.grad is not None and bool((p.grad == 7).all()) for p in model.parameters())
    assert torch.equal(torch.get_rng_state(), random)


def test_half_precision_and_noise() -> None:
    torch.manual_seed(0)
    model = nn.Linear(400, 1).bfloat16()
    inputs = torch.randn(50, 3, 400).bfloat16()
    found = diagnose(model, lambda outputs, _: outputs.mean(), inputs, inputs[..., :1], components=None)
    weight = found.parameters[0]
    assert weight.noise_scale > 50 and weight.kept_share == pytest.approx(weight.by_chance, abs=0.01)
    assert weight.signal_to_noise == pytest.approx(0.45 / 50, rel=0.3)
    assert float(found.dissent.mean()) == pytest.approx(0.5, abs=0.02)


def test_the_table_has_a_line_for_each_layer_and_parameter() -> None:
    found = diagnose(perceptron(), F.cross_entropy, *batch())
    lines = str(found).splitlines()
    heads = [line.split()[0] for line in lines]
    assert heads == ["layer,", "0", "0.weight", "0.bias", "2", "2.weight", "2.bias", "all", "kept"]
    assert f"{found.overall.agreement:.3f}" in lines[-2]
    assert f"most: {found.dissenters()[0]} (" in lines[-1]


def test_data_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    found = diagnose(perceptron(), F.cross_entropy, *batch())
    by_parameter, by_environment = found.parameter_frame(), found.environment_frame()
    assert by_parameter.name.tolist() == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert by_parameter.agreement.tolist() == [one.agreement for one in found.parameters]
    assert by_environment.columns.tolist() == ["risk", "dissent", "opposition", "dissent/0", "dissent/2"]
    assert by_environment.dissent.tolist() == found.dissent.tolist()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match="pip install pandas"):
        found.parameter_frame()


MISTAKES = {
    "one environment": (lambda x, y: (x[:1], y[:1], "vectorized"), "the batch has one"),
    "no such way": (lambda x, y: (x, y, "pooled"), "gradients must be one of vectorized"),
    "no axis of examples": (lambda x, y: (x, y, "per_example"), r"\[E, 1"),
    "no finite risk": (lambda x, y: (x[:, :1] * math.nan, y[:, :1], "per_example"), "finite risk"),
    "a threshold": (lambda x, y: (x, y, "vectorized", 2.0), "agreement_threshold"),
    "no components": (lambda x, y: (x, y, "vectorized", 0.5, 0), "components must be at least 1"),
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_mistakes_are_named(kind: str) -> None:
    arguments, message = MISTAKES[kind]
    with pytest.raises(UserError, match=message):
        diagnose(perceptron(), F.cross_entropy, *arguments(*batch()))


def test_batch_norm_and_lists_of_losses_are_refused() -> None:
    model = nn.Sequential(nn.Linear(D, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)).double()
    inputs, targets = batch(1)
    with pytest.raises(UserError, match=r"model\.eval\(\)"):
        diagnose(model, F.cross_entropy, inputs, targets, "per_example")
    assert diagnose(model.eval(), F.cross_entropy, inputs, targets, "per_example").dissent.shape == (E,)
    with pytest.raises(UserError, match="list of losses"):
        diagnose(model, [lambda: model(inputs[0]).sum()])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"components": "256"}, "components must be a whole number, got '256' of type str"),
        ({"components": torch.ones(2)}, "components must be a whole number, got tensor"),
        ({"components": 2.5}, "components must be a whole number, got 2.5 of type float"),
        ({"seed": None}, "seed must be a whole number, got None of type NoneType"),
        ({"agreement_threshold": torch.ones(2)}, "agreement_threshold must be a number, got tensor"),
        ({"gradients": None}, "gradients must be one of"),
        ({"loss_fn": None}, "loss_fn must be a function of outputs and targets, got NoneType"),
        ({"loss_fn": nn.CrossEntropyLoss}, "got the class CrossEntropyLoss: make one"),
        ({"model": None}, "the model must be a torch.nn.Module, got NoneType"),
    ],
)
def test_arguments_of_another_type_are_named_in_one_line(options: dict[str, object], message: str) -> None:
    inputs, targets = torch.randn(E, N, D).double(), torch.randint(3, (E, N))
    arguments = {"model": perceptron(), "loss_fn": F.cross_entropy, "inputs": inputs, "targets": targets}
    with pytest.raises(UserError, match=message) as error:
        diagnose(**{**arguments, **options})  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("n", "message"),
    [(-1, "n must be at least 0, got -1"), (1.5, "n must be a whole number"), ("2", "whole")],
)
def test_a_wrong_number_of_dissenters(n: object, message: str) -> None:
    found = diagnose(perceptron(), F.cross_entropy, torch.randn(E, N, D).double(), torch.randint(3, (E, N)))
    assert found.dissenters(0) == []
    with pytest.raises(UserError, match=message):
        found.dissenters(n)  # type: ignore[arg-type]
