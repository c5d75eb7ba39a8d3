"""Numbers under results/linear_unit_tests that are no runs."""
