"""``python -m studies.f_test_targets``: how often FTest has a small p-value where nothing is true.

Columns and targets are drawn independently, so a p-value up to 0.05 or 0.001 should come up in 5%
and 0.1% of the columns. The shares go to ``studies/results/f-test-targets.json``, and from there to
the guide to targets.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

import featly
from featly import FTest

RESULTS = Path(__file__).parent / "results" / "f-test-targets.json"
N_ROWS = (30, 100, 400)
TARGETS = ("normal", "lognormal", "survival, 30% events", "survival, 70% events")
COLUMNS = ("normal", "lognormal", "1 in 10", "1 in 2")
LEVELS = (0.05, 0.001)
TABLES, WIDTH = 400, 250  # of each kind, and columns of each


def draw_columns(kind: str, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Draw columns; a constant one has no p-value, so it is not drawn."""
    if kind in ("normal", "lognormal"):
        values = rng.normal(size=(n_rows, WIDTH))
        return np.exp(values) if kind == "lognormal" else values
    indicators = (rng.random((n_rows, WIDTH)) < 1 / int(kind.split()[-1])).astype(float)
    varies = indicators.std(axis=0) > 0
    return np.asarray(indicators[:, varies])


def draw_target(kind: str, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Draw numbers, or times with at least one event."""
    if not kind.startswith("survival"):
        values = rng.normal(size=n_rows)
        return np.exp(values) if kind == "lognormal" else values
    share = float(kind.split()[1].rstrip("%")) / 100
    while True:
        time, censored = rng.exponential(size=n_rows), rng.exponential(size=n_rows)
        censored *= (1 - share) / share
        if (time <= censored).any():
            break
    rows = zip(time <= censored, np.minimum(time, censored), strict=True)
    return np.array(list(rows), [("event", "?"), ("time", "f8")])


def measure() -> list[dict[str, Any]]:
    """Return the shares of small p-values for every kind of table."""
    out = []
    for n_rows in N_ROWS:
        for target in TARGETS:
            for column in COLUMNS:
                rng = np.random.default_rng([n_rows, TARGETS.index(target), COLUMNS.index(column)])
                shares = []
                for _ in range(TABLES):
                    y = draw_target(target, n_rows, rng)
                    p = FTest(n_jobs=1).fit(draw_columns(column, n_rows, rng), y).p_value_
                    shares.append([(p <= level).mean() for level in LEVELS])
                mean, error = np.mean(shares, axis=0), np.std(shares, axis=0) / TABLES**0.5
                out.append({
                    "rows": n_rows, "target": target, "columns": column,
                    "share": mean.round(5).tolist(), "standard_error": error.round(5).tolist(),
                })  # fmt: skip
    return out


def main() -> None:
    """Measure, and store the shares."""
    document = {
        "featly": featly.__version__, "numpy": np.__version__, "tables": TABLES,
        "columns_a_table": WIDTH, "levels": LEVELS, "results": measure(),
    }  # fmt: skip
    RESULTS.write_text(json.dumps(document, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
