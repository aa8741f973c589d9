"""Splits of columns: forests, C4.5, separability of split values."""
