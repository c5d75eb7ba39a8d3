"""The regularisers and the committed table of input weights. The figure and the claim share them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

INPUT_WEIGHTS = Path("spirals/input_weights.csv")


class Regulariser(NamedTuple):
    """A regulariser: its name in figures, and its changes to the configuration with L2."""

    label: str
    overrides: tuple[str, ...]


REGULARISERS = {
    "none": Regulariser("no regulariser", ("optimizer.weight_decay=0",)),
    "l1": Regulariser("L1 1e-6", ("optimizer.weight_decay=0", "optimizer.l1=1e-6")),
    "l2": Regulariser("L2 1e-5", ()),
}
