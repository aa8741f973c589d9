r"""How hard two or more classes are to tell apart: fourteen measures of a table.

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
import numpy.typing as npt

from featly.basics.errors import ParameterError
from featly.core.runtime.parallel import n_threads, run_blocks
from featly.core.stats.row_distances import SquaredDistances
from featly.diagnostics.linear import Machine, pair_machine
from featly.diagnostics.overlap import Overlap, direction_ratio, fisher_ratios, overlaps
from featly.diagnostics.reading import Rows, check_count, read_rows, stratified
from featly.problem.problem import read_target
from featly.table.frames import frame_of
from featly.table.schema import Schema

__all__ = ["CONVENTIONS", "MEASURES", "Complexity", "complexity"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

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
    """What :func:`complexity` found.

    Attributes
    ----------
    values : dict
        Value of every measure asked for, by its name.
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
        Columns that a linear machine sees: numbers that vary, and for levels one less than there
        are.
    notes : tuple of str
        What had to be left out or done otherwise.
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
        """One row a measure: name, value, which way it points, meaning."""
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
        """The same, a line a measure."""
        easier = EASIER if self.convention == "ho-basu" else ()
        lines = []
        for name, value in self.values.items():
            shown = f"{value:.4g}"
            if name == "F2" and value == 0 and np.isfinite(self.log10_overlap):
                shown = f"10^{self.log10_overlap:.0f}"
            way = "easier" if name in easier else "harder"
            lines.append(f"{name:<4}{shown:>9}  {MEASURES[name]} (larger is {way})")
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
    r"""Measure how hard the classes of a table are to tell apart.

    All of it speaks of these rows: a low training error is no promise for others, and with more
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
      sees only the directions in which classes vary, not those that tell them apart for free.
    - **F2**: product over columns of overlap over range. It is summed in logarithms, and the
      logarithm is kept in `log10_overlap`, for the product of thousands of factors is 0.
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
      dropped whose centre lies in a kept one of their class. (Ho and Basu grow neighbourhoods
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
        Which to compute; None is all of ``MEASURES``.
    convention : {"ho-basu", "lorena"}, default="ho-basu"
        Ho and Basu's scales, as in DCoL and the book, or those of Lorena et al.
    schema : Schema, dict or None, default=None
        The kinds of the columns, where dtypes do not tell.
    max_rows : int, default=20000
        With more rows, all but IR and T2 are of a sample of so many, each class in its share.
    random_state : int, default=0
        Draws the sample and the points of L3 and N4.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    progress : callable or None, default=None
        Is told what is done next, in a word.

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
    >>> found = complexity(X, ["a", "a", "a", "b", "b", "b"], measures=["F1", "F3", "L2", "N3"])
    >>> {name: round(value, 2) for name, value in found.values.items()}
    {'F1': 24.5, 'F3': 1.0, 'L2': 0.0, 'N3': 0.0}
    >>> found.separating_columns
    ('x0',)
    """
    wanted = _checked(measures, convention, max_rows)
    check_count("random_state", random_state, 0)
    n_threads(n_jobs)
    rows = read_rows(X, schema)
    codes, labels = read_target(y, rows.n_rows, "complexity", many_classes=True)
    counts = np.bincount(codes)
    rng = np.random.default_rng(random_state)
    chosen = stratified(codes, max_rows, rng)
    notes = []
    part, every = rows, codes
    if len(chosen) < rows.n_rows:
        part, codes = rows.take(chosen), codes[chosen]
        notes.append(f"from {len(chosen):,} of {rows.n_rows:,} rows, each class in its share")
    task = _Task(part, codes, len(labels), convention == "lorena", rng, n_jobs, progress, notes)
    values = task.measured(wanted)
    separating = task.separating & rows.repeats
    if len(chosen) < rows.n_rows and separating.any():
        separating[separating] = _in_all(overlaps(rows.columns(separating), every, len(labels)))
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
        len(chosen),
        task.best_column,
        tuple(rows.names[f] for f in np.flatnonzero(separating)),
        task.log10_overlap,
        part.n_directions,
        tuple(notes),
    )


def _checked(measures: Sequence[str] | None, convention: str, max_rows: int) -> list[str]:
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


def _in_all(pairs: Sequence[Overlap]) -> npt.NDArray[np.bool_]:
    """Columns that alone tell the classes of every pair apart."""
    return np.asarray(np.min([pair.separated for pair in pairs], axis=0) == 1)


class _Task:
    """The measures of some rows, with what several of them share."""

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
        self.say: Callable[[str], Any] = progress or (lambda word: None)
        self.best_column, self.log10_overlap = "", np.nan
        self.separating = np.zeros(rows.n_columns, np.bool_)
        # the same points for L3 and N4
        self.pairs, self.weight = _between(y, n_classes, rng)

    def measured(self, wanted: list[str]) -> dict[str, float]:
        """Values of the measures that depend on more than counts."""
        found: dict[str, float] = {}
        if {"F1", "F2", "F3"} & set(wanted):
            self.say("columns")
            found |= self._columns()
        if "F1v" in wanted or {"L1", "L2", "L3"} & set(wanted):
            self.say("linear boundaries")
            found |= self._linear(wanted)
        if set(DISTANCES) & set(wanted):
            self.say("distances")
            found |= self._distances(wanted)
        return found

    # ---- columns ----------------------------------------------------------------------------
    def _columns(self) -> dict[str, float]:
        rows, y, k = self.rows, self.y, self.n_classes
        if self.bounded:
            ratios = fisher_ratios(rows, y, k, pairwise=False)
            f1 = 1 / (1 + float(ratios.max()))
        else:
            of_pairs = [self._of_pair(a, b) for a, b in combinations(range(k), 2)]
            f1 = float(np.max(of_pairs, axis=1).mean())
            # r / (1 + r): one pair that is told apart for certain does not outweigh all others
            ratios = -np.mean([1 / (1 + ratio) for ratio in of_pairs], axis=0)
        self.best_column = rows.names[int(ratios.argmax())]
        pairs = overlaps(rows, y, k)
        volumes = np.array([pair.log_volume for pair in pairs])
        largest = float(volumes.max())
        log_mean = -np.inf
        if largest > -np.inf:
            log_mean = largest + float(np.log(np.exp(volumes - largest).mean()))
        self.log10_overlap = log_mean / np.log(10)
        self.separating = _in_all(pairs)
        f3 = float(np.mean([pair.separated.max() for pair in pairs]))
        return {"F1": f1, "F2": float(np.exp(log_mean)), "F3": 1 - f3 if self.bounded else f3}

    def _of_pair(self, a: int, b: int) -> FloatArray:
        either = np.flatnonzero((self.y == a) | (self.y == b))
        labels = (self.y[either] == b).astype(np.int64)
        return fisher_ratios(self.rows.take(either), labels, 2, pairwise=True)

    # ---- linear boundaries ------------------------------------------------------------------
    def _linear(self, wanted: list[str]) -> dict[str, float]:
        Z = self.rows.encoded()
        chosen = np.arange(len(Z))
        if len(Z) > MOST_WIDE_ROWS and 4 * Z.shape[1] > len(Z):
            chosen = stratified(self.y, MOST_WIDE_ROWS, self.rng)
            self.notes.append(f"F1v, L1, L2, L3 from {len(chosen):,} rows")
        y = self.y[chosen]
        pairs, weight = self.pairs, self.weight
        if len(chosen) < len(Z):
            Z = Z[chosen]
            pairs, weight = _between(y, self.n_classes, self.rng)

        def judge(pair: tuple[int, int]) -> tuple[float, Machine | None, float]:
            either = np.flatnonzero((y == pair[0]) | (y == pair[1]))
            second, own = y[either] == pair[1], Z[either]
            ratio = direction_ratio(own, ~second) if "F1v" in wanted else np.nan
            if not {"L1", "L2", "L3"} & set(wanted):
                return ratio, None, np.nan
            machine = pair_machine(own, second, 1.0)
            place = np.full(len(y), -1)
            place[either] = np.arange(len(either))
            drawn = place[pairs[:, 0]] >= 0
            return ratio, machine, machine.nonlinearity(place[pairs[drawn]], weight[drawn])

        two = list(combinations(range(self.n_classes), 2))
        judged = run_blocks(judge, two, self.n_jobs)
        ratios = np.array([ratio for ratio, _, _ in judged])
        found = {"F1v": float((1 / (1 + ratios)).mean() if self.bounded else ratios.mean())}
        machines = [machine for _, machine, _ in judged if machine is not None]
        if machines:
            worst = max(machine.gap for machine in machines)
            if worst > 1e-6:
                self.notes.append(f"a linear machine was solved to a gap of {worst:.0e} only")
            distance = np.array([machine.error_distance for machine in machines])
            slack = np.array([machine.slack for machine in machines])
            l1 = distance / (1 + distance) if self.bounded else slack
            found["L1"] = float(l1.mean())
            found["L2"] = float(np.mean([machine.error for machine in machines]))
            found["L3"] = float(np.mean([value for _, _, value in judged]))
        return found

    # ---- distances --------------------------------------------------------------------------
    def _distances(self, wanted: list[str]) -> dict[str, float]:
        y, cells = self.y, self.rows.by_range()
        distances = SquaredDistances(cells, self.rows.is_number, n_jobs=self.n_jobs)
        nearest = distances.nearest(y)
        found = {"N3": float(nearest.wrong.mean())}
        paired = np.isfinite(nearest.intra)
        intra = float(np.sqrt(nearest.intra[paired]).sum())
        extra = float(np.sqrt(nearest.extra[paired]).sum())
        if not paired.any():
            found["N2"] = np.nan
        elif self.bounded:
            found["N2"] = intra / (intra + extra) if intra + extra else 0.5
        else:
            found["N2"] = intra / extra if extra else (np.inf if intra else 1.0)
        if "N1" in wanted:
            found["N1"] = float(distances.boundary(y).mean())
        if "T1" in wanted:
            found["T1"] = distances.spheres(y, nearest)[1] / len(y)
        if "N4" in wanted:
            points = self._points(cells)
            found["N4"] = float(distances.errors(points, y[self.pairs[:, 0]], y).mean())
        return found

    def _points(self, cells: FloatArray) -> FloatArray:
        """Cells of points between two rows."""
        one, other = cells[:, self.pairs[:, 0]], cells[:, self.pairs[:, 1]]
        points = self.weight * one + (1 - self.weight) * other
        coded = self.rows.categorical
        if len(coded):
            first = self.rng.random((len(coded), len(self.weight))) < self.weight
            points[coded] = np.where(first, one[coded], other[coded])
        return points


def _between(y: IntArray, n_classes: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """As many pairs of different rows of a class as it has rows, and a place between each.

    A row alone in its class is paired with itself.
    """
    pairs = []
    for c in range(n_classes):
        own = np.flatnonzero(y == c)
        first = rng.integers(len(own), size=len(own))
        step = rng.integers(1, max(len(own), 2), size=len(own))
        pairs.append(np.stack([own[first], own[(first + step) % len(own)]], axis=1))
    found = np.concatenate(pairs)
    return found, rng.random(len(found))
