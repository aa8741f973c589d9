"""Effects of a prior as figures, tables and text."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.study.results import Results
from featly.table.frames import frame_of

__all__ = ["FIGURES", "OPTIMISM", "Compared", "Interval", "PriorReport"]

SHOWN_FAVOURED, SHOWN_NAMES, SHOWN_SIZES = 4, 6, 3
OPTIMISM = (
    "If the favoured columns were chosen by looking at this table, bcr with the prior is too good."
)
FIGURES = ("bcr", "stability", "stability of the others")


class Interval(NamedTuple):
    """An estimate and the ends of its interval; nan where there is none."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Compared:
    """A figure with the prior, without it, and the difference of the two.

    Attributes
    ----------
    with_prior, without, difference : Interval
    """

    with_prior: Interval
    without: Interval
    difference: Interval

    def verdict(self) -> str:
        """Return the direction of the difference, or that there is none, in words."""
        value, lower, upper = self.difference
        if np.isnan([value, lower, upper]).any():
            return "it cannot be told"
        if value == lower == upper == 0:
            return "the same in every split"
        if lower <= 0 <= upper:
            return "no difference can be told"
        return "higher with the prior" if value > 0 else "lower with the prior"


@dataclass(frozen=True, eq=False, repr=False)
class PriorReport:
    """A report of what a prior changed, as :func:`prior_report` returns it.

    Attributes
    ----------
    method : str
    size : int
        Columns of a signature.
    names : sequence of str
        Of all columns.
    prior : float array
        How much each column is favoured, 1 for most.
    rank_with, rank_without : int array
        Rank of each column on all rows, 1 is best.
    figures : dict of int to dict of str to Compared
        For each size: "bcr", "stability" (Kuncheva's index, which for sets of one size is
        Nogueira's), and "stability of the others", that of the columns that are not favoured.
    splits : str
        How the rows were split.
    learner : str
    level : float
        Of the intervals.
    n_rows, n_splits : int
        Rows of the table, and splits on which the two could be compared.
    results : Results
        The study behind it, of methods "with" and "without".
    notes : list of str
        Warnings of the methods.
    other : dict
        The other prior, where two priors were compared.
    library : str or None
        The frame library of the table.
    """

    method: str
    size: int
    names: Sequence[str]
    prior: FloatArray
    rank_with: IntArray
    rank_without: IntArray
    figures: dict[int, dict[str, Compared]]
    splits: str
    learner: str
    level: float
    n_rows: int
    n_splits: int
    results: Results
    notes: list[str] = field(default_factory=list)
    other: dict[str, float] = field(default_factory=dict)
    library: str | None = None

    # ---- figures ----------------------------------------------------------------------------
    @property
    def bcr(self) -> Compared:
        """The balanced classification rate at `size`, on rows that the selection never saw."""
        return self.figures[self.size]["bcr"]

    @property
    def stability(self) -> Compared:
        """Agreement of the selections of different splits, at `size`."""
        return self.figures[self.size]["stability"]

    @property
    def stability_of_others(self) -> Compared:
        """Stability of the columns that are not favoured, at `size`."""
        return self.figures[self.size]["stability of the others"]

    @property
    def favoured(self) -> list[str]:
        """Columns that the prior favours, best with it first."""
        ranks = np.where(self.prior > self.prior.min(), self.rank_with, 0)
        return [self.names[j] for j in np.argsort(ranks, kind="stable") if ranks[j]]

    @property
    def common(self) -> list[str]:
        """Columns of both signatures, best with the prior first."""
        return self._names_by_rank(
            self._in_signature(self.rank_with) & self._in_signature(self.rank_without),
            self.rank_with,
        )

    @property
    def came_in(self) -> list[str]:
        """Columns that are in the signature with the prior only, best first."""
        return self._names_by_rank(
            self._in_signature(self.rank_with) & ~self._in_signature(self.rank_without),
            self.rank_with,
        )

    @property
    def went_out(self) -> list[str]:
        """Columns that are in the signature without the prior only, best first."""
        dropped = self._in_signature(self.rank_without) & ~self._in_signature(self.rank_with)
        return self._names_by_rank(dropped, self.rank_without)

    def _in_signature(self, ranks: IntArray) -> BoolArray:
        return ranks <= self.size

    def _names_by_rank(self, chosen: BoolArray, ranks: IntArray) -> list[str]:
        where = np.flatnonzero(chosen)
        return [self.names[j] for j in where[np.argsort(ranks[where])]]

    # ---- tables -----------------------------------------------------------------------------
    def table(self) -> Any:
        """Return one row a column, best with the prior first.

        Returns
        -------
        frame
            feature, prior, rank_without, rank_with, in_without, in_with (whether it is in the
            signature). Of the same library as the table, polars for arrays.
        """
        order = np.argsort(self.rank_with)
        return frame_of(
            {
                "feature": [self.names[j] for j in order],
                "prior": self.prior[order],
                "rank_without": self.rank_without[order],
                "rank_with": self.rank_with[order],
                "in_without": self._in_signature(self.rank_without)[order],
                "in_with": self._in_signature(self.rank_with)[order],
            },
            self.library,
        )

    def curves(self) -> Any:
        """Return one row a size and figure: with, without, their difference, with intervals."""
        rows = [
            (size, name, *c.with_prior, *c.without, *c.difference, c.verdict())
            for size, comparisons in self.figures.items()
            for name, c in comparisons.items()
        ]
        parts = ("with", "without", "difference")
        ends = [f"{part}{end}" for part in parts for end in ("", "_lower", "_upper")]
        columns = zip(*rows, strict=True)
        return frame_of(
            dict(zip(["size", "figure", *ends, "verdict"], map(list, columns), strict=True)),
            self.library,
        )

    # ---- text -------------------------------------------------------------------------------
    def __str__(self) -> str:
        return self.summary()

    def summary(self, *, remarks: bool = True) -> str:
        """Return the report as text.

        Parameters
        ----------
        remarks : bool, default=True
            Whether failures and notes of fits are in it, which may name rows.
        """
        instead = "with the other prior" if self.other else "without it"
        against = ", against another" if self.other else ""
        lines = [
            f"{self.method}: what the prior changed{against} ({self.n_rows:,} rows, "
            f"{len(self.names):,} columns, {len(self.favoured):,} favoured)",
            f"on all rows, {len(self.common)} of the {self.size} best columns are the same as "
            f"{instead}",
        ]
        if self.came_in:
            lines += [
                f"  came in:  {_join_some(self.came_in)}",
                f"  went out: {_join_some(self.went_out)}",
            ]
        lines += [*self._favoured_lines(), *self._figure_lines(instead)]
        lines.append(
            f"({self.level:.0%} intervals; bcr: allowing for splits that share rows; stability: of "
            "this table only)"
        )
        return "\n".join([*lines, OPTIMISM, *(self._remarks() if remarks else [])])

    def __repr__(self) -> str:
        return f"PriorReport({self.method}, {self.size} columns, {self.n_splits} splits)"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"

    def _favoured_lines(self) -> list[str]:
        position = {
            self.names[j]: j for j in np.flatnonzero(self.prior > self.prior.min()).tolist()
        }
        names = self.favoured
        rows = [("favoured", "prior", "rank without", "rank with")]
        for name in names[:SHOWN_FAVOURED]:
            j = position[name]
            ranks = f"{self.rank_without[j]:,}", f"{self.rank_with[j]:,}"
            rows.append((name[:40], f"{self.prior[j]:g}", *ranks))
        first = max(len(row[0]) for row in rows)
        lines = [f"  {a:<{first}}  {b:>8}  {c:>12}  {d:>9}" for a, b, c, d in rows]
        more = len(names) - SHOWN_FAVOURED
        return lines if more <= 0 else [*lines, f"  and {more:,} more"]

    def _figure_lines(self, instead: str) -> list[str]:
        lines = [
            f"on rows that the selection never saw ({self.splits}, {self.learner} on {self.size} "
            "columns):",
            f"  {'':<23}  {'with the prior':<20}  {instead:<20}  difference",
        ]
        for name in FIGURES:
            comparison = self.figures[self.size][name]
            lines.append(
                f"  {name:<23}  {_format_interval(comparison.with_prior):<20}  "
                f"{_format_interval(comparison.without):<20}  "
                f"{_format_difference(comparison.difference)}"
            )
        alike: dict[str, list[str]] = {}
        for name in FIGURES:
            alike.setdefault(self.figures[self.size][name].verdict(), []).append(name)
        lines += [f"{', '.join(named)}: {verdict}" for verdict, named in alike.items()]
        for size in [s for s in self.figures if s != self.size][:SHOWN_SIZES]:
            bcr, stability = (self.figures[size][name] for name in FIGURES[:2])
            lines.append(
                f"at {size}: bcr {_format_difference(bcr.difference)}, stability "
                f"{_format_difference(stability.difference)}"
            )
        return lines

    def _remarks(self) -> list[str]:
        failed = self.results.failures.height
        lines = []
        if failed:
            many = "fit" if failed == 1 else "fits"
            lines.append(
                f"{failed} {many} failed, the first: {self.results.failures['failure'][0]}"
            )
        return lines + [f"note: {note}" for note in self.notes[:1]]


def _join_some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(name[:40] for name in names[:SHOWN_NAMES]) + more


def _format_interval(interval: Interval) -> str:
    value, lower, upper = interval
    return "none" if np.isnan(interval).any() else f"{value:.2f} ({lower:.2f} to {upper:.2f})"


def _format_difference(interval: Interval) -> str:
    value, lower, upper = interval
    return "none" if np.isnan(interval).any() else f"{value:+.3f} ({lower:+.3f} to {upper:+.3f})"
