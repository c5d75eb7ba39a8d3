"""Measurements of networks and of a model of two weights on Colored MNIST."""
