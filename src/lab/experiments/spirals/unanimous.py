"""The committed tables of figure 7's signals at threshold 1, in many networks, and what is pooled of them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

NETWORKS = Path("spirals/unanimous.csv")
COMPONENTS = Path("spirals/unanimous_components.csv")


class Unanimous(NamedTuple):
    """The signals at threshold 1, over the networks of one number of revolutions.

    Attributes:
        n: the number of networks.
        measured: how many of them keep at least three components, so that a correlation says something.
        components: the median number of kept components of a network.
        larger: in how many measured networks the mechanism's correlation is larger than the shortcuts'.
        mechanism: the correlation of the average gradient with the mechanism's, over the pooled components.
        shortcut: the same with the shortcuts' gradient.
        nearer: the share of networks, drawn anew, whose pooled correlation is larger for the mechanism.
    """

    n: int
    measured: int
    components: float
    larger: int
    mechanism: float
    shortcut: float
    nearer: float
