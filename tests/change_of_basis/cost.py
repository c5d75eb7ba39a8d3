"""The time of a step of LoRA with votes in the product's basis, relative to a plain step."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc import AndMask
from ilc.gradients import backward
from ilc.lora import product_basis
from lab.machine.transformers_import import import_transformers

WORDS, N = 1000, 32


class Classifier(nn.Module):
    """A model of transformers that takes a tensor of words and returns logits."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, words: Tensor) -> Tensor:
        logits: Tensor = self.model(input_ids=words).logits
        return logits


def bert_with_lora() -> Classifier:
    """BERT with 4 layers of width 256, LoRA of rank 8 on queries and values, in single precision."""
    import_transformers("--cost")
    import peft
    import transformers

    config = transformers.BertConfig(
        vocab_size=WORDS,
        hidden_size=256,
        intermediate_size=1024,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_labels=2,
    )
    torch.manual_seed(0)
    model: Any = transformers.BertForSequenceClassification(config)
    adapted = peft.get_peft_model(model, peft.LoraConfig(r=8, target_modules=["query", "value"]))
    return Classifier(adapted).eval()


def ratios(n_tokens: int, n_rounds: int = 15) -> dict[str, float]:
    """Process CPU time of each kind of step over that of a plain step: the median of interleaved rounds."""
    model = bert_with_lora()
    words, targets = torch.randint(1, WORDS, (N, n_tokens)), torch.randint(0, 2, (N,))

    def plain() -> None:
        model.zero_grad()
        torch.autograd.backward(F.cross_entropy(model(words), targets))

    def masked(way: str, n_environments: int, in_basis: bool) -> Callable[[], None]:
        size = (n_environments, N // n_environments)
        inputs, labels = words.view(*size, n_tokens), targets.view(size)

        def step() -> None:
            model.zero_grad()
            with product_basis(model) if in_basis else nullcontext():
                backward(model, F.cross_entropy, inputs, labels, AndMask(0.5), way)

        return step

    kinds = {"plain": plain}
    for way, n_environments in (("per_example", N), ("sequential", 4)):
        for in_basis in (False, True):
            name = f"{way}, E = {n_environments}" + (", in product_basis" if in_basis else "")
            kinds[name] = masked(way, n_environments, in_basis)
    times: dict[str, list[float]] = {name: [] for name in kinds}
    for round_ in range(-2, n_rounds):
        for name, step in kinds.items():
            start = time.process_time()
            step()
            if round_ >= 0:  # Earlier rounds make the trials of the first steps.
                times[name].append(time.process_time() - start)
    middle = {name: statistics.median(some) for name, some in times.items()}
    return {name: value / middle["plain"] for name, value in middle.items()}


def milliseconds_of_a_module(n_rounds: int = 50) -> float:
    """Process CPU time of ``product_basis`` for one module of width 256 and rank 8, without the step."""
    model = bert_with_lora()
    n_modules = sum("lora_A" in name for name, _ in model.named_parameters())
    times = []
    for _ in range(n_rounds):
        start = time.process_time()
        with product_basis(model):
            for p in model.parameters():  # New gradients, which the end of the block writes for the factors.
                p.grad = torch.ones_like(p) if p.requires_grad else None
        times.append(time.process_time() - start)
    return statistics.median(times) / n_modules * 1000


def print_ratios() -> None:
    """Print the ratios for short and for long texts, on one thread."""
    torch.set_num_threads(1)
    print(f"product_basis alone: {milliseconds_of_a_module():.2f} ms for each module")
    for n_tokens in (16, 64):
        for name, ratio in ratios(n_tokens).items():
            print(f"T = {n_tokens}, {name}: {ratio:.2f} x")
