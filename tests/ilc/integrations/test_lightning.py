"""A Lightning training with votes makes the updates of a plain loop."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from expected_training import assert_moved_alike, batches, flat, network, plain_training
from torch import Tensor
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from ilc import backward
from ilc.aggregators import AndMask, Iga, Mean
from ilc.errors import UserError
from ilc.gradients._trials import choose_way
from ilc.integrations import EnvironmentModule
from ilc.objectives import Objective

pytestmark = [
    pytest.mark.slow,  # Importing Lightning takes longer than the tests.
    # Lightning's own: a deprecated call of torch, a hint on workers and the processes that may be started.
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning"),
]
MASK = AndMask(agreement_threshold=0.8)


@pytest.fixture(scope="module")
def lightning() -> Any:
    return pytest.importorskip("lightning.pytorch", reason="needs the extra: pip install 'ilc[lightning]'")


def module(lightning: Any, step: Callable[..., Any] | None = None, **attributes: Any) -> Any:
    class Net(EnvironmentModule, lightning.LightningModule):  # type: ignore[misc]
        aggregator = MASK

        def __init__(self) -> None:
            super().__init__()
            self.net = network()

        def forward(self, x: Tensor) -> Tensor:
            return self.net(x)

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            if step is not None:
                return step(self, *batch)
            risk = self.vote(F.cross_entropy, *batch)
            self.log("risk", risk)
            return risk

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.SGD(self.parameters(), lr=0.5, momentum=0.9)
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)
            return [optimizer], [{"scheduler": schedule, "interval": "step"}]

    net = Net()
    for name, value in attributes.items():
        setattr(net, name, value)
    return net


def fit(lightning: Any, net: Any, steps: int = 4, **options: Any) -> list[Tensor]:
    quiet = {"logger": False, "enable_checkpointing": False, "enable_model_summary": False}
    quiet |= {"enable_progress_bar": False, "accelerator": "cpu", "devices": 1, "max_epochs": 1}
    loader = DataLoader(TensorDataset(*batches(steps)), batch_size=None)
    lightning.Trainer(**quiet | options).fit(net, loader)
    return [p.detach() for p in net.net.parameters()]


@pytest.mark.parametrize("together", [1, 2, 3])
def test_updates_are_those_of_a_plain_loop(lightning: Any, together: int) -> None:
    net = module(lightning)
    ours = fit(lightning, net, accumulate_grad_batches=together, gradient_clip_val=0.3)
    assert_moved_alike(ours, plain_training(MASK, together, clip=0.3))
    assert net.result.risks.shape == (4 * (4 % together or together),)  # The last may have fewer.
    assert net.trainer.global_step == -(-4 // together)
    assert 0 < net.result.overall_kept_share < 1
    assert net.trainer.callback_metrics["risk"] > 0.1


def test_optimisation_by_hand_needs_backward_alone(lightning: Any) -> None:
    def step(net: Any, x: Tensor, y: Tensor) -> None:
        backward(net, F.cross_entropy, x, y, MASK)
        net.clip_gradients(net.optimizers(), gradient_clip_val=0.3, gradient_clip_algorithm="norm")
        net.optimizers().step()
        net.lr_schedulers().step()

    ours = fit(lightning, module(lightning, step, automatic_optimization=False))
    assert_moved_alike(ours, plain_training(MASK, clip=0.3))


def test_optimisation_by_hand_scales_the_loss_itself(lightning: Any) -> None:
    """As docs/recipes.md says."""
    from lightning.pytorch.plugins import MixedPrecision

    def step(net: Any, x: Tensor, y: Tensor) -> None:
        def scaled(outputs: Tensor, targets: Tensor) -> Objective:
            risk = F.cross_entropy(outputs, targets)
            return Objective(net.trainer.precision_plugin.scaler.scale(risk), risk, torch.zeros_like(risk))

        backward(net, scaled, x, y, MASK, gradients="sequential")
        net.optimizers().step()
        net.lr_schedulers().step()

    plugin = MixedPrecision("16-mixed", "cpu", torch.amp.GradScaler("cpu", init_scale=2.0**12))
    ours = fit(lightning, module(lightning, step, automatic_optimization=False), plugins=[plugin])
    plain = plain_training(MASK)
    moved = flat(plain) - flat(list(network().parameters()))
    assert (flat(ours) - flat(plain)).norm() < 0.2 * moved.norm()


def test_the_last_update_of_an_epoch_may_have_fewer_batches(lightning: Any) -> None:
    """As in Lightning without votes: five batches are three updates of two, two and one."""
    net = module(lightning)
    fit(lightning, net, steps=7, accumulate_grad_batches=2, limit_train_batches=5)
    assert net.trainer.global_step == 3 and net.result.risks.shape == (4,)
    fit(lightning, net, steps=7, accumulate_grad_batches=2, max_steps=2)
    assert net.trainer.global_step == 2 and net.result.risks.shape == (8,)


@pytest.mark.parametrize("together", [1, 2])
def test_a_gradient_scaler_is_used_and_its_factor_is_taken_back(lightning: Any, together: int) -> None:
    from lightning.pytorch.plugins import MixedPrecision

    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)
    plugin = MixedPrecision("16-mixed", "cpu", scaler)
    net = module(lightning)
    ours = fit(lightning, net, plugins=[plugin], accumulate_grad_batches=together, gradient_clip_val=0.3)
    plain = plain_training(MASK, together, clip=0.3)
    moved = flat(plain) - flat(list(network().parameters()))
    assert (flat(ours) - flat(plain)).norm() < 0.2 * moved.norm()
    assert scaler.get_scale() == 2.0**12 and net.result.risks.max() < 5  # Not times the factor.


def test_a_way_is_chosen_once(lightning: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Lightning changes in the module between steps does not look like a change of the model."""
    seen = []
    tried = choose_way._tried
    monkeypatch.setattr(choose_way, "_tried", lambda *args: seen.append(1) or tried(*args))
    fit(lightning, module(lightning), max_epochs=2)
    assert seen == [1]


def test_a_module_that_is_gone_leaves_nothing_behind(lightning: Any) -> None:
    net = module(lightning)
    fit(lightning, net, steps=1)
    gone = weakref.ref(net)
    del net
    gc.collect()
    assert gone() is None


def test_aggregators_of_all_environments_work_without_accumulation(lightning: Any) -> None:
    ours = fit(lightning, module(lightning, aggregator=Iga(1.0)))
    assert (flat(ours) - flat(list(network().parameters()))).norm() > 0.1


def test_the_aggregator_may_change_between_updates(lightning: Any) -> None:
    def step(net: Any, x: Tensor, y: Tensor) -> Tensor:
        if net.trainer.global_step == 1:
            net.aggregator = Mean()
        return net.vote(F.cross_entropy, x, y)

    net = module(lightning, step)
    fit(lightning, net, steps=1)
    assert net.result.overall_kept_share < 1
    net = module(lightning, step)
    fit(lightning, net, steps=2)
    assert net.result.overall_kept_share == 1


@pytest.mark.parametrize("together", [1, 3])
def test_environments_of_an_interrupted_training_do_not_vote_in_the_next(
    lightning: Any, together: int
) -> None:
    interrupted = []

    def step(net: Any, x: Tensor, y: Tensor) -> Tensor:
        risk: Tensor = net.vote(F.cross_entropy, x, y)
        if not interrupted:
            interrupted.append(True)
            raise InterruptedError
        return risk

    net = module(lightning, step)
    with pytest.raises(InterruptedError):
        fit(lightning, net, accumulate_grad_batches=together)
    ours = fit(lightning, net, accumulate_grad_batches=together)
    expected = fit(lightning, module(lightning), accumulate_grad_batches=together)
    assert torch.equal(flat(ours), flat(expected))


def test_environments_of_an_interrupted_training_are_given_up_if_the_optimizer_stays(lightning: Any) -> None:
    """``configure_optimizers`` may return an optimizer that the module has from the start."""
    interrupted = []

    def step(net: Any, x: Tensor, y: Tensor) -> Tensor:
        if net.trainer.fit_loop.total_batch_idx == 1 and not interrupted:
            interrupted.append(True)
            raise InterruptedError
        risk: Tensor = net.vote(F.cross_entropy, x, y)
        return risk

    net = module(lightning, step)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    net.configure_optimizers = lambda: optimizer
    with pytest.raises(InterruptedError):
        fit(lightning, net, accumulate_grad_batches=3)
    fit(lightning, net, accumulate_grad_batches=3, max_steps=1)
    assert net.result.risks.shape == (12,)


def changed_within(net: Any, x: Tensor, y: Tensor) -> Tensor:
    risk = net.vote(F.cross_entropy, x, y)
    net.aggregator = Mean()
    return risk


def loss_of_its_own(net: Any, x: Tensor, y: Tensor) -> Tensor:
    return F.cross_entropy(net(x.flatten(0, 1)), y.flatten())


def voted_twice(net: Any, x: Tensor, y: Tensor) -> Tensor:
    return net.vote(F.cross_entropy, x, y) + net.vote(F.cross_entropy, x, y)


def voted_for_nothing(net: Any, x: Tensor, y: Tensor) -> None:
    net.vote(F.cross_entropy, x, y)


def half_of_the_vote(net: Any, x: Tensor, y: Tensor) -> Tensor:
    risk: Tensor = net.vote(F.cross_entropy, x, y)
    return 0.5 * risk


def half_of_the_vote_in_place(net: Any, x: Tensor, y: Tensor) -> Tensor:
    risk: Tensor = net.vote(F.cross_entropy, x, y)
    risk *= 0.5
    return risk


def voted(net: Any, x: Tensor, y: Tensor) -> Tensor:
    return net.vote(F.cross_entropy, x, y)


@pytest.mark.parametrize(
    ("step", "attributes", "options", "message"),
    [
        (loss_of_its_own, {}, {}, "must return self.vote"),
        (voted_twice, {}, {}, "there were two batches for one training step"),
        (voted_twice, {}, {"accumulate_grad_batches": 3}, "there were two batches for one training step"),
        (
            voted_for_nothing,
            {},
            {"accumulate_grad_batches": 3},
            "training_step returned None after self.vote",
        ),
        (half_of_the_vote, {}, {}, "returned another number than self.vote"),
        (half_of_the_vote, {}, {"accumulate_grad_batches": 2}, "returned another number than self.vote"),
        (half_of_the_vote_in_place, {}, {}, "returned another number than self.vote"),
        (changed_within, {}, {"accumulate_grad_batches": 2}, "the aggregator has changed since the first"),
        (voted, {"aggregator": None}, {}, "Net has no aggregator: set aggregator ="),
        (voted, {"aggregator": AndMask}, {}, "must be an instance, got the class AndMask"),
        (
            voted,
            {"aggregator": Iga(1.0)},
            {"accumulate_grad_batches": 2},
            "Iga needs the graphs or gradients",
        ),
        (voted, {"automatic_optimization": False}, {}, "self.vote is for automatic optimisation"),
        (lambda net, x, y: net.vote(F.cross_entropy, x[0], y[0]), {}, {}, "must share their first two axes"),
    ],
)
def test_wrong_uses_are_one_line(
    lightning: Any, step: Any, attributes: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message) as error:
        fit(lightning, module(lightning, step, **attributes), **options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("gradients", ["vectorized", "per_example"])
def test_averaged_weights_get_statistics_of_their_own(lightning: Any, gradients: str) -> None:
    """Stochastic weight averaging ends with an epoch without backward passes, which renews BatchNorm's."""
    from lightning.pytorch.callbacks import StochasticWeightAveraging

    def step(net: Any, x: Tensor, y: Tensor) -> Tensor:
        if gradients == "per_example":
            x, y = x.flatten(0, 1).unsqueeze(1), y.flatten().unsqueeze(1)
        momenta.append(net.net[1].momentum)
        hidden.append(net.net[0](x).detach().flatten(0, 1))
        risk: Tensor = net.vote(F.cross_entropy, x, y, gradients)
        return risk

    momenta: list[float | None] = []
    hidden: list[Tensor] = []
    net = module(lightning, step)
    net.net = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 3))
    fit(lightning, net, max_epochs=2, callbacks=[StochasticWeightAveraging(swa_lrs=0.1, swa_epoch_start=1)])
    assert momenta == [0.1] * 8 + [None] * 4
    assert torch.allclose(net.net[1].running_mean, torch.cat(hidden[8:]).mean(0), atol=1e-6)
    assert net.net[1].num_batches_tracked == 4


def test_the_class_stands_first(lightning: Any) -> None:
    class Net(lightning.LightningModule, EnvironmentModule):  # type: ignore[misc]
        aggregator = MASK

    with pytest.raises(UserError, match=r"from LightningModule, .* class Net\(EnvironmentModule, "):
        Net().vote(F.cross_entropy, *batches(1))


@pytest.mark.parametrize("name", ["DDPStrategy", "FSDPStrategy", "DeepSpeedStrategy"])
def test_other_strategies_are_refused_by_name(lightning: Any, name: str) -> None:
    from lightning.pytorch.strategies import SingleDeviceStrategy

    strategy = type(name, (SingleDeviceStrategy,), {})("cpu")
    with pytest.raises(UserError, match=f"{name} averages or shards gradients before"):
        fit(lightning, module(lightning), strategy=strategy, accelerator="auto")
