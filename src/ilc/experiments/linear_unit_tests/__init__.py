"""Six synthetic problems with published numbers: thousands of linear models as one program."""
