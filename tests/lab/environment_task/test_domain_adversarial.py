"""DANN: features learn the labels and unlearn the environments, classifiers learn both."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from ilc import Mean, backward
from ilc.errors import UserError
from ilc.gradients import BackwardResult
from ilc.objectives import RISKS
from lab.data import Environments, Split
from lab.environment_task import TrainingMethod
from lab.environment_task.methods import DomainAdversarial
from lab.models import MLP, DomainAdversarialMLP, DomainAdversarialOutputs
from lab.models.domain_adversarial import reverse_gradient

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]
E, N, D, C = 3, 10, 4, 2
WAYS = ["vectorized", "sequential"]


def batch() -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(2)
    inputs = torch.randn(E, N, D, generator=random, dtype=torch.float64)
    return inputs, torch.randint(0, C, (E, N), generator=random)


def network(reversal_weight: float = 1.0) -> DomainAdversarialMLP:
    torch.manual_seed(1)
    return DomainAdversarialMLP(D, C, E, hidden_units=6, reversal_weight=reversal_weight).double()


def step(model: torch.nn.Module, inputs: Tensor, targets: Tensor, way: str = "vectorized") -> BackwardResult:
    method = DomainAdversarial()
    prepared = method.prepare_targets(targets)
    return backward(model, method.objective(F.cross_entropy), inputs, prepared, method.aggregator, way)


def two_passes(model: DomainAdversarialMLP, weight: float) -> tuple[dict[str, Tensor], Tensor, Tensor]:
    """The oracle: both risks differentiated on their own, without any reversal."""
    inputs, targets = batch()
    x, labels, domains = inputs.flatten(0, 1), targets.flatten(), torch.arange(E).repeat_interleave(N)
    parameters = dict(model.named_parameters())
    gradients = []
    for classifier, truth in ((model.label_classifier, labels), (model.domain_classifier, domains)):
        risk = F.cross_entropy(classifier(F.leaky_relu(model.features(x))), truth)
        found = torch.autograd.grad(
            risk, list(parameters.values()), allow_unused=True, materialize_grads=True
        )
        gradients.append((risk.detach(), dict(zip(parameters, found, strict=True))))
    (risk, of_labels), (domain_risk, of_domains) = gradients
    combined = {
        name: of_labels[name] - weight * of_domains[name]
        if name.startswith("features.")
        else of_labels[name] + of_domains[name]
        for name in parameters
    }
    return combined, risk, domain_risk


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("way", WAYS)
def test_gradients_match_two_passes(way: str, weight: float) -> None:
    model = network(weight)
    expected, risk, domain_risk = two_passes(model, weight)
    result = step(model, *batch(), way)
    assert {name.split(".")[0] for name in expected} == {"features", "label_classifier", "domain_classifier"}
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None
        torch.testing.assert_close(parameter.grad, expected[name])
    torch.testing.assert_close(result.risks.mean(), risk)
    torch.testing.assert_close(result.penalties.mean(), domain_risk)


def test_reversal_keeps_values_and_turns_gradients() -> None:
    values = torch.randn(50, requires_grad=True)
    turned = reverse_gradient(values)
    assert torch.equal(turned, values)
    turned.square().sum().backward()
    torch.testing.assert_close(values.grad, -2 * values.detach())


@pytest.mark.slow
def test_adversarial_features_hide_the_environment_and_keep_the_label() -> None:
    """One input is the environment's place, the other the label: the first must go, the second stay."""
    random = torch.Generator().manual_seed(0)
    places = torch.tensor([[-1.0], [0.0], [1.0]]).expand(-1, 64)
    labels = torch.randint(0, 2, (E, 64), generator=random)
    signal = 2.0 * labels - 1 + 0.1 * torch.randn(E, 64, generator=random)
    inputs = torch.stack([places, signal], dim=-1)
    domain_risks, accuracies = {}, {}
    for weight in (0.0, 1.0):
        torch.manual_seed(0)
        model = DomainAdversarialMLP(2, 2, E, hidden_units=16, reversal_weight=weight)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(600):
            result = step(model, inputs, labels)
            optimizer.step()
        domain_risks[weight] = float(result.penalties.mean())
        assert float(result.risks.mean()) < 0.01
        accuracies[weight] = domain_accuracy(model, inputs, labels)
    # log 3 = 1.0986 is the risk of a classifier that knows nothing.
    assert domain_risks[0.0] < 0.5
    assert 1.0 < domain_risks[1.0] < 1.2
    assert accuracies[0.0] > 0.9
    assert accuracies[1.0] < 0.6


def domain_accuracy(model: DomainAdversarialMLP, inputs: Tensor, labels: Tensor) -> float:
    data = Environments(inputs, labels, {"test": Split(inputs[0], labels[0])})
    found: float = DomainAdversarial().metrics(model, data, RISKS["cross_entropy"])["domain/accuracy"]
    return found


def test_domain_accuracy_counts_example_by_example() -> None:
    inputs, labels = batch()
    model = network()
    with torch.no_grad():  # So that it names several environments.
        model.domain_classifier.layers[-1].bias.zero_()
        model.features.layers[0].weight.mul_(10)
    right = [
        int(model.domain_classifier(F.leaky_relu(model.features(inputs[e, n]))).argmax()) == e
        for e in range(E)
        for n in range(N)
    ]
    # The first examples alone would have another accuracy.
    assert sum(right) / len(right) != sum(right[::N]) / E
    assert domain_accuracy(model, inputs, labels) == sum(right) / len(right)


def test_linear_features_are_one_linear_layer() -> None:
    model = DomainAdversarialMLP(D, C, E, hidden_units=6, linear_features=True)
    a, b = torch.randn(5, D), torch.randn(5, D)
    torch.testing.assert_close(
        model.features_of(a + b) + model.features_of(torch.zeros(5, D)),
        model.features_of(a) + model.features_of(b),
    )


def test_three_perceptrons_of_two_layers_each() -> None:
    model = DomainAdversarialMLP(34, 2, 32, hidden_units=8)
    shapes = [tuple(p.shape) for p in model.parameters() if p.ndim == 2]
    assert shapes == [(8, 34), (8, 8), (8, 8), (2, 8), (8, 8), (32, 8)]
    training = model(torch.zeros(5, 34))
    assert isinstance(training, DomainAdversarialOutputs)
    assert (training.labels.shape, training.domains.shape) == ((5, 2), (5, 32))
    assert torch.equal(model.eval()(torch.zeros(5, 34)), training.labels)


def test_misuse_is_readable() -> None:
    inputs, targets = batch()
    with pytest.raises(UserError, match="add model=dann"):
        step(MLP(D, C).double(), inputs, targets, "sequential")
    with pytest.raises(UserError, match="class indices"):
        step(network(), inputs, inputs)
    with pytest.raises(UserError, match="at least one environment"):
        DomainAdversarialMLP(D, C, 0)
    assert TrainingMethod(Mean()).prepare_targets(targets) is targets


def test_examples_vote_with_rows_of_both_outputs() -> None:
    inputs, targets = (values[:, :1] for values in batch())
    one, other = network(), network()
    result = step(one, inputs, targets, "per_example_loss")
    torch.testing.assert_close(result.penalties, step(other, inputs, targets, "sequential").penalties)
    for p, q in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad)


@pytest.mark.parametrize("way", WAYS)
def test_a_run_and_its_continuation(
    way: str, train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    command = [*tiny, "aggregator=dann", "model=dann", f"gradients={way}", "optimizer.lr=0.01"]
    assert train(*command, f"hydra.run.dir={tmp_path / 'run'}").returncode == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert 0 <= summary["test/accuracy"] <= 1
    done = train(*command, f"hydra.run.dir={tmp_path / 'run'}")
    assert "nothing to do" in done.stdout
    done = train(*command, "model.n_environments=3", "seed=1")
    assert done.returncode == 1
    assert (
        "model.n_environments must equal the number of environments of the dataset, which is 4" in done.stderr
    )
