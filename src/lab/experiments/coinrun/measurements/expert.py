"""The curves of the expert's training."""

from __future__ import annotations

from pathlib import Path

from omegaconf import OmegaConf

from lab.configuration.section import Section
from lab.experiments.coinrun.expert_options import ExpertOptions
from lab.experiments.measurement import Parts, Tables
from lab.runs.one_run.device import choose_device
from lab.runs.one_run.run_files import OUTPUTS

ROOT = Path(__file__).parents[5]
NOT_OPTIONS = ("defaults", "device", "evaluate_levels", "ship", "snapshot", "hydra")
"""Keys of ``conf/expert`` that belong to the script and not to ``ExpertOptions``."""
CONFIG = "hard"
"""The config in ``conf/expert`` whose expert comes with the package."""
FILES = {f"coinrun/expert_hard/{name}": name for name in ("curve.csv", "unseen.csv")}
"""Tables: the path of each below ``results/``, and its name in the folder of the training."""


def parts() -> Parts:
    """Return the one part, which takes several hours and continues after an interruption."""
    return {CONFIG: _curve}


def _curve() -> Tables:
    # Imported here, because stable-baselines3 takes long to load.
    from lab.experiments.coinrun.expert_snapshot import restore_snapshot
    from lab.experiments.coinrun.expert_training import train_expert

    # All other configs build on the first.
    files = [OmegaConf.load(ROOT / "conf" / "expert" / f"{name}.yaml") for name in ("small", CONFIG)]
    values = OmegaConf.to_container(OmegaConf.merge(*files))
    assert isinstance(values, dict)
    own = {str(key): value for key, value in values.items() if key not in NOT_OPTIONS}
    options: ExpertOptions = Section("expert", CONFIG, ExpertOptions, own).build()
    folder = OUTPUTS / "expert" / CONFIG
    folder.mkdir(parents=True, exist_ok=True)
    if values["snapshot"]:
        restore_snapshot(ROOT / values["snapshot"], folder)
    train_expert(options, folder, choose_device("cpu", None))
    return {place: (folder / name).read_bytes() for place, name in FILES.items()}
