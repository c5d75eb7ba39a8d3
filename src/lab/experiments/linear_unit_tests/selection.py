"""Which draw of the options is reported, and how, as in the authors' table.

One draw for all data seeds: the one whose validation error, summed over the environments, is lowest in the
mean over the seeds. Its test error is the mean over seeds and environments; the deviation beside it is that
over the seeds, in the mean over the environments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor


def best_draw(validation: Tensor) -> int:
    """The draw to report, from errors ``[S, E, M]``.

    Deviation: a draw that diverged in any seed is never chosen; the authors' table leaves such seeds out.
    """
    return int(validation.sum(1).mean(0).nan_to_num(float("inf"), float("inf")).argmin())


def summary(errors: Mapping[str, Tensor], draw: int, seeds: Sequence[int]) -> dict[str, Any]:
    """The metrics of a draw, from errors ``[S, E, M]`` by split.

    ``SPLIT/error`` and ``test/error_std`` as above; ``test/error_E0`` of each environment;
    ``seedS/test/error`` of each seed, mean over the environments.
    """
    of_draw = {split: values[:, :, draw].double() for split, values in errors.items()}
    test = of_draw["test"]
    metrics: dict[str, Any] = {f"{split}/error": float(values.mean()) for split, values in of_draw.items()}
    metrics["test/error_std"] = float(test.std(0, correction=0).mean())
    metrics |= {f"test/error_E{e}": float(value) for e, value in enumerate(test.mean(0))}
    metrics |= {f"seed{s}/test/error": float(v) for s, v in zip(seeds, test.mean(1), strict=True)}
    return {**metrics, "draw": draw}
