"""Measurements: numbers under results/skip_intervals that do not come from runs."""
