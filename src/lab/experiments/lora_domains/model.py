"""A tiny BERT that is pretrained on clean digits and then has LoRA modules, which alone are trained."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ilc.errors import UserError
from lab.experiments.lora_domains.data import SIZE, pretraining_examples
from lab.machine.transformers_import import import_transformers

WIDTH = 32


class PretrainedLora(nn.Module):
    """Classifies sequences of tokens ``[N, T, 8]``. Only the LoRA modules have gradients.

    The encoder is ``BertModel`` of transformers with random weights. Tokens enter through a linear layer, and
    the mean of the outputs over the tokens goes to a linear classifier. Building the model pretrains all of
    it with Adam on the images without codes, and then adds LoRA modules of ``peft`` to the linear layers of
    the encoder.

    Args:
        n_tokens: T.
        n_outputs: the number of classes.
        rank: the rank of the LoRA modules.
        pretraining_steps: the number of steps of pretraining, each with all images.
        pretraining_lr: the learning rate of Adam.

    Raises:
        UserError: transformers or peft is not installed, or ``pretraining_steps`` is below 0.
    """

    def __init__(
        self,
        n_tokens: int,
        n_outputs: int,
        rank: int = 4,
        pretraining_steps: int = 100,
        pretraining_lr: float = 3e-3,
    ) -> None:
        super().__init__()
        if pretraining_steps < 0:
            raise UserError(f"model.pretraining_steps must be at least 0, got {pretraining_steps}")
        import_transformers("experiment=lora_domains")
        import peft
        from transformers import BertConfig, BertModel

        config = BertConfig(
            vocab_size=1,
            hidden_size=WIDTH,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=2 * WIDTH,
            max_position_embeddings=n_tokens,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            attn_implementation="eager",
        )
        self.tokens, self.head = nn.Linear(SIZE, WIDTH), nn.Linear(WIDTH, n_outputs)
        self.encoder: Any = BertModel(config, add_pooling_layer=False)
        _pretrain(self, pretraining_steps, pretraining_lr)
        self.requires_grad_(False)
        lora = peft.LoraConfig(r=rank, lora_alpha=rank, target_modules=["query", "key", "value", "dense"])
        self.encoder = peft.get_peft_model(self.encoder, lora)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the scores ``[N, C]`` of inputs ``[N, T, 8]``."""
        states: Tensor = self.encoder(inputs_embeds=self.tokens(inputs)).last_hidden_state
        scores: Tensor = self.head(states.mean(1))
        return scores


def _pretrain(model: nn.Module, steps: int, lr: float) -> None:
    examples = pretraining_examples()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    with torch.enable_grad():
        for _ in range(steps):
            optimizer.zero_grad()
            torch.autograd.backward(nn.functional.cross_entropy(model(examples.inputs), examples.targets))
            optimizer.step()
