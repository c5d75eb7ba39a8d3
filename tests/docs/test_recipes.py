"""The recipes run as they are printed, and the table of thresholds is what AndMask does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc import backward
from ilc.aggregators import AndMask
from lab.machine.torchvision_import import import_torchvision

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"
SECTION = re.compile(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", re.M | re.S)
RECIPES = {
    title: re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    for title, text in SECTION.findall(PAGE.read_text())
}
NEEDED = {
    "Lightning": "lightning",
    "Hugging Face's Trainer": "transformers",
    "Accelerate": "accelerate",
    "TorchJD": "torchjd",
}
"""Recipe -> the package that it shows, which an extra of the same name brings."""


@pytest.fixture(autouse=True)
def same_threads_afterwards() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def test_the_page_has_what_newcomers_asked_for() -> None:
    blocks = {title for title, found in RECIPES.items() if len(found) == 1}
    assert RECIPES.keys() - blocks == {"Which thresholds differ"}
    asked = {
        *("Autocast and GradScaler", "Clipping", "Accumulation", "torch.compile"),
        *("Padding", "Graphs", "DomainBed"),
    }
    assert blocks >= asked | NEEDED.keys() | {"Threads for tiny models"}


# Lightning's own; and the compiler's, which loads torch.jit.
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("title", [title for title, found in RECIPES.items() if found])
def test_the_recipe_runs_as_printed(title: str) -> None:
    (block,) = RECIPES[title]
    assert "assert " in block and len(block.splitlines()) <= 60
    if title in NEEDED:
        # Before the package, which imports it where it is installed.
        import_torchvision()
        package = NEEDED[title]
        pytest.importorskip(package, reason=f"needs the extra {package}: pip install 'ilc[{package}]'")
    torch.manual_seed(0)
    exec(compile(block, title, "exec"), {"__name__": "recipe"})


@pytest.mark.parametrize("title", ["Lightning", "Hugging Face's Trainer", "Accelerate"])
def test_three_lines_are_new(title: str) -> None:
    (block,) = RECIPES[title]
    assert re.findall(r"# (\d)(?:,|$)", block, re.M) == ["1", "2", "3"]


class Perceptron(nn.Module):
    """With a forward of its own: whether torch compiles a forward is remembered by its code."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 2))

    def forward(self, x: Tensor) -> Tensor:
        values: Tensor = self.layers(x)
        return values


COUNTS = {"compiled": 0, "run": 0}
"""A global, because what a forward pass changes in the model or its backend would be a state."""


TRIED = 3
"""On the first batch one environment, another one and the first again pass, to look for hidden state."""


def counting(graph: Any, examples: Any) -> Any:
    """A backend of torch.compile that runs the graph as it is."""
    COUNTS["compiled"] += 1

    def run(*values: Any) -> Any:
        COUNTS["run"] += 1
        return graph.forward(*values)

    return run


def test_a_compiled_model_is_compiled_once_and_runs_for_each_environment() -> None:
    torch.manual_seed(0)
    fast = torch.compile(Perceptron(), backend=counting)
    for step in range(1, 4):
        x = torch.randn(4, 6, 5)
        y = (x[..., 0] > 0).long()
        fast.zero_grad()
        backward(fast, F.cross_entropy, x, y, AndMask(0.6), "sequential")
        assert {"compiled": 1, "run": TRIED + 4 * step} == COUNTS
    backward(fast, F.cross_entropy, x, y, AndMask(0.6), "vectorized")
    assert COUNTS == {"compiled": 1, "run": TRIED + 12}


def cell(n: int, dissenting: int) -> str:
    """The thresholds that keep a component from which so many of n environments dissent, and no more."""
    least, most = (Fraction(n - 2 * d, n) for d in (dissenting + 1, dissenting))
    if most <= 0:
        return ""
    text = {
        value: f"{float(value):.3f}".rstrip("0").lstrip("0").rstrip(".") or "0" for value in (least, most)
    }
    if dissenting == 0:
        return f"above {text[least]}"
    return f"up to {text[most]}" if least < 0 else f"above {text[least]} to {text[most]}"


def rows() -> list[list[str]]:
    (table,) = re.findall(r"test_recipes.py -->\n(.*?)<!-- end -->", PAGE.read_text(), re.S)
    return [[part.strip() for part in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_the_table_of_thresholds_is_whole() -> None:
    found = rows()
    assert [row[0] for row in found] == ["2", "3", "4", "5", "6", "8", "10", "16", "32"]
    assert found == [[row[0], *(cell(int(row[0]), d) for d in range(5))] for row in found]


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"E={row[0]}")
def test_the_mask_keeps_what_the_table_says(row: list[str]) -> None:
    """Column d of the gradients has d environments that dissent, at sizes that do not cancel."""
    n = int(row[0])
    signs = torch.ones(n, n // 2 + 1)
    for dissenting in range(n // 2 + 1):
        signs[:dissenting, dissenting] = -1
    gradients = signs * torch.arange(1, n + 1).unsqueeze(1).double() ** 2
    for threshold in (0.001 + k / 500 for k in range(500)):
        kept = (AndMask(threshold)(gradients) != 0).tolist()
        allowed = sum(kept) - 1
        assert kept == [d <= allowed for d in range(n // 2 + 1)]
        assert allowed == int((1 - Fraction(threshold)) * n / 2)  # The rule above the table.
        if allowed < 5:
            bounds = [float(word) for word in row[1 + allowed].split() if word[-1].isdigit()]
            upwards = row[1 + allowed].startswith("above")
            assert not upwards or threshold > bounds[0] - 6e-4
            assert len(bounds) == upwards or threshold <= bounds[-1] + 6e-4


def test_a_zero_costs_half_of_what_dissent_costs() -> None:
    zeros, dissent = torch.ones(8, 1), torch.ones(8, 1)
    zeros[:2], dissent[:1] = 0, -0.5
    for threshold in (0.7, 0.75, 0.76, 0.9):
        assert bool(AndMask(threshold)(zeros)) == bool(AndMask(threshold)(dissent)) == (threshold <= 0.75)


@pytest.mark.parametrize("n", [2, 3, 5, 7, 10, 30])
def test_domainbeds_mask_is_ours_where_a_threshold_is_met_exactly(n: int) -> None:
    """Theirs divides in single precision, ours compares whole numbers."""
    signs = torch.ones(n, n // 2 + 1)
    for dissenting in range(n // 2 + 1):
        signs[:dissenting, dissenting] = -1
    gradients = signs * torch.arange(1, n + 1).unsqueeze(1).float() ** 2
    for threshold in (*(s / n for s in range(1, n + 1)), *(k / 20 for k in range(1, 20)), 0.1 + 0.2, 1 - 0.2):
        theirs = torch.sign(gradients).mean(0).abs() >= threshold
        assert torch.equal(AndMask(threshold, rescale=True)(gradients) != 0, theirs)
