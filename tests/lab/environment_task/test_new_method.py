"""A method with an optimizer and a sampler of its own needs one class and one config, nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from torch import Tensor, nn, optim

from ilc.aggregators import Mean
from lab.data import Batches, EnvironmentBatches, Environments
from lab.environment_task import TrainingMethod
from lab.environment_task.batches import BatchOptions

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]


class TwicePerEpoch(EnvironmentBatches):
    """Every batch is seen twice."""

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for batch in super().__iter__():
            yield batch
            yield batch


class Stubborn(TrainingMethod):
    """A mean that always takes steps of RMSprop on batches seen twice."""

    def __init__(self, alpha: float) -> None:
        super().__init__(Mean())
        self.alpha = alpha

    def sampler(self, data: Environments, options: BatchOptions) -> Batches:
        return TwicePerEpoch(data, options.batch_size, options.generator, options.device)

    def optimizer(self, parameters: Iterable[nn.Parameter], configured: optim.Optimizer) -> optim.Optimizer:
        return optim.RMSprop(parameters, configured.defaults["lr"], self.alpha)


CONFIG = """\
_target_: stubborn_method.Stubborn
name: stubborn
alpha: 0.9
"""


def test_one_class_and_one_config(
    train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = tmp_path / "conf" / "aggregator"
    group.mkdir(parents=True)
    (group / "stubborn.yaml").write_text(CONFIG)
    monkeypatch.setitem(sys.modules, "stubborn_method", sys.modules[__name__])
    place = f"hydra.searchpath=[file://{tmp_path / 'conf'}]"
    done = train(
        *tiny, place, "aggregator=stubborn", "aggregator.alpha=0.8", f"hydra.run.dir={tmp_path / 'run'}"
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["step"] == 3 * 2 * 2  # Epochs, batches, twice.
    command = json.loads((tmp_path / "run" / "provenance.json").read_text())["command"]
    assert place in command.replace("'", "")
