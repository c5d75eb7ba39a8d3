"""LoRA of peft on a model of transformers that FSDP2 has divided."""

from __future__ import annotations

import torch
from fsdp_cases import whole
from torch import Tensor
from torch.distributed.fsdp import fully_shard
from torch.nn import functional as F

from ilc import distributed
from ilc.aggregators import AndMask
from ilc.distributed import current
from lab.machine.torchvision_import import import_torchvision


def steps(sharded: bool) -> dict[str, Tensor]:
    """Masks of four steps, and the adapters and a frozen table at the end."""
    import_torchvision()  # transformers imports it, which fails beside a CPU-only torch.
    from hugging_face.models import bert, lora, with_adapter

    torch.manual_seed(0)
    model = with_adapter(bert(), lora(target_modules=["query", "value"])).double().eval()
    if sharded:
        for layer in model.base_model.model.bert.encoder.layer:
            fully_shard(layer)
        fully_shard(model)
    trained = [p for p in model.parameters() if p.requires_grad]
    assert len(trained) < len(list(model.parameters())) / 2
    optimizer = torch.optim.SGD(trained, lr=1.0)
    masks = []
    for _ in range(4):
        words, targets = torch.randint(1, 24, (5, 4, 6)), torch.randint(3, (5, 4))
        words[:, 0, 4:] = 0
        mine = current().part(5)
        batch = {"input_ids": words[mine], "attention_mask": (words[mine] != 0).long()}
        distributed.backward(
            model,
            lambda outputs, classes: F.cross_entropy(outputs.logits, classes),
            batch,
            targets[mine],
            AndMask(0.6),
            "sequential",
        )
        gradients = [whole(p.grad) for p in trained if p.grad is not None]
        masks.append(torch.cat([gradient.flatten() != 0 for gradient in gradients]))
        optimizer.step()
    state = {name: whole(p) for name, p in model.state_dict().items() if "lora" in name or "word" in name}
    return {"masks": torch.stack(masks), **state}
