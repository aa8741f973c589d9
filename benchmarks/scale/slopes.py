"""Slopes of points on logarithms, and the rows of the table of results."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.scale.families import FAMILIES, Family, family_of, measurement_of

LEAST = 3  # points of a line with an error
STEEPEST = 3.0  # that a prediction may be


@dataclass(frozen=True)
class Slope:
    """The exponent of growth, and its standard error.

    Attributes
    ----------
    value, error : float
    count : int
        Points that it was fitted to.
    """

    value: float
    error: float
    count: int

    def __str__(self) -> str:
        return f"{self.value:.2f} ± {self.error:.2f}"


def slope(sizes: Sequence[float], values: Sequence[float]) -> Slope | None:
    """Fit least squares on logarithms over the upper half of the points, at least three.

    None where there are fewer, or where a value is not positive.
    """
    count = max(LEAST, (len(sizes) + 1) // 2)
    if len(sizes) < count or min(values[-count:], default=0) <= 0:
        return None
    x, y = np.log(sizes[-count:]), np.log(values[-count:])
    x = x - x.mean()
    spread = float(x @ x)
    if spread == 0:
        return None
    value = float(x @ y) / spread
    residual = y - y.mean() - value * x
    return Slope(value, float(np.sqrt(residual @ residual / (count - 2) / spread)), count)


def predict_seconds(before: Sequence[Sequence[float]], size: float) -> float | None:
    """Return seconds that a point may take, by the last two; at least in proportion to its size."""
    if not before:
        return None
    last_size, seconds = before[-1]
    steep = 1.0
    if len(before) > 1:
        earlier_size, earlier = before[-2]
        steep = np.log(max(seconds / earlier, 1e-9)) / np.log(last_size / earlier_size)
    return float(seconds * (size / last_size) ** np.clip(steep, 1.0, STEEPEST))


def points_of(run: dict[str, Any], name: str, axis: str) -> list[dict[str, Any]]:
    """Return the points of a method along an axis, by size."""
    points = run["methods"].get(name, {}).get("axes", {}).get(axis, {}).get("points", [])
    return sorted(points, key=lambda point: point[axis])


def floor_of(run: dict[str, Any], family: Family, point: dict[str, Any]) -> float:
    """Return the least seconds at a point, by the rates of the run."""
    return family.floor_seconds(point["n"], point["p"], run["about"]["rates"])


def family_names(run: dict[str, Any]) -> dict[str, list[str]]:
    """Return the methods that a run has points of, family by family."""
    by_family: dict[str, list[str]] = {name: [] for name in FAMILIES}
    for name in run["methods"]:
        if points_of(run, name, "p") or points_of(run, name, "n"):
            by_family[measurement_of(name).family].append(name)
    return {name: methods for name, methods in by_family.items() if methods}


def rows(run: dict[str, Any], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of the table of methods: slopes, and the largest table over columns."""
    table_rows = []
    for name in names:
        family, row = family_of(name), {"method": name}
        for axis in ("p", "n"):
            points = points_of(run, name, axis)
            sizes, seconds = [q[axis] for q in points], [q["seconds"] for q in points]
            row[f"slope_{axis}"] = slope(sizes, seconds)
            row[f"largest_{axis}"] = points[-1] if points else None
            if points:
                row[f"ratio_{axis}"] = points[-1]["seconds"] / floor_of(run, family, points[-1])
        table_rows.append(row)
    return table_rows
