"""A case as the source of a small program: a model, a loss, batches and changes between steps."""

from __future__ import annotations

import textwrap
from random import Random

from differential.case import Case, Chosen, Step
from differential.changes import CHANGES, FEATURES
from differential.losses import LOSSES
from differential.pieces import PIECES, Written
from differential.shape import SPACE, Shape
from differential.tables import Entry, filled

HEADER = """\
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

import ilc
from ilc.objectives import Objective

"""

HELPERS = {
    "some_parameter": """\
def some_parameter(model, number):
    found = [p for p in model.parameters() if p.requires_grad]
    return found[number % len(found)]
""",
    "some_layer": """\
def some_layer(model, number):
    found = [m for m in model.modules() if not list(m.children())]
    return found[number % len(found)]
""",
    "Reversed": """\
class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, delta):
        return -delta
""",
    "Centred": """\
class Centred(nn.Linear):
    def forward(self, x):
        return super().forward(x - x.mean(0))
""",
    "Normed": """\
class Normed(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.in_features, self.out_features = a, b
        self.linear, self.norm = nn.Linear(a, b), nn.LayerNorm(b)

    def forward(self, x):
        return self.norm(self.linear(x))
""",
}


def source(case: Case) -> str:
    """Code that defines ``make``, ``make_loss``, ``CHANGES`` and ``BATCHES``."""
    model = _model(case)
    loss = textwrap.indent(LOSSES[case.loss].lines.rstrip(), "    ")
    changes = [_function(f"change_{i}", step, CHANGES) for i, step in enumerate(case.steps)]
    batches = [_batch(case, i, step) for i, step in enumerate(case.steps)]
    numbers = range(len(case.steps))
    parts = [
        f"DTYPE, K = torch.{case.dtype}, {case.k}\n",
        model,
        "def make():\n    torch.manual_seed(3)\n"
        f"    model = Model().to_dtype().train({case.mode != 'eval'})\n"
        + _lines(case.features, FEATURES)
        + "    return model\n",
        f"def make_loss(model):\n{loss}\n",
        *changes,
        *batches,
        f"CHANGES = [{', '.join(f'change_{i}' for i in numbers)}]",
        f"BATCHES = [{', '.join(f'batch_{i}' for i in numbers)}]",
        f"WAY, AGGREGATOR = {case.way!r}, ilc.{_AGGREGATORS[case.aggregator]}",
        f"AUTOCAST = {case.mode == 'autocast'}",
        "",
    ]
    text = "\n\n".join(parts)
    helpers = [code for name, code in HELPERS.items() if f"{name}(" in text or f"{name}." in text]
    return HEADER + "\n\n".join([*helpers, text])


_AGGREGATORS = {"AndMask": "AndMask(0.5)", "Mean": "Mean()", "GeometricMean": "GeometricMean(0.5)"}


def fitting(case: Case) -> tuple[Chosen, ...]:
    """The pieces that the model has."""
    return tuple(chosen for chosen, _ in _pieces(case)[0])


def _pieces(case: Case) -> tuple[list[tuple[Chosen, Written]], Shape]:
    first = case.steps[0]
    e, n = len(first.n), first.n[0]
    shape = Shape(case.source, case.c, first.t if case.source != "vector" else 3, (n, e, e * n))
    found: list[tuple[Chosen, Written]] = []
    wanted = list(case.pieces)
    if case.source == "tokens" and not any(
        name in ("embedding", "bag of words", "one hot") for _, name in wanted
    ):
        wanted.insert(0, (0, "embedding"))
    for number, name in wanted:
        written = PIECES[name](shape, len(found), Random(f"{number}{name}"))
        if written is not None and written[2].c * max(1, written[2].t) <= 200:
            found.append(((number, name), written))
            shape = written[2]
    return found, shape


def _model(case: Case) -> str:
    found, shape = _pieces(case)
    init = [line for _, (lines, _, _) in found for line in lines]
    forward = [line for _, (_, lines, _) in found for line in lines]
    finish, width = _finish(case, shape)
    init.append(f"self.head = nn.Linear({width}, {case.k})")
    return "\n".join(
        [
            "class Model(nn.Module):",
            "    def __init__(self):",
            "        super().__init__()",
            "        self.flag = False",
            *[f"        {line}" for part in init for line in part.splitlines()],
            "",
            "    def to_dtype(self):",
            "        return self._apply(lambda t: t.to(DTYPE) if t.is_floating_point() else t)",
            "",
            "    def forward(self, x):",
            "        h = x",
            *[f"        {line}" for line in forward],
            *[f"        {line}" for line in finish],
            "        return self.head(h)",
            "",
        ]
    )


def _finish(case: Case, shape: Shape) -> tuple[list[str], int]:
    """Lines that leave ``[N, width]``, or ``[N, T, width]`` for a loss of every position."""
    lines, kind, width = [], shape.kind, shape.c
    if kind == "time first":
        lines.append("h = h.transpose(0, 1)")
        kind = "sequence"
    if "every position" in LOSSES[case.loss].words:
        if kind in SPACE:
            return [*lines, "h = h.flatten(2).mT"], width
        return [*lines, "h = h[:, None]"] if kind == "vector" else lines, width
    if kind in SPACE:
        return [*lines, "h = h.flatten(2).mean(2)"], width
    if kind == "sequence":
        how = {
            "mean": "h.mean(1)", "sum": "h.sum(1)", "amax": "h.amax(1)",
            "first": "h[:, 0]", "last": "h[:, -1]", "flat": "h.flatten(1)",
        }  # fmt: skip
        if case.finish == "flat":
            width *= shape.t
        return [*lines, f"h = {how[case.finish]}"], width
    return lines, width


def _function(name: str, step: Step, known: dict[str, Entry]) -> str:
    return f"def {name}(model):\n{_lines(step.changes, known)}    return model\n"


def _lines(chosen: tuple[Chosen, ...], known: dict[str, Entry]) -> str:
    texts = [filled(known[name].lines, k=number).rstrip() for number, name in chosen]
    return "".join(textwrap.indent(text, "    ") + "\n" for text in texts)


def _batch(case: Case, i: int, step: Step) -> str:
    axes = {
        "vector": f"n, {case.c}",
        "sequence": f"n, {step.t}, {case.c}",
        "tokens": f"n, {step.t}",
        **{kind: f"n, {case.c}, " + ", ".join([str(step.t)] * n) for kind, n in SPACE.items()},
    }[case.source]
    if case.source == "tokens":
        x = f"torch.randint(0, {case.c}, ({axes}), generator=g)"
    else:
        x = f"torch.randn({axes}, generator=g, dtype=torch.float64).to(DTYPE)"
    targets = LOSSES[case.loss].words[0]
    positions = _positions(case, step)
    y = {
        "classes": "torch.randint(0, K, (n,), generator=g)",
        "some ignored": "torch.randint(0, K, (n,), generator=g)"
        ".masked_fill(torch.rand(n, generator=g) < 0.3, -100)",
        "real": "torch.randn(n, K, generator=g, dtype=torch.float64).to(DTYPE)",
        "binary": "torch.randint(0, 2, (n, K), generator=g).to(DTYPE)",
        "words": f"torch.randint(0, K, (n, {positions}), generator=g)",
    }[targets]
    lines = [
        f"def batch_{i}():",
        f"    g = torch.Generator().manual_seed({100 + i})",
        f"    x = [{x} for n in {list(step.n)}]",
        f"    y = [{y} for n in {list(step.n)}]",
    ]
    if step.odd == "nan" and case.source != "tokens":
        lines.append("    x[-1][0] = float('nan')")
    if step.odd == "ignored" and targets == "some ignored":
        lines.append("    y[0][:] = -100")
    if step.odd == "same" and step.n[0] == step.n[-1]:
        lines.append("    x[-1] = x[0].clone()")
    stacked = len(set(step.n)) == 1
    lines.append("    return torch.stack(x), torch.stack(y)" if stacked else "    return x, y")
    return "\n".join(lines) + "\n"


def _positions(case: Case, step: Step) -> int:
    """Positions that the outputs have, which a piece may have changed."""
    _, shape = _pieces(case)
    if shape.kind == "vector":
        return 1
    if shape.kind in SPACE:
        return int(shape.t ** SPACE[shape.kind])
    return shape.t + step.t - case.steps[0].t
