"""LoRA on a tiny transformer: a token that gives the label away in training and turns in the test."""

TITLE = "LoRA and domains with a spurious token"
