"""Collect the behavioural cloning states of CoinRun: ``python scripts/collect_coinrun.py``.

``experiment=coinrun_bc`` does the same when it finds none. ``--scale paper`` for 64 levels x 1,000 states and
2,000 test states from other levels; the same command continues an interrupted collection.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from ilc.coinrun.collect import collect
from ilc.coinrun.collection_plan import CollectionOptions
from ilc.coinrun.expert import SHIPPED, load_expert
from ilc.configuration.command_line import run_command
from ilc.configuration.compose import compose_config
from ilc.configuration.scale import SCALES


def main() -> None:
    """Collect and print where the states are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", choices=SCALES, default="small")
    parser.add_argument("--data-dir", type=Path, default=Path("data"))
    parser.add_argument("--expert", type=Path, default=SHIPPED, help="folder of expert.pt and expert.json")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sizes = compose_config([f"scale={arguments.scale}", "experiment=coinrun_bc"]).dataset
    options = CollectionOptions(
        sizes.n_environments, sizes.examples_per_environment, sizes.n_test, arguments.seed
    )
    began = time.monotonic()
    path = collect(arguments.data_dir / "coinrun", options, load_expert(arguments.expert))
    n_states = options.n_levels * options.states_per_level + options.n_test
    print(f"{n_states:,} states, {n_states / (time.monotonic() - began):,.0f} per second")
    print(path)


if __name__ == "__main__":
    run_command(main)
