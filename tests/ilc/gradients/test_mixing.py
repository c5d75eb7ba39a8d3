"""Examples that mix by anything but BatchNorm: the votes are the exact ones, or the way is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask
from ilc.errors import UserError
from ilc.gradients import environment_gradients

D, C = 5, 3


class GhostNorm(nn.BatchNorm1d):
    """BatchNorm over half of the batch at a time."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([super(GhostNorm, self).forward(part) for part in x.chunk(2)])


def centred(h: Tensor, strength: float = 1.0) -> Tensor:
    return h - strength * h.mean(0)


def over_the_batch(h: Tensor) -> Tensor:
    return (h @ h.T).softmax(-1) @ h


def mixed_statistics(h: Tensor) -> Tensor:
    """MixStyle: the statistics of another example, here with their gradients."""
    mean, spread = h.mean(1, keepdim=True), h.std(1, keepdim=True)
    return (h - mean) / spread * spread.roll(1, 0) + mean.roll(1, 0)


def contrasted(h: Tensor) -> Tensor:
    """Similarity to all others as a feature."""
    z = F.normalize(h, dim=1)
    return torch.cat([h, (z @ z.T).logsumexp(1, keepdim=True)], 1)


MIXES: dict[str, Callable[[Tensor], Tensor]] = {
    "centring": centred,
    "weak centring": lambda h: centred(h, 0.01),
    "attention over the batch": over_the_batch,
    "the statistics of others": mixed_statistics,
    "contrast": contrasted,
    "the neighbour": lambda h: h + 0.5 * h.roll(1, 0),
    "the first": lambda h: h * h[0].sigmoid(),
}


class Mixing(nn.Module):
    def __init__(self, mix: Callable[[Tensor], Tensor], norm: bool = False, late: bool = False) -> None:
        super().__init__()
        self.first, self.middle = nn.Linear(D, 6), nn.Linear(6, 6)
        self.norm = nn.BatchNorm1d(6) if norm else nn.Identity()
        self.last, self.mix, self.late = nn.Linear(len(mix(torch.zeros(2, 6))[0]), C), mix, late

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.norm(self.first(x)).tanh()
        if self.late:
            hidden = self.middle(hidden).tanh()
        hidden = self.mix(hidden)
        result: Tensor = self.last(hidden if self.late or hidden.shape[1] != 6 else self.middle(hidden))
        return result


def batch(n: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(2)
    return torch.randn(n, 1, D, generator=random).double(), torch.randint(0, C, (n, 1), generator=random)


def make(kind: str, norm: bool, late: bool = False) -> nn.Module:
    torch.manual_seed(1)
    return Mixing(MIXES[kind], norm, late).double()


@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize("way", ["per_example", "per_example_share"])
@pytest.mark.parametrize(("norm", "late"), [(False, False), (True, True)])
@pytest.mark.parametrize("kind", MIXES)
def test_is_refused_by_the_name_of_the_exact_way(kind: str, norm: bool, late: bool, way: str, n: int) -> None:
    with pytest.raises(
        UserError, match=r"something other than BatchNorm mixes the examples.*|used|was not called"
    ) as error:
        environment_gradients(make(kind, norm, late), F.cross_entropy, *batch(n), AndMask(0.5), way)
    assert "gradients='per_example_loss'" in str(error.value)


@pytest.mark.parametrize("way", ["per_example", "per_example_share"])
def test_a_norm_over_parts_of_the_batch_is_refused(way: str) -> None:
    model = nn.Sequential(nn.Linear(D, 6), GhostNorm(6, affine=False), nn.Linear(6, C)).double()
    with pytest.raises(UserError, match="per_example_loss"):
        environment_gradients(model, F.cross_entropy, *batch(8), AndMask(0.5), way)
    # The remedy works, although two examples are too few for this norm.
    environment_gradients(model, F.cross_entropy, *batch(8), AndMask(0.5), "per_example_loss")


@pytest.mark.parametrize("norm", [nn.BatchNorm1d, lambda d: nn.BatchNorm1d(d, track_running_stats=False)])
@pytest.mark.parametrize("way", ["per_example", "per_example_share"])
@pytest.mark.parametrize("n", [2, 5])
def test_batch_norm_itself_is_not(norm: Callable[[int], nn.Module], way: str, n: int) -> None:
    model = nn.Sequential(nn.Linear(D, 6), norm(6), nn.Tanh(), nn.Linear(6, C)).double()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    environment_gradients(model.eval(), F.cross_entropy, *batch(n), AndMask(0.5), way)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    environment_gradients(model.train(), F.cross_entropy, *batch(n), AndMask(0.5), way)


@pytest.mark.parametrize("kind", MIXES)
def test_environments_keep_to_themselves(kind: str, same_as_loop: Callable[..., None]) -> None:
    random = torch.Generator().manual_seed(2)
    inputs = torch.randn(3, 4, D, generator=random).double()
    targets = torch.randint(0, C, (3, 4), generator=random)
    for way in ("vectorized", "sequential"):
        same_as_loop(make(kind, norm=False), F.cross_entropy, inputs, targets, way)


@pytest.mark.parametrize("way", ["per_example", "per_example_share"])
@pytest.mark.parametrize("kind", MIXES)
def test_a_last_layer_that_starts_from_zero_hides_nothing(kind: str, way: str) -> None:
    model = make(kind, norm=False)
    with torch.no_grad():
        model.last.weight.zero_()  # type: ignore[operator, union-attr]
    with pytest.raises(UserError, match="per_example_loss"):
        environment_gradients(model, F.cross_entropy, *batch(5), AndMask(0.5), way)
    assert not model.last.weight.any()  # type: ignore[operator, union-attr]


class RarelyActive(nn.Module):
    """A slope that few examples use, below a mean over the batch: votes of a few examples agree by chance."""

    def __init__(self, strength: float) -> None:
        super().__init__()
        self.slope, self.last = nn.PReLU(), nn.Linear(3, C)
        if strength:
            self.slope.register_forward_hook(lambda layer, arguments, output: centred(output, strength))

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.slope(x)
        result: Tensor = self.last(hidden * (hidden >= hidden.topk(1, -1).values))
        return result


@pytest.mark.parametrize("way", ["per_example", "per_example_share"])
def test_mixing_below_which_few_examples_show_anything_is_refused(way: str) -> None:
    inputs = torch.randn(9, 1, 3, generator=torch.Generator().manual_seed(100)).double().abs()
    inputs[7] *= -1  # Only this example's gradient reaches the slope.
    targets = torch.randint(0, C, (9, 1), generator=torch.Generator().manual_seed(3))
    torch.manual_seed(3)
    environment_gradients(RarelyActive(0).double(), F.cross_entropy, inputs, targets, AndMask(0.5), way)
    with pytest.raises(UserError, match=r"the output of slope for other examples.*per_example_loss"):
        environment_gradients(RarelyActive(1).double(), F.cross_entropy, inputs, targets, AndMask(0.5), way)


class TimeFirst(nn.Module):
    """The first axis of the linear layer is time, which may be as long as the batch of a trial."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(2, 4), nn.Linear(4, C)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.last(self.first(x.transpose(0, 1)).tanh().mean(0))
        return result


@pytest.mark.parametrize("time", [2, 3, 5])
def test_time_on_the_first_axis_does_not_mix(time: int) -> None:
    inputs = torch.randn(5, 1, time, 2, generator=torch.Generator().manual_seed(1)).double()
    targets = torch.tensor([[0], [1], [2], [0], [1]])
    torch.manual_seed(1)
    model = TimeFirst().double()
    found = environment_gradients(model, F.cross_entropy, inputs, targets, AndMask(0.5), "per_example")
    loop = environment_gradients(model, F.cross_entropy, inputs, targets, AndMask(0.5), "sequential")
    for name, statistics in found.statistics.items():
        assert torch.equal(statistics.sign_sum, loop.statistics[name].sign_sum), name


@pytest.mark.parametrize("way", ["per_example", "per_example_share"])
def test_two_opposite_examples_do_not_hide_a_mean_over_the_batch(way: str) -> None:
    """Two centred examples have opposite values, so that their mean after tanh is zero; three have not."""

    torch.manual_seed(0)
    head = nn.Linear(2, 2, bias=False).double()

    def replaced(h: Tensor) -> Tensor:
        return F.linear(h - h.mean(0), head.weight)

    head.forward = replaced  # type: ignore[method-assign]

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = head

        def forward(self, x: Tensor) -> Tensor:
            result: Tensor = self.head((x - x.mean(0)).tanh())
            return result

    model = Model()
    x, y = torch.randn(10, 1, 2, dtype=torch.float64), torch.randint(0, 2, (10, 1))
    found = environment_gradients(model, F.cross_entropy, x, y, AndMask(0.5), way)
    F.cross_entropy(model(x.flatten(0, 1)), y.flatten(), reduction="sum").backward()  # type: ignore[no-untyped-call]
    assert torch.allclose(found.statistics["head.weight"].total, head.weight.grad)  # type: ignore[arg-type]


@pytest.mark.parametrize("way", ["per_example", "per_example_share"])
def test_a_second_use_of_a_weight_is_seen_however_small_its_effect(way: str) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(D, 6), nn.Linear(6, C)

        def forward(self, x: Tensor) -> Tensor:
            result: Tensor = self.last((self.first(x) + 0.02 * F.linear(x, self.first.weight)).tanh())
            return result

    torch.manual_seed(0)
    model = Model()
    x, y = torch.randn(8, 1, D), torch.randint(0, C, (8, 1))
    found = environment_gradients(model, F.cross_entropy, x, y, AndMask(0.5), way)
    F.cross_entropy(model(x.flatten(0, 1)), y.flatten(), reduction="sum").backward()  # type: ignore[no-untyped-call]
    for name, p in model.named_parameters():
        assert torch.allclose(found.statistics[name].total, p.grad, rtol=1e-3, atol=1e-5), name  # type: ignore[arg-type]


class Sorting(nn.Module):
    """Sorts its examples, as models do before ``pack_padded_sequence``, and puts them back."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(D, 6), nn.Linear(6, C)

    def forward(self, x: Tensor) -> Tensor:
        order = x[:, 0].argsort(descending=True, stable=True)
        hidden = self.last(self.first(x[order]).tanh())
        result: Tensor = hidden[order.argsort()]
        return result


@pytest.mark.parametrize("first", ["sorted", "equal"])
def test_rows_that_are_moved_in_a_later_batch_stay_in_their_environment(
    first: str, same_as_loop: Callable[..., None]
) -> None:
    torch.manual_seed(0)
    model, (inputs, targets) = Sorting().double(), (torch.randn(4, 5, D), torch.randint(0, C, (4, 5)))
    inputs = inputs.double()
    in_order = inputs.clone()
    in_order[..., 0] = torch.arange(20, 0, -1).view(4, 5) if first == "sorted" else 1
    for batch in (in_order, inputs):
        same_as_loop(model, F.cross_entropy, batch, targets, "vectorized")


class Switched(nn.Module):
    """A global variable, which no trial sees, makes it centre its examples, or use a weight again."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(D, 6), nn.Linear(6, C)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x).tanh()
        if SWITCH["now"] == "centred":
            hidden = hidden - hidden.mean(0)
        if SWITCH["now"] == "used again":
            hidden = hidden + F.linear(x, self.first.weight)
        result: Tensor = self.last(hidden)
        return result


SWITCH = {"now": ""}


@pytest.mark.parametrize("later", ["centred", "used again"])
def test_what_a_global_variable_switches_on(
    later: str, same_as_loop: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    model, (inputs, targets) = Switched().double(), (torch.randn(4, 5, D), torch.randint(0, C, (4, 5)))
    inputs = inputs.double()
    same_as_loop(model, F.cross_entropy, inputs, targets, "vectorized")
    monkeypatch.setitem(SWITCH, "now", later)
    same_as_loop(model, F.cross_entropy, inputs, targets, "vectorized")
    examples, labels = inputs.flatten(0, 1)[:, None], targets.flatten()[:, None]
    for way in ("per_example", "per_example_share"):
        for now in ("", later, "", later):
            monkeypatch.setitem(SWITCH, "now", now)
            if now == "centred":
                with pytest.raises(UserError, match="gradients='per_example_loss'"):
                    environment_gradients(model, F.cross_entropy, examples, labels, AndMask(0.5), way)
            else:
                same_as_loop(model, F.cross_entropy, examples, labels, way)


def beyond_a_limit(h: Tensor) -> Tensor:
    """Centring of what exceeds two. No example reaches it in the first batch."""
    return h - F.relu(h.mean(0).abs() - 2)


def beyond_a_limit_without_gradient(h: Tensor) -> Tensor:
    return h - F.relu(h.detach().mean(0).abs() - 2)


def with_clipped_gradients(h: Tensor) -> Tensor:
    """Gradients of a larger norm than one are shortened. In the first batch none is."""
    if h.requires_grad:
        h.register_hook(lambda gradient: gradient / gradient.norm().clamp(min=1))
    return h


def in_large_batches(h: Tensor) -> Tensor:
    return centred(h) if len(h) >= 8 else h


def later_batches(kind: str, examples: bool) -> tuple[list[Tensor], list[Tensor]]:
    """A batch in which the mixing does nothing, and one in which it does something."""
    random = torch.Generator().manual_seed(2)
    inputs = torch.randn(4, 4, D, generator=random).double()
    targets = torch.randn(4, 4, C, generator=random).double()
    large = torch.tensor([9.0, -9, 6, 3]).view(4, 1, 1).double()
    both = [inputs, inputs + large], [targets / 100, targets + large]
    return [[one.reshape(16, 1, -1) if examples else one for one in several] for several in both]


LATER = {
    "a limit": beyond_a_limit,
    "a limit without gradient": beyond_a_limit_without_gradient,
    "a hook": with_clipped_gradients,
    "large batches": in_large_batches,
}


@pytest.mark.parametrize("kind", LATER)
def test_mixing_that_begins_in_a_later_batch_stays_in_the_environment(
    kind: str, same_as_loop: Callable[..., None]
) -> None:
    torch.manual_seed(1)
    model = Mixing(LATER[kind]).double()
    for x, y in zip(*later_batches(kind, examples=False), strict=True):
        for way in ("vectorized", "sequential"):
            same_as_loop(model, F.mse_loss, x, y, way)


@pytest.mark.parametrize("way", ["per_example", "per_example_share"])
@pytest.mark.parametrize("kind", [kind for kind in LATER if kind != "a limit without gradient"])
def test_mixing_of_examples_that_begins_later_is_refused(kind: str, way: str) -> None:
    torch.manual_seed(1)
    (x, _), (y, _) = later_batches(kind, examples=True)
    with pytest.raises(UserError, match="gradients='per_example_loss'"):
        environment_gradients(Mixing(LATER[kind]).double(), F.mse_loss, x, y, AndMask(0.5), way)


def test_a_size_of_batch_beyond_those_tried_is_compared_by_its_operations(
    same_as_loop: Callable[..., None],
) -> None:
    torch.manual_seed(1)
    model = Mixing(lambda h: centred(h) if len(h) > 100 else h).double()
    random = torch.Generator().manual_seed(2)
    for n in (*range(2, 12), 40):
        x = torch.randn(3, n, D, generator=random).double()
        same_as_loop(model, F.mse_loss, x, torch.randn(3, n, C, generator=random).double(), "vectorized")


class Experts(nn.Module):
    """Each example goes to one of two experts: rows are chosen, and no example meets another."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.experts = nn.Linear(D, 6), nn.ModuleList([nn.Linear(6, C), nn.Linear(6, C)])

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x).tanh()
        result = x.new_zeros(len(x), C)
        for number, expert in enumerate(self.experts):
            mine = (x[:, 0] > 0).long() == number
            result[mine] = expert(hidden[mine])
        return result


@pytest.mark.parametrize("way", ["per_example", "per_example_share"])
def test_rows_that_are_chosen_do_not_meet(way: str, same_as_loop: Callable[..., None]) -> None:
    torch.manual_seed(0)
    model, (inputs, targets) = Experts().double(), batch(12)
    same_as_loop(model, F.cross_entropy, inputs, targets, way)


class Clips(nn.Module):
    """Four frames after one another are a clip."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(D, 6), nn.Linear(6, C)

    def forward(self, x: Tensor) -> Tensor:
        frames = self.first(x).view(-1, 4, 6)
        frames = frames - frames.mean(1, keepdim=True)
        result: Tensor = self.last(frames.reshape(-1, 6).tanh())
        return result


class Categories(nn.Module):
    """A column of the table is a category."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.last = nn.Embedding(4, 6), nn.Linear(6 + D, C)

    def forward(self, x: Tensor) -> Tensor:
        words = self.words(x[:, 0].abs().long().clamp(max=3))
        result: Tensor = self.last(torch.cat([words, x], 1).tanh())
        return result


@pytest.mark.parametrize("make_model", [Clips, Categories])
def test_models_that_need_certain_inputs_are_still_right(
    make_model: Callable[[], nn.Module], same_as_loop: Callable[..., None]
) -> None:
    torch.manual_seed(0)
    inputs, targets = torch.randn(4, 8, D).double(), torch.randn(4, 8, C).double()
    same_as_loop(make_model().double(), F.mse_loss, inputs, targets, "vectorized")


class WithNorm(nn.Module):
    """It also returns a number that describes the batch, which no risk reads."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(D, 6), nn.Linear(6, C)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        hidden = self.first(x).tanh()
        return {"logits": self.last(hidden), "norm": hidden.norm()}


@pytest.mark.parametrize("way", ["per_example", "per_example_share"])
def test_a_number_of_the_batch_that_no_risk_reads_is_no_harm(way: str) -> None:
    inputs, targets = batch(9)

    def loss(outputs: dict[str, Tensor], labels: Tensor) -> Tensor:
        return F.cross_entropy(outputs["logits"], labels)

    environment_gradients(WithNorm().double(), loss, inputs, targets, AndMask(0.5), way)
