"""Train one experiment: ``python src/train.py experiment=spirals aggregator=and_mask seed=0``.

Several at once, skipping those that are done: ``python src/train.py -m seed=0,1,2``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from ilc.configuration import register_resolvers
from ilc.configuration.command_line import run_command
from ilc.errors import UserError

register_resolvers()


@hydra.main(config_path="../conf", config_name="config", version_base="1.3")
def main(config: DictConfig) -> None:
    """Run what the config describes and print where the results are."""
    # Imported late: torch takes longer to load than the command line's help may.
    from ilc.configuration.compose import command_of
    from ilc.configuration.resolve import resolve
    from ilc.runs import run

    hydra_config = HydraConfig.get()
    path = Path(hydra_config.runtime.output_dir)
    sweep = hydra_config.mode == RunMode.MULTIRUN
    # Where an experiment of somebody else's lies is a part of the command that repeats its run.
    places = [text for text in hydra_config.overrides.hydra if text.startswith("hydra.searchpath=")]
    overrides = [*places, *hydra_config.overrides.task]
    try:
        run(resolve(config, sweep), path, command_of(overrides, sweep))
    except UserError as error:
        print(f"Error: {error}", file=sys.stderr)
        if sweep:
            raise  # Hydra goes on with the other runs and ends with this error.
        sys.exit(1)
    print(path)


if __name__ == "__main__":
    run_command(main)
