"""Models of transformers and adapters of peft in every way: tiny, with random weights, without a download."""
