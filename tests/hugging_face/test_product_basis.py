"""Votes in the basis of the product, for adapters of peft inside a model of transformers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from change_of_basis.layer import change_of_basis
from ilc import AndMask
from ilc.gradients import backward
from ilc.lora import product_basis
from lab.machine.torchvision_import import import_torchvision

# peft calls what transformers is about to rename.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
RANK = 2


@pytest.fixture(scope="module", autouse=True)
def _packages() -> None:
    """Imported by the processes that run these tests only, because it takes seconds."""
    import_torchvision()
    for name in ("transformers", "peft"):
        pytest.importorskip(name, reason="the models need the extra 'transformers'")


def updates(adapter: dict[str, Any], seed: int | None, in_basis: bool) -> dict[str, Tensor]:
    """What a step of SGD per example adds to each product; ``seed`` changes the factors of all."""
    from hugging_face.models import OneTensor, bert, lora, of_padded_text, risk, with_adapter

    torch.manual_seed(0)
    model = OneTensor(with_adapter(bert(), lora(**adapter)), of_padded_text).double().eval()
    words, targets = torch.randint(1, 24, (6, 1, 6)), torch.randint(0, 3, (6, 1))
    parameters = dict(model.named_parameters())
    pairs = {
        name: (p, parameters[name.replace("_A", "_B")]) for name, p in parameters.items() if "_A." in name
    }
    for number, (a, b) in enumerate(pairs.values()):
        with torch.no_grad():
            for p in (a, b):
                p.add_(torch.randn_like(p), alpha=0.1)
            if seed is not None:
                basis = change_of_basis(seed + number, rank=RANK)
                a.copy_(basis @ a)
                b.copy_(torch.linalg.solve(basis, b, left=False))
    before = {name: (b @ a).detach() for name, (a, b) in pairs.items()}
    step = (model, risk, words, targets, AndMask(0.5), "per_example")
    if in_basis:
        with product_basis(model):
            backward(*step)
    else:
        backward(*step)
    torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.1).step()
    return {name: (b @ a).detach() - before[name] for name, (a, b) in pairs.items()}


@pytest.mark.slow
@pytest.mark.parametrize("use_dora", [False, True])
def test_every_module_of_peft(use_dora: bool) -> None:
    modules = ["query", "dense"] if use_dora else ["query", "value", "word_embeddings"]
    adapter = {"target_modules": modules, "use_dora": use_dora}
    own, other = updates(adapter, None, in_basis=True), updates(adapter, 5, in_basis=True)
    plain, moved = updates(adapter, None, in_basis=False), updates(adapter, 5, in_basis=False)
    assert len(own) > 4 and use_dora != any("embedding_A" in name for name in own)
    for name, update in own.items():
        assert float((other[name] - update).norm()) < 1e-6 * float(update.norm())
        assert float((moved[name] - plain[name]).norm()) > 0.1 * float(plain[name].norm())
