"""What a command shows on a terminal or writes into a pipe: bars of progress, tables, plain output."""
