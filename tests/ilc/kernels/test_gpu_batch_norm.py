"""BatchNorm's local backward pass by the GPU's kernel, in Triton's interpreter, against PyTorch."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from ilc.gradients._example_terms.batch_norm import _backward
from ilc.kernels import _gpu_batch_norm


def compare(device: str, *shape: int) -> None:
    random = torch.Generator().manual_seed(0)
    x, delta = (torch.randn(shape, generator=random).to(device) for _ in range(2))
    mean, invstd, scale = (torch.rand(shape[1], generator=random).to(device) for _ in range(3))
    found = _gpu_batch_norm.normalise_backward(x, delta, mean, invstd, scale)
    for ours, theirs in zip(found, _backward(x, delta, mean, invstd, scale), strict=True):
        torch.testing.assert_close(ours, theirs)


SHAPES = [(3, 4, 5, 6), (2, 3), (2, 3, 17), (2, 5, 40, 41), (1, 1, 1, 1)]


def test_the_kernel_gives_what_pytorch_gives() -> None:
    pytest.importorskip("triton", reason="triton is not installed (pip install triton, on Linux)")
    # Triton decides when it is imported whether its own sums are interpreted.
    interpreted = os.environ | {"TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, __file__], check=True, env=interpreted)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device can be used here")
@pytest.mark.parametrize("shape", [*SHAPES, (80, 64, 32, 32)])
def test_it_does_so_on_a_gpu(shape: tuple[int, ...]) -> None:
    x = torch.empty(shape, device="cuda")
    assert _gpu_batch_norm.usable(x, x)
    compare("cuda", *shape)


if __name__ == "__main__":
    for each in SHAPES:
        compare("cpu", *each)
