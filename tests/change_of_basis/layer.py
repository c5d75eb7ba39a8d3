"""One layer with a low-rank update, a batch for it, and other factors of the same update."""

from __future__ import annotations

import torch
from torch import Tensor, nn

E, N, D_IN, D_OUT, RANK = 8, 16, 32, 24, 4


class LowRankLayer(nn.Module):
    """A frozen weight plus the product ``B A``, in double precision."""

    weight: Tensor

    def __init__(self, weight: Tensor, a: Tensor, b: Tensor) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.lora_A, self.lora_B = nn.Parameter(a.clone()), nn.Parameter(b.clone())

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = x @ self.weight.T + x @ self.lora_A.T @ self.lora_B.T
        return outputs

    @property
    def product(self) -> Tensor:
        return (self.lora_B @ self.lora_A).detach()

    def with_factors(self, basis: Tensor) -> LowRankLayer:
        """The same model with the factors ``R A`` and ``B R^-1``."""
        a, b = self.lora_A.detach(), self.lora_B.detach()
        return LowRankLayer(self.weight, basis @ a, torch.linalg.solve(basis, b, left=False))


def layer(seed: int = 0, b_size: float = 0.3, d_out: int = D_OUT, rank: int = RANK) -> LowRankLayer:
    """A layer whose ``A`` is drawn as in ``peft``; ``b_size`` 0 is the start of a training."""
    random = torch.Generator().manual_seed(seed)
    weight, a, b = (
        torch.randn(shape, generator=random, dtype=torch.float64)
        for shape in ((d_out, D_IN), (rank, D_IN), (d_out, rank))
    )
    return LowRankLayer(weight, a / (3 * D_IN) ** 0.5, b * b_size)


def batch(seed: int = 1, d_out: int = D_OUT, n: int = N) -> tuple[Tensor, Tensor]:
    """Inputs ``[E, N, d_in]`` and targets ``[E, N, d_out]``: in part a function that environments share."""
    random = torch.Generator().manual_seed(seed)
    inputs = torch.randn(E, n, D_IN, generator=random, dtype=torch.float64)
    shared = torch.randn(D_IN, d_out, generator=random, dtype=torch.float64)
    own = torch.randn(E, D_IN, d_out, generator=random, dtype=torch.float64)
    return inputs, inputs @ (shared + own)


def rotation(seed: int, rank: int = RANK) -> Tensor:
    """A random orthogonal ``[r, r]``."""
    random = torch.Generator().manual_seed(seed)
    turned: Tensor = torch.linalg.qr(torch.randn(rank, rank, generator=random, dtype=torch.float64)).Q
    return turned


def change_of_basis(seed: int, condition: float = 10.0, rank: int = RANK) -> Tensor:
    """A random invertible ``[r, r]`` with this ratio of its largest singular value to its smallest."""
    sizes = torch.logspace(-0.5, 0.5, rank, base=condition, dtype=torch.float64)
    return rotation(2 * seed, rank) @ torch.diag(sizes) @ rotation(2 * seed + 1, rank)
