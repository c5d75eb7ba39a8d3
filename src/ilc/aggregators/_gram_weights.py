"""TorchJD's aggregators that need only the Gram matrix of the gradients."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from ilc._extras import install_command
from ilc.aggregators._joint import Weighting
from ilc.errors import UserError

KINDS = ("UPGrad", "MGDA", "DualProj", "PCGrad", "IMTLG", "AlignedMTL", "Krum")
"""The classes of TorchJD, without those that need cvxpy."""


class GramWeights(Weighting):
    """The weights that a class of TorchJD finds for the Gram matrix over all parameters (arXiv 2406.16232).

    The result equals that of TorchJD on the matrix of all gradients. This class needs the extra ``torchjd``.

    Args:
        kind: one of ``KINDS``: ``UPGrad`` conflicts with no environment, ``MGDA`` is the shortest convex
            combination. https://torchjd.org describes the others.
        options: the arguments of TorchJD's class, by name; None for its defaults.

    Raises:
        UserError: TorchJD is not installed, the kind is unknown, or its class does not take these options.
    """

    needs_rows = True

    def __init__(self, kind: str = "UPGrad", options: dict[str, Any] | None = None) -> None:
        if kind not in KINDS:
            raise UserError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
        try:
            torchjd: Any = import_module("torchjd.aggregation")
            self._weighting = getattr(torchjd, f"{kind}Weighting")(**(options or {}))
        except TypeError as error:
            raise UserError(
                f"TorchJD's {kind} does not take options={options!r} ({error}): give the arguments of "
                "its class by name, as in GramWeights('Krum', {'n_byzantine': 1}), or in a run as in "
                "aggregator.options={n_byzantine:1}"
            ) from error
        except ImportError as error:
            raise UserError(
                "GramWeights needs TorchJD and its solver, which are not installed: run "
                f"{install_command('torchjd')}"
            ) from error
        self.kind, self.options = kind, options or {}

    def weights(self, risks: Tensor, gram: Tensor | None) -> Tensor:
        """Return TorchJD's weights. The Gram matrix is in double precision, because its solvers need that."""
        assert gram is not None, "gathered because needs_rows is set"
        each = [self._weights_of(one) for one in gram.double().reshape(-1, *gram.shape[-2:])]
        return torch.stack(each).view(gram.shape[:-1]).to(gram)

    def _weights_of(self, gram: Tensor) -> Tensor:
        try:
            weights: Tensor = self._weighting(gram)
        except RuntimeError:  # LinAlgError is one.
            if bool(gram.isfinite().all()):
                raise
            return gram[0] * torch.nan  # So that it stays visible in the update.
        return weights
