r"""Tests that classes look the same in two tables: prior shift and concept shift.

.. math::

    H_0^{\text{prior}}: P(y) = P'(y), \qquad H_0^{\text{concept}}: P(x \mid y) = P'(x \mid y)

Moreno-Torres, J. G., Raeder, T., Alaiz-Rodríguez, R., Chawla, N. V. and Herrera, F. (2012), A
unifying view on dataset shift in classification, *Pattern Recognition* 45, 521-530; sections 1.3.4
and 4.2.4 of Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection
for High-Dimensional Data*, Springer.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from featly.basics.errors import DataError
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.runtime.parallel import n_threads
from featly.diagnostics.reading import check_count, read_pair
from featly.diagnostics.shift import (
    adjust_scores,
    compare_columns,
    deal_labels,
    draw_energies,
    draw_rows,
    share_as_large,
)
from featly.problem.target import read_classes
from featly.table.frames import frame_of
from featly.table.schema import Schema

__all__ = ["ConceptShift", "concept_shift"]


@dataclass(frozen=True)
class ConceptShift:
    """Result of :func:`concept_shift`.

    Attributes
    ----------
    names : list of str
    classes : array of shape (n_classes,)
        Classes that were compared: those with two rows and more in both tables.
    left_out : list
        All other classes.
    shares : float array of shape (2, n_classes)
        Share of each class among the compared rows of the first table, and of the second.
    prior_p_value : float
        That the shares are the same, by permutation.
    distance : float array of shape (n_classes, n_features)
        Kolmogorov-Smirnov distance of numbers, total variation of levels, between the rows of a
        class in the first table and those in the second.
    adjusted_p_values : float array of shape (n_features,)
        That a column looks the same within every class; adjusted over columns and classes.
    p_value : float
        That all columns together do.
    """

    names: list[str]
    classes: AnyArray
    left_out: list[Any]
    shares: FloatArray
    prior_p_value: float
    distance: FloatArray
    adjusted_p_values: FloatArray
    p_value: float

    def shifted(self, level: float = 0.05) -> list[str]:
        """List columns whose adjusted p-value is at most `level`, most different first."""
        order = np.lexsort((-self.distance.max(axis=0), self.adjusted_p_values))
        return [self.names[f] for f in order if self.adjusted_p_values[f] <= level]

    def to_frame(self) -> Any:
        """Return a frame with one row a column: the largest distance, its class, the p-value."""
        largest = self.distance.argmax(axis=0)
        return frame_of(
            {
                "column": self.names,
                "distance": self.distance.max(axis=0),
                "class": [str(self.classes[k]) for k in largest],
                "adjusted_p_value": self.adjusted_p_values,
            },
            None,
        )

    def text(self) -> str:
        """Summarise in a few lines."""
        shares = ", ".join(
            f"{label} {before:.0%} and {after:.0%}"
            for label, before, after in zip(self.classes, *self.shares, strict=True)
        )
        names = self.shifted()
        lines = [
            f"shares of the classes ({shares}): p = {self.prior_p_value:.3g}",
            f"all columns together, within classes: p = {self.p_value:.3g}",
            f"{len(names)} of {len(self.names)} columns differ within a class (adjusted p <= 0.05)",
        ]
        position = {name: f for f, name in enumerate(self.names)}
        for name in names[:10]:
            f = position[name]
            k = int(self.distance[:, f].argmax())
            p = self.adjusted_p_values[f]
            lines.append(f"{name}: {self.distance[k, f]:.2f} in {self.classes[k]} (p = {p:.3g})")
        if self.left_out:
            lines.append(f"classes left out: {', '.join(map(str, self.left_out[:10]))}")
        return "\n".join(lines)

    __str__ = text


def concept_shift(
    train: Any,
    y_train: Any,
    test: Any,
    y_test: Any,
    *,
    schema: Schema | dict[str, Any] | None = None,
    n_permutations: int = 999,
    max_rows: int = 10_000,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> ConceptShift:
    r"""Compare the classes of two labelled tables: their shares, and how each of them looks.

    Where the class is the cause and the columns are its symptoms (a disease and its genes), tables
    differ in two ways: in the shares of the classes (prior shift), or in how a class looks (concept
    shift). :func:`shift` sees both mixed, and misses classes that have changed places. Here rows
    are dealt out again to the two tables within each class, so each table keeps its number of rows
    of every class: whatever the shares are, p-values for "every class looks the same" are exact. A
    column is compared within every class, and the largest standardised distance counts; adjusted
    p-values compare it to the largest of any column and class in each draw (Westfall and Young).
    Missing values count as in :func:`shift`.

    Where the columns are the cause, a change of :math:`P(x)` alone changes :math:`P(x \mid y)`,
    too. This test cannot tell such a covariate shift, for example other units in the second table,
    from a new concept: :func:`shift` shows whether the columns differ at all.

    Parameters
    ----------
    train, test : data frames, arrays or sparse matrices
        With the same columns. Kinds of columns are those of the first.
    y_train, y_test : sequences
        The class of every row.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        Only their kinds are used.
    n_permutations : int, default=999
    max_rows : int, default=10000
        Of a class with more rows in a table, this number is drawn.
    random_state : int, default=0
        Seed of the random numbers.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.

    Returns
    -------
    ConceptShift

    See Also
    --------
    shift : Two tables without classes: covariate shift.

    References
    ----------
    Moreno-Torres, J. G., Raeder, T., Alaiz-Rodríguez, R., Chawla, N. V. and Herrera, F. (2012), A
    unifying view on dataset shift in classification, *Pattern Recognition* 45, 521-530.

    Examples
    --------
    Two classes change places in one column: the column as a whole looks as before.

    >>> import numpy as np
    >>> from featly.diagnostics import concept_shift, shift
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(80) % 2
    >>> train, test = rng.normal(size=(80, 3)), rng.normal(size=(80, 3))
    >>> train[:, 1] += 2 * y
    >>> test[:, 1] += 2 * (1 - y)
    >>> result = concept_shift(train, y, test, y)
    >>> result.shifted(), result.p_value, result.prior_p_value
    (['x1'], 0.001, 1.0)
    >>> shift(train, test).shifted()
    []
    """
    check_count("n_permutations", n_permutations, 1)
    check_count("max_rows", max_rows, 2)
    check_count("random_state", random_state, 0)
    n_threads(n_jobs)
    first, second = read_pair(train, test, schema)
    labels = [
        _read_labels(y, rows.n_rows, name)
        for y, rows, name in ((y_train, first, "y_train"), (y_test, second, "y_test"))
    ]
    known = np.unique(np.concatenate(labels))
    counts = np.array([[(part == label).sum() for label in known] for part in labels])
    compared = (counts >= 2).all(axis=0)
    if not compared.any():
        raise DataError("no class has two rows in both tables: there is nothing to compare")
    rng = np.random.default_rng(random_state)
    prior_p_value = _test_shares(counts[:, compared], n_permutations, rng)
    distances, scores = [], []
    largest, energy = np.full(n_permutations + 1, -np.inf), np.zeros(n_permutations + 1)
    for label in known[compared]:
        before, after = (
            draw_rows(rows.take_rows(np.flatnonzero(part == label)), max_rows, rng)
            for rows, part in zip((first, second), labels, strict=True)
        )
        n, m = before.n_rows, after.n_rows
        tests = compare_columns(before, after, deal_labels(n, m, n_permutations, rng), n_jobs)
        distances.append(tests.distance)
        scores.append(tests.score)
        np.maximum(largest, tests.largest, out=largest)
        energy += n * m / (n + m) * draw_energies(before, after, n_permutations, rng, n_jobs)
    shares = counts[:, compared] / counts[:, compared].sum(axis=1, keepdims=True)
    return ConceptShift(
        first.names,
        known[compared],
        known[~compared].tolist(),
        shares,
        prior_p_value,
        np.array(distances),
        adjust_scores(np.max(scores, axis=0), largest),
        share_as_large(energy),
    )


def _read_labels(y: Any, n_rows: int, name: str) -> AnyArray:
    if len(y) != n_rows:
        raise DataError(
            f"{name} has {len(y)} entries and its table {n_rows} rows: give the class of every row"
        )
    codes, classes = read_classes(y, n_rows, name)
    labels: AnyArray = np.asarray(classes)[codes]
    return labels


def _test_shares(counts: IntArray, n_permutations: int, rng: np.random.Generator) -> float:
    """Return the p-value of equal shares: Pearson's chi-squared, rows dealt out again at random.

    With both margins fixed the counts of the first table are hypergeometric.
    """
    by_class, n_first = counts.sum(axis=0), int(counts[0].sum())
    drawn = rng.multivariate_hypergeometric(by_class, n_first, size=n_permutations)
    expected = by_class * n_first / by_class.sum()
    first = np.concatenate([counts[:1], drawn])
    return share_as_large(((first - expected) ** 2 / by_class).sum(axis=1))
