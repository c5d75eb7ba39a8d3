"""Models that ``torch.compile`` has compiled: which code runs, how often it is made, and what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo.utils import counters

from ilc import AndMask, backward, verify
from ilc.aggregators import Aggregator, Iga, Mean
from ilc.errors import UserError
from ilc.gradients import PER_EXAMPLE, example_share, vectorized
from ilc.gradients import _compiled_models as compiled_models

RISK = nn.functional.cross_entropy
MASK = AndMask(agreement_threshold=0.6)
COMPILE = partial(torch.compile, backend="aot_eager")  # Traced and divided as always, without a C++ compiler.
STANCES = hasattr(torch.compiler, "set_stance")
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{warning}")  # All of torch itself.
    for warning in (
        "The .grad attribute of a Tensor",
        "Guards may run slower on Python",
        ":DeprecationWarning",
    )
]
needs_stances = pytest.mark.skipif(not STANCES, reason="this torch has no torch.compiler.set_stance")


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.inner = nn.LayerNorm(6), nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.tanh(self.inner(self.norm(x)))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.head = nn.Linear(5, 6), nn.Linear(6, 2)
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def whole(net: Net) -> nn.Module:
    return COMPILE(net)


def in_place(net: Net) -> nn.Module:
    net.compile(backend="aot_eager")
    return net


def blocks(net: Net) -> nn.Module:
    net.blocks[0].compile(backend="aot_eager")
    net.blocks[1] = COMPILE(net.blocks[1])
    return net


def forward_of_blocks(net: Net) -> nn.Module:
    for block in net.blocks:
        block.forward = COMPILE(block.forward)
    return net


@pytest.fixture(autouse=True)
def _nothing_compiled() -> Iterator[None]:
    torch._dynamo.reset()
    counters.clear()
    compiled_models._say_once.cache_clear()
    yield
    torch._dynamo.reset()


def batch(way: str) -> tuple[Tensor, Tensor]:
    """4 environments of 8 examples, or 32 of one."""
    x = torch.randn(4, 8, 5)
    y = (x[..., 0] > 0).long()
    return (x.reshape(32, 1, 5), y.reshape(32, 1)) if way in PER_EXAMPLE else (x, y)


def step(model: nn.Module, x: Tensor, y: Tensor, aggregator: Aggregator, way: str) -> list[Tensor]:
    backward(model, RISK, x, y, aggregator, way)
    found = [p.grad for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    return found


def graphs() -> int:
    assert not counters["graph_break"]
    return counters["stats"]["unique_graphs"]


@needs_stances
@pytest.mark.parametrize("compiled", [whole, in_place, blocks, forward_of_blocks])
@pytest.mark.parametrize(
    ("way", "aggregator"),
    [
        *((way, MASK) for way in ("vectorized", *PER_EXAMPLE)),
        ("sequential", Iga(1.0)),
        ("per_example", Mean()),
    ],
)
def test_these_run_the_model_as_it_was_written(
    compiled: Callable[[Net], nn.Module],
    way: str,
    aggregator: Aggregator,
    capsys: pytest.CaptureFixture[str],
) -> None:
    net, (x, y) = Net(), batch(way)
    expected = step(net, x, y, aggregator, way)
    capsys.readouterr()
    model = compiled(net)
    for _ in range(2):
        found = step(model, x, y, aggregator, way)
        assert all(map(torch.equal, found, expected)) and len(found) == len(expected) == 12
    assert graphs() == 0 and not counters["frames"]
    assert capsys.readouterr().out.count("runs the compiled model as it was written, because") == 1


@pytest.mark.parametrize(("compiled", "most_graphs"), [(whole, 1), (in_place, 1), (blocks, 2)])
@pytest.mark.parametrize(("way", "aggregator"), [("sequential", MASK), ("pooled", Mean())])
def test_these_use_the_compiled_code_which_is_made_once(
    compiled: Callable[[Net], nn.Module], most_graphs: int, way: str, aggregator: Aggregator
) -> None:
    net, (x, y) = Net(), batch(way)
    expected = step(net, x, y, aggregator, way)
    model = compiled(net)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for _ in range(3):
            found = step(model, x, y, aggregator, way)
    assert 1 <= graphs() <= most_graphs  # Blocks of one class may share their code.
    assert all(torch.allclose(one, other, atol=1e-6) for one, other in zip(found, expected, strict=True))


@needs_stances
@pytest.mark.parametrize("first", ["vectorized", "per_example"])
def test_the_compiled_code_is_still_used_after_a_step_without_it(first: str) -> None:
    model, (x, y) = whole(Net()), batch("sequential")
    step(model, *batch(first), MASK, first)
    step(model, x, y, MASK, "sequential")
    assert graphs() == 1
    step(model, *batch(first), MASK, first)
    with torch._dynamo.config.patch(error_on_recompile=True):
        step(model, x, y, MASK, "sequential")
    model(x[0])  # With the shape of one environment: a user's own pass does not compile again either.
    assert graphs() == 1


@needs_stances
@pytest.mark.parametrize("way", ["vectorized", "per_example", "sequential"])
def test_verify_compares_with_a_loop_over_the_compiled_model(way: str) -> None:
    verification = verify(blocks(Net()), RISK, *batch(way), MASK, way)
    assert verification.right, verification


def test_an_old_torch_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.compiler, "set_stance", raising=False)
    model = blocks(Net())
    remedy = r"torch \d.*set_stance.*new in 2\.6.*before torch\.compile.*sequential"
    for way in ("vectorized", "per_example"):
        with pytest.raises(UserError, match=remedy):
            backward(model, RISK, *batch(way), MASK, way)
    assert len(step(model, *batch("sequential"), MASK, "sequential")) == 12


@pytest.mark.parametrize(("way", "name"), [(example_share, "per_example_share"), (vectorized, "vectorized")])
def test_a_way_called_by_itself_refuses_compiled_code(way: Callable[..., object], name: str) -> None:
    with pytest.raises(
        UserError, match=r"compiled code shows no layers: call ilc\.backward.*before torch\.compile"
    ):
        way(whole(Net()), RISK, *batch(name))


def test_losses_of_a_compiled_model_are_functions() -> None:
    net, (x, y) = Net(), batch("sequential")
    expected = step(net, x, y, MASK, "sequential")
    model = whole(net)
    losses = [partial(lambda x, y: RISK(model(x), y), *one) for one in zip(x, y, strict=True)]
    backward(model, losses, aggregator=MASK)
    found = [p.grad for p in net.parameters()]
    assert all(torch.allclose(one, other, atol=1e-6) for one, other in zip(found, expected, strict=True))
    if not STANCES:  # Code compiled by an old torch keeps its graph.
        return
    with pytest.raises(UserError, match=r"comes from a compiled model.*give a function for every"):
        backward(model, [RISK(model(one), other) for one, other in zip(x, y, strict=True)], aggregator=MASK)


@needs_stances
def test_a_forward_that_is_kept_from_the_compiler_is_not_compiled() -> None:
    net = Net()
    net.blocks[0].forward = torch.compiler.disable(net.blocks[0].forward)
    assert not compiled_models.is_compiled(net)
    assert compiled_models.is_compiled(whole(net))
