"""Tables for the checks: small, mixed as the method allows, with a known signal."""

import importlib.util
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse

__all__ = ["Example", "example", "in_library", "installed_libraries", "sparse_example"]


@dataclass
class Example:
    """Columns by name, a target, and the names of the categorical columns."""

    columns: dict[str, np.ndarray]
    y: np.ndarray
    categorical: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Column names, in order."""
        return list(self.columns)

    def take_rows(self, rows: np.ndarray) -> "Example":
        """Return some rows, in the given order."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        return Example(columns, self.y[rows], self.categorical)

    def select_columns(self, names: list[str]) -> "Example":
        """Return some columns, in the given order."""
        categorical = [name for name in self.categorical if name in names]
        return Example({name: self.columns[name] for name in names}, self.y, categorical)

    def replace_columns(self, **columns: np.ndarray) -> "Example":
        """Return the example with some columns replaced or added."""
        return Example({**self.columns, **columns}, self.y, self.categorical)

    def array(self) -> np.ndarray:
        """Return the numeric columns as an array, in order."""
        numeric = [name for name in self.names if name not in self.categorical]
        return np.column_stack([self.columns[name].astype(np.float64) for name in numeric])


def example(
    estimator: Any, n_rows: int = 60, n_numbers: int = 9, n_classes: int = 2, seed: int = 0
) -> Example:
    """Make a table that the method can take, with signal in the first columns of each kind."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    columns: dict[str, np.ndarray] = {}
    for j in range(n_numbers):
        shift = (1.0 - j / 4) if j < 4 else 0.0
        columns[f"number {j}"] = rng.normal(size=n_rows) + shift * y
    columns["single"] = (rng.normal(size=n_rows) + 0.4 * y).astype(np.float32)
    columns["whole"] = rng.integers(-20, 20, size=n_rows) + 8 * y
    if "categorical" not in estimator._kinds:
        return Example(columns, np.array(["no", "yes", "both", "none"])[y])
    levels = np.array(["blue", "green", "red"])
    random_level = rng.integers(0, 3, n_rows)
    columns["colour"] = levels[np.where(rng.random(n_rows) < 0.7, y % 3, random_level)]
    columns["noise level"] = np.array(["a", "b", "c", "d", "e"])[rng.integers(0, 5, n_rows)]
    shuffled = rng.permutation(list(columns)).tolist()
    return Example(
        {name: columns[name] for name in shuffled},
        np.array(["no", "yes", "both", "none"])[y],
        ["colour", "noise level"],
    )


def installed_libraries() -> list[str]:
    """List the frame libraries that are installed; polars always is."""
    return [name for name in ("polars", "pandas", "pyarrow") if importlib.util.find_spec(name)]


def in_library(table: Example, library: str) -> Any:
    """Convert the table to a frame of a library."""
    if library == "pandas":
        import pandas as pd

        frame = pd.DataFrame(table.columns)
        return frame.astype(dict.fromkeys(table.categorical, "category"))
    if library == "pyarrow":
        import pyarrow as pa

        return pa.table(
            {
                name: pa.array(values).dictionary_encode()
                if name in table.categorical
                else pa.array(values)
                for name, values in table.columns.items()
            }
        )
    import polars as pl

    return pl.DataFrame(table.columns).with_columns(pl.col(table.categorical).cast(pl.Categorical))


def sparse_example(n_rows: int = 50, n_features: int = 30, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Make a sparse matrix, mostly zeros, and a target of two classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    X = np.where(rng.random((n_rows, n_features)) < 0.2, rng.normal(size=(n_rows, n_features)), 0.0)
    X[:, :3] += np.where(rng.random((n_rows, 3)) < 0.5, y[:, None], 0)
    return scipy.sparse.csr_array(X), y
