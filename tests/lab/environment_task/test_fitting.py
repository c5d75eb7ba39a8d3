"""Every dataset with every model and every risk of conf: a step, or one line that names what does not fit."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf
from torch import nn

from ilc.errors import UserError
from ilc.objectives import RISKS
from ilc.optim import Regularizer
from lab.configuration.section import Section
from lab.data import (
    Environments,
    Split,
    make_colored_mnist,
    make_labelled_images,
    make_linear_sem,
    make_spirals,
)
from lab.environment_task import EnvironmentTask
from lab.environment_task.batches import BatchOptions
from lab.environment_task.fitting import check_fit
from lab.environment_task.schedule import Schedule
from lab.experiments.lora_domains.data import make_lora_domains
from lab.experiments.ood_bench.data import make_ood_bench

ROOT = Path(__file__).parents[3]
DATASETS, MODELS = (
    sorted(
        path.stem
        for path in (ROOT / "conf" / group).glob("*.yaml")
        # Those are no environments for any model; they bring networks and losses of their own.
        if "_target_: lab.experiments.distillation." not in path.read_text()
        and "_target_: lab.experiments.skip_intervals." not in path.read_text()
        and "_target_: lab.experiments.linear_unit_tests." not in path.read_text()
    )
    for group in ("dataset", "model")
)


def frames() -> Environments:
    """What CoinRun hands over, which would have to be played first."""
    images = torch.randint(0, 256, (3, 4, 3, 64, 64), dtype=torch.uint8)
    actions = torch.rand(3, 4, 15).softmax(-1)
    return Environments(
        images, actions, {"test": Split(images[0], actions[0])}, distributions=True, in_file=True
    )


@pytest.fixture(scope="module")
def data() -> dict[str, Environments]:
    return {
        "spirals": make_spirals(n_environments=3, examples_per_environment=8, n_test=4),
        "linear_sem": make_linear_sem(n_environments=3, examples_per_environment=8, n_test=4),
        "colored_mnist": make_colored_mnist(source="digits", n_environments=3, examples_per_environment=8),
        "ood_bench": make_ood_bench(source="digits"),
        "lora_domains": make_lora_domains(examples_per_environment=4),
        "cifar10": make_labelled_images(source="embedded", n_environments=12, n_test=4, image_size=14),
        "coinrun": frames(),
    }


FITTING = {
    ("spirals", "cross_entropy"): {"mlp", "relu_mlp", "kaiming_mlp", "linear", "dann"},
    ("colored_mnist", "cross_entropy"): {"mlp", "relu_mlp", "kaiming_mlp", "linear", "dann"},
    ("ood_bench", "cross_entropy"): {"mlp", "relu_mlp", "kaiming_mlp", "linear", "dann"},
    ("linear_sem", "mean_squared_error"): {"mlp", "relu_mlp", "kaiming_mlp", "linear"},
    ("cifar10", "cross_entropy"): {"fast_resnet", "resnet18"},
    ("coinrun", "kl_divergence"): {"resnet18"},
}


def task(
    data: Environments, dataset: str, model: str, risk: str, aggregator: str = "", **optimizer: Any
) -> EnvironmentTask:
    """A task of these parts at tiny size."""
    of_model = OmegaConf.load(ROOT / "conf" / "model" / f"{model}.yaml")
    of_model.update({key: 4 for key in ("hidden_units", "width") if key in of_model})
    if "n_environments" in of_model:
        of_model.n_environments = data.n_environments
    aggregator = aggregator or ("dann" if model == "dann" else "and_mask")
    of_aggregator = OmegaConf.load(ROOT / "conf" / "aggregator" / f"{aggregator}.yaml")
    of_optimizer = OmegaConf.load(ROOT / "conf" / "optimizer" / "adam.yaml")
    run: Any = SimpleNamespace(
        seed=0, data_dir="", trainer=SimpleNamespace(selection="last", max_epochs=1), threads=1
    )
    configured, regularizer = section("optimizer", OmegaConf.merge(of_optimizer, optimizer)).split(
        Regularizer
    )
    return EnvironmentTask(
        run,
        torch.device("cpu"),
        risk,
        "per_example_share" if dataset == "cifar10" else "sequential",
        Section("dataset", dataset, lambda: data, {}),
        Section("dataset", dataset, BatchOptions, {}),
        section("model", of_model),
        section("aggregator", of_aggregator),
        configured,
        regularizer,
        Schedule(),
    )


def section(key: str, values: Any) -> Section:
    return Section.of(key, OmegaConf.to_container(values))


@pytest.mark.parametrize("risk", sorted(RISKS))
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dataset", DATASETS)
def test_every_combination_takes_a_step_or_says_why_not(
    dataset: str, model: str, risk: str, data: dict[str, Environments]
) -> None:
    if model in FITTING.get((dataset, risk), ()):
        made = task(data[dataset], dataset, model, risk)
        metrics = made.train_epoch()
        assert 0 < metrics["epoch/risk"] < 100
        assert 0 < made.evaluate()["test/loss"] < 1000
        return
    with pytest.raises(UserError, match=rf"^(risk={risk}|model={model}|aggregator=dann) ") as error:
        task(data[dataset], dataset, model, risk)
    assert "\n" not in str(error.value)
    assert "take" in str(error.value) or "choose" in str(error.value)


@pytest.mark.parametrize(
    ("dataset", "model", "risk", "message"),
    [
        (
            "spirals",
            "fast_resnet",
            "cross_entropy",
            r"vectors \(34\): take model=kaiming_mlp or model=linear or model=mlp",
        ),
        ("spirals", "mlp", "kl_divergence", "needs distributions .* are classes: take risk=cross_entropy"),
        ("linear_sem", "mlp", "cross_entropy", "needs classes .* are numbers: take risk=mean_squared_error"),
        ("coinrun", "fast_resnet", "kl_divergence", r"images of bytes \(3 x 64 x 64\): take model=resnet18"),
        ("cifar10", "mlp", "cross_entropy", "images .*: take model=fast_resnet or model=resnet18"),
    ],
)
def test_the_remedy_names_what_fits(
    dataset: str, model: str, risk: str, message: str, data: dict[str, Environments]
) -> None:
    with pytest.raises(UserError, match=message):
        task(data[dataset], dataset, model, risk)


def test_images_that_a_model_would_halve_to_nothing() -> None:
    small = make_labelled_images(source="embedded", n_environments=12, n_test=4, image_size=4)
    with pytest.raises(
        UserError, match="at least 8 x 8 pixels, but the images of dataset=cifar10 are 1 x 4 x 4"
    ):
        task(small, "cifar10", "fast_resnet", "cross_entropy")


def test_irm_names_its_failures_for_distributions_too(data: dict[str, Environments]) -> None:
    made = task(data["coinrun"], "coinrun", "resnet18", "kl_divergence", "irm_penalty")
    made.train_epoch()
    metrics = made.evaluate()
    made.remarks([metrics], metrics)


@pytest.mark.parametrize("kind", ["Adam", "AdamW", "NAdam", "RAdam"])
def test_weight_decay_is_ours_alone(kind: str, data: dict[str, Environments]) -> None:
    """Of its own AdamW would add 0.01."""
    made = task(data["spirals"], "spirals", "mlp", "cross_entropy", _target_=f"torch.optim.{kind}")
    assert [group["weight_decay"] for group in made.optimizer.param_groups] == [0.0]


def test_a_model_that_says_nothing_is_left_to_find_out(data: dict[str, Environments]) -> None:
    check_fit(
        data["spirals"],
        Section("dataset", "spirals", lambda: None, {}),
        Section("model", "own", nn.Linear, {}),
        "cross_entropy",
    )
