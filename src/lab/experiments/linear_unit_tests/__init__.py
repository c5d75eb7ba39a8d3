"""Six synthetic problems with published numbers: thousands of linear models as one program."""

TITLE = "Linear unit tests (Aubin et al. 2021)"
