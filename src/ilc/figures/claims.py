"""The README's table of claims: the paper's value, ours, and a verdict that the numbers decide."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ilc.figures import (
    cifar_claims,
    coinrun_claims,
    consistency_claims,
    correlation_claims,
    environments_claims,
    irm_claims,
    spirals_claims,
)


def tabulate(results: Path) -> pd.DataFrame:
    """One row per claim."""
    return pd.DataFrame(
        [
            *spirals_claims.methods(results),
            *environments_claims.configuration(results),
            *environments_claims.environments(results),
            *correlation_claims.correlations(results),
            *cifar_claims.memorisation(results),
            *cifar_claims.label_noise(results),
            *coinrun_claims.coinrun(results),
            *irm_claims.linear(results),
            *irm_claims.colored(results),
            *irm_claims.stability(results),
            *consistency_claims.theory(),
            *consistency_claims.solutions(results),
        ]
    )
