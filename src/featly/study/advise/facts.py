"""Facts that advice rests on: counts of a table and a few cheap measures of it.

Counts are of the whole table. Measures are of at most 1,000 rows, stratified by class, and 2,000
columns, spread evenly, so that they cost little compared with any ranking.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse

from featly.basics.errors import DataError, TargetName
from featly.basics.kinds import CATEGORICAL, CONTINUOUS, ORDINAL
from featly.basics.typing import ByteArray, IntArray
from featly.diagnostics import Findings, SuspectColumns, complexity, suspect_columns
from featly.diagnostics.reading import Rows, draw_stratified, read_rows
from featly.study.dataset import Dataset
from featly.table.schema import Schema

__all__ = ["Facts", "describe_table"]

MOST_ROWS = 1000
MOST_COLUMNS = 2000
FEW_ROWS = 5  # of a class: with fewer it cannot be evaluated
IMBALANCED = 3.0  # rows of the largest class for one of the smallest
SHOWN = 3


@dataclass(frozen=True)
class Facts:
    """Facts about a table that are known before any method is run.

    Attributes
    ----------
    rows, columns, classes : int
    smallest_class, largest_class : int
        Rows of the smallest and the largest class.
    continuous, ordinal, categorical : int
        Columns of each kind.
    columns_with_gaps : int
        Columns with missing values.
    sparse : bool
        Whether the table is a sparse matrix.
    zeros : float
        Share of zeros among the cells of columns of numbers.
    prior, costs, column_groups : bool
        Whether the schema has such a part. A prior that is the same for all columns is none, and
        costs that a trade-off weighs are no concern.
    row_groups : int
        Groups of rows that belong together; 0 where none are given.
    unusable_columns, repeated_columns : int
        Empty or constant columns, and columns that repeat another, among those measured.
    best_fisher_ratio : float
        The largest of a single column: the measure F1.
    neighbour_error : float
        Share of rows whose nearest row is of another class: N3.
    linear_error : float or None
        Share of rows on the wrong side of a linear boundary: L2. None if there are
        more than half as many columns as rows, since almost any labels can then be separated.
    rows_looked_at, columns_looked_at : int
        Size of the part that the measures, `zeros` and counts of odd columns are from.
    """

    rows: int
    columns: int
    classes: int
    smallest_class: int
    largest_class: int
    continuous: int = 0
    ordinal: int = 0
    categorical: int = 0
    columns_with_gaps: int = 0
    sparse: bool = False
    zeros: float = 0.0
    prior: bool = False
    costs: bool = False
    column_groups: bool = False
    row_groups: int = 0
    unusable_columns: int = 0
    repeated_columns: int = 0
    best_fisher_ratio: float = 0.0
    neighbour_error: float = 0.0
    linear_error: float | None = None
    rows_looked_at: int = 0
    columns_looked_at: int = 0

    @property
    def is_wide(self) -> bool:
        """Return whether there are at least as many columns as rows."""
        return self.columns >= self.rows

    @property
    def imbalance(self) -> float:
        """Rows of the largest class for one of the smallest."""
        return self.largest_class / self.smallest_class

    def document(self) -> dict[str, Any]:
        """Return all facts by name."""
        return asdict(self)


def describe_table(
    X: Any,
    y: Any,
    *,
    schema: Schema | dict[str, Any] | None,
    row_groups: Any,
    names: Sequence[str] | None,
    findings: Findings | None,
    n_jobs: int | None,
    random_state: int,
) -> tuple[Facts, list[str], Findings]:
    """Return the facts of a table, warnings of what looks wrong with it, and its findings."""
    data = Dataset.of(X, y, schema=schema, row_groups=row_groups, names=names, findings=findings)
    counts = np.bincount(data.codes)
    if counts.max() == 1:
        raise DataError(
            TargetName(),
            f" has {len(counts)} classes in {data.n_rows} rows, one row each: is it an identifier "
            "or a measurement? Give classes of several rows",
        )
    prior = () if data.schema is None else data.schema.prior
    rows, codes = _sample_table(
        data, draw_stratified(data.codes, MOST_ROWS, np.random.default_rng(random_state))
    )
    if data.n_rows > MOST_ROWS:  # rules go by zeros, and not by labels: neither does this draw
        drawn = np.random.default_rng([random_state, 1]).choice(
            data.n_rows, MOST_ROWS, replace=False
        )
        zeros = _zeros(_sample_table(data, np.sort(drawn))[0])
    else:
        zeros = _zeros(rows)
    # without identifiers, which make all rows equally far from each other
    informative = rows.take_columns(rows.has_repeats) if rows.has_repeats.any() else rows
    table_complexity = complexity(
        informative,
        codes,
        measures=["F1", "N3", *(["L2"] if 2 * informative.n_directions <= rows.n_rows else [])],
        n_jobs=n_jobs,
        random_state=random_state,
    )
    suspects = suspect_columns(rows, n_jobs=n_jobs)
    facts = Facts(
        rows=data.n_rows,
        columns=data.n_features,
        classes=len(data.classes),
        smallest_class=int(counts.min()),
        largest_class=int(counts.max()),
        continuous=int((data.kinds == CONTINUOUS).sum()),
        ordinal=int((data.kinds == ORDINAL).sum()),
        categorical=int((data.kinds == CATEGORICAL).sum()),
        columns_with_gaps=len(data.columns_with_missing),
        sparse=scipy.sparse.issparse(data.X),
        zeros=zeros,
        # a prior that is the same for all columns favours none
        prior=len(prior) > 0 and not _is_uniform_prior(prior, data.n_features),
        costs=data.schema is not None and bool(data.schema.costs) and not data.schema.trade_off,
        column_groups=data.schema is not None and len(data.schema.column_groups) > 0,
        row_groups=0 if data.row_groups is None else int(data.row_groups.max()) + 1,
        unusable_columns=len(suspects.empty) + len(suspects.constant),
        repeated_columns=len(suspects.redundant),
        best_fisher_ratio=table_complexity.values["F1"],
        neighbour_error=table_complexity.values["N3"],
        linear_error=table_complexity.values.get("L2"),
        rows_looked_at=rows.n_rows,
        columns_looked_at=rows.n_columns,
    )
    labels = [str(label) for label in data.classes]
    messages = [
        *_class_warnings(facts, labels, counts),
        *_row_warnings(facts),
        *_column_warnings(facts, suspects),
        *_separation_warnings(
            facts,
            table_complexity.separating_columns,
            {name for finding in data.findings for name in finding.columns}
            | {str(name) for name in Schema.of(schema).known_before},
        ),
        *_schema_warnings(facts),
    ]
    return facts, messages, data.findings


def _sample_table(data: Dataset, chosen: IntArray) -> tuple[Rows, IntArray]:
    """Return the chosen rows, and some columns of a table or all of a narrow one."""
    columns = _sample_columns(data.kinds)
    if scipy.sparse.issparse(data.X):
        part = data.X[chosen][:, columns].toarray()
    elif hasattr(data.X, "get_columns"):
        part = data.X[:, columns.tolist()][chosen]
    else:
        part = data.X[np.ix_(chosen, columns)]
    ordinal = np.flatnonzero(data.kinds[columns] == ORDINAL).tolist()
    rows = read_rows(part, Schema(ordinal=ordinal) if ordinal else None)
    names = [str(data.names[int(column)]) for column in columns]
    rows = Rows(rows.numbers, rows.codes, rows.numeric, rows.categorical, names, rows.levels)
    return rows, data.codes[chosen]


def _sample_columns(kinds: ByteArray) -> IntArray:
    """Return positions spread evenly; all columns that are no numbers if these are few."""
    non_numeric = np.flatnonzero(kinds != CONTINUOUS)
    if len(kinds) <= MOST_COLUMNS or len(non_numeric) > MOST_COLUMNS // 2:
        non_numeric = np.zeros(0, np.int64)
    numeric = np.setdiff1d(np.arange(len(kinds)), non_numeric)
    count = min(len(numeric), MOST_COLUMNS - len(non_numeric))
    sampled = numeric[np.linspace(0, len(numeric) - 1, count).round().astype(np.int64)]
    return np.sort(np.concatenate([non_numeric, sampled]))


def _zeros(rows: Rows) -> float:
    return float((rows.numbers == 0).mean()) if rows.numbers.size else 0.0


def _is_uniform_prior(prior: Any, n_features: int) -> bool:
    return len(prior) == n_features and len(set(prior.values())) == 1


# ---- warnings ------------------------------------------------------------------------------------
def _class_warnings(facts: Facts, labels: Sequence[str], counts: IntArray) -> list[str]:
    messages = []
    small = np.flatnonzero(counts < FEW_ROWS)
    if len(small):
        descriptions = [f"{labels[c]!r} ({counts[c]})" for c in small[np.argsort(counts[small])]]
        subject = f"{len(small)} classes have" if len(small) > 1 else "a class has"
        messages.append(
            f"{subject} fewer than {FEW_ROWS} rows, {_join_names(descriptions)}: too few to say "
            "how well they are told apart; gather more, join classes, or leave these rows out"
        )
    if facts.classes > max(20, facts.rows // 10):
        messages.append(
            f"there are {facts.classes} classes for {facts.rows} rows: is the target a measurement "
            "or an identifier?"
        )
    elif facts.imbalance >= IMBALANCED and not len(small):
        messages.append(
            f"the largest class has {facts.imbalance:.1f} rows for one of the smallest: judge by "
            "bcr, which counts classes alike, not by accuracy"
        )
    return messages


def _row_warnings(facts: Facts) -> list[str]:
    if not facts.is_wide:
        return []
    return [
        f"{facts.columns:,} columns for {facts.rows:,} rows: almost any labels can be separated; "
        "only rows that the selection never saw tell how good it is"
    ]


def _column_warnings(facts: Facts, suspects: SuspectColumns) -> list[str]:
    messages = []
    where = _where(facts)
    unusable = [*suspects.empty, *suspects.constant]
    if unusable:
        subject = "columns have" if len(unusable) > 1 else "column has"
        messages.append(
            f"{len(unusable)} {subject} one value or none{where}: {_join_names(unusable)}"
        )
    if suspects.redundant:
        subject = "columns say" if len(suspects.redundant) > 1 else "column says"
        messages.append(
            f"{len(suspects.redundant)} {subject} what another one says already{where}: "
            f"{_join_names(suspects.redundant)}"
        )
    return messages


def _where(facts: Facts) -> str:
    """Return the part of the table that was looked at, if it is not all of it."""
    if facts.columns_looked_at == facts.columns and facts.rows_looked_at == facts.rows:
        return ""
    return f" (of {facts.columns_looked_at:,} columns and {facts.rows_looked_at:,} rows)"


def _separation_warnings(
    facts: Facts, separating: Sequence[str], settled: Collection[str]
) -> list[str]:
    """Return a warning of columns that tell all classes apart and are not spoken of elsewhere."""
    leaks = [name for name in separating if name not in settled]
    if not leaks or facts.rows < 2 * FEW_ROWS:
        return []
    subject = "columns tell" if len(leaks) > 1 else "column tells"
    return [
        f"{len(leaks)} {subject} all classes apart alone{_where(facts)}: {_join_names(leaks)}; was "
        "it known before the outcome, or does it follow from it?"
    ]


def _schema_warnings(facts: Facts) -> list[str]:
    messages = []
    if facts.costs:
        messages.append(
            "columns are ranked as if all were free: a trade_off in the schema says what one unit "
            "of cost is worth"
        )
    if facts.column_groups:
        messages.append("only the wrapper uses column groups: columns are ranked one by one")
    return messages


def _join_names(names: Sequence[str]) -> str:
    shown = [name if name.startswith("'") else repr(name) for name in names[:SHOWN]]
    return ", ".join(shown) + (", ..." if len(names) > SHOWN else "")
