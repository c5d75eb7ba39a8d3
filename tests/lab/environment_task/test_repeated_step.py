"""Steps that a GPU repeats: when they are recorded, and that nothing in them waits for a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn, optim
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ilc.aggregators import AgreementRandom, AndMask, Mean
from ilc.distributed import ONE_PROCESS
from ilc.gradients import PER_EXAMPLE, backward
from ilc.kernels import _compiled
from ilc.objectives import RISKS
from lab.environment_task import repeated_step
from lab.environment_task.method import TrainingMethod
from lab.environment_task.methods.irm_penalty import IrmPenalty
from lab.environment_task.optimizer import load_optimizer
from lab.environment_task.repeated_step import RepeatedStep, StepNumbers, can_be_repeated
from lab.models import FastResNet

WAITING = ("_local_scalar_dense", "nonzero", "equal.", "is_nonzero", "masked_select", "index.Tensor")
"""Operations whose result a program on a CPU has to wait for."""


class Written(TorchDispatchMode):
    """Writes down the operations, their numbers, and where tensors from outside of the step lie."""

    def __init__(self, batch: Sequence[Tensor]) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._batch = {tensor.data_ptr(): f"batch {i}" for i, tensor in enumerate(batch)}
        self._made: dict[int, str] = {}
        self._kept: list[Any] = []  # Memory that is freed would be used again for something else.

    def __torch_dispatch__(
        self, operation: Any, types: Sequence[Any], args: Any = (), kwargs: Any = None
    ) -> Any:
        result = operation(*args, **(kwargs or {}))
        self.lines.append(f"{operation} {[self._shown(each) for each in tree_leaves((args, kwargs))]}")
        for i, made in enumerate(each for each in tree_leaves(result) if isinstance(each, Tensor)):
            self._kept.append(made)
            self._made.setdefault(_storage(made), f"made by {len(self.lines)}, {i}")
        return result

    def _shown(self, value: Any) -> str:
        if not isinstance(value, Tensor):
            return str(value)
        outside = self._batch.get(value.data_ptr(), f"outside, at {value.data_ptr()}")
        return f"{self._made.get(_storage(value), outside)}, {tuple(value.shape)}"


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def written_steps(n: int, norm: str, gradients: str, threshold: float) -> list[list[str]]:
    """The operations of each of ``n`` steps, a line for each operation."""
    model = FastResNet(1, 10, 2, norm)
    optimizer, aggregator = optim.Adam(model.parameters()), AndMask(threshold, rescale=True)
    steps = []
    for _ in range(n):
        batch = torch.randn(4, 1, 1, 8, 8), torch.randint(10, (4, 1))
        with Written(batch) as written:
            backward(model, RISKS["cross_entropy"], *batch, aggregator, gradients)
        optimizer.step()
        steps.append(written.lines)
    return steps


@pytest.mark.parametrize("threshold", [0.0, 0.2])
@pytest.mark.parametrize("gradients", PER_EXAMPLE)
@pytest.mark.parametrize("norm", ["batch", "group"])
def test_a_step_waits_for_no_number(
    norm: str, gradients: str, threshold: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_compiled, "installed", lambda: False)  # As on a GPU, which has no numba kernels.
    written = written_steps(repeated_step.STEPS_BEFORE + 1, norm, gradients, threshold)[-1]
    operations = [line.partition(" ")[0] for line in written]
    assert len(operations) > 50
    assert not [name for name in operations if any(word in name for word in WAITING)]


@pytest.mark.parametrize("threshold", [0.0, 0.2])
@pytest.mark.parametrize("gradients", PER_EXAMPLE)
@pytest.mark.parametrize("norm", ["batch", "group"])
def test_every_step_does_the_same_with_the_same_memory(
    norm: str, gradients: str, threshold: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a recorded step would go on with what it saw when it was recorded."""
    monkeypatch.setattr(_compiled, "installed", lambda: False)
    steps = written_steps(repeated_step.STEPS_BEFORE + 2, norm, gradients, threshold)
    assert len(steps[-1]) > 100
    assert steps[-1] == steps[-2]


class Recording:
    """Stands for a recording; it takes every step by a call."""

    made: ClassVar[list[float]] = []

    def __init__(self, step: Any, inputs: Tensor, targets: Tensor, lr: float) -> None:
        self.inputs, self.lr = inputs.clone(), lr
        self.made.append(lr)

    def replay(self, inputs: Tensor, targets: Tensor) -> str:
        return "replayed"


def test_a_step_is_recorded_anew_for_another_learning_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_step, "_Recording", Recording)
    monkeypatch.setattr(Recording, "made", [])
    optimizer = optim.Adam([nn.Parameter(torch.zeros(1))], lr=0.1)
    step: Any = RepeatedStep(lambda inputs, targets: "called", optimizer)  # type: ignore[arg-type, return-value]
    assert optimizer.param_groups[0]["capturable"]

    def take(n: int, size: int = 5) -> list[str]:
        return [step(torch.zeros(size), torch.zeros(size)) for _ in range(n)]

    assert take(5) == ["called"] * 3 + ["replayed"] * 2
    optimizer.param_groups[0]["lr"] = 0.01
    assert take(2) == ["replayed"] * 2
    assert take(2, size=3) == ["called"] * 2
    assert take(1) == ["replayed"]
    assert Recording.made == [0.1, 0.01]


def test_only_equal_steps_on_a_gpu_are_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    model, other = FastResNet(1, 10, 2), nn.Linear(2, 2)
    adam = optim.Adam(model.parameters())

    def asked(model: nn.Module = model, method: Any = None, optimizer: Any = adam) -> bool:
        return can_be_repeated(model, method or TrainingMethod(AndMask(0.2)), optimizer, ONE_PROCESS)

    assert not asked()
    monkeypatch.setattr(repeated_step, "_is_on_gpu", lambda model: True)
    assert asked() and asked(method=TrainingMethod(Mean()))
    assert not asked(other)
    assert not asked(method=TrainingMethod(AgreementRandom()))
    assert not asked(method=IrmPenalty(1.0))
    assert not asked(optimizer=optim.SGD(model.parameters(), lr=0.1))


@pytest.mark.parametrize("saved_on_gpu", [False, True])
@pytest.mark.parametrize("repeated", [False, True])
def test_an_optimizer_continues_on_another_device(repeated: bool, saved_on_gpu: bool) -> None:
    def adam(capturable: bool) -> optim.Adam:
        p = nn.Parameter(torch.ones(2))
        p.grad = torch.ones(2)
        return optim.Adam([p], capturable=capturable)

    before, after = adam(False), adam(repeated)
    before.step()
    before.param_groups[0]["capturable"] = saved_on_gpu
    load_optimizer(after, before.state_dict())
    assert after.param_groups[0]["capturable"] == repeated
    assert next(iter(after.state.values()))["step"] == 1
    if not repeated:  # On a CPU an optimizer that counts on a GPU refuses to step.
        after.step()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device can be used here")
@pytest.mark.parametrize("gradients", PER_EXAMPLE)
def test_repeated_steps_are_bit_for_bit_those_from_python(gradients: str) -> None:
    def trained(repeated: bool) -> list[Tensor]:
        torch.manual_seed(0)
        model = FastResNet(3, 10, 4).cuda()
        optimizer = optim.Adam(model.parameters(), capturable=True)

        def step(inputs: Tensor, targets: Tensor) -> StepNumbers:
            aggregator = AndMask(0.2, rescale=True)
            found = backward(model, RISKS["cross_entropy"], inputs, targets, aggregator, gradients)
            optimizer.step()
            return StepNumbers(found.risks, found.penalties, found.overall_kept_share, {})

        take = RepeatedStep(step, optimizer) if repeated else step
        random = torch.Generator().manual_seed(1)
        for _ in range(8):
            x, y = torch.randn(8, 1, 3, 16, 16, generator=random), torch.randint(10, (8, 1), generator=random)
            take(x.cuda(), y.cuda())
        return list(model.state_dict().values())

    assert all(torch.equal(a, b) for a, b in zip(trained(True), trained(False), strict=True))
