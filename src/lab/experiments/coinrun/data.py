"""CoinRun for behavioural cloning: frames of 64 levels, and what the expert would do (paper, section 3.3)."""

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
    """Load the states, or collect them first with the expert that comes with the package.

    Inputs ``[E, N, 3, 64, 64]`` uint8, mapped from their files; targets ``[E, N, 15]``, the expert's
    action distribution. Every environment is one level; the test and validation states are from other
    levels, one each. All seeds of a run share the states: ``collection_seed`` makes others.

    Args:
        data_dir: the states lie below it in ``coinrun/``, 12 kB each.
        source: ``auto`` or ``expert``, which is all there is.
        n_environments: E, levels.
        examples_per_environment: N, states of each.
        n_test: test states.
        n_validation: validation states, to choose settings by; 0 for none.
        collection_seed: of the play and of the choice of states.

    Raises:
        UserError: an unknown source, a number out of range, a folder that cannot be written to or
            that does not hold what its manifest says.
    """
    # Imported late: playing needs more than loading.
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
        # The test risk of the best student that does not look at the frame.
        references={"constant/kl": _constant_kl(distributions.flatten(0, 1), evaluation["test"].targets)},
        distributions=True,
        in_file=True,
    )


def _mapped(path: Path, name: str, kind: type[np.generic], shape: tuple[int, ...]) -> Tensor:
    """One file, which must be of just this type and shape."""
    from lab.experiments.coinrun.manifest import damaged

    try:
        # "c": pages are read when needed; writing, which nobody does, would not reach the file.
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
