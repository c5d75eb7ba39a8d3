"""Small problems on which consistency can be looked at: figure 1, equation 5, the authors' regression."""
