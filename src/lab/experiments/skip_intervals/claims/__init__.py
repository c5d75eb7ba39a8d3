"""The claims of chapter 2 of the thesis, and our verdicts."""
