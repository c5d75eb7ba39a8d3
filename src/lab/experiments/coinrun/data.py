"""CoinRun for behavioural cloning: frames with the expert's action distributions (paper, section 3.3)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ilc.errors import UserError
from ilc.objectives._risks import kl_divergence
from lab.data.environments import Environments, Split

SOURCES = ("auto", "expert")


def make_coinrun(
    data_dir: str = "data",
    source: str = "auto",
    n_environments: int = 64,
    examples_per_environment: int = 1000,
    n_test: int = 2000,
    n_validation: int = 0,
    collection_seed: int = 0,
) -> Environments:
    """Load the states; if they are not there yet, collect them first with the expert in this package.

    The inputs are ``[E, N, 3, 64, 64]`` uint8, mapped from their files. The targets are ``[E, N, 15]``, the
    expert's action distributions. Every environment is one level. The test and validation states come from
    other levels, one state from each. All seeds of a run share the same states; another ``collection_seed``
    gives other states.

    Args:
        data_dir: folder in which the states lie, below ``coinrun/``; a state takes 12 kB.
        source: ``auto`` or ``expert``; both mean the expert, the only source.
        n_environments: E, the number of training levels.
        examples_per_environment: N, the number of states of each training level.
        n_test: number of test states.
        n_validation: number of validation states, by which settings can be chosen; 0 for none.
        collection_seed: seed of the play and of the choice of states.

    Raises:
        UserError: the source is unknown, a number is out of range, or the folder cannot be written to or
            does not hold what its manifest says.
    """
    # Imported here, because playing needs more packages than loading.
    from lab.experiments.coinrun.collect import arrays, collect
    from lab.experiments.coinrun.collection_plan import CollectionOptions
    from lab.experiments.coinrun.expert import load_expert
    from lab.experiments.coinrun.manifest import check_hashes

    if source not in SOURCES:
        raise UserError(f"dataset.source must be one of {', '.join(SOURCES)}, got {source!r}")
    options = CollectionOptions(
        n_environments, examples_per_environment, n_test, n_validation, collection_seed
    )
    expert = load_expert()
    path = collect(Path(data_dir) / "coinrun", options, expert)
    shape = (n_environments, examples_per_environment)
    mode, millions = expert.sheet["mode"], expert.sheet["frames"] / 1e6
    files = {name: _mapped(path, name, *expected) for name, expected in arrays(options).items()}
    check_hashes(path, files)
    frames, distributions = (
        torch.unflatten(files[f"train_{kind}.npy"], 0, shape) for kind in ("frames", "distributions")
    )
    evaluation = {
        split: Split(files[f"{split}_frames.npy"], files[f"{split}_distributions.npy"])
        for split in ("test", "validation")
        if f"{split}_frames.npy" in files
    }
    return Environments(
        inputs=frames,
        targets=distributions,
        evaluation=evaluation,
        source=f"CoinRun ({mode} levels), own PPO expert ({millions:.2g}M frames, {expert.sha256[:8]})",
        # The test risk of the best student that ignores the frame.
        references={"constant/kl": _constant_kl(distributions.flatten(0, 1), evaluation["test"].targets)},
        distributions=True,
        in_file=True,
    )


def _mapped(path: Path, name: str, kind: type[np.generic], shape: tuple[int, ...]) -> Tensor:
    """Map one file into memory as a tensor; the file must have exactly this type and shape."""
    from lab.experiments.coinrun.manifest import damaged

    try:
        # Mode "c" reads pages when they are needed. Nobody writes to the array, and a write would not
        # change the file.
        values = np.load(path / name, mmap_mode="c", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UserError(damaged(path, name, error)) from error
    if values.dtype != kind or values.shape != shape:
        found, expected = f"{values.dtype} {values.shape}", f"{np.dtype(kind)} {shape}"
        raise UserError(damaged(path, name, f"{found} instead of {expected}"))
    return torch.from_numpy(values)


def _constant_kl(train: Tensor, test: Tensor) -> float:
    mean = train.mean(dim=0, keepdim=True)
    return float(kl_divergence(mean.log().expand(len(test), -1), test))
