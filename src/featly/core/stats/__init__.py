"""Statistical tests and distances."""
