"""The curve of the expert's training."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from omegaconf import OmegaConf

from ilc.configuration.section import Section
from ilc.experiments.coinrun.expert_options import ExpertOptions
from ilc.experiments.measurement import Parts, Tables
from ilc.runs.device import choose_device
from ilc.runs.run_files import OUTPUTS

ROOT = Path(__file__).parents[5]
NOT_OPTIONS = ("defaults", "device", "evaluate_levels", "ship", "snapshot", "hydra")
"""Keys of ``conf/expert`` that the script reads."""


def parts(config: str = "small") -> Parts:
    """``coinrun/expert_curve.csv``: one part, about an hour; interrupted, it continues.

    Args:
        config: a file of ``conf/expert`` that builds on no other.
    """
    return {config: partial(_curve, config)}


def _curve(config: str) -> Tables:
    # Imported late: stable-baselines3 takes long to load.
    from ilc.experiments.coinrun.expert_training import train_expert

    values = OmegaConf.to_container(OmegaConf.load(ROOT / "conf" / "expert" / f"{config}.yaml"))
    assert isinstance(values, dict)
    own = {str(key): value for key, value in values.items() if key not in NOT_OPTIONS}
    options: ExpertOptions = Section("expert", config, ExpertOptions, own).build()
    folder = OUTPUTS / "expert" / config
    folder.mkdir(parents=True, exist_ok=True)
    train_expert(options, folder, choose_device("cpu", None))
    return {"coinrun/expert_curve.csv": (folder / "curve.csv").read_bytes()}
