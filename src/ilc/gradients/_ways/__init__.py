"""The ways to obtain environment gradients, one file for each."""
