"""Each example's term of a layer's gradient, rebuilt from what passes through the layer, and their sums."""
