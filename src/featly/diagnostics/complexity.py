r"""Complexity of a classification problem: fourteen measures of a table and its classes.

.. math::

    F1 = \max_f \frac{(\mu_{f1} - \mu_{f2})^2}{s_{f1}^2 + s_{f2}^2}, \quad
    N2 = \frac{\sum_i d(x_i, \text{nearest of its class})}{\sum_i d(x_i, \text{nearest of another})}, \quad
    N3 = \frac1n \sum_i [\text{nearest row of } x_i \text{ is of another class}]

and so on; see :func:`complexity`.

Ho, T. K. and Basu, M. (2002), Complexity measures of supervised classification problems, *IEEE
Transactions on Pattern Analysis and Machine Intelligence* 24, 289-300.
"""  # noqa: E501

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from featly.basics.errors import ParameterError
from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.core.runtime.parallel import n_threads, run_blocks
from featly.core.stats.row_distances import SquaredDistances
from featly.diagnostics.linear import Machine, pair_machine
from featly.diagnostics.overlap import Overlap, direction_ratio, fisher_ratios, overlaps
from featly.diagnostics.reading import Rows, check_count, draw_stratified, read_rows
from featly.problem.target import read_classes
from featly.table.frames import frame_of
from featly.table.schema import Schema

__all__ = ["CONVENTIONS", "MEASURES", "Complexity", "complexity"]


#: What each measure says, in a few words.
MEASURES = {
    "IR": "imbalance of the classes",
    "F1": "largest Fisher ratio of a column",
    "F1v": "Fisher ratio along the best direction",
    "F2": "volume in which the classes overlap",
    "F3": "rows told apart by the best column",
    "L1": "violations of a linear boundary",
    "L2": "rows on the wrong side of a linear boundary",
    "L3": "points between rows on the wrong side of it",
    "N1": "rows next to another class in a spanning tree",
    "N2": "distance to the own class over that to another",
    "N3": "rows whose nearest row is of another class",
    "N4": "points between rows whose nearest row is of another class",
    "T1": "spheres that cover the classes, per row",
    "T2": "rows per column",
}
CONVENTIONS = ("ho-basu", "lorena")
# of "ho-basu": larger means easier. All others, and all of "lorena": larger means harder
EASIER = ("F1", "F1v", "F3", "T2")
DISTANCES = ("N1", "N2", "N3", "N4", "T1")
MOST_WIDE_ROWS = 5000  # a machine with more columns than a quarter of its rows takes n x n


@dataclass(frozen=True)
class Complexity:
    """Result of :func:`complexity`.

    Attributes
    ----------
    values : dict
        Value of every requested measure, by its name.
    convention : str
    classes : dict
        Rows of every class, by its label as text.
    n_rows, n_columns : int
    n_used : int
        Rows that the measures were computed on: all, or a sample.
    best_column : str
        The column with the largest Fisher ratio r, in "ho-basu" with the largest average of
        r / (1 + r) over pairs of classes.
    separating_columns : tuple of str
        Columns that alone tell all classes apart in every row of the table. Columns of levels in
        which hardly two rows are alike do so for no reason, and are not among them.
    log10_overlap : float
        Decimal logarithm of the overlap volume F2, which is too small for a number in tables of
        many columns; -inf where one column does not overlap at all.
    n_directions : int
        Columns of the linear machine: numbers that vary, and for levels one less than there are.
    notes : tuple of str
        Sentences on what was left out, or computed from fewer rows.
    """

    values: dict[str, float]
    convention: str
    classes: dict[str, int]
    n_rows: int
    n_columns: int
    n_used: int
    best_column: str = ""
    separating_columns: tuple[str, ...] = ()
    log10_overlap: float = np.nan
    n_directions: int = 0
    notes: tuple[str, ...] = field(default=())

    @property
    def imbalance_ratio(self) -> float:
        """Rows of the largest class over those of the smallest."""
        return max(self.classes.values()) / min(self.classes.values())

    def to_frame(self) -> Any:
        """Return a frame of one row a measure: name, value, direction, meaning."""
        easier = EASIER if self.convention == "ho-basu" else ()
        return frame_of(
            {
                "measure": list(self.values),
                "value": list(self.values.values()),
                "larger_is": ["easier" if m in easier else "harder" for m in self.values],
                "meaning": [MEASURES[m] for m in self.values],
            },
            None,
        )

    def text(self) -> str:
        """Summarise, a line a measure."""
        easier = EASIER if self.convention == "ho-basu" else ()
        lines = []
        for name, value in self.values.items():
            value_text = f"{value:.4g}"
            if name == "F2" and value == 0 and np.isfinite(self.log10_overlap):
                value_text = f"10^{self.log10_overlap:.0f}"
            direction = "easier" if name in easier else "harder"
            lines.append(f"{name:<4}{value_text:>9}  {MEASURES[name]} (larger is {direction})")
        return "\n".join([*lines, *self.notes])

    __str__ = text


def complexity(
    X: Any,
    y: Any,
    *,
    measures: Sequence[str] | None = None,
    convention: str = "ho-basu",
    schema: Schema | dict[str, Any] | None = None,
    max_rows: int = 20_000,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[str], Any] | None = None,
) -> Complexity:
    r"""Measure how hard the classes of a table are to separate.

    All measures describe these rows: a low training error is no promise for others, and with more
    columns than rows almost any classes can be separated.

    The measures, "ho-basu" first and after the semicolon "lorena", where all lie in [0, 1] and
    larger means harder:

    - **IR**: rows of the largest class over those of the smallest; :math:`1 - 1/R` with
      :math:`R = \frac{k-1}{k} \sum_c n_c / (n - n_c)` of k classes (Lorena's C2).
    - **F1**: the largest :math:`r_f` of a column, :math:`(\mu_1 - \mu_2)^2 / (s_1^2 + s_2^2)` with
      sample variances, as printed in the book; :math:`1 / (1 + \max_f r_f)` with
      :math:`r_f = \sum_c n_c (\mu_c - \mu)^2 / \sum_c \sum_i (x_i - \mu_c)^2`, of all classes.
    - **F1v**: :math:`v = \Delta' W^+ \Delta`, the same along the best direction, with
      :math:`\Delta` the difference of the class means and :math:`W = p_1 \Sigma_1 + p_2 \Sigma_2`,
      on columns of variance 1; :math:`1 / (1 + v)`. With more columns than rows the pseudo-inverse
      takes only the directions in which classes vary, not those in which any labels differ.
    - **F2**: product over columns of overlap over range. It is summed in logarithms, and the
      logarithm is in `log10_overlap`, for the product of thousands of factors is 0.
    - **F3**: largest share of rows that one column tells apart, outside the overlap of the two
      ranges; 1 minus that. Ends of the overlap belong to it.
    - **L1, L2, L3**: of a support vector machine with C = 1 on columns of variance 1, solved
      exactly; Ho and Basu solved a linear program, DCoL and Lorena a machine, as here. L1 is the
      mean slack :math:`\xi_i`; :math:`D / (1 + D)` with D the mean distance of misplaced rows to
      the boundary. L2 is the share of misplaced rows, L3 that of misplaced points between two
      random rows of a class, as many as rows.
    - **N1**: share of rows that a minimum spanning tree joins to another class.
    - **N2**: r, summed distances to the nearest row of the class over those to the nearest of
      another; :math:`r / (1 + r)`. A row alone in its class is left out; 0 / 0 counts as 1.
    - **N3**: error of the nearest neighbour, each row left out in turn.
    - **N4**: error of the nearest neighbour on points between two random rows of a class, as many
      as rows. A categorical cell is that of one of the two, drawn in proportion.
    - **T1**: spheres needed to cover the classes, per row. Around each row grows a sphere until it
      touches that of the nearest row of another class; from the largest radius down, those are
      dropped whose centre is in a larger one of their class. (Ho and Basu grow neighbourhoods
      through chains of rows instead; this is Lorena's.)
    - **T2**: rows per column; columns per row.

    More than two classes: F1v, F2, F3, L1, L2, L3 and, in "ho-basu", F1 are averages over the pairs
    of classes (DCoL sums F2); the others take all classes at once.

    Distances are Euclidean-overlap ones (:class:`featly.learners.HEOMNeighbors`): numbers over
    their range, 1 between different levels and to a missing cell. Rows equally near share the
    vote, so only N1 and T1 depend on the order of the rows, and only where distances tie. In F1,
    F2, F3 a categorical column counts as the indicators of its levels, as the share of levels
    that both classes have, and by the levels that one class has alone. Missing cells are left out
    of F1 and of ranges, are in the overlap in F3, and are averages in F1v, L1, L2, L3.

    Parameters
    ----------
    X : data frame, array or sparse matrix of shape (n_rows, n_features)
    y : sequence of shape (n_rows,)
    measures : sequence of names or None, default=None
        Measures to compute; None means all of ``MEASURES``.
    convention : {"ho-basu", "lorena"}, default="ho-basu"
        Ho and Basu's scales, as in DCoL and the book, or those of Lorena et al.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        Only their kinds are used.
    max_rows : int, default=20000
        With more rows, all but IR and T2 are of a sample of this size, each class in its share.
    random_state : int, default=0
        Seed of the random numbers.
        They draw the sample, and the points of L3 and N4.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    progress : callable or None, default=None
        Function that is called with the name of the next step.

    Returns
    -------
    Complexity

    References
    ----------
    Ho, T. K. and Basu, M. (2002), Complexity measures of supervised classification problems, *IEEE
    Transactions on Pattern Analysis and Machine Intelligence* 24, 289-300.

    Orriols-Puig, A., Macià, N. and Ho, T. K. (2010), *Documentation for the data complexity library
    in C++*, La Salle, Universitat Ramon Llull.

    Lorena, A. C., Garcia, L. P. F., Lehmann, J., Souto, M. C. P. and Ho, T. K. (2019), How complex
    is your classification problem?, *ACM Computing Surveys* 52(5).

    Examples
    --------
    >>> from featly.diagnostics import complexity
    >>> X = [[1.0, 0.1], [2.0, 0.9], [3.0, 0.4], [8.0, 0.2], [9.0, 0.8], [10.0, 0.5]]
    >>> result = complexity(X, ["a", "a", "a", "b", "b", "b"], measures=["F1", "F3", "L2", "N3"])
    >>> {name: round(value, 2) for name, value in result.values.items()}
    {'F1': 24.5, 'F3': 1.0, 'L2': 0.0, 'N3': 0.0}
    >>> result.separating_columns
    ('x0',)
    """
    wanted = _check_arguments(measures, convention, max_rows)
    check_count("random_state", random_state, 0)
    n_threads(n_jobs)
    rows = read_rows(X, schema)
    codes, labels = read_classes(y, rows.n_rows, "complexity")
    counts = np.bincount(codes)
    rng = np.random.default_rng(random_state)
    sample = draw_stratified(codes, max_rows, rng)
    notes = []
    sampled_rows, all_codes = rows, codes
    if len(sample) < rows.n_rows:
        sampled_rows, codes = rows.take_rows(sample), codes[sample]
        notes.append(f"from {len(sample):,} of {rows.n_rows:,} rows, each class in its share")
    task = _Task(
        sampled_rows, codes, len(labels), convention == "lorena", rng, n_jobs, progress, notes
    )
    values = task.measure(wanted)
    separating = task.separating & rows.has_repeats
    if len(sample) < rows.n_rows and separating.any():
        separating[separating] = _separate_all_pairs(
            overlaps(rows.take_columns(separating), all_codes, len(labels))
        )
    if "IR" in wanted:
        values["IR"] = _imbalance(counts, convention)
    if "T2" in wanted:
        shape = rows.n_rows, rows.n_columns
        values["T2"] = shape[1] / shape[0] if convention == "lorena" else shape[0] / shape[1]
    return Complexity(
        {name: float(values[name]) for name in MEASURES if name in wanted},
        convention,
        {str(label): int(n) for label, n in zip(labels, counts, strict=True)},
        rows.n_rows,
        rows.n_columns,
        len(sample),
        task.best_column,
        tuple(rows.names[f] for f in np.flatnonzero(separating)),
        task.log10_overlap,
        sampled_rows.n_directions,
        tuple(notes),
    )


def _check_arguments(measures: Sequence[str] | None, convention: str, max_rows: int) -> list[str]:
    if convention not in CONVENTIONS:
        raise ParameterError(f"convention={convention!r}: give one of {', '.join(CONVENTIONS)}")
    check_count("max_rows", max_rows, 10)
    if measures is None:
        return list(MEASURES)
    if isinstance(measures, str) or not isinstance(measures, Iterable):
        raise ParameterError(f"measures={measures!r}: give a list of names")
    for name in measures:
        if name not in MEASURES:
            raise ParameterError(f"measures: {name!r} is none of {', '.join(MEASURES)}")
    return list(measures)


def _imbalance(counts: IntArray, convention: str) -> float:
    if convention == "ho-basu":
        return float(counts.max() / counts.min())
    k, n = len(counts), int(counts.sum())
    ratio = (k - 1) / k * float((counts / (n - counts)).sum())
    return 1 - 1 / ratio


def _separate_all_pairs(pairs: Sequence[Overlap]) -> BoolArray:
    """Return the columns that alone separate the classes of every pair."""
    return np.asarray(np.min([pair.separated for pair in pairs], axis=0) == 1)


class _Task:
    """Computation of the measures of some rows, with results that several of them use."""

    def __init__(
        self,
        rows: Rows,
        y: IntArray,
        n_classes: int,
        bounded: bool,
        rng: np.random.Generator,
        n_jobs: int | None,
        progress: Callable[[str], Any] | None,
        notes: list[str],
    ) -> None:
        self.rows, self.y, self.n_classes, self.bounded = rows, y, n_classes, bounded
        self.rng, self.n_jobs, self.notes = rng, n_jobs, notes
        self.report: Callable[[str], Any] = progress or (lambda step: None)
        self.best_column, self.log10_overlap = "", np.nan
        self.separating = np.zeros(rows.n_columns, np.bool_)
        # the same points for L3 and N4
        self.pairs, self.weight = _draw_pairs(y, n_classes, rng)

    def measure(self, wanted: list[str]) -> dict[str, float]:
        """Compute all measures but IR and T2, which depend on counts alone."""
        values: dict[str, float] = {}
        if {"F1", "F2", "F3"} & set(wanted):
            self.report("columns")
            values |= self._columns()
        if "F1v" in wanted or {"L1", "L2", "L3"} & set(wanted):
            self.report("linear boundaries")
            values |= self._linear(wanted)
        if set(DISTANCES) & set(wanted):
            self.report("distances")
            values |= self._distances(wanted)
        return values

    # ---- columns ----------------------------------------------------------------------------
    def _columns(self) -> dict[str, float]:
        rows, y, k = self.rows, self.y, self.n_classes
        if self.bounded:
            ratios = fisher_ratios(rows, y, k, pairwise=False)
            f1 = 1 / (1 + float(ratios.max()))
        else:
            pair_ratios = [self._fisher_ratios_of_pair(a, b) for a, b in combinations(range(k), 2)]
            f1 = float(np.max(pair_ratios, axis=1).mean())
            # r / (1 + r): one pair that is separated perfectly does not outweigh all others
            ratios = -np.mean([1 / (1 + ratio) for ratio in pair_ratios], axis=0)
        self.best_column = rows.names[int(ratios.argmax())]
        pairs = overlaps(rows, y, k)
        volumes = np.array([pair.log_volume for pair in pairs])
        largest = float(volumes.max())
        log_mean = -np.inf
        if largest > -np.inf:
            log_mean = largest + float(np.log(np.exp(volumes - largest).mean()))
        self.log10_overlap = log_mean / np.log(10)
        self.separating = _separate_all_pairs(pairs)
        f3 = float(np.mean([pair.separated.max() for pair in pairs]))
        return {"F1": f1, "F2": float(np.exp(log_mean)), "F3": 1 - f3 if self.bounded else f3}

    def _fisher_ratios_of_pair(self, a: int, b: int) -> FloatArray:
        members = np.flatnonzero((self.y == a) | (self.y == b))
        labels = (self.y[members] == b).astype(np.int64)
        return fisher_ratios(self.rows.take_rows(members), labels, 2, pairwise=True)

    # ---- linear boundaries ------------------------------------------------------------------
    def _linear(self, wanted: list[str]) -> dict[str, float]:
        Z = self.rows.encode()
        sample = np.arange(len(Z))
        if len(Z) > MOST_WIDE_ROWS and 4 * Z.shape[1] > len(Z):
            sample = draw_stratified(self.y, MOST_WIDE_ROWS, self.rng)
            self.notes.append(f"F1v, L1, L2, L3 from {len(sample):,} rows")
        y = self.y[sample]
        pairs, weight = self.pairs, self.weight
        if len(sample) < len(Z):
            Z = Z[sample]
            pairs, weight = _draw_pairs(y, self.n_classes, self.rng)

        def fit_pair(pair: tuple[int, int]) -> tuple[float, Machine | None, float]:
            members = np.flatnonzero((y == pair[0]) | (y == pair[1]))
            second, own = y[members] == pair[1], Z[members]
            ratio = direction_ratio(own, ~second) if "F1v" in wanted else np.nan
            if not {"L1", "L2", "L3"} & set(wanted):
                return ratio, None, np.nan
            machine = pair_machine(own, second, 1.0)
            position = np.full(len(y), -1)
            position[members] = np.arange(len(members))
            is_own = position[pairs[:, 0]] >= 0
            return ratio, machine, machine.nonlinearity(position[pairs[is_own]], weight[is_own])

        class_pairs = list(combinations(range(self.n_classes), 2))
        fits = run_blocks(fit_pair, class_pairs, self.n_jobs)
        ratios = np.array([ratio for ratio, _, _ in fits])
        values = {"F1v": float((1 / (1 + ratios)).mean() if self.bounded else ratios.mean())}
        machines = [machine for _, machine, _ in fits if machine is not None]
        if machines:
            worst = max(machine.duality_gap for machine in machines)
            if worst > 1e-6:
                self.notes.append(
                    f"a linear machine was solved to a duality gap of {worst:.0e} only"
                )
            distance = np.array([machine.error_distance for machine in machines])
            slack = np.array([machine.slack for machine in machines])
            l1 = distance / (1 + distance) if self.bounded else slack
            values["L1"] = float(l1.mean())
            values["L2"] = float(np.mean([machine.error for machine in machines]))
            values["L3"] = float(np.mean([value for _, _, value in fits]))
        return values

    # ---- distances --------------------------------------------------------------------------
    def _distances(self, wanted: list[str]) -> dict[str, float]:
        y, cells = self.y, self.rows.scale_to_range()
        distances = SquaredDistances(cells, self.rows.is_number, n_jobs=self.n_jobs)
        nearest = distances.nearest(y)
        values = {"N3": float(nearest.wrong.mean())}
        paired = np.isfinite(nearest.intra)
        intra = float(np.sqrt(nearest.intra[paired]).sum())
        extra = float(np.sqrt(nearest.extra[paired]).sum())
        if not paired.any():
            values["N2"] = np.nan
        elif self.bounded:
            values["N2"] = intra / (intra + extra) if intra + extra else 0.5
        else:
            values["N2"] = intra / extra if extra else (np.inf if intra else 1.0)
        if "N1" in wanted:
            values["N1"] = float(distances.boundary(y).mean())
        if "T1" in wanted:
            values["T1"] = distances.spheres(y, nearest)[1] / len(y)
        if "N4" in wanted:
            points = self._interpolate(cells)
            values["N4"] = float(distances.errors(points, y[self.pairs[:, 0]], y).mean())
        return values

    def _interpolate(self, cells: FloatArray) -> FloatArray:
        """Return the cells of points between two rows."""
        first_cells, second_cells = cells[:, self.pairs[:, 0]], cells[:, self.pairs[:, 1]]
        points = self.weight * first_cells + (1 - self.weight) * second_cells
        coded = self.rows.categorical
        if len(coded):
            first = self.rng.random((len(coded), len(self.weight))) < self.weight
            points[coded] = np.where(first, first_cells[coded], second_cells[coded])
        return points


def _draw_pairs(
    y: IntArray, n_classes: int, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Draw as many pairs of rows of a class as it has rows, and a point between each.

    A row alone in its class is paired with itself.
    """
    pairs = []
    for c in range(n_classes):
        own = np.flatnonzero(y == c)
        first = rng.integers(len(own), size=len(own))
        step = rng.integers(1, max(len(own), 2), size=len(own))
        pairs.append(np.stack([own[first], own[(first + step) % len(own)]], axis=1))
    row_pairs = np.concatenate(pairs)
    return row_pairs, rng.random(len(row_pairs))
