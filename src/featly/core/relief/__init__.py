"""Near rows: the Relief family."""
