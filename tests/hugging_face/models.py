"""Tiny models of transformers, each as a module of one tensor, with a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import peft
import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional as F

N, LENGTH, WORDS, CLASSES = 6, 6, 24, 3
TEXT: dict[str, Any] = {
    "vocab_size": WORDS,
    "max_position_embeddings": 8,
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
IMAGE: dict[str, Any] = {
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 8,
    "patch_size": 4,
}


class OneTensor(nn.Module):
    """A model of transformers with a function that calls it with one tensor and takes one from it."""

    def __init__(self, model: nn.Module, call: Callable[[Any, Tensor], Tensor]) -> None:
        super().__init__()
        self.model, self.call = model, call

    def forward(self, x: Tensor) -> Tensor:
        return self.call(self.model, x)


class Case(NamedTuple):
    """A model with inputs ``[N, ...]`` and targets ``[N, ...]``."""

    model: nn.Module
    inputs: Tensor
    targets: Tensor


def risk(outputs: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy over all classes or words."""
    return F.cross_entropy(outputs.flatten(0, -2), targets.flatten())


def of_padded_text(model: Any, words: Tensor) -> Tensor:
    logits: Tensor = model(input_ids=words, attention_mask=(words != 0).long()).logits
    return logits


def of_an_image(model: Any, pixels: Tensor) -> Tensor:
    logits: Tensor = model(pixel_values=pixels).logits
    return logits


def bert() -> Any:
    return transformers.BertForSequenceClassification(transformers.BertConfig(num_labels=CLASSES, **TEXT))


def gpt2() -> Any:
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=WORDS, n_positions=8, n_embd=8, n_layer=2, n_head=2)
    )


def llama() -> Any:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(num_key_value_heads=1, **TEXT))


def qwen3() -> Any:
    return transformers.Qwen3ForCausalLM(
        transformers.Qwen3Config(num_key_value_heads=1, head_dim=4, tie_word_embeddings=True, **TEXT)
    )


def t5() -> Any:
    sizes: dict[str, Any] = {"d_model": 8, "d_kv": 4, "d_ff": 12, "num_layers": 2, "num_heads": 2}
    return transformers.T5ForConditionalGeneration(
        transformers.T5Config(vocab_size=WORDS, decoder_start_token_id=0, **sizes)
    )


def vit() -> Any:
    return transformers.ViTForImageClassification(transformers.ViTConfig(num_labels=CLASSES, **IMAGE))


def clip() -> Any:
    text = {"eos_token_id": WORDS - 1, **TEXT}
    return transformers.CLIPModel(
        transformers.CLIPConfig(
            text_config=text, vision_config=IMAGE, projection_dim=6, logit_scale_init_value=0.0
        )
    )


def whisper() -> Any:
    layers = {
        f"{part}_{what}": 2 for part in ("encoder", "decoder") for what in ("layers", "attention_heads")
    }
    return transformers.WhisperForConditionalGeneration(
        transformers.WhisperConfig(
            vocab_size=WORDS,
            num_mel_bins=4,
            d_model=8,
            encoder_ffn_dim=12,
            decoder_ffn_dim=12,
            max_source_positions=8,
            max_target_positions=8,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=1,
            **layers,
        )
    )


def both_sides_of_t5(model: Any, words: Tensor) -> Tensor:
    mask = (words != 0).long()
    logits: Tensor = model(input_ids=words, attention_mask=mask, decoder_input_ids=words).logits
    return logits


def words_in(numbers: Tensor) -> Tensor:
    """Words made of numbers, so that one tensor serves both sides."""
    return (numbers[:, :LENGTH].abs() * 20).long() % WORDS


def match_of_clip(model: Any, pixels: Tensor) -> Tensor:
    words = words_in(pixels[:, 0, 0]) % (WORDS - 1)
    words[:, -1] = WORDS - 1  # The end, where the text's features are taken.
    texts = model.get_text_features(input_ids=words).pooler_output
    images = model.get_image_features(pixel_values=pixels).pooler_output
    match: Tensor = model.logit_scale.exp() * F.cosine_similarity(texts, images)
    return match[:, None] * torch.tensor([1.0, 0.0, -1.0], dtype=match.dtype)


def transcript_of_whisper(model: Any, sounds: Tensor) -> Tensor:
    logits: Tensor = model(input_features=sounds, decoder_input_ids=words_in(sounds[:, 0])).logits
    return logits


def with_adapter(model: nn.Module, config: Any) -> Any:
    """The model with a frozen base and an adapter."""
    return peft.get_peft_model(model, config)


def lora(**options: Any) -> Any:
    return peft.LoraConfig(r=2, **options)


Call = Callable[[Any, Tensor], Tensor]
MODELS: dict[str, tuple[Callable[[], Any], Call, str]] = {
    "BERT": (bert, of_padded_text, "text to class"),
    "GPT-2": (gpt2, of_padded_text, "text to words"),
    "Llama": (llama, of_padded_text, "text to words"),
    "Qwen3": (qwen3, of_padded_text, "text to words"),
    "T5": (t5, both_sides_of_t5, "text to words"),
    "ViT": (vit, of_an_image, "image to class"),
    "CLIP": (clip, match_of_clip, "image to class"),
    "Whisper": (whisper, transcript_of_whisper, "sound to words"),
    "BERT, LoRA": (
        lambda: with_adapter(bert(), lora(target_modules=["query", "value"])),
        of_padded_text,
        "text to class",
    ),
    "Llama, DoRA": (
        lambda: with_adapter(llama(), lora(target_modules=["q_proj", "down_proj"], use_dora=True)),
        of_padded_text,
        "text to words",
    ),
    "GPT-2, IA3": (
        lambda: with_adapter(
            gpt2(),
            peft.IA3Config(
                target_modules=["c_attn", "mlp.c_proj"],
                feedforward_modules=["mlp.c_proj"],
                fan_in_fan_out=True,
            ),
        ),
        of_padded_text,
        "text to words",
    ),
}


def make(kind: str) -> Case:
    """A model in double precision and evaluation mode, so without dropout, and a batch for it."""
    torch.manual_seed(0)
    random = torch.Generator().manual_seed(1)
    build, call, task = MODELS[kind]
    inputs: Tensor
    if task.startswith("text"):
        inputs = torch.randint(1, WORDS, (N, LENGTH), generator=random)
        inputs[1::2, -2:] = 0  # Padding.
    else:
        shape = (N, 3, 8, 8) if task.startswith("image") else (N, 4, 16)
        inputs = torch.randn(shape, generator=random, dtype=torch.float64)
    many, size = (CLASSES, (N,)) if task.endswith("class") else (WORDS, (N, LENGTH))
    targets = torch.randint(0, many, size, generator=random)
    model = OneTensor(build(), call)
    for p in model.parameters():
        if (
            p.ndim > 1 and p.requires_grad
        ):  # Fresh weights are so small that few gradients are clear of rounding.
            nn.init.normal_(p, std=0.3)
    return Case(model.double().eval(), inputs, targets)
