"""What advice is given by: counts of a table and a few cheap measures of it.

Counts are of the whole table. Measures are of at most 1,000 rows, each class in its share, and
2,000 columns, spread evenly, so that they stay cheap beside any ranking.
"""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from featly.basics.errors import DataError, LeakWarning
from featly.basics.kinds import CATEGORICAL, CONTINUOUS, ORDINAL
from featly.diagnostics import SuspectColumns, complexity, suspect_columns
from featly.diagnostics.reading import Rows, read_rows, stratified
from featly.study.dataset import Dataset
from featly.table.schema import Schema

__all__ = ["Facts", "facts_of"]

MOST_ROWS = 1000
MOST_COLUMNS = 2000
FEW_ROWS = 5  # of a class: fewer cannot be judged
MANY_TO_ONE = 3.0  # rows of the largest class for one of the smallest
SHOWN = 3
# where or when a row was measured
BATCHES = (
    "array", "batch", "centre", "center", "chip", "device", "hospital", "instrument", "lane",
    "machine", "operator", "plate", "run", "scanner", "site", "slide",
)  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """What is known of a table before any method is run.

    Attributes
    ----------
    rows, columns, classes : int
    smallest_class, largest_class : int
        Rows of them.
    continuous, ordinal, categorical : int
        Columns of each kind.
    columns_with_gaps : int
    sparse : bool
        Whether the table is a sparse matrix.
    zeros : float
        Share of cells that are 0, of columns of numbers.
    prior, costs, column_groups : bool
        Whether the schema has such a part. A prior that is the same for all columns is none.
    row_groups : int
        Groups of rows that belong together; 0 where none are given.
    unusable_columns, repeated_columns : int
        Empty or constant ones, and those that say what another says, of the columns looked at.
    best_fisher_ratio : float
        Of a single column: the measure F1.
    neighbour_error : float
        Share of rows whose nearest row is of another class: N3.
    linear_error : float or None
        Share of rows on the wrong side of a linear boundary: L2. None where columns are more than
        half as many as rows, for then almost any labels can be separated.
    rows_looked_at, columns_looked_at : int
        What the measures, `zeros`, and odd columns are from.
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
    def wide(self) -> bool:
        """At least as many columns as rows."""
        return self.columns >= self.rows

    @property
    def imbalance(self) -> float:
        """Rows of the largest class for one of the smallest."""
        return self.largest_class / self.smallest_class

    def document(self) -> dict[str, Any]:
        """All of it, by name."""
        return asdict(self)


def facts_of(
    X: Any,
    y: Any,
    *,
    schema: Schema | dict[str, Any] | None,
    row_groups: Any,
    n_jobs: int | None,
    random_state: int,
) -> tuple[Facts, list[str]]:
    """What a table is, and what looks wrong with it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LeakWarning)
        data = Dataset.of(X, y, schema=schema, row_groups=row_groups, name="X")
    leaks = [w for w in caught if issubclass(w.category, LeakWarning)]
    for other in caught:
        if other not in leaks:
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    counts = np.bincount(data.codes)
    if counts.max() == 1:
        raise DataError(
            f"y has {len(counts)} classes in {data.n_rows} rows, one row each: is it an identifier "
            "or a measurement? Give classes of several rows"
        )
    prior = () if data.schema is None else data.schema.prior
    repeats = [str(leak.message).removeprefix("dataset 'X': ") for leak in leaks]
    rows, codes = _looked_at(data, random_state)
    # an identifier makes every row far from every other one
    telling = rows.columns(rows.repeats) if rows.repeats.any() else rows
    measured = complexity(
        telling,
        codes,
        measures=["F1", "N3", *(["L2"] if 2 * telling.n_directions <= rows.n_rows else [])],
        n_jobs=n_jobs,
        random_state=random_state,
    )
    odd = suspect_columns(rows, n_jobs=n_jobs)
    facts = Facts(
        rows=data.n_rows,
        columns=data.n_features,
        classes=len(data.classes),
        smallest_class=int(counts.min()),
        largest_class=int(counts.max()),
        continuous=int((data.kinds == CONTINUOUS).sum()),
        ordinal=int((data.kinds == ORDINAL).sum()),
        categorical=int((data.kinds == CATEGORICAL).sum()),
        columns_with_gaps=len(data.gappy),
        sparse=scipy.sparse.issparse(data.X),
        zeros=_zeros(rows),
        # a prior of 1 is not kept; where all columns are favoured alike, none is
        prior=len(prior) > 0 and not _all_alike(prior, data.n_features),
        costs=data.schema is not None and len(data.schema.costs) > 0,
        column_groups=data.schema is not None and len(data.schema.column_groups) > 0,
        row_groups=0 if data.row_groups is None else int(data.row_groups.max()) + 1,
        unusable_columns=len(odd.empty) + len(odd.constant),
        repeated_columns=len(odd.redundant),
        best_fisher_ratio=measured.values["F1"],
        neighbour_error=measured.values["N3"],
        linear_error=measured.values.get("L2"),
        rows_looked_at=rows.n_rows,
        columns_looked_at=rows.n_columns,
    )
    labels = [str(label) for label in data.classes]
    told = [
        *_about_classes(facts, labels, counts),
        *_about_rows(facts),
        *repeats,
        *_about_columns(facts, rows, odd, measured.separating_columns),
        *_about_schema(facts),
    ]
    return facts, told


def _looked_at(data: Dataset, random_state: int) -> tuple[Rows, npt.NDArray[np.int64]]:
    """Some rows and columns of a table, or all of a small one."""
    chosen = stratified(data.codes, MOST_ROWS, np.random.default_rng(random_state))
    columns = _some_columns(data.kinds)
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


def _some_columns(kinds: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Positions, spread evenly; columns that are no numbers come first, where they are few."""
    others = np.flatnonzero(kinds != CONTINUOUS)
    if len(kinds) <= MOST_COLUMNS or len(others) > MOST_COLUMNS // 2:
        others = np.zeros(0, np.int64)
    rest = np.setdiff1d(np.arange(len(kinds)), others)
    count = min(len(rest), MOST_COLUMNS - len(others))
    spread = rest[np.linspace(0, len(rest) - 1, count).round().astype(np.int64)]
    return np.sort(np.concatenate([others, spread]))


def _zeros(rows: Rows) -> float:
    return float((rows.numbers == 0).mean()) if rows.numbers.size else 0.0


def _all_alike(prior: Any, n_features: int) -> bool:
    return len(prior) == n_features and len(set(prior.values())) == 1


# ---- what looks wrong ----------------------------------------------------------------------------
def _about_classes(facts: Facts, labels: Sequence[str], counts: npt.NDArray[np.int64]) -> list[str]:
    found = []
    small = np.flatnonzero(counts < FEW_ROWS)
    if len(small):
        named = [f"{labels[c]!r} ({counts[c]})" for c in small[np.argsort(counts[small])]]
        many = f"{len(small)} classes have" if len(small) > 1 else "a class has"
        found.append(
            f"{many} fewer than {FEW_ROWS} rows, {_listed(named)}: too few to say how well they "
            "are told apart; gather more, join classes, or leave these rows out"
        )
    if facts.classes > max(20, facts.rows // 10):
        found.append(
            f"there are {facts.classes} classes for {facts.rows} rows: is the target a measurement "
            "or an identifier?"
        )
    elif facts.imbalance >= MANY_TO_ONE and not len(small):
        found.append(
            f"the largest class has {facts.imbalance:.1f} rows for one of the smallest: judge by "
            "bcr, which counts classes alike, not by accuracy"
        )
    return found


def _about_rows(facts: Facts) -> list[str]:
    if not facts.wide:
        return []
    return [
        f"{facts.columns:,} columns for {facts.rows:,} rows: almost any labels can be separated; "
        "only rows that the selection never saw tell how good it is"
    ]


def _about_columns(
    facts: Facts, rows: Rows, odd: SuspectColumns, separating: Sequence[str]
) -> list[str]:
    found = []
    where = ""
    if facts.columns_looked_at < facts.columns or facts.rows_looked_at < facts.rows:
        where = f" (of {facts.columns_looked_at:,} columns and {facts.rows_looked_at:,} rows)"
    unusable = [*odd.empty, *odd.constant]
    if unusable:
        many = "columns have" if len(unusable) > 1 else "column has"
        found.append(f"{len(unusable)} {many} one value or none{where}: {_listed(unusable)}")
    if odd.redundant:
        many = "columns say" if len(odd.redundant) > 1 else "column says"
        found.append(
            f"{len(odd.redundant)} {many} what another one says already{where}: "
            f"{_listed(odd.redundant)}"
        )
    identifiers = _identifiers(rows)
    if identifiers:
        many = "columns are" if len(identifiers) > 1 else "column is"
        found.append(
            f"{len(identifiers)} {many} different in nearly every row, like an identifier: "
            f"{_listed(identifiers)}; leave such columns out"
        )
    leaks = [name for name in separating if name not in identifiers]
    if leaks and facts.rows >= 2 * FEW_ROWS:
        many = "columns tell" if len(leaks) > 1 else "column tells"
        found.append(
            f"{len(leaks)} {many} all classes apart alone{where}: {_listed(leaks)}; was it known "
            "before the outcome, or does it follow from it?"
        )
    batches = [name for name in rows.names if _sounds_like_batch(name)]
    if batches and len(batches) <= rows.n_columns // 2 + 1:
        found.append(
            f"{_listed(batches)} may say where or when a row was measured: leave it out, or keep "
            "its rows together with row groups, and ask whether it goes with the classes"
        )
    return found


def _about_schema(facts: Facts) -> list[str]:
    found = []
    if facts.costs:
        found.append("no method uses costs yet: columns are ranked as if all were free")
    if facts.column_groups:
        found.append("only the wrapper uses column groups: columns are ranked one by one")
    return found


def _identifiers(rows: Rows) -> list[str]:
    """Levels that hardly repeat, and whole numbers that count the rows."""
    found = ~rows.repeats
    for j, column in enumerate(rows.numeric):
        values = rows.numbers[:, j]
        values = values[~np.isnan(values)]
        if len(values) > 2 * FEW_ROWS and (values == np.floor(values)).all():
            ordered = np.sort(values)
            found[column] = bool((np.diff(ordered) == 1).all())
    return [name for name, yes in zip(rows.names, found, strict=True) if yes]


def _sounds_like_batch(name: str) -> bool:
    words = "".join(c if c.isalpha() else " " for c in name.lower()).split()
    return any(word in BATCHES for word in words) and len(words) <= 2


def _listed(names: Sequence[str]) -> str:
    shown = [name if name.startswith("'") else repr(name) for name in names[:SHOWN]]
    return ", ".join(shown) + (", ..." if len(names) > SHOWN else "")
