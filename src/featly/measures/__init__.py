"""How good a selection is: metrics, stability, recovery of the truth, tests (arrays only)."""
