"""Measurements: numbers under results/linear_unit_tests that do not come from runs."""
