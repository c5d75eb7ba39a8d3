"""DomainBed's update rules in NumPy, written from the description of each rule, for a small ReLU network.

Gradients of a risk come from backpropagation by hand. Objectives with a penalty are differentiated by a
complex step, which has no error of its own: the derivative of f is the imaginary part of ``f(x + i h) / h``.
Environments are pairs (x ``[N, D]``, y ``[N]``); theta holds all parameters, flat.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Environments = Sequence[tuple[Array, Array]]
Rule = Callable[[Array, Environments, dict[str, float], "State"], Array]

D, H, C = 4, 5, 3
SHAPES = ((H, D), (H,), (H, H), (H,), (C, H), (C,))
STEP = 1e-30


@dataclass
class State:
    """What a rule remembers, and the random numbers of this step."""

    step: int = 0
    q: Array | None = None
    averages: list[Array] = field(default_factory=list)
    order: Sequence[int] = ()
    mixing: Sequence[float] = ()
    lr: float = 0.0


def unpacked(theta: Array) -> list[Array]:
    parts = np.split(theta, np.cumsum([int(np.prod(shape)) for shape in SHAPES])[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, SHAPES, strict=True)]


def relu(x: Array) -> Array:
    return x * (x.real > 0)


def features(theta: Array, x: Array) -> Array:
    w1, b1, w2, b2, _, _ = unpacked(theta)
    return relu(relu(x @ w1.T + b1) @ w2.T + b2)


def logits(theta: Array, x: Array) -> Array:
    return features(theta, x) @ unpacked(theta)[4].T + unpacked(theta)[5]


def softmax(z: Array) -> Array:
    e = np.exp(z - z.real.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def cross_entropy(z: Array, y: Array) -> Array:
    return -np.log(softmax(z)[np.arange(len(y)), y]).mean()


def risk(theta: Array, x: Array, y: Array) -> Array:
    return cross_entropy(logits(theta, x), y)


def gradient(theta: Array, x: Array, y: Array) -> Array:
    w1, b1, w2, b2, w3, b3 = unpacked(theta)
    a1 = x @ w1.T + b1
    h1 = relu(a1)
    a2 = h1 @ w2.T + b2
    h2 = relu(a2)
    d3 = (softmax(h2 @ w3.T + b3) - np.eye(C)[y]) / len(y)
    d2 = (d3 @ w3) * (a2.real > 0)
    d1 = (d2 @ w2) * (a1.real > 0)
    parts = [d1.T @ x, d1.sum(0), d2.T @ h1, d2.sum(0), d3.T @ h2, d3.sum(0)]
    return np.concatenate([part.ravel() for part in parts])


def slope(function: Callable[[Array], Array], theta: Array) -> Array:
    """The gradient of a real function that is written for complex numbers."""
    moved = theta + 1j * STEP * np.eye(len(theta))
    return np.array([function(each).imag / STEP for each in moved])


def erm(theta: Array, environments: Environments, options: dict[str, float], state: State) -> Array:
    return gradient(theta, *(np.concatenate(both) for both in zip(*environments, strict=True)))


def late(options: dict[str, float], state: State, before: float) -> float:
    return options["weight"] if state.step >= options["steps"] else before


def irm(theta: Array, environments: Environments, options: dict[str, float], state: State) -> Array:
    weight = late(options, state, 1.0)

    def scale_slope(z: Array, y: Array) -> Array:
        return ((softmax(z) - np.eye(C)[y]) * z).sum(1).mean()

    def objective(at: Array) -> Array:
        total = 0.0
        for x, y in environments:
            z = logits(at, x)
            halves = scale_slope(z[::2], y[::2]) * scale_slope(z[1::2], y[1::2])
            total = total + cross_entropy(z, y) + weight * halves
        return total / len(environments)

    return slope(objective, theta)


def v_rex(theta: Array, environments: Environments, options: dict[str, float], state: State) -> Array:
    weight = late(options, state, 1.0)

    def objective(at: Array) -> Array:
        risks = np.array([risk(at, x, y) for x, y in environments])
        return risks.mean() + weight * ((risks - risks.mean()) ** 2).mean()

    return slope(objective, theta)


def group_dro(theta: Array, environments: Environments, options: dict[str, float], state: State) -> Array:
    q = np.ones(len(environments)) if state.q is None else state.q
    q = q * np.exp(options["eta"] * np.array([risk(theta, x, y) for x, y in environments]))
    state.q = q / q.sum()
    return sum(w * gradient(theta, x, y) for w, (x, y) in zip(state.q, environments, strict=True))


def iga(theta: Array, environments: Environments, options: dict[str, float], state: State) -> Array:
    mean = np.mean([gradient(theta, x, y) for x, y in environments], 0)

    def objective(at: Array) -> Array:
        apart = sum(((gradient(at, x, y) - mean) ** 2).sum() for x, y in environments)
        return np.mean([risk(at, x, y) for x, y in environments]) + options["weight"] * apart

    return slope(objective, theta)


def by_tensor(rows: Array, combine: Callable[[Array], Array]) -> Array:
    ends = np.cumsum([int(np.prod(shape)) for shape in SHAPES])[:-1]
    return np.concatenate([combine(part) for part in np.split(rows, ends, axis=1)])


def and_mask(theta: Array, environments: Environments, options: dict[str, float], state: State) -> Array:
    def combine(rows: Array) -> Array:
        mask = (np.abs(np.sign(rows).mean(0)) >= options["tau"]).astype(float)
        return mask * rows.mean(0) / (1e-10 + mask.mean())

    return by_tensor(np.stack([gradient(theta, x, y) for x, y in environments]), combine)


def sand_mask(theta: Array, environments: Environments, options: dict[str, float], state: State) -> Array:
    def combine(rows: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            mask = np.tanh(
                options["k"] / rows.var(0, ddof=1) * (np.abs(np.sign(rows).mean(0)) - options["tau"])
            )
        mask = np.nan_to_num(np.maximum(mask, 0), nan=1e-17)
        return mask * rows.mean(0) / (1e-10 + mask.mean())

    return by_tensor(np.stack([gradient(theta, x, y) for x, y in environments]), combine)


def fishr(theta: Array, environments: Environments, options: dict[str, float], state: State) -> Array:
    ema, weight = options["ema"], late(options, state, 0.0)
    before = state.averages or [np.zeros(C * H + C)] * len(environments)

    def moved(at: Array, x: Array, y: Array, past: Array) -> Array:
        z, h = logits(at, x), features(at, x)
        d = softmax(z) - np.eye(C)[y]
        rows = np.concatenate([(d[:, :, None] * h[:, None, :]).reshape(len(y), -1), d], 1)
        variance = ((rows - rows.mean(0)) ** 2).mean(0)
        return ema * past + (1 - ema) * variance

    def objective(at: Array) -> Array:
        of_each = [
            moved(at, x, y, past) / (1 - ema) for (x, y), past in zip(environments, before, strict=True)
        ]
        mean = np.mean(of_each, 0)
        penalty = np.mean([((one - mean) ** 2).mean() for one in of_each])
        return np.mean([risk(at, x, y) for x, y in environments]) + weight * penalty

    found = slope(objective, theta)
    state.averages = [moved(theta, x, y, past) for (x, y), past in zip(environments, before, strict=True)]
    return found


def matching(
    distance: Callable[[Array, Array], Array],
) -> Rule:
    def rule(theta: Array, environments: Environments, options: dict[str, float], state: State) -> Array:
        def objective(at: Array) -> Array:
            of_each = [features(at, x) for x, _ in environments]
            n = len(of_each)
            apart = [distance(of_each[i], of_each[j]) for i in range(n) for j in range(i + 1, n)]
            return np.mean([risk(at, x, y) for x, y in environments]) + options["gamma"] * np.mean(apart)

        return slope(objective, theta)

    return rule


def mmd_distance(x: Array, y: Array) -> Array:
    def kernel(a: Array, b: Array) -> Array:
        squares = ((a[:, None] - b[None]) ** 2).sum(2)
        return sum(np.exp(-g * squares).mean() for g in (0.001, 0.01, 0.1, 1, 10, 100, 1000))

    return kernel(x, x) + kernel(y, y) - 2 * kernel(x, y)


def coral_distance(x: Array, y: Array) -> Array:
    def covariance(a: Array) -> Array:
        return (a - a.mean(0)).T @ (a - a.mean(0)) / (len(a) - 1)

    means = ((x.mean(0) - y.mean(0)) ** 2).mean()
    return means + ((covariance(x) - covariance(y)) ** 2).mean()


def circle(state: State) -> list[tuple[int, int]]:
    order = list(state.order)
    return list(zip(order, order[1:] + order[:1], strict=True))


def mixup(theta: Array, environments: Environments, options: dict[str, float], state: State) -> Array:
    def objective(at: Array) -> Array:
        total = 0.0
        for (i, j), lam in zip(circle(state), state.mixing, strict=True):
            (xi, yi), (xj, yj) = environments[i], environments[j]
            z = logits(at, lam * xi + (1 - lam) * xj)
            total = total + lam * cross_entropy(z, yi) + (1 - lam) * cross_entropy(z, yj)
        return total / len(environments)

    return slope(objective, theta)


def mldg(theta: Array, environments: Environments, options: dict[str, float], state: State) -> Array:
    total = np.zeros_like(theta)
    for i, j in circle(state):
        own = gradient(theta, *environments[i])
        inner = adam_step(theta, own, np.zeros_like(theta), np.zeros_like(theta), 1, state.lr)[0]
        total += (own + options["beta"] * gradient(inner, *environments[j])) / len(environments)
    return total


def rsc(theta: Array, environments: Environments, options: dict[str, float], state: State) -> Array:
    x, y = (np.concatenate(both) for both in zip(*environments, strict=True))
    w, b = unpacked(theta)[4:]
    h = features(theta, x)
    mask_f = w[y] < np.percentile(w[y], 100 * (1 - options["f"]), axis=1)[:, None]
    true = np.arange(len(y)), y
    changes = softmax(h @ w.T + b)[true] - softmax((h * mask_f) @ w.T + b)[true]
    mask_b = changes < np.percentile(changes, 100 * (1 - options["b"]))
    mask = mask_f | mask_b[:, None]

    def objective(at: Array) -> Array:
        return cross_entropy((features(at, x) * mask) @ unpacked(at)[4].T + unpacked(at)[5], y)

    return slope(objective, theta)


RULES: dict[str, Rule] = {
    "erm": erm,
    "irm": irm,
    "v_rex": v_rex,
    "group_dro": group_dro,
    "iga": iga,
    "and_mask": and_mask,
    "sand_mask": sand_mask,
    "fishr": fishr,
    "mmd": matching(mmd_distance),
    "coral": matching(coral_distance),
    "mixup": mixup,
    "mldg": mldg,
    "rsc": rsc,
}


def adam_step(theta: Array, g: Array, m: Array, v: Array, t: int, lr: float) -> tuple[Array, Array, Array]:
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    step = (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return theta - lr * step, m, v
