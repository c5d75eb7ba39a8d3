"""What chapter 2 of the thesis claims, and what became of it here."""
