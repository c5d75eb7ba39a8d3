"""Random small models, losses and batches in every way, each against a plain loop of autograd."""
