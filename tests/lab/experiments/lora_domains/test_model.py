"""The model knows clean digits before it is fine-tuned, and LoRA alone has gradients."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from ilc.distributed import current
from lab.experiments.lora_domains.data import make_lora_domains, pretraining_examples
from lab.experiments.lora_domains.model import PretrainedLora
from lab.experiments.lora_domains.product_basis_mask import ProductBasisMask

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]


def test_pretraining_and_a_vote_on_the_product() -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("peft")
    torch.manual_seed(0)
    model = PretrainedLora(9, 2)
    examples = pretraining_examples()
    with torch.no_grad():
        assert (model(examples.inputs).argmax(1) == examples.targets).float().mean() > 0.9
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    assert len(trained) == 12 and all("lora_" in name for name in trained)

    data = make_lora_domains()
    method = ProductBasisMask(agreement_threshold=1.0)
    update = {}
    for turn in (torch.eye(4), torch.linalg.qr(torch.randn(4, 4)).Q):
        for module in model.modules():
            if hasattr(module, "lora_A") and len(module.lora_A):  # The same product, turned inside.
                a, b = module.lora_A["default"].weight, module.lora_B["default"].weight
                b.data += 0.01 * torch.ones_like(b) if not update else 0.0
                a.data, b.data = turn @ a.data, b.data @ turn.T
        model.zero_grad()
        method.backward(current(), model, F.cross_entropy, data.inputs, data.targets, "sequential")
        named = dict(model.named_parameters())
        name = next(name for name in named if "lora_A" in name)
        a, b = named[name], named[name.replace("lora_A", "lora_B")]
        assert a.grad is not None and b.grad is not None
        update[len(update)] = b.grad @ a + b @ a.grad
    assert torch.allclose(update[0], update[1], atol=1e-5 * float(update[0].abs().max()))
