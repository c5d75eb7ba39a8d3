"""Every mistake ends in one message that names it and the remedy: no traceback, status 1."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]

MISTAKES = {
    "typo in a key": ("trainer.max_epoch=3", "Did you mean 'max_epochs'?"),
    "typo in a section": ("trainr.max_epochs=3", "unknown key 'trainr'"),
    "new key at the top": ("+nonsense=1", "unknown key 'nonsense'"),
    "new key in a section": ("+dataset.sise=1", "unknown key 'dataset.sise'"),
    "new key of the logger": ("+logger.foo=1", "unknown key 'logger.foo'"),
    "new key of the trainer": ("+trainer.foo=1", "unknown key 'trainer.foo'"),
    "an option that the config leaves out": (
        "trainer.stop_when_still=3",
        "An option that the config leaves out needs a plus sign: +trainer.stop_when_still=VALUE",
    ),
    "unknown aggregator": ("aggregator=median", "geometric_mean"),
    "unknown experiment": ("experiment=spiral", "did you mean spirals? Write experiment=NAME"),
    "unknown model": ("model=transformer", "does not name a choice of model: write model=NAME"),
    "typo in a group": ("experimnt=spirals", "Did you mean 'experiment'?"),
    "a name without its group": ("and_mask", "did you mean aggregator=and_mask?"),
    "unknown risk": ("risk=hinge", "risk must be one of"),
    "unknown gradients": ("gradients=fast", "vectorized"),
    "unknown device": ("device=tpu", "device must be one of auto, cpu, cuda"),
    "unknown scale": ("scale=huge", "small, paper"),
    "unknown source": ("dataset.source=imagenet", "dataset.source must be auto or synthetic"),
    "unparsable override": ("trainer.max_epochs", "trainer.max_epochs"),
    "threshold above 1": ("aggregator.agreement_threshold=1.5", "[0, 1], got 1.5"),
    "threshold below 0": ("aggregator.agreement_threshold=-0.1", "[0, 1], got -0.1"),
    "threshold no number": ("aggregator.agreement_threshold=high", "must be a finite number, got 'high'"),
    "no environments": ("dataset.n_environments=0", "at least 1"),
    "no examples": ("dataset.examples_per_environment=0", "examples_per_environment"),
    "half an environment": ("dataset.n_environments=2.5", "whole number"),
    "batch larger than the data": ("dataset.batch_size=33", "between 1 and examples_per_environment = 32"),
    "empty batch": ("dataset.batch_size=0", "between 1 and"),
    "NaN in the data": ("dataset.shortcut_noise=nan", "dataset.shortcut_noise"),
    "values that overflow": ("dataset.shortcut_noise=1e39", "contain NaN or infinity"),
    "diverging learning rate": ("optimizer.lr=1e30", "training diverged"),
    "learning rate beyond float32": ("optimizer.lr=1e300", "diverged: the learning rate is 1e+300"),
    "layers beyond memory": ("model.hidden_layers=1000000000000", "GB of memory"),
    "examples beyond memory": ("dataset.n_test=1000000000000", "dataset=spirals of this size takes about"),
    "threads beyond any machine": ("threads=100000", "threads must be null or a whole number from 1 to 1024"),
    "negative learning rate": ("optimizer.lr=-1", "optimizer.lr must be above 0"),
    "learning rate no number": ("optimizer.lr=fast", "optimizer.lr must be a finite number"),
    "negative weight decay": ("optimizer.weight_decay=-1", "weight_decay"),
    "betas out of range": ("optimizer.betas=[2.0,0.9]", "optimizer=adam cannot be built"),
    "an option outside of sections that the config leaves out": (
        "outer_lr=3",
        "needs a plus sign: +outer_lr=VALUE",
    ),
    "no epochs": ("trainer.max_epochs=0", "must be at least 1"),
    "epochs no number": ("trainer.max_epochs=many", "trainer.max_epochs must be a whole number"),
    "stopping accuracy in per cent": (
        "trainer.stop_below=55",
        "trainer.stop_below must be null or an accuracy",
    ),
    "standing still for no time": ("+trainer.stop_when_still=0", "must be null or a number of evaluations"),
    "milestones out of range": ("trainer.milestones=[50]", "fractions of training"),
    "a rising learning rate below 0": (
        "trainer.lr_decay=-1",
        "trainer.lr_decay must be a factor of at least 0",
    ),
    "no truth": ("optimizer.decoupled=no", "optimizer.decoupled must be true or false, got 'no'"),
    "a beta is missing": ("optimizer.betas=[0.9]", "optimizer.betas must be a list of 2"),
    "a name that leads elsewhere": ("name=../../x", "name must be a word"),
    "a method that leads elsewhere": ("aggregator.name=../x", "aggregator.name must be a word"),
    "no seed": ("~seed", "the config lacks 'seed', which every run needs"),
    "a seed of the data": ("+dataset.seed=3", "dataset.seed always equals the run's own seed"),
    "a target that is no function": ("model._target_=math.pi", "must name a class or a function"),
    "seed no number": ("seed=x", "seed must be a whole number"),
    "negative seed": ("seed=-1", "seed must be a whole number"),
    "threads out of range": ("threads=0", "threads must be"),
    "no hidden layers": ("model.hidden_layers=0", "positive sizes"),
    "half of a domain-adversarial pair": (
        "aggregator=dann",
        "aggregator=dann and model=dann need each other",
    ),
    "target that does not exist": ("model._target_=lab.models.Missing", "cannot be imported"),
    "W&B mode": ("+logger.mode=cloud", "logger=none has no option 'mode', which belongs to wandb"),
    "run folder below a file": ("hydra.run.dir=/dev/null/run", "/dev/null/run"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_one_message(name: str, train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path) -> None:
    argument, expected = MISTAKES[name]
    done = train(*tiny, argument)
    assert done.returncode == 1
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("Error: ")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert not list(tmp_path.rglob("done"))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("aggregator=mean", "aggregator.agreement_threshold=0.5"),
            "aggregator=mean has no option 'agreement_threshold', which belongs to and_mask",
        ),
        (("aggregator=xor_mask", "aggregator.rescale=true"), "aggregator=xor_mask has no option 'rescale'"),
        (
            ("optimizer=sgd", "optimizer.betas=[0.9,0.9]"),
            "optimizer=sgd has no option 'betas', which belongs to adam",
        ),
        (
            ("aggregator=mean", "aggregator._target_=collections.Counter"),
            "of type Counter, but this run takes only TrainingMethod or Aggregator: choose another",
        ),
        (("logger=wandb", "logger.mode=cloud"), "logger.mode must be one of offline, online"),
    ],
)
def test_combinations(
    arguments: tuple[str, ...], expected: str, train: TrainCommand, tiny: tuple[str, ...]
) -> None:
    options = [option for option in tiny if not option.startswith(arguments[0].split("=")[0])]
    done = train(*options, *arguments)
    assert done.returncode == 1
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_an_experiment_without_the_line_of_its_package(
    train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    """Hydra then puts its keys elsewhere, without a word."""
    (tmp_path / "experiment").mkdir()
    text = "defaults:\n  - /trainer: environments\n  - /dataset: spirals\nname: nopkg\n"
    (tmp_path / "experiment" / "nopkg.yaml").write_text(text)
    options = [option for option in tiny if not option.startswith("experiment=")]
    done = train(*options, f"hydra.searchpath=[file://{tmp_path}]", "experiment=nopkg")
    assert done.returncode == 1
    assert "needs '# @package _global_' as its first line" in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_options_with_dashes(train: TrainCommand) -> None:
    for arguments in (("--experiment", "spirals"), ("--experiment=spirals",)):
        done = train(*arguments)
        assert done.returncode == 1
        assert done.stderr.startswith("Error: options have no dashes: write experiment=NAME"), done.stderr


def test_cuda_where_there_is_none(train_apart: TrainCommand, tiny: tuple[str, ...]) -> None:
    import os

    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    options = [option for option in tiny if not option.startswith("device")]
    done = train_apart(*options, "device=cuda", env=environment)
    assert done.returncode == 1
    assert "take device=auto or device=cpu" in done.stderr


def test_a_divergence_leaves_what_was_written(
    train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    """The learning rate explodes at the last milestone: the epochs before it stay readable."""
    done = train(
        *tiny, "trainer.milestones=[0.7]", "trainer.lr_decay=1e35", f"hydra.run.dir={tmp_path / 'x'}"
    )
    assert done.returncode == 1
    assert "training diverged" in done.stderr
    assert len((tmp_path / "x" / "metrics.jsonl").read_text().splitlines()) == 2
    assert (tmp_path / "x" / "checkpoint.pt").exists()
    assert not (tmp_path / "x" / "done").exists()
