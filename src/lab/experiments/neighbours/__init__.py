"""The methods beside the AND-mask, compared on four experiments with one budget of search."""

TITLE = "Neighbours"
