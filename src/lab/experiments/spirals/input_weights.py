"""What the figure and the claim about input weights share: the regularisers, and the committed table."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

INPUT_WEIGHTS = Path("spirals/input_weights.csv")


class Regulariser(NamedTuple):
    """A regulariser's name in figures, and what it changes in the configuration with L2."""

    label: str
    overrides: tuple[str, ...]


REGULARISERS = {
    "none": Regulariser("no regulariser", ("optimizer.weight_decay=0",)),
    "l1": Regulariser("L1 1e-6", ("optimizer.weight_decay=0", "optimizer.l1=1e-6")),
    "l2": Regulariser("L2 1e-5", ()),
}
