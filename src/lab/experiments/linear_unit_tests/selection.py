"""The choice of the draw of options to report, and its summary, as in the authors' table.

One draw is chosen for all data seeds. Its validation error, summed over the environments and averaged over
the seeds, is the lowest. Its test error is the mean over seeds and environments. The standard deviation that
is reported with it is the deviation over the seeds, averaged over the environments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor


def best_draw(validation: Tensor) -> int:
    """Return the draw to report, from validation errors ``[S, E, M]``.

    Deviation: a draw that diverged in any seed is never chosen. The authors' table leaves such seeds out.
    """
    return int(validation.sum(1).mean(0).nan_to_num(float("inf"), float("inf")).argmin())


def summary(errors: Mapping[str, Tensor], draw: int, seeds: Sequence[int]) -> dict[str, Any]:
    """Return the metrics of a draw, from errors ``[S, E, M]`` by split.

    The module's description explains ``SPLIT/error`` and ``test/error_std``. ``test/error_E0`` and so on are
    the test errors of each environment. ``seedS/test/error`` is the test error of seed S, averaged over the
    environments.
    """
    of_draw = {split: values[:, :, draw].double() for split, values in errors.items()}
    test = of_draw["test"]
    metrics: dict[str, Any] = {f"{split}/error": float(values.mean()) for split, values in of_draw.items()}
    metrics["test/error_std"] = float(test.std(0, correction=0).mean())
    metrics |= {f"test/error_E{e}": float(value) for e, value in enumerate(test.mean(0))}
    metrics |= {f"seed{s}/test/error": float(v) for s, v in zip(seeds, test.mean(1), strict=True)}
    return {**metrics, "draw": draw}
