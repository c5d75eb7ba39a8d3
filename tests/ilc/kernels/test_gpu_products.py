"""The GPU's kernel in Triton's interpreter on the CPU, against the products written out."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.gradients import example_local
from ilc.gradients._example_terms import patches
from ilc.kernels import _compiled as compiled
from ilc.kernels import _gpu_batch_norm, _gpu_products
from ilc.kernels._gpu_products import Correction, corrected_signs, sums_and_signs

ABSENT = "triton is not installed (pip install triton, on Linux)"
TYPES = (torch.float32, torch.float16, torch.bfloat16)


@pytest.fixture
def fresh() -> Iterator[None]:
    """Nothing is known yet of Triton, before and after."""
    known: Any = (_gpu_products._kernel, _gpu_products._fault, _gpu_products._say)
    for function in known:
        function.cache_clear()
    yield
    for function in known:
        function.cache_clear()


@pytest.fixture
def interpreted(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton", reason=ABSENT)
    monkeypatch.setenv("TRITON_INTERPRET", "1")


def whole(seed: int, *shape: int) -> Tensor:
    """Small whole numbers, of which every sum is exact in any order and in every type."""
    return torch.randint(-3, 4, shape, generator=torch.Generator().manual_seed(seed)).float()


def assert_exact(x: Tensor, delta: Tensor) -> None:
    total, signs = sums_and_signs(x, delta)
    terms = delta.double().mT @ x.double()
    assert total.dtype == signs.dtype == torch.float32
    assert torch.equal(total.double(), terms.sum(0))
    assert torch.equal(signs.double(), terms.sign().sum(0))


@given(
    st.integers(1, 7), st.integers(1, 70), st.integers(1, 140), st.integers(1, 140),
    st.sampled_from(TYPES), st.sampled_from(TYPES), st.booleans(),
)  # fmt: skip
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("interpreted")
def test_whole_numbers_are_exact(
    n: int, positions: int, n_in: int, n_out: int, x_type: Any, delta_type: Any, turned: bool
) -> None:
    x, delta = whole(1, n, positions, n_in), whole(2, n, positions, n_out)
    if turned:  # The values of a channel lie one behind the other, as those of a convolution do.
        x, delta = (values.mT.contiguous().mT for values in (x, delta))
    assert_exact(x.to(x_type), delta.to(delta_type))


@given(st.integers(1, 7), st.integers(1, 40), st.integers(1, 140), st.integers(1, 140))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("interpreted")
def test_corrected_signs_of_whole_numbers_are_exact(n: int, positions: int, n_in: int, n_out: int) -> None:
    x, delta = whole(1, n, positions, n_in), whole(2, n, positions, n_out)
    assert_corrected_signs_exact(x, delta)


def assert_corrected_signs_exact(x: Tensor, delta: Tensor) -> None:
    ones, normed = (whole(seed, len(x), delta.shape[2]).to(x.device) for seed in (3, 4))
    sum_ones = whole(5, x.shape[2]).to(x.device)
    sum_normed = whole(6, delta.shape[2], x.shape[2]).to(x.device)
    less = ones[:, :, None] * sum_ones + normed[:, :, None] * sum_normed
    expected = (delta.double().mT @ x.double() - less).sign().sum(0)
    signs = corrected_signs(x, delta, Correction(ones, normed, sum_ones, sum_normed))
    assert torch.equal(signs.double(), expected)


@pytest.mark.parametrize("programs", [1, 3, 8])
@pytest.mark.usefixtures("interpreted")
def test_programs_may_share_the_examples(programs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_gpu_products, "_PROGRAMS", programs)
    assert_exact(whole(1, 8, 5, 3), whole(2, 8, 5, 4))


@pytest.mark.filterwarnings("ignore:invalid value encountered in matmul:RuntimeWarning")  # numpy's
@pytest.mark.usefixtures("interpreted")
def test_what_is_not_a_number_has_no_vote_and_stays_visible() -> None:
    x, delta = torch.ones(3, 20, 5), torch.ones(3, 20, 70)
    delta[1, 7, 66], x[2, 3, 4] = torch.nan, torch.inf
    total, signs = sums_and_signs(x, delta)
    expected = torch.full((70, 5), 3.0)
    expected[66] = 2
    assert torch.equal(signs, expected)
    assert total[66].isnan().all() and total[:66, 4].isposinf().all()
    assert torch.equal(total[:66, :4], torch.full((66, 4), 60.0))


@pytest.mark.usefixtures("interpreted")
def test_a_product_too_small_for_half_precision_has_a_vote() -> None:
    x = torch.full((2, 3, 1), 2.0**-14, dtype=torch.float16)
    total, signs = sums_and_signs(x, -x)
    assert total.item() == -6 * 2.0**-28
    assert signs.item() == -2


class Network(nn.Module):
    """Convolutions that are no simple case, and a linear layer with several positions."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 6, (3, 2), (2, 1), (1, 2), dilation=(1, 2), padding_mode="reflect")
        self.second = nn.Conv2d(6, 8, 3, padding="same", groups=2)
        self.third = nn.Conv2d(8, 5, (2, 3), 2, bias=False)
        self.last = nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.third(self.second(self.first(x).relu()).relu())
        logits: Tensor = self.last(hidden.flatten(2).mT.relu()).mean(1)
        return logits


@pytest.mark.parametrize("numbers", [2**26, 2**9])  # In the second case one example after another.
@pytest.mark.usefixtures("interpreted")
def test_the_votes_of_a_network_are_those_of_pytorch(numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model, inputs, targets = Network(), torch.randn(6, 1, 3, 9, 10), torch.arange(6)[:, None] % 3
    monkeypatch.setattr(compiled, "installed", lambda: False)
    theirs = example_local(model, F.cross_entropy, inputs, targets).statistics
    shapes = []

    def counted(x: Tensor, delta: Tensor) -> tuple[Tensor, Tensor]:
        shapes.append((len(x), delta.shape[2]))
        return sums_and_signs(x, delta)

    monkeypatch.setattr(patches, "_NUMBERS_AT_ONCE", numbers)
    monkeypatch.setattr(_gpu_products, "usable", lambda x, delta: True)
    monkeypatch.setattr(_gpu_products, "sums_and_signs", counted)
    ours = example_local(model, F.cross_entropy, inputs, targets).statistics
    assert {rows for _, rows in shapes} == {6, 5, 3}  # The layer with groups goes without the kernel.
    assert min(n for n, _ in shapes) == (6 if numbers > 2**9 else 1)
    for name, statistics in theirs.items():
        torch.testing.assert_close(ours[name].total, statistics.total)
        clear = statistics.total.abs() > 1e-6
        assert torch.equal(ours[name].sign_sum[clear], statistics.sign_sum[clear])


@pytest.mark.parametrize(
    ("numbers", "dtype"), [(2**26, torch.float32), (2**9, torch.float32), (2**26, torch.float16)]
)
@pytest.mark.usefixtures("interpreted")
def test_votes_below_batch_norm_are_those_of_pytorch(
    numbers: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 6, (3, 2), (2, 1), (1, 2), dilation=(1, 2), padding_mode="reflect"),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.Conv2d(6, 5, 3, padding="same", bias=False),
        nn.BatchNorm2d(5),
        nn.Flatten(),
        nn.LazyLinear(3),
    )
    inputs, targets = torch.randn(6, 1, 3, 9, 10), torch.arange(6)[:, None] % 3
    model(inputs[:, 0])
    model, inputs = model.to(dtype), inputs.to(dtype)
    monkeypatch.setattr(compiled, "installed", lambda: False)
    theirs = example_local(model, F.cross_entropy, inputs, targets).statistics
    seen = []

    def counted(x: Tensor, delta: Tensor, correction: Correction) -> Tensor:
        seen.append(len(x))
        return corrected_signs(x, delta, correction)

    monkeypatch.setattr(patches, "_NUMBERS_AT_ONCE", numbers)
    monkeypatch.setattr(_gpu_products, "usable", lambda x, delta: True)
    monkeypatch.setattr(_gpu_batch_norm, "usable", lambda x, delta: False)
    monkeypatch.setattr(_gpu_products, "corrected_signs", counted)
    ours = example_local(model, F.cross_entropy, inputs, targets).statistics
    assert seen == [6, 6] if numbers > 2**9 else set(seen) == {1}
    for name, statistics in theirs.items():
        torch.testing.assert_close(ours[name].total, statistics.total)
        clear = statistics.total.abs() > 1e-6
        assert torch.equal(ours[name].sign_sum[clear], statistics.sign_sum[clear])


@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize(
    ("element", "instruction"),
    [("fp32", "fma.rn.f32"), ("bf16", "mma.sync.*f32.bf16.bf16.f32")],
)
@pytest.mark.usefixtures("fresh")
def test_it_compiles_for_a_gpu_without_rounding(
    element: str, instruction: str, corrected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interpreter takes more than the compiler does. The compiler needs no GPU."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    triton: Any = pytest.importorskip(
        "triton", reason="triton is not installed (pip install triton, on Linux)"
    )
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel = _gpu_products._kernel()
    constants = {
        "widened": False,
        "corrected": corrected,
        "side": _gpu_products._SIDE,
        "positions_at_once": 32,
        "delta_row": 1,
        "x_column": 1,
    }
    sums = ("totals", "signs", "ones", "normed", "sum_ones", "sum_normed")
    pointers = {"x": f"*{element}", "delta": f"*{element}", **dict.fromkeys(sums, "*fp32")}
    kinds = {name: "constexpr" if name in constants else "i32" for name in kernel.arg_names} | pointers
    made = triton.compile(ASTSource(kernel, kinds, constants), target=GPUTarget("cuda", 80, 32))
    assert re.search(instruction, made.asm["ptx"])
    assert "tf32" not in made.asm["ptx"]


class OnGpu(NamedTuple):
    """A tensor that says that it is on a GPU, as far as the choice looks at it."""

    dtype: torch.dtype
    is_cuda: bool = True
    device: torch.device = torch.device("cpu")


def chosen(*types: torch.dtype) -> bool:
    x, delta = (OnGpu(dtype) for dtype in types)
    return _gpu_products.usable(x, delta)  # type: ignore[arg-type]


@pytest.mark.usefixtures("interpreted")
def test_the_kernel_is_chosen_where_it_is_right(capsys: pytest.CaptureFixture[str]) -> None:
    assert all(chosen(a, b) for a in TYPES for b in TYPES)
    assert not chosen(torch.float64, torch.float64)
    said = capsys.readouterr().out
    assert said == "ilc: sums of products and of their signs on the GPU by a Triton kernel\n"


@pytest.mark.usefixtures("fresh")
def test_pytorch_is_chosen_without_triton(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    assert not chosen(torch.float32, torch.float32)
    assert "by PyTorch, because Triton fails here: ModuleNotFoundError" in capsys.readouterr().out


@pytest.mark.usefixtures("fresh")
def test_pytorch_is_chosen_where_the_kernel_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_gpu_products, "sums_and_signs", lambda x, delta: torch.ones(2, 3, 3))
    assert not chosen(torch.float32, torch.float32)
    assert "by PyTorch, because Triton's products are wrong here" in capsys.readouterr().out


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device can be used here")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.usefixtures("fresh")
def test_whole_numbers_are_exact_on_a_gpu(dtype: torch.dtype) -> None:
    for n, positions, n_in, n_out in ((1, 1, 1, 1), (5, 70, 65, 130), (600, 33, 64, 64), (3, 16, 700, 900)):
        x, delta = whole(1, n, positions, n_in), whole(2, n, positions, n_out)
        assert _gpu_products.usable(x.to("cuda", dtype), delta.to("cuda", dtype))
        assert_exact(x.to("cuda", dtype), delta.to("cuda", dtype))
        assert_corrected_signs_exact(x.to("cuda", dtype), delta.to("cuda", dtype))
