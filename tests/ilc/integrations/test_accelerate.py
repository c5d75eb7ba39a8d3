"""A loop of accelerate with votes makes the updates of a plain loop."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from expected_training import assert_moved_alike, batches, flat, network, plain_training
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from ilc.aggregators import AndMask, Iga, Mean, SandMask
from ilc.errors import UserError
from ilc.integrations import EnvironmentVotes

accelerate = pytest.importorskip("accelerate", reason="needs the extra: pip install 'ilc[accelerate]'")
pytestmark = pytest.mark.slow  # Importing the packages takes longer than the tests.
MASK = AndMask(agreement_threshold=0.8)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Accelerators share a state in the process."""
    yield
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    accelerate.state.GradientState._reset_state()


def trained(accelerator: Any, gradients: str = "vectorized", clip: float | None = None) -> Any:
    loader = DataLoader(TensorDataset(*batches()), batch_size=None)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    votes = EnvironmentVotes(accelerator, MASK)
    for inputs, targets in loader:
        with accelerator.accumulate(model):
            risks = votes.backward(model, F.cross_entropy, inputs, targets, gradients)
            assert risks.shape == (4,) and 0.1 < float(risks.mean()) < 5  # Not times a scale.
            if accelerator.sync_gradients and clip is not None:
                accelerator.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    return votes, [p.detach() for p in model.parameters()]


@pytest.mark.parametrize("gradients", ["vectorized", "sequential"])
@pytest.mark.parametrize("together", [1, 2, 3])
def test_updates_are_those_of_a_plain_loop(together: int, gradients: str) -> None:
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=together)
    votes, ours = trained(accelerator, gradients, clip=0.3)
    assert_moved_alike(ours, plain_training(MASK, together, clip=0.3))
    assert votes.result.risks.shape == (4 * (4 % together or together),)  # The last may have fewer.
    assert 0 < votes.result.overall_kept_share < 1


@pytest.mark.parametrize("together", [1, 2])
def test_a_gradient_scaler_is_used_and_its_factor_is_taken_back(together: int) -> None:
    """accelerate makes one on a GPU only, so it is put there by hand."""
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=together)
    accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    _, ours = trained(accelerator)
    assert accelerator.scaler.get_scale() == 2.0**16
    assert_moved_alike(ours, plain_training(MASK, together))


@pytest.mark.parametrize("aggregator", [Iga(1.0), SandMask()])
def test_an_update_that_a_factor_would_change_is_refused(aggregator: Any) -> None:
    """The penalty of Iga would weigh 65,536 times as much as without the scaler."""
    accelerator = accelerate.Accelerator(cpu=True)
    accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    accelerator.prepare(torch.optim.SGD(network().parameters(), lr=0.5))
    refused(accelerator, lambda a: one_call(a, aggregator), "gives another update if all losses are multipl")


def test_the_mean_is_scaled_in_one_pass() -> None:
    accelerator = accelerate.Accelerator(cpu=True)
    model = accelerator.prepare(network())
    accelerator.prepare(torch.optim.SGD(model.parameters(), lr=0.5))
    (x, *_), (y, *_) = batches()
    found = []
    for scaler in (None, torch.amp.GradScaler("cpu", init_scale=2.0**16)):
        accelerator.scaler = scaler
        EnvironmentVotes(accelerator, Mean()).backward(model, F.cross_entropy, x, y)
        found.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
        model.zero_grad()
    assert torch.equal(found[0], found[1] / 2.0**16)


def test_losses_that_are_functions_are_scaled_too() -> None:
    accelerator = accelerate.Accelerator(cpu=True)
    accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    model = accelerator.prepare(network())
    accelerator.prepare(torch.optim.SGD(model.parameters(), lr=0.5))
    (x, *_), (y, *_) = batches()
    plain = [F.cross_entropy(model(a), b) for a, b in zip(x, y, strict=True)]
    expected = torch.autograd.grad(sum(plain), list(model.parameters()), retain_graph=True)
    for losses in (plain, [lambda a=a, b=b: F.cross_entropy(model(a), b) for a, b in zip(x, y, strict=True)]):
        model.zero_grad()
        risks = EnvironmentVotes(accelerator, Mean()).backward(model, losses)
        torch.testing.assert_close(risks, torch.stack(plain).detach())
        for p, total in zip(model.parameters(), expected, strict=True):
            torch.testing.assert_close(p.grad / 2.0**16, total / 4)


def test_autocast_of_accelerate_is_that_of_the_loop() -> None:
    """In bfloat16 the risks have its precision, and the weights end near those of the plain loop."""
    _, ours = trained(accelerate.Accelerator(cpu=True, mixed_precision="bf16"), "sequential")
    plain = plain_training(MASK)
    assert not torch.equal(ours[0], plain[0])
    moved = flat(plain) - flat(list(network().parameters()))
    assert (flat(ours) - flat(plain)).norm() < 0.2 * moved.norm()


def refused(accelerator: Any, use: Any, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        use(accelerator)
    assert "\n" not in str(error.value)


def one_call(accelerator: Any, aggregator: Any = MASK) -> None:
    (x, *_), (y, *_) = batches()
    model = accelerator.prepare(network())
    EnvironmentVotes(accelerator, aggregator).backward(model, F.cross_entropy, x, y)


@pytest.mark.parametrize("kind", ["DEEPSPEED", "FSDP", "MEGATRON_LM"])
def test_what_keeps_gradients_of_its_own_is_refused(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    accelerator = accelerate.Accelerator(cpu=True)
    monkeypatch.setattr(accelerator.state, "distributed_type", accelerate.DistributedType(kind))
    refused(
        accelerator, lambda a: EnvironmentVotes(a, MASK), f"accelerate runs {kind}, which keeps gradients"
    )


def test_wrong_uses_are_one_line() -> None:
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
    nothing: Any = "x"
    refused(accelerator, lambda a: EnvironmentVotes(nothing, MASK), "must be an accelerate.Accelerator, got")
    refused(accelerator, lambda a: EnvironmentVotes(a, AndMask), "must be an instance, got the class AndMask")

    def together(a: Any) -> None:
        with a.accumulate():
            one_call(a, Iga(1.0))

    refused(accelerator, together, "Iga needs the graphs or gradients of all environments at once")
    accelerator.has_lomo_optimizer = True
    refused(accelerator, lambda a: EnvironmentVotes(a, MASK), "a LOMO optimizer makes its steps inside")


def test_an_optimizer_that_is_not_prepared_is_refused_where_losses_are_scaled() -> None:
    accelerator = accelerate.Accelerator(cpu=True)
    one_call(accelerator)
    accelerator.scaler = torch.amp.GradScaler("cpu")
    refused(accelerator, one_call, r"call optimizer = accelerator.prepare\(optimizer\)")


def test_aggregators_of_all_environments_work_without_accumulation() -> None:
    accelerator = accelerate.Accelerator(cpu=True)
    model = accelerator.prepare(network())
    (x, *_), (y, *_) = batches()
    votes = EnvironmentVotes(accelerator, Iga(1.0))
    votes.backward(model, F.cross_entropy, x, y)
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())


PROCESS = """
import sys
sys.path[:0] = {folders!r}
import torch
from accelerate import Accelerator
from expected_training import batches, network, plain_training, assert_moved_alike
from ilc import AndMask
from ilc.errors import UserError
from ilc.integrations import EnvironmentVotes
from torch.nn import functional as F

accelerator = Accelerator(cpu=True)
model = network()
model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9))
schedule = torch.optim.lr_scheduler.StepLR(optimizer.optimizer, 1, 0.9)
votes = EnvironmentVotes(accelerator, AndMask(0.8))
own = slice(0, 1) if accelerator.process_index == 0 else slice(1, 4)
for x, y in zip(*batches()):
    assert votes.backward(model, F.cross_entropy, x[own], y[own]).shape == (4,)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
assert accelerator.num_processes == 2 and type(model).__name__ == "DistributedDataParallel"
assert_moved_alike([p.detach() for p in model.parameters()], plain_training(AndMask(0.8)))
accelerator.gradient_accumulation_steps = 2
try:
    votes.backward(model, F.cross_entropy, x[own], y[own])
except UserError as error:
    assert "2 processes and gradient_accumulation_steps=2" in str(error)
else:
    raise AssertionError("accumulation in several processes was accepted")
"""


def test_two_processes_make_the_updates_of_one(tmp_path: Path) -> None:
    script = tmp_path / "training.py"
    script.write_text(PROCESS.format(folders=sys.path))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    done = subprocess.run([*torchrun, str(script)], check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_module_of_torch_is_all_that_is_trained() -> None:
    """A second model in the same accelerator does not get gradients."""
    accelerator = accelerate.Accelerator(cpu=True)
    other: nn.Module = accelerator.prepare(network())
    one_call(accelerator)
    assert all(p.grad is None for p in other.parameters())
