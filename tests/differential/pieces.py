"""Pieces of models: each writes lines for ``__init__`` and ``forward``, where the tensor at hand is ``h``.

Those that keep the shape stand in ``pieces.txt``.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from differential.shape import LAST, SPACE, Shape
from differential.tables import Entry, filled, read

Written = tuple[list[str], list[str], Shape]
Piece = Callable[[Shape, int, Random], Written | None]

PIECES: dict[str, Piece] = {}


def piece(function: Piece) -> Piece:
    PIECES[function.__name__.replace("_", " ")] = function
    return function


@piece
def linear(s: Shape, i: int, random: Random) -> Written | None:
    if not s.last:
        return None
    out, bias = s.draw(random), random.random() < 0.8
    return [f"self.a{i} = nn.Linear({s.c}, {out}, bias={bias})"], [f"h = self.a{i}(h)"], s.of(c=out)


@piece
def perceptron(s: Shape, i: int, random: Random) -> Written | None:
    if not s.last:
        return None
    out, act = s.draw(random), random.choice(["Tanh()", "GELU()", "ReLU()", "SiLU()", "ReLU(inplace=True)"])
    return (
        [f"self.a{i} = nn.Sequential(nn.Linear({s.c}, {out}), nn.{act}, nn.Linear({out}, {s.c}))"],
        [f"h = self.a{i}(h)"],
        s,
    )


@piece
def convolution(s: Shape, i: int, random: Random) -> Written | None:
    if s.kind not in SPACE:
        return None
    n, groups = SPACE[s.kind], 1
    out = s.draw(random)
    if random.random() < 0.3:
        groups, out = s.c, s.c * random.choice([1, 2])
    kernel = min(random.choice([1, 2, 3]), s.t)
    stride, padding, dilation = random.choice([1, 1, 2]), random.choice([0, 1]), random.choice([1, 1, 2])
    side = (s.t + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
    if side < 1:
        stride, padding, dilation, side = 1, 0, 1, s.t - kernel + 1
    mode = random.choice(["zeros", "zeros", "circular" if padding <= s.t else "zeros"])
    options = (
        f"stride={stride}, padding={padding}, dilation={dilation}, groups={groups}, padding_mode='{mode}', "
        f"bias={random.random() < 0.7}"
    )
    return (
        [f"self.a{i} = nn.Conv{n}d({s.c}, {out}, {kernel}, {options})"],
        [f"h = self.a{i}(h)"],
        s.of(c=out, t=side),
    )


@piece
def convolution_of_the_same_size(s: Shape, i: int, random: Random) -> Written | None:
    if s.kind not in SPACE:
        return None
    out = s.draw(random)
    return (
        [f"self.a{i} = nn.Conv{SPACE[s.kind]}d({s.c}, {out}, 3, padding='same')"],
        [f"h = self.a{i}(h)"],
        s.of(c=out),
    )


@piece
def transposed_convolution(s: Shape, i: int, random: Random) -> Written | None:
    if s.kind not in SPACE or s.t > 4:
        return None
    out = s.draw(random)
    return (
        [f"self.a{i} = nn.ConvTranspose{SPACE[s.kind]}d({s.c}, {out}, 2)"],
        [f"h = self.a{i}(h)"],
        s.of(c=out, t=s.t + 1),
    )


@piece
def embedding(s: Shape, i: int, random: Random) -> Written | None:
    if s.kind != "tokens":
        return None
    out = s.draw(random)
    options = random.choice(["", "", ", padding_idx=0", ", sparse=True", ", scale_grad_by_freq=True"])
    return (
        [f"self.a{i} = nn.Embedding({s.c}, {out}{options})"],
        [f"h = self.a{i}(h)"],
        s.of(kind="sequence", c=out),
    )


@piece
def bag_of_words(s: Shape, i: int, random: Random) -> Written | None:
    if s.kind != "tokens":
        return None
    out, mode = s.draw(random), random.choice(["mean", "sum"])
    return (
        [f"self.a{i} = nn.EmbeddingBag({s.c}, {out}, mode='{mode}')"],
        [f"h = self.a{i}(h)"],
        s.of(kind="vector", c=out),
    )


@piece
def one_hot(s: Shape, i: int, random: Random) -> Written | None:
    if s.kind != "tokens":
        return None
    out = s.draw(random)
    return (
        [f"self.a{i} = nn.Linear({s.c}, {out})"],
        [f"h = self.a{i}(F.one_hot(h, {s.c}).to(self.a{i}.weight.dtype))"],
        s.of(kind="sequence", c=out),
    )


@piece
def BatchNorm(s: Shape, i: int, random: Random) -> Written | None:
    if s.kind not in ("vector", *SPACE):
        return None
    n = SPACE.get(s.kind, 1)
    options = random.choice(
        ["", "", ", affine=False", ", track_running_stats=False", ", momentum=None", ", momentum=0.3"]
    )
    return [f"self.a{i} = nn.BatchNorm{n}d({s.c}{options})"], [f"h = self.a{i}(h)"], s


@piece
def linear_and_BatchNorm(s: Shape, i: int, random: Random) -> Written | None:
    if s.kind == "vector":
        out = s.draw(random)
        return (
            [f"self.a{i} = nn.Linear({s.c}, {out})", f"self.b{i} = nn.BatchNorm1d({out})"],
            [f"h = self.b{i}(self.a{i}(h)).tanh()"],
            s.of(c=out),
        )
    if s.kind in SPACE:
        out, n = s.draw(random), SPACE[s.kind]
        return (
            [f"self.a{i} = nn.Conv{n}d({s.c}, {out}, 1)", f"self.b{i} = nn.BatchNorm{n}d({out})"],
            [f"h = self.b{i}(self.a{i}(h)).tanh()"],
            s.of(c=out),
        )
    return None


@piece
def InstanceNorm(s: Shape, i: int, random: Random) -> Written | None:
    if s.kind not in SPACE or s.t < 2:
        return None
    options = random.choice(["", ", affine=True", ", affine=True, track_running_stats=True"])
    return [f"self.a{i} = nn.InstanceNorm{SPACE[s.kind]}d({s.c}{options})"], [f"h = self.a{i}(h)"], s


@piece
def to_time_first(s: Shape, i: int, random: Random) -> Written | None:
    return ([], ["h = h.transpose(0, 1)"], s.of(kind="time first")) if s.kind == "sequence" else None


@piece
def to_examples_first(s: Shape, i: int, random: Random) -> Written | None:
    return ([], ["h = h.transpose(0, 1)"], s.of(kind="sequence")) if s.kind == "time first" else None


@piece
def flattened(s: Shape, i: int, random: Random) -> Written | None:
    if s.kind == "sequence":
        return [], ["h = h.flatten(1)"], s.of(kind="vector", c=s.c * s.t, t=s.t)
    return None


@piece
def mean_over_space(s: Shape, i: int, random: Random) -> Written | None:
    if s.kind not in SPACE:
        return None
    return [], [f"h = h.flatten(2).{random.choice(['mean(2)', 'amax(2)', 'sum(2)'])}"], s.of(kind="vector")


@piece
def space_as_positions(s: Shape, i: int, random: Random) -> Written | None:
    if s.kind not in SPACE:
        return None
    return [], ["h = h.flatten(2).mT"], s.of(kind="sequence", t=s.t ** SPACE[s.kind])


@piece
def channels_as_positions(s: Shape, i: int, random: Random) -> Written | None:
    return (
        ([], ["h = h[..., None] * torch.ones(2, dtype=h.dtype)"], s.of(kind="sequence", t=s.c, c=2))
        if s.kind == "vector"
        else None
    )


@piece
def positions_as_signal(s: Shape, i: int, random: Random) -> Written | None:
    return ([], ["h = h.mT"], s.of(kind="signal")) if s.kind == "sequence" else None


@piece
def pooled(s: Shape, i: int, random: Random) -> Written | None:
    if s.kind not in SPACE or s.t < 2:
        return None
    kind = random.choice(["Max", "Avg"])
    return [f"self.a{i} = nn.{kind}Pool{SPACE[s.kind]}d(2)"], [f"h = self.a{i}(h)"], s.of(t=s.t // 2)


KINDS = {"features": LAST, "space": tuple(SPACE), "any": (*LAST, *SPACE)}
"""Words of ``pieces.txt`` that stand for several kinds."""


def _of_the_file(entry: Entry) -> Piece:
    kinds = [kind for word in entry.words for kind in KINDS.get(word, (word,))]

    def written(s: Shape, i: int, random: Random) -> Written | None:
        if s.kind not in kinds:
            return None
        init, _, forward = filled(entry.lines, i=i, c=s.c, t=s.t).rpartition("--\n")
        return init.splitlines(), forward.splitlines(), s

    return written


PIECES |= {name: _of_the_file(entry) for name, entry in read("pieces.txt").items()}
