"""What cannot be differentiated ends in a message with the remedy."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parametrize

from ilc.aggregators import AndMask, Mean
from ilc.errors import UserError
from ilc.gradients import PER_EXAMPLE, WAYS, accumulate, backward
from ilc.objectives import Objective

ENVIRONMENT_WAYS = ("vectorized", "sequential")
X, Y = torch.randn(3, 4, 5), torch.zeros(3, 4, dtype=torch.long)


@pytest.mark.parametrize(
    ("inputs", "targets"),
    [
        (X[:0], Y[:0]),
        (X[:, :0], Y[:, :0]),
        (X, Y[:2]),
        (X, Y[:, :3]),
        (X[0, 0], Y[0]),
    ],
)
def test_shapes_without_environments_or_examples(inputs: Tensor, targets: Tensor) -> None:
    with pytest.raises(UserError, match=r"\[E, N\], both at least 1"):
        backward(nn.Linear(5, 2), F.cross_entropy, inputs, targets, Mean())


@pytest.mark.parametrize("way", ["magic", ["vectorized"], None])
def test_unknown_way(way: Any) -> None:
    with pytest.raises(UserError, match="must be one of vectorized, sequential"):
        backward(nn.Linear(5, 2), F.cross_entropy, X, Y, Mean(), gradients=way)


@pytest.mark.parametrize("aggregator", [Mean(), AndMask(0.5)])
@pytest.mark.parametrize("way", ["vectorized", "per_example"])
def test_what_is_no_module_and_what_is_no_instance(way: str, aggregator: Mean | AndMask) -> None:
    layer: Any = nn.Linear(5, 2)
    for model, kind in ((layer.forward, "method"), (nn.Linear, "the class Linear")):
        with pytest.raises(UserError, match=rf"must be a torch.nn.Module, got {kind}: "):
            backward(model, F.cross_entropy, X, Y, aggregator, gradients=way)
        with pytest.raises(UserError, match=r"must be a torch.nn.Module"), accumulate(aggregator) as votes:
            votes.backward(model, F.cross_entropy, X, Y, gradients=way)
    with pytest.raises(UserError, match=r"got the class CrossEntropyLoss: make one, CrossEntropyLoss\(\)$"):
        backward(layer, nn.CrossEntropyLoss, X, Y, aggregator, gradients=way)


@pytest.mark.parametrize("way", ENVIRONMENT_WAYS)
def test_all_frozen(way: str) -> None:
    with pytest.raises(UserError, match="no trainable parameter"):
        backward(nn.Linear(5, 2).requires_grad_(False), F.cross_entropy, X, Y, Mean(), gradients=way)


@pytest.mark.parametrize("way", ENVIRONMENT_WAYS)
def test_detached_risk(way: str) -> None:
    with pytest.raises(UserError, match="does not depend on any trainable parameter"):
        backward(nn.Linear(5, 2), lambda o, t: F.cross_entropy(o.detach(), t), X, Y, Mean(), gradients=way)


@pytest.mark.parametrize("way", ENVIRONMENT_WAYS)
def test_risk_per_example(way: str) -> None:
    def unreduced(outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs, targets, reduction="none")

    with pytest.raises(UserError, match="a scalar, got shape"):
        backward(nn.Linear(5, 2), unreduced, X, Y, Mean(), gradients=way)


class Branching(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 2)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.layer(x)
        return outputs if outputs.sum() > 0 else -outputs


def test_control_flow_names_the_way_that_can_follow_it() -> None:
    with pytest.raises(UserError, match="use gradients='sequential'"):
        backward(Branching(), F.cross_entropy, X, Y, Mean())
    backward(Branching(), F.cross_entropy, X, Y, Mean(), gradients="sequential")


def test_gradients_are_overwritten_not_accumulated() -> None:
    model = nn.Linear(5, 2)
    backward(model, F.cross_entropy, X, Y, AndMask(0.0))
    assert model.weight.grad is not None
    once = model.weight.grad.clone()
    backward(model, F.cross_entropy, X, Y, AndMask(0.0))
    torch.testing.assert_close(model.weight.grad, once)


ALL_WAYS = [*WAYS]


@pytest.mark.parametrize("way", ALL_WAYS)
@pytest.mark.parametrize(
    ("aggregator", "message"),
    [
        (AndMask, r"an instance, got the class AndMask: make one, as in AndMask\(agreement_threshold=0.8\)"),
        ("and_mask", r"must be an ilc\.aggregators\.Aggregator.*got str"),
        (None, r"must be an ilc\.aggregators\.Aggregator.*got NoneType"),
    ],
)
def test_what_is_no_aggregator(way: str, aggregator: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        backward(nn.Linear(5, 2), F.cross_entropy, X, Y, aggregator, way)


@pytest.mark.parametrize("way", ALL_WAYS)
def test_data_parallel_and_its_like(way: str) -> None:
    with pytest.raises(UserError, match=r"DataParallel .*model\.module.*ilc\.distributed\.backward"):
        backward(nn.DataParallel(nn.Linear(5, 2)), F.cross_entropy, X, Y, Mean(), way)


def test_deepspeed_is_named() -> None:
    """By the name that its class has, because it is not installed."""
    model = type("DeepSpeedEngine", (nn.Linear,), {"__module__": "deepspeed.runtime.engine"})(5, 2)
    with pytest.raises(UserError, match="DeepSpeedEngine keeps parameters in pieces") as error:
        backward(model, F.cross_entropy, X, Y, Mean())
    assert "\n" not in str(error.value)


@pytest.mark.filterwarnings("ignore:.*[Ll]azy")
@pytest.mark.parametrize("way", ALL_WAYS)
def test_parameters_without_a_shape(way: str) -> None:
    inputs, targets = (X.view(-1, 1, 5), Y.view(-1, 1)) if way in PER_EXAMPLE else (X, Y)
    with pytest.raises(UserError, match="call the model once on a batch"):
        backward(nn.LazyLinear(2), F.cross_entropy, inputs, targets, Mean(), way)


@pytest.mark.parametrize("way", [*ENVIRONMENT_WAYS, "pooled"])
def test_a_mistake_of_the_model_itself_is_its_own_error(way: str) -> None:
    """No other way could do it, so none is recommended."""
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        backward(nn.Linear(4, 2), F.cross_entropy, X, Y, Mean(), way)


class Tanh(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return weight.tanh()


@pytest.mark.parametrize("way", ["vectorized", "sequential", "per_example", "per_example_share"])
def test_a_weight_that_is_computed_once_for_all_passes(way: str) -> None:
    model = nn.Linear(3, 2)
    parametrize.register_parametrization(model, "weight", Tanh())
    inputs, targets = torch.randn(4, 1, 3), torch.randn(4, 1, 2)
    with parametrize.cached(), pytest.raises(UserError, match=r"a pass needs the graph|leaves out"):
        backward(model, nn.functional.mse_loss, inputs, targets, AndMask(0.5), way)


@pytest.mark.parametrize("way", ["vectorized", "sequential", "per_example"])
def test_gradients_that_are_switched_off(way: str) -> None:
    model = nn.Linear(5, 1)
    with torch.no_grad(), pytest.raises(UserError, match="gradients are switched off here") as error:
        backward(model, F.mse_loss, torch.randn(4, 8, 5), torch.randn(4, 8, 1), AndMask(0.5), way)
    assert "\n" not in str(error.value) and model.weight.grad is None


def test_one_objective_is_no_list_of_losses() -> None:
    model = nn.Linear(5, 1)
    risk = model(torch.randn(8, 5)).square().mean()
    with pytest.raises(UserError, match=r"give \[objective\]"):
        backward(model, Objective(risk, risk, risk), aggregator=AndMask(1.0))


@pytest.mark.parametrize("way", WAYS)
def test_a_model_without_numbers_is_named(way: str) -> None:
    model, x, y = nn.Linear(5, 3, device="meta"), torch.randn(4, 1, 5), torch.randint(3, (4, 1))
    for device in ("cpu", "meta"):
        with pytest.raises(UserError, match=r"^weight is on the meta device.*to_empty"):
            backward(model, F.cross_entropy, x.to(device), y.to(device), Mean(), way)
