"""A measurement in three parts, one of which waits for a file; ``calls`` has a line for every call."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd

from ilc.errors import UserError

Tables = dict[str, pd.DataFrame | bytes]


def parts(folder: str, fail: bool = False) -> dict[str, Callable[[], Tables]]:
    return {
        "first": partial(count, folder, "first", [0.1 + 0.2, 1.0], None),
        "slow": partial(wait, folder, fail),
        "last": partial(count, folder, "last", [2.0], 0.5),
    }


def count(folder: str, name: str, values: list[float], threshold: float | None) -> Tables:
    with (Path(folder) / "calls").open("a") as file:
        file.write(f"{name}\n")
    table = pd.DataFrame({"part": name, "value": values, "threshold": threshold})
    return {"toy/values.csv": table, "toy/values.npz": name.encode()}


def wait(folder: str, fail: bool) -> Tables:
    tables = count(folder, "slow", [], None)
    while not (Path(folder) / "go").exists():
        time.sleep(0.05)
    if fail:
        raise UserError("it did not work")
    return {"toy/other.csv": tables["toy/values.csv"].assign(more=1)}
