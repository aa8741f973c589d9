"""The result of a method as rows of a table; rows are made when they are shown."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from featly.basics.kinds import KINDS
from featly.basics.typing import AnyArray, IntArray
from featly.table.frames import DefaultNames

__all__ = ["Outcome"]

PIECE = 1 << 14  # rows that are made at a time
MANY = 1 << 10  # of more names than so many, to read all is quicker than to look up each


class Outcome:
    """Columns of a table, best first, under the names of their file.

    A table may have five million columns, of which a terminal shows twenty: only the rows that are
    shown are made.

    Parameters
    ----------
    names : sequence of str
        Names of the columns in the file.
    fitted : method
        Fitted to the table.
    selected : bool
        Whether there is a column that tells which are selected.

    Attributes
    ----------
    heads : list of str
        Names of the columns of this table.
    positions : int array
        Positions of the selected columns, in the order of the file.
    n_with_evidence : int
        Number of columns that have any evidence.
    """

    def __init__(self, names: Sequence[str], fitted: Any, *, selected: bool) -> None:
        self._names, self._kinds = names, fitted._columns.kinds
        self._support = support = np.asarray(fitted.support_)
        ranker = hasattr(fitted, "ranking_")
        self._order = order = fitted.order_
        if not ranker:
            self._order = order = np.concatenate([order, np.flatnonzero(~support)])
        self._by_column: dict[str, Any] = {"score": fitted.scores_} if ranker else {}
        if selected:
            self._by_column["selected"] = support
        self._by_column["evidence"] = evidence = fitted.evidence_
        self.n_with_evidence: int = int(evidence.sum())
        self._by_column |= {name: getattr(fitted, f"{name}_") for name in fitted._extra}
        self._in_order = fitted._list_columns() if ranker else {}
        ranks = ["rank"] if ranker else []
        self.heads: list[str | Any | Any] = [
            *ranks,
            "feature",
            "kind",
            *self._by_column,
            *self._in_order,
        ]
        self.positions: IntArray = np.flatnonzero(support)

    def __len__(self) -> int:
        return len(self._order)

    @property
    def evidence_note(self) -> str:
        """Number of columns without evidence, in words; empty if there is none, or no ranking."""
        count = len(self)
        n_filler = count - self.n_with_evidence
        if n_filler == 0 or "rank" not in self.heads:
            return ""
        which = "any" if n_filler == count else f"{n_filler:,}"
        ranks = "its rank says" if n_filler == 1 else "their ranks say"
        return f"no evidence for {which} of the {count:,} columns: {ranks} nothing"

    def has_filler(self, count: int) -> bool:
        """Return whether one of the first columns has no evidence."""
        return not self._by_column["evidence"][self._order[:count]].all()

    @property
    def selected_names(self) -> list[str]:
        """Names of the selected columns, best first."""
        return self._names_at(self._order[self._support[self._order]])

    def _names_at(self, columns: AnyArray) -> list[str]:
        if len(columns) > MANY and not isinstance(self._names, DefaultNames):
            self._names = list(self._names)
        return [str(self._names[column]) for column in columns.tolist()]

    def columns(self, low: int, high: int) -> dict[str, list[Any]]:
        """Return some rows, column by column."""
        positions = self._order[low:high]
        cells: dict[str, list[Any]] = {
            "rank": list(range(low + 1, low + 1 + len(positions))),
            "feature": self._names_at(positions),
            "kind": [KINDS[kind] for kind in self._kinds[positions]],
        }
        cells |= {head: values[positions].tolist() for head, values in self._by_column.items()}
        cells |= {
            head: np.asarray(values)[low:high].tolist() for head, values in self._in_order.items()
        }
        return {head: cells[head] for head in self.heads}

    def rows(
        self, count: int | None = None, heads: Sequence[str] = ()
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the first rows; all without a `count`, and only some cells with `heads`."""
        count = len(self) if count is None else min(count, len(self))
        for low in range(0, count, PIECE):
            cells = self.columns(low, min(count, low + PIECE))
            yield from zip(*(cells[head] for head in heads or self.heads), strict=True)

    def records(self, count: int | None = None) -> list[dict[str, Any]]:
        """Return the first rows for machines."""
        return [dict(zip(self.heads, row, strict=True)) for row in self.rows(count)]

    def frame(self) -> Any:
        """Return all rows as a polars frame."""
        import polars as pl

        order = self._order
        cells: dict[str, Any] = {
            "rank": np.arange(1, len(self) + 1),
            "feature": self._feature_series(),
            "kind": pl.Series(KINDS)[self._kinds[order]],
        }
        cells |= {head: _widen(values[order]) for head, values in self._by_column.items()}
        cells |= {head: _widen(np.asarray(values)) for head, values in self._in_order.items()}
        return pl.DataFrame({head: cells[head] for head in self.heads})

    def _feature_series(self) -> Any:
        import polars as pl

        if isinstance(self._names, DefaultNames):
            numbers = pl.DataFrame({"position": self._order})
            return numbers.select(pl.format("x{}", "position")).to_series()
        self._names = list(self._names)
        return pl.Series(self._names_at(self._order), dtype=pl.String)


def _widen(values: AnyArray) -> Any:
    """Return whole numbers as int64, labels as a list, and other values as they are."""
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    return values.tolist() if values.dtype.kind == "O" else values
