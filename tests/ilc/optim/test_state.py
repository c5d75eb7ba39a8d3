"""What optimizers remember: in which type, in copies, and what is refused where it enters."""

from __future__ import annotations

import copy
import io
import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ilc.errors import UserError
from ilc.optim import CautiousAdam, Regularizer, TemporalMaskAdam

HALVES = (torch.float16, torch.bfloat16)
KINDS: list[Any] = [TemporalMaskAdam, CautiousAdam]


def parameters(*dtypes: torch.dtype) -> list[nn.Parameter]:
    return [nn.Parameter(torch.ones(3, dtype=dtype)) for dtype in dtypes]


def steps(optimizer: Any, params: list[nn.Parameter], n: int, seed: int = 0) -> None:
    random = torch.Generator().manual_seed(seed)
    for _ in range(n):
        for p in params:
            p.grad = (torch.randn(p.shape, generator=random) + 0.5).to(p.dtype)
        optimizer.step()


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 4)])
@pytest.mark.parametrize("b3", [0.9, 0.99, 0.999])
@pytest.mark.parametrize("pytorch_form", [False, True])
def test_a_steady_gradient_opens_the_mask(
    dtype: torch.dtype, shape: tuple[int, ...], b3: float, pytorch_form: bool
) -> None:
    """Of an average that is itself in bfloat16 nothing above 0.8 is ever reached."""
    p = nn.Parameter(torch.zeros(shape, dtype=dtype))
    optimizer = TemporalMaskAdam(
        [p], 0.01, betas=(0.9, 0.999, b3), agreement_threshold=0.9, pytorch_form=pytorch_form
    )
    needed = math.ceil(math.log(0.1) / math.log(b3))
    for step in range(needed + 2):
        p.grad = torch.ones_like(p)
        optimizer.step()
        if step < needed - 2:
            assert not p.any()
    assert bool((p != 0).all()) and float(optimizer.kept_share) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", HALVES)
def test_steps_in_half_precision_are_those_of_single_precision_rounded(kind: Any, dtype: torch.dtype) -> None:
    half, single = parameters(dtype), parameters(torch.float32)
    optimizers = kind(half, lr=0.05), kind(single, lr=0.05)
    random = torch.Generator().manual_seed(1)
    for _ in range(30):
        half[0].grad = (torch.randn(3, generator=random) + 0.5).to(dtype)
        single[0].grad = half[0].grad.float()
        single[0].data.copy_(half[0].data)
        for optimizer in optimizers:
            optimizer.step()
        assert torch.equal(half[0].data, single[0].data.to(dtype))
    for name, value in optimizers[0].state[half[0]].items():
        assert value.dtype == torch.float32
        assert torch.equal(value, optimizers[1].state[single[0]][name])


def test_a_group_of_several_types_has_a_threshold_for_each() -> None:
    """At 0.4 after steps of equal signs with b3 = 0.6 the average is at the threshold, in each type."""
    for dtypes in (
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.bfloat16),
        (torch.float64, torch.float16),
    ):
        together, alone = parameters(*dtypes), parameters(*dtypes)
        options: dict[str, Any] = {"lr": 0.1, "betas": (0.5, 0.9, 0.7), "agreement_threshold": 0.51}
        one = TemporalMaskAdam(together, **options)
        each = [TemporalMaskAdam([p], **options) for p in alone]
        for _ in range(3):
            for p in (*together, *alone):
                p.grad = torch.tensor([1.0, -1.0, 0.0]).to(p.dtype)
            for optimizer in (one, *each):
                optimizer.step()
            assert all(torch.equal(p, q) for p, q in zip(together, alone, strict=True))
            assert float(one.kept_share) == sum(float(o.kept_share) for o in each) / 2


def by_pickle(optimizer: Any) -> Any:
    return pickle.loads(pickle.dumps(optimizer))


def by_file(optimizer: Any) -> Any:
    file = io.BytesIO()
    torch.save(optimizer, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def by_state(optimizer: Any) -> Any:
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    params = [nn.Parameter(p.detach().clone()) for group in optimizer.param_groups for p in group["params"]]
    other = type(optimizer)(params)
    other.load_state_dict(torch.load(file, weights_only=True))
    return other


@pytest.mark.parametrize("copied", [copy.deepcopy, by_pickle, by_file, by_state])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtypes", [(torch.float32,), (torch.bfloat16,), (torch.float16, torch.float64)])
@pytest.mark.parametrize("before", [0, 1, 6])
def test_a_copy_can_do_what_the_original_can(
    copied: Callable[[Any], Any], kind: Any, dtypes: tuple[torch.dtype, ...], before: int
) -> None:
    params = parameters(*dtypes)
    optimizer = kind(params, lr=0.1)
    steps(optimizer, params, before)
    other = copied(optimizer)
    theirs = [p for group in other.param_groups for p in group["params"]]
    for n in range(5):
        for p, q in zip(params, theirs, strict=True):
            assert torch.equal(p, q)
            for name, value in optimizer.state[p].items():
                assert torch.equal(value, other.state[q][name]) and value.dtype == other.state[q][name].dtype
        if kind is TemporalMaskAdam:
            assert float(optimizer.kept_share) == float(other.kept_share)
        steps(optimizer, params, 1, seed=n)
        steps(other, theirs, 1, seed=n)


def test_a_copy_goes_its_own_way() -> None:
    params = parameters(torch.float32)
    optimizer = TemporalMaskAdam(params, lr=0.1)
    steps(optimizer, params, 3)
    other = TemporalMaskAdam(params, lr=0.1)
    other.load_state_dict(optimizer.state_dict())
    before = {name: value.clone() for name, value in optimizer.state[params[0]].items()}
    steps(other, params, 3)
    assert all(torch.equal(value, before[name]) for name, value in optimizer.state[params[0]].items())


def of_torch(kind: Any, **options: Any) -> dict[str, Any]:
    params = parameters(torch.float32)
    other = kind(params, **options)
    steps(other, params, 1)
    state: dict[str, Any] = other.state_dict()
    return state


STRANGE: dict[str, Callable[[], Any]] = {
    "Adam": lambda: of_torch(torch.optim.Adam, amsgrad=True),
    "SGD": lambda: of_torch(torch.optim.SGD, momentum=0.9),
    "plain SGD": lambda: of_torch(torch.optim.SGD),
    "RMSprop": lambda: of_torch(torch.optim.RMSprop),
    "nothing": dict,
    "a tensor": lambda: torch.ones(3),
    "more parameters": lambda: TemporalMaskAdam(parameters(torch.float32, torch.float32)).state_dict(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", STRANGE)
def test_a_state_of_another_optimizer_is_refused_and_changes_nothing(kind: Any, which: str) -> None:
    params = parameters(torch.float32)
    optimizer = kind(params, lr=0.1)
    steps(optimizer, params, 2)
    before = copy.deepcopy(optimizer.state_dict())
    with pytest.raises(UserError, match=r"the state|state_dict"):
        optimizer.load_state_dict(STRANGE[which]())
    after = optimizer.state_dict()
    assert after["param_groups"] == before["param_groups"]
    assert all(torch.equal(v, before["state"][0][k]) for k, v in after["state"][0].items())


def test_a_state_of_another_shape_is_refused() -> None:
    params, other = parameters(torch.float32), [nn.Parameter(torch.ones(4))]
    for kind in KINDS:
        optimizer = kind(other)
        steps(optimizer, other, 1)
        with pytest.raises(UserError, match="another shape"):
            kind(params).load_state_dict(optimizer.state_dict())


BAD = [
    ("lr", math.nan), ("lr", -1), ("lr", None), ("lr", "1"), ("lr", math.inf),
    ("eps", math.nan), ("eps", -1.0),
    ("betas", None), ("betas", 0.9), ("betas", (0.9,)), ("betas", (math.nan, 0.9, 0.9)),
    ("betas", (0.9, 1.0, 0.9)), ("betas", (0.9, "0.9", 0.9)), ("betas", (0.9, 0.9, 0.9, 0.9)),
]  # fmt: skip
OF_THE_MASK = [("agreement_threshold", bad) for bad in (7, math.nan, None, -0.1)] + [
    ("weight_decay", math.nan)
]


@pytest.mark.parametrize(
    ("kind", "name", "bad"),
    [(kind, *bad) for kind in KINDS for bad in BAD] + [(TemporalMaskAdam, *bad) for bad in OF_THE_MASK],
)
def test_a_bad_option_is_refused_wherever_it_enters(kind: Any, name: str, bad: Any) -> None:
    with pytest.raises(UserError, match=name):
        kind(parameters(torch.float32), **{name: bad})
    with pytest.raises(UserError, match=name):
        kind([{"params": parameters(torch.float32), name: bad}])
    params = parameters(torch.float32)
    optimizer = kind(params)
    steps(optimizer, params, 1)
    with pytest.raises(UserError, match=name):
        optimizer.add_param_group({"params": parameters(torch.float32), name: bad})
    state = copy.deepcopy(optimizer.state_dict())
    state["param_groups"][0][name] = bad
    with pytest.raises(UserError, match=name):
        optimizer.load_state_dict(state)
    steps(optimizer, params, 1)
    before = params[0].detach().clone()
    optimizer.param_groups[0][name] = bad  # As a schedule does.
    with pytest.raises(UserError, match=name):
        steps(optimizer, params, 1)
    assert torch.equal(before, params[0])


def test_options_that_cautious_adam_does_not_have() -> None:
    for option in ({"weight_decay": 0.1}, {"amsgrad": True}, {"maximize": True}):
        with pytest.raises(UserError, match=next(iter(option))):
            CautiousAdam([{"params": parameters(torch.float32), **option}])


def test_numbers_of_other_kinds_and_schedules_are_welcome() -> None:
    numpy = pytest.importorskip("numpy")
    for kind in KINDS:
        params = parameters(torch.float32)
        optimizer = kind(params, lr=numpy.float32(0.1), eps=numpy.float64(1e-8))
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: numpy.float32(0.5))
        steps(optimizer, params, 2)
        schedule.step()
        steps(optimizer, params, 2)


def sparse(p: nn.Parameter) -> Tensor:
    return torch.sparse_coo_tensor(torch.tensor([[0]]), torch.ones(1), p.shape, check_invariants=True)


@pytest.mark.filterwarnings(
    "ignore:Sparse invariant checks:UserWarning"
)  # Torch 2.11 says so whoever asks for them.
@pytest.mark.parametrize("kind", KINDS)
def test_sparse_gradients_and_complex_parameters_are_refused_by_name(kind: Any) -> None:
    params = parameters(torch.float32)
    params[0].grad = sparse(params[0])
    with pytest.raises(UserError, match="dense"):
        kind(params).step()
    with pytest.raises(UserError, match="complex64"):
        kind([nn.Parameter(torch.ones(2, dtype=torch.complex64))])
    optimizer = kind(params)
    with pytest.raises(UserError, match="complex64"):
        optimizer.add_param_group({"params": [nn.Parameter(torch.ones(2, dtype=torch.complex64))]})
    assert len(optimizer.param_groups) == 1


def test_what_a_regularizer_refuses() -> None:
    params = parameters(torch.float32)
    for bad in (math.nan, None, "1", -1.0):
        with pytest.raises(UserError, match=r"optimizer\.weight_decay and optimizer\.l1"):
            Regularizer(params, weight_decay=bad)  # type: ignore[arg-type]
        regularizer = Regularizer(params, weight_decay=0.1, decoupled=True)
        with pytest.raises(UserError, match="lr must be"):
            regularizer.after_step(bad)  # type: ignore[arg-type]
        with pytest.raises(UserError, match="scale must be"):
            regularizer.before_step(bad)  # type: ignore[arg-type]
    assert torch.equal(params[0], torch.ones(3))
    params[0].grad = sparse(params[0])
    with pytest.raises(UserError, match="dense"):
        Regularizer(params, l1=0.1).before_step()
    with pytest.raises(UserError, match="complex64"):
        Regularizer([nn.Parameter(torch.ones(2, dtype=torch.complex64))])


@pytest.mark.parametrize("name", ["decoupled", "pytorch_form"])
def test_a_word_is_no_truth_value(name: str) -> None:
    options: dict[str, Any] = {name: "no"}
    with pytest.raises(UserError, match=f"{name} must be True or False, got 'no'"):
        TemporalMaskAdam([nn.Parameter(torch.zeros(2))], 0.01, agreement_threshold=0.4, **options)
