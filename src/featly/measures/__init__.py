"""Quality of a selection: metrics, stability, recovery of the truth, tests (arrays only)."""
