"""Which methods are surely better or worse than plain training, by situation: a table of all experiments."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.neighbours.methods import COST, LABELS
from lab.experiments.neighbours.which_method import PLAIN, Situation, compared, measured


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per situation: medians over seeds, and the cost of a step in units of a plain one."""
    cost = pd.read_csv(results / COST).set_index("method").relative.rename(LABELS)
    rows = []
    for situation, values in measured(results):
        signs = compared(values, situation.higher)
        medians = {name: float(pd.Series(own).median()) for name, own in values.items()}
        order = sorted(signs, key=lambda name: medians[name], reverse=situation.higher)

        def listed(sign: int) -> str:
            return ", ".join(
                f"{name} {_number(medians[name], situation)}"  # noqa: B023
                + (f" [{cost[name]:.2f} x]" if sign > 0 and name in cost else "")
                for name in order  # noqa: B023
                if signs[name] == sign  # noqa: B023
            )

        counts = sorted({len(own) for own in values.values()})
        rows.append(
            {
                "situation": f"[{situation.what}](docs/{situation.page})",
                "measured": situation.measure,
                "seeds": " or ".join(map(str, counts)),
                "plain training": _number(medians[PLAIN], situation),
                "surely better": listed(1) or "none",
                "surely worse": listed(-1) or "none",
                "open": f"{sum(sign == 0 for sign in signs.values())} of {len(signs)}",
            }
        )
    return pd.DataFrame(rows)


def _number(value: float, situation: Situation) -> str:
    return f"{100 * value:.1f} %" if situation.unit == "%" else f"{value:.3g}"
