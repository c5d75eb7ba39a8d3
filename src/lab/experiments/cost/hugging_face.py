"""Models of ``transformers`` that are timed: whole and with LoRA of ``peft``, which that extra brings.

Two layers of width 256 with four heads, 1,000 words or patches of 4 x 4 pixels, no dropout, random weights.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import peft
import transformers
from torch import Tensor, nn

from lab.experiments.cost.workloads import Workload

WIDTH, LAYERS, HEADS, WORDS, CLASSES, PATCH = 256, 2, 4, 1000, 10, 4
EXAMPLES = 32
LENGTHS = (16, 128)
SIDES = {16: (16, 16), 128: (32, 64)}
"""Number of patches -> height and width of the image in pixels."""
_SHAPE: dict[str, Any] = {
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 4 * WIDTH,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}


class Logits(nn.Module):
    """A model of transformers as a module from one tensor to logits, with the classes as axis 1."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        """Return ``[N, classes]``, or ``[N, words, T]`` of a model that names the next word."""
        logits: Tensor = self.model(x).logits
        return logits.movedim(-1, 1)


def bert(length: int) -> Any:
    """Return a classifier of texts."""
    config = transformers.BertConfig(
        vocab_size=WORDS, max_position_embeddings=length, num_labels=CLASSES, **_SHAPE
    )
    return transformers.BertForSequenceClassification(config)


def gpt2(length: int) -> Any:
    """Return a model that names the next word. It shares the table of words with its last layer."""
    config = transformers.GPT2Config(
        vocab_size=WORDS,
        n_positions=length,
        n_embd=WIDTH,
        n_layer=LAYERS,
        n_head=HEADS,
        use_cache=False,
        bos_token_id=None,
        eos_token_id=None,
        **dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0),
    )
    return transformers.GPT2LMHeadModel(config)


def vit(length: int) -> Any:
    """Return a classifier of images with this number of patches."""
    config = transformers.ViTConfig(image_size=SIDES[length], patch_size=PATCH, num_labels=CLASSES, **_SHAPE)
    return transformers.ViTForImageClassification(config)


LORA: dict[str, dict[str, Any]] = {
    "BERT": {"target_modules": ["query", "value"]},
    "GPT-2": {"target_modules": ["c_attn"], "fan_in_fan_out": True},
    "ViT": {"target_modules": ["q_proj", "v_proj", "query", "value"]},
}


def _whole(make: Callable[[int], Any], length: int) -> nn.Module:
    return Logits(make(length))


def _with_lora(make: Callable[[int], Any], length: int, options: dict[str, Any]) -> nn.Module:
    return Logits(peft.get_peft_model(make(length), peft.LoraConfig(r=8, **options)))


def _workloads() -> dict[str, Workload]:
    found = {}
    for name, make in {"BERT": bert, "GPT-2": gpt2, "ViT": vit}.items():
        for length in LENGTHS:
            shape = (3, *SIDES[length]) if name == "ViT" else (length,)
            words = name == "GPT-2"
            forms: dict[str, Callable[[], nn.Module]] = {
                "full": partial(_whole, make, length),
                "LoRA": partial(_with_lora, make, length, LORA[name]),
            }
            for form, model in forms.items():
                found[f"{name}, {form}, T = {length}"] = Workload(
                    model,
                    shape,
                    WORDS if words else CLASSES,
                    ((EXAMPLES, 1),),
                    ((EXAMPLES, 1),),
                    steps=10 if length == LENGTHS[0] else 5,
                    without=("per_example_loss",),
                    vocabulary=0 if name == "ViT" else WORDS,
                    of_target=(length,) if words else (),
                )
    return found


WORKLOADS: dict[str, Workload] = _workloads()
"""Twelve models: three kinds, trained whole and with LoRA of rank 8, on 16 and on 128 positions."""
