"""Single columns of any table, as numbers or as levels, and the classes of its rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.errors import DataError, ParameterError
from featly.frames import ArrayTable, Table, is_frame, open_table, refuse_shapes
from featly.kinds import CATEGORICAL, CONTINUOUS, KINDS, ORDINAL
from featly.present.plots.canvas import Floats, shown_names
from featly.problem import read_target
from featly.reading import _ranks
from featly.rereading import _levels
from featly.schema import Columns, Schema, _nearest

__all__ = ["FEW", "FEWEST", "Column", "jitter", "open_columns", "quantiles", "read_classes"]

Integers = npt.NDArray[np.int64]

FEWEST = 10  # rows of which quartiles tell nobody's value
FEW = 5  # rows that are not counted where nobody may be told
ENOUGH = 40  # rows of which the 5% that lie outside are two at least
MOST_LEVELS = 12  # drawn; the rarest others are one
NUMBERED_LEVELS = 20  # different values up to which an ordinal column of numbers has levels


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes
    ----------
    name : str
    kind : str
    values : float array
        Numbers, or positions in `levels`; NaN where missing.
    levels : list of str or None
        As they are drawn; None for numbers.
    """

    name: str
    kind: str
    values: Floats
    levels: list[str] | None

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Which rows have a value."""
        return ~np.isnan(self.values)


def open_columns(X: Any, features: list[Any], schema: Any, function: str) -> list[Column]:
    """Some columns of a table, by name or position."""
    table = _table(X, function)
    columns = Schema.of(schema).resolve(table.names, table.kinds())
    return [_column(table, columns, _find(feature, table.names)) for feature in features]


def read_classes(y: Any, n_rows: int, function: str) -> tuple[Integers, list[str]]:
    """The class of every row as a position, and the classes as they are drawn."""
    codes, classes = read_target(y, n_rows, function, many_classes=True)
    return codes, shown_names(classes.tolist(), 24)


# ---- parts ---------------------------------------------------------------------------------------
def _table(X: Any, function: str) -> Table:
    refuse_shapes(X)
    if is_frame(X):
        table = open_table(X)
    else:
        if not hasattr(X, "dtype") and np.asarray(X).dtype.kind in "OUS":
            X = np.array(X, dtype=object)  # text beside numbers must not make text of the numbers
        X = X.tocsc() if hasattr(X, "tocsc") else np.asarray(X)
        if X.ndim != 2:
            raise DataError(f"X has {X.ndim} dimensions, where a table has 2")
        table = ArrayTable(X) if X.dtype.kind not in "OUST" else open_table(X)
    if not table.n_rows:
        raise DataError(f"X has no rows: {function} has nothing to draw")
    return table


def _find(feature: Any, names: Any) -> int:
    if isinstance(feature, str):
        known = list(names)
        if feature not in known:
            raise DataError(f"{feature!r} is not a column{_nearest(feature, known)}")
        return known.index(feature)
    if isinstance(feature, bool) or not isinstance(feature, int | np.integer):
        raise ParameterError(f"feature {feature!r}: give the name of a column, or its position")
    if not 0 <= feature < len(names):
        raise DataError(f"there is no column {feature}: positions run from 0 to {len(names) - 1}")
    return int(feature)


def _column(table: Table, columns: Columns, j: int) -> Column:
    name, kind = str(columns.names[j]), columns.kinds[j]
    if kind == CATEGORICAL:
        codes, levels = _levels(table, columns, j)
        return _of_levels(name, KINDS[kind], codes - 1.0, levels)
    plain = columns.inferred[j] == CONTINUOUS and j not in columns.levels
    values = table.numbers([j])[:, 0] if plain else _ranks(table, j, columns)
    values = np.asarray(values, np.float64)
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise DataError(
            f"column {name!r} has an infinite value (inf) in row {row}: correct it, or make it "
            "missing"
        )
    if kind == ORDINAL and not plain:
        levels = columns.levels.get(j) or table.texts(j)[1]
        return _of_levels(name, KINDS[kind], values, [str(level) for level in levels], ordered=True)
    if kind == ORDINAL:
        found, codes = np.unique(values[~np.isnan(values)], return_inverse=True)
        if len(found) <= NUMBERED_LEVELS:
            positions = np.full(len(values), np.nan)
            positions[~np.isnan(values)] = codes
            return Column(name, KINDS[kind], positions, [f"{value:g}" for value in found])
    return Column(name, KINDS[kind], values, None)


def _of_levels(
    name: str, kind: str, codes: Any, levels: list[str], *, ordered: bool = False
) -> Column:
    """Levels that occur, the rarest of many as one, behind the others."""
    values = np.where(np.asarray(codes) < 0, np.nan, codes).astype(np.float64)
    present = ~np.isnan(values)
    counts = np.bincount(values[present].astype(int), minlength=len(levels))
    kept = np.flatnonzero(counts > 0)
    merged = np.empty(0, np.int64)
    if len(kept) > MOST_LEVELS and not ordered:
        by_count = kept[np.argsort(-counts[kept], kind="stable")]
        kept, merged = np.sort(by_count[: MOST_LEVELS - 1]), by_count[MOST_LEVELS - 1 :]
    place = np.full(len(levels), np.nan)
    place[kept] = np.arange(len(kept))
    place[merged] = len(kept)
    shown = shown_names([levels[k] for k in kept.tolist()], 24)
    if len(merged):
        shown.append(f"{len(merged)} other levels")
    found = np.full(len(values), np.nan)
    found[present] = place[values[present].astype(int)]
    return Column(name, kind, found, shown)


# ---- figures -------------------------------------------------------------------------------------
def quantiles(values: Floats, shares: list[float], *, rounded: bool) -> Floats:
    """Quantiles; rounded so coarsely, where asked, that they tell nobody's value.

    The grain is a power of ten, from a fiftieth to a fifth of the distance between the quartiles;
    where these are the same, of that between the 5% and the 95% quantile.
    """
    found = np.quantile(values, shares)
    outer, low, high, end = np.quantile(values, [0.05, 0.25, 0.75, 0.95])
    width = float(high - low or end - outer)
    if not rounded or width == 0:
        return found
    grain = 10.0 ** np.floor(np.log10(width / 5.0))
    return np.round(found / grain) * grain


def jitter(values: Floats, stride: float = 0.6180339887498949) -> Floats:
    """Offsets from -0.5 to 0.5 for points at these values, the wider the denser they lie.

    The same values have the same offsets, whatever the order of the rows. Another irrational
    `stride` gives offsets that do not go along with the first.
    """
    order = np.argsort(values, kind="stable")
    numbers = np.arange(1, len(values) + 1)
    spots = (numbers * stride) % 1.0 - 0.5  # the golden ratio leaves no clumps
    low, high = values[order[[0, -1]]] if len(values) else (0.0, 0.0)
    if high > low:
        bins = np.minimum(((values[order] - low) / (high - low) * 24).astype(int), 23)
        dense = np.bincount(bins, minlength=24)
        spots = spots * np.sqrt(dense[bins] / dense.max())
    found = np.empty(len(values))
    found[order] = spots
    return found
