"""Numbers under results/skip_intervals that are no runs."""
