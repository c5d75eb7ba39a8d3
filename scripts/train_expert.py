"""Train the CoinRun expert with PPO: ``python scripts/train_expert.py``.

The training takes about an hour on one core. ``--config-name paper`` trains with the paper's 400M frames.
``frames=2_000_000`` sets the number of frames, and all other keys are set in the same way. The same command
continues an interrupted training. With more frames it also continues a finished one. In a new folder the
training begins with the ``snapshot``, if there is one. ``ship=true`` puts the expert into the package.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hydra
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from lab.configuration.command_line import mistake_before_hydra, run_command
from lab.configuration.overrides import check_overrides

OTHERS_KEYS = ("device", "evaluate_levels", "ship", "snapshot")


@hydra.main(config_path="../conf/expert", config_name="small", version_base="1.3")
def one_expert(config: DictConfig) -> None:
    """Train the expert as ``trained`` does; a mistake is one message."""
    with mistake_before_hydra():
        trained(config)


def trained(config: DictConfig) -> None:
    """Train the expert, let it play unseen levels, and write it with its description.

    Raises:
        UserError: an option is wrong, or a file cannot be used.
    """
    from lab.configuration.section import Section
    from lab.experiments.coinrun.expert import SHIPPED, save_expert
    from lab.experiments.coinrun.expert_options import ExpertOptions
    from lab.experiments.coinrun.expert_snapshot import restore_snapshot
    from lab.experiments.coinrun.expert_training import train_expert
    from lab.runs.one_run.device import choose_device

    folder = Path(HydraConfig.get().runtime.output_dir)
    device = choose_device(config.device, None)
    values = {str(key): value for key, value in config.items() if key not in OTHERS_KEYS}
    options: ExpertOptions = Section("expert", "expert", ExpertOptions, values).build()
    if config.snapshot and restore_snapshot(Path(config.snapshot), folder):
        print(f"beginning with the snapshot in {config.snapshot}")
    network, frames = train_expert(options, folder, device)
    network = (
        network.half().float()
    )  # The saved weights have half precision, so the same weights are measured.
    sheet = {
        "what": "PPO on CoinRun, trained by scripts/train_expert.py; far fewer frames than the paper's 400M",
        **vars(options),
        "frames": frames,
        **_measured(network, options.mode, config.evaluate_levels),
    }
    for place in (folder, *([SHIPPED] if config.ship else [])):
        save_expert(place, network, sheet)
    print(
        f"success on {sheet['evaluated_levels']} unseen levels: expert {sheet['success_rate']:.3f}, "
        f"random policy {sheet['success_rate_of_a_random_policy']:.3f}"
    )
    print(folder)


def main() -> None:
    """Check the command line as the other commands do, then train."""
    # --config-name and its like take a word that is no override, so Hydra itself tells them apart.
    check_overrides(get_args_parser().parse_args().overrides)
    one_expert()


def _measured(network: Any, mode: str, n_levels: int) -> dict[str, Any]:
    """Return the success rates of the expert and of a random policy on unseen levels."""
    from lab.experiments.coinrun.levels import EXPERT_TRAIN, UNSEEN
    from lab.experiments.coinrun.play import random_policy, success_on

    levels = UNSEEN[:n_levels]
    print(f"playing {len(levels)} unseen levels, then again at random")
    return {
        "levels_trained_on": [EXPERT_TRAIN.start, EXPERT_TRAIN.stop - 1],
        "levels_evaluated_on": [levels.start, levels.stop - 1],
        "evaluated_levels": len(levels),
        "success_rate": success_on(network.distribution, levels, mode).success_rate,
        "success_rate_of_a_random_policy": success_on(random_policy, levels, mode).success_rate,
    }


if __name__ == "__main__":
    run_command(main)
