"""Columns as small whole numbers: codes, contingency tables, entropy, cut points, bit-planes."""
