from __future__ import annotations

import torch

from lab.models import Linear


def test_starts_as_a_sum() -> None:
    model = Linear(4, 1)
    assert [name for name, _ in model.named_parameters()] == ["weight"]
    inputs = torch.randn(7, 4)
    torch.testing.assert_close(model(inputs), inputs.sum(1, keepdim=True))
