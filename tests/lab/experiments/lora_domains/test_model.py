"""The model knows clean digits before it is fine-tuned, and LoRA alone has gradients."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from ilc.distributed import current
from ilc.errors import UserError
from lab.experiments.lora_domains.data import make_lora_domains, pretraining_examples
from lab.experiments.lora_domains.model import PretrainedLora
from lab.experiments.lora_domains.product_basis_mask import ProductBasisMask
from lab.machine.torchvision_import import import_torchvision

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def test_a_negative_number_of_pretraining_steps_is_refused() -> None:
    with pytest.raises(UserError, match=r"model\.pretraining_steps must be at least 0, got -1"):
        PretrainedLora(9, 2, pretraining_steps=-1)


@pytest.mark.slow
def test_pretraining_and_a_vote_on_the_product() -> None:
    import_torchvision()  # Before transformers and peft.
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
    parameters = dict(model.named_parameters())
    pairs = [(name, name.replace("lora_A", "lora_B")) for name in parameters if "lora_A" in name]
    for _, outer in pairs:
        parameters[outer].data += 0.01 * torch.randn_like(parameters[outer])
    updates = []
    for turn in (torch.eye(4), torch.linalg.qr(torch.randn(4, 4)).Q):
        for inner, outer in pairs:  # The same product.
            parameters[inner].data = turn @ parameters[inner].data
            parameters[outer].data = parameters[outer].data @ turn.T
        model.zero_grad()
        method.backward(current(), model, F.cross_entropy, data.inputs, data.targets, "sequential")
        a, b = (parameters[name] for name in pairs[0])
        assert a.grad is not None and b.grad is not None
        updates.append((b.grad @ a + b @ a.grad).detach())
    first, second = updates
    assert torch.allclose(first, second, atol=1e-4 * float(first.abs().max()))
