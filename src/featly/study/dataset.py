"""A table, its target and what is known about its rows, as studies use it."""

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse

from featly.basics.errors import (
    DataError,
    Row,
    Setting,
    TargetName,
)
from featly.basics.kinds import CATEGORICAL, CONTINUOUS, ORDINAL
from featly.basics.typing import AnyArray, ByteArray, IntArray
from featly.diagnostics.alarms import Findings, check_safely, twin_groups
from featly.measures.recovery import Roles
from featly.problem.ingest import read
from featly.problem.target import are_ambiguous, read_classes
from featly.registry import methods_that, suggest
from featly.study.table_findings import (
    check_names,
    has_auto_groups,
    leave_out_identifiers,
    warn_of_findings,
)
from featly.table.frames import (
    ArrayTable,
    DefaultNames,
    Table,
    as_floats,
    is_frame,
    library_of,
    open_table,
    refuse_shapes,
    take_columns,
    values_of,
)
from featly.table.schema import Columns, Schema
from featly.table.unknown_column import describe_unknown_column

__all__ = ["Dataset", "family_of", "take_rows"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table and its target, checked once and split many times.

    Make one with :meth:`of`. Numbers lie in one array, mixed columns in a polars frame whose
    dtypes tell the kinds.

    Attributes
    ----------
    name : str
    X : float array, sparse matrix or polars frame
    y : array
        The label of every row.
    codes : int64 array
        The class of every row as a position in `classes`.
    classes : array
        The labels, sorted.
    names : sequence of str
        Of the columns.
    kinds : uint8 array
        See :mod:`featly.basics.kinds`.
    schema : Schema or None
        Keep, prior, costs and groups of the columns, by position.
    row_groups : int64 array or None
        Which rows belong together, such as those of one patient.
    official : array of str or None
        "train" or "test" for every row, where the table comes with a split.
    roles : Roles or None
        Which columns are relevant, where that is known.
    columns_with_missing : tuple of int
        Columns with a missing value.
    findings : Findings
        What :func:`featly.check_table` says about the table.
    positions : int64 array or None
        Positions of the columns in the table as it was given, without its target and the like;
        None if none was left out.
    """

    name: str
    X: Any
    y: AnyArray
    codes: IntArray
    classes: AnyArray
    names: Sequence[str]
    kinds: ByteArray
    schema: Schema | None = None
    row_groups: IntArray | None = None
    official: AnyArray | None = None
    roles: Roles | None = None
    columns_with_missing: tuple[int, ...] = ()
    findings: Findings = field(default_factory=Findings)
    positions: IntArray | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any = None,
        *,
        name: str = "data",
        schema: Schema | dict[str, Any] | None = None,
        row_groups: Any = None,
        official: Any = None,
        roles: Roles | None = None,
        names: Sequence[str] | None = None,
        findings: Findings | None = None,
    ) -> "Dataset":
        """Read and check a table.

        Columns that number or name the rows are left out, unless the schema has them in
        `known_before` or `keep`, or the roles of all columns are known. A LeakWarning says so, and
        whatever else may make results too good; see :func:`featly.check_table`.

        Parameters
        ----------
        X : data frame, array or sparse matrix; or an object with `X` and `y`
            Such as what the makers of :mod:`featly.datasets` return; their schema and roles are
            taken over.
        y : sequence or str, optional
            The class of every row, or the name of the column of X that holds it.
        name : str, default="data"
        schema : Schema, dict or None, default=None
            What is known about the columns, see :class:`featly.Schema`.
        row_groups : sequence or str, optional
            Groups of rows that belong together, such as those of one patient: a label for every
            row, or the name of a column of X, which is then no feature any more; "auto" is those
            of :func:`featly.diagnostics.twin_groups`.
        official : sequence or str, optional
            "train" or "test" for every row, or the name of the column that says so.
        roles : Roles, optional
            Which columns are relevant.
        names : sequence of str, optional
            Names of the columns, if the table has none.
        findings : Findings, optional
            What :func:`featly.check_table` said about the table, so that it is not checked again.

        Returns
        -------
        Dataset

        Examples
        --------
        >>> import polars as pl
        >>> from featly.study import Dataset
        >>> frame = pl.DataFrame({"who": [1, 1, 2], "age": [50, 51, 60], "ill": [0, 1, 1]})
        >>> data = Dataset.of(frame, "ill", row_groups="who", name="visits")
        >>> data
        Dataset('visits', 3 rows, 1 columns, 2 classes, 2 row groups)
        """
        if isinstance(X, Dataset):
            return replace(X, name=name) if name != "data" else X
        if y is None and not is_frame(X) and hasattr(X, "X") and hasattr(X, "y"):
            roles = getattr(X, "roles", None) if roles is None else roles
            schema = getattr(X, "schema", None) if schema is None else schema
            X, y = X.X, X.y
        if y is None:
            raise DataError(f"dataset {name!r} has no target: pass y, or the name of its column")
        refuse_shapes(X)
        is_auto = has_auto_groups(X, row_groups)
        named = {"y": y, "row_groups": None if is_auto else row_groups, "official": official}
        X, taken = _take_out_columns(X, named)
        y, row_groups, official = taken["y"], taken["row_groups"], taken["official"]
        if is_auto:
            row_groups = twin_groups(X, schema=Schema.of(schema))
        if hasattr(X, "shape") and len(X.shape) == 2 and not X.shape[1]:
            raise DataError(f"dataset {name!r} has no column to select from")
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        kind = Schema.of(schema).target_kind
        if kind not in (None, "classes"):
            raise DataError(
                Setting("target_kind", kind),
                f" of dataset {name!r}: it is judged by predicted classes, so cut ",
                TargetName(),
                f" into classes. To rank columns for {kind}, fit "
                f"{suggest(methods_that(target=kind))}",
            )
        codes, classes = read_classes(y, n_rows, f"dataset {name!r}")
        if names is not None:
            check_names(names, X.shape[1] if hasattr(X, "shape") else len(X[0]))
        is_checked = findings is not None
        if findings is None:
            findings = check_safely(
                X,
                classes[codes],
                schema=replace(Schema.of(schema), target_kind="classes"),
                names=names,
                has_row_groups=row_groups is not None,
            )
        X, columns = _normal_form(X, Schema.of(schema))
        if names is not None:
            columns = replace(columns, names=[str(name) for name in names])
        positions = None
        if roles is None:
            X, columns, positions, findings = leave_out_identifiers(X, columns, findings, name)
        if not is_checked:
            warn_of_findings(findings, name)
        if roles is not None and roles.n_features != len(columns.kinds):
            raise DataError(
                f"dataset {name!r} has {len(columns.kinds)} columns, but its roles are of "
                f"{roles.n_features}: give the roles of this table"
            )
        return cls(
            name=name,
            X=X,
            y=classes[codes],
            codes=codes,
            classes=classes,
            names=columns.names,
            kinds=columns.kinds,
            schema=_schema_by_position(columns),
            row_groups=_group_codes(row_groups, n_rows, name),
            official=_require_length(official, n_rows, "official", name),
            roles=roles,
            columns_with_missing=tuple(_columns_with_missing(X)),
            findings=findings,
            positions=positions,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    def declare_classes(self, schema: Any) -> Any:
        """Return a schema that says of many whole numbers that they are classes."""
        if not are_ambiguous(self.classes) or Schema.of(schema).target_kind is not None:
            return schema
        return replace(Schema.of(schema), target_kind="classes")

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.kinds)

    def __repr__(self) -> str:
        groups = "" if self.row_groups is None else f", {self.row_groups.max() + 1} row groups"
        return (
            f"Dataset({self.name!r}, {self.n_rows} rows, {self.n_features} columns, "
            f"{len(self.classes)} classes{groups})"
        )

    def shuffled(self, draw: int, random_state: int) -> "Dataset":
        """Return the table with shuffled labels, which the columns cannot predict.

        If every row group has one label, the labels are shuffled between groups.
        """
        rng = np.random.default_rng(np.random.SeedSequence([random_state, 0x5EED, draw]))
        if self.row_groups is None:
            codes = self.codes[rng.permutation(self.n_rows)]
        else:
            codes = _shuffle_groups(self.codes, self.row_groups, rng)
        return replace(self, codes=codes, y=self.classes[codes])

    @functools.cached_property
    def fingerprint(self) -> str:
        """Hash of all that a study uses: the same table gives the same text."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr((self.n_rows, self.names[:], self.kinds.tolist())).encode())
        digest.update(repr((self.classes.tolist(), self.schema)).encode())
        digest.update(self.codes.tobytes())
        for part in (self.row_groups, self.official):
            digest.update(b"-" if part is None else repr(part.tolist()).encode())
        for block in _blocks(self.X):
            digest.update(block)
        return digest.hexdigest()


def take_rows(X: Any, rows: AnyArray) -> Any:
    """Return some rows of a table, in the given order."""
    return X[rows]


def family_of(dataset: str) -> str:
    """Return the name of a dataset without the number of its draw."""
    name, slash, number = dataset.rpartition("/")
    return name if slash and number.isdigit() else dataset


# ---- reading -------------------------------------------------------------------------------------
def _take_out_columns(X: Any, named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Take the target and other columns that are given by name out of a frame."""
    if not is_frame(X):
        for part, value in named.items():
            if isinstance(value, str):
                raise DataError(f"{part}={value!r} names a column, but X is no data frame")
        return X, named
    names = open_table(X).names
    values = dict(named)
    taken: set[int] = set()
    for part, value in named.items():
        if not isinstance(value, str):
            continue
        if value not in names:
            raise DataError(f"{part}={value!r} {describe_unknown_column(value, names)}")
        taken.add(names.index(value))
        values[part] = _column(X, names.index(value))
    if not taken:
        return X, values
    return take_columns(X, [j for j in range(len(names)) if j not in taken]), values


def _column(frame: Any, position: int) -> Any:
    library = library_of(frame)
    if library == "pandas":
        column = frame.iloc[:, position]
        if column.isna().any():  # NA cannot be compared, not even with itself
            return column.astype(object).where(column.notna(), None).to_numpy()
        return column.to_numpy()
    if library == "polars":
        column = frame.to_series(position)
        if column.dtype.is_numeric():
            return column.to_numpy()
        values = column.to_list()
        all_bools = all(isinstance(v, bool) for v in values)
        return values if all_bools else np.array(column.cast(str).to_list(), dtype=object)
    import narwhals as nw

    narwhals_frame = nw.from_native(frame, eager_only=True)
    return narwhals_frame[narwhals_frame.columns[position]].to_list()


def _normal_form(X: Any, schema: Schema) -> tuple[Any, Columns]:
    """Return numbers as one array, mixed columns as a polars frame whose dtypes tell the kinds."""
    if scipy.sparse.issparse(X):
        names: Any = DefaultNames(X.shape[1])
        columns = schema.resolve(names, np.full(X.shape[1], CONTINUOUS))
        if (columns.kinds == CATEGORICAL).any():
            read(X, schema)  # raises the error that explains it
        matrix = scipy.sparse.csr_array(X)
        if matrix.dtype not in (np.float32, np.float64):
            matrix = matrix.astype(np.float64)
        return matrix, columns
    if not is_frame(X):
        if not hasattr(X, "dtype") and np.asarray(X).dtype.kind in "US":
            X = np.array(X, dtype=object)  # text beside numbers must not make text of the numbers
        X = np.asarray(X)
        if X.ndim != 2:
            raise DataError(f"X has {X.ndim} dimensions, where a table has 2")
        if X.dtype.kind in "OUST":
            table: Table = open_table(X)
        else:
            table = ArrayTable(X)
            columns = schema.resolve(table.names, np.full(X.shape[1], CONTINUOUS))
            if (columns.kinds == CONTINUOUS).all():
                return as_floats(X), columns
    else:
        table = open_table(X)
    columns = schema.resolve(table.names, table.kinds())
    categorical = columns.kinds == CATEGORICAL
    if library_of(X) == "polars" and categorical.any() and _is_normal_form(X, columns):
        return X, columns
    values = None if categorical.all() else _numbers(table, schema)
    if not categorical.any():
        return values, columns
    return _frame(X, table, columns, values), columns


def _numbers(table: Table, schema: Schema) -> Any:
    source: Any = read(table, schema).source
    return source.values


def _is_normal_form(frame: Any, columns: Columns) -> bool:
    """Return whether a polars frame is already as :func:`_frame` would make it."""
    numeric = frame[:, np.flatnonzero(columns.kinds != CATEGORICAL).tolist()]
    dtypes = set(numeric.dtypes)
    single_dtype = len(dtypes) < 2 and all(dtype.is_float() for dtype in dtypes)
    kinds_as_inferred = (columns.kinds == columns.inferred).all()
    return bool(
        single_dtype
        and kinds_as_inferred
        and not any(c.null_count() for c in numeric.get_columns())
    )


def _frame(X: Any, table: Table, columns: Columns, values: Any) -> Any:
    """Return a frame with numbers of one dtype, NaN where missing, and texts as categories.

    It is the same table when it is written and mapped by another process.
    """
    import polars as pl

    kinds_as_inferred = columns.kinds == columns.inferred
    series, number = [], 0
    for position, kind in enumerate(columns.kinds):
        name = columns.names[position]
        if kind != CATEGORICAL:
            series.append(pl.Series(name, np.ascontiguousarray(values[:, number])))
            number += 1
        elif library_of(X) == "polars" and kinds_as_inferred[position]:
            series.append(X.to_series(position))
        else:
            codes, levels = table.texts(position)
            texts = np.array([None, *(str(level) for level in levels)], dtype=object)[codes]
            series.append(pl.Series(name, texts.tolist(), dtype=pl.Categorical))
    return pl.DataFrame(series)


def _schema_by_position(columns: Columns) -> Schema | None:
    """Return what a schema says beyond the kinds that dtypes tell, by position, or None."""
    ordinal = np.flatnonzero((columns.kinds == ORDINAL) & (columns.kinds != CATEGORICAL)).tolist()
    if not ordinal and not columns.stated_parts():
        return None
    prior, costs = columns.prior, columns.costs
    return Schema(
        ordinal=ordinal,
        keep=columns.keep.tolist(),
        prior={} if prior is None else {int(j): float(prior[j]) for j in np.flatnonzero(prior > 1)},
        costs={} if costs is None else {int(j): float(costs[j]) for j in np.flatnonzero(costs > 0)},
        column_groups={group: members.tolist() for group, members in columns.groups.items()},
        trade_off=columns.trade_off if costs is not None and costs.any() else 0.0,
    )


def _group_codes(groups: Any, n_rows: int, name: str) -> IntArray | None:
    values = _require_length(groups, n_rows, "row_groups", name)
    if values is None:
        return None
    missing = [v is None or type(v).__name__ == "NAType" or v != v for v in values.tolist()]
    if any(missing):
        raise DataError(
            f"row_groups of {name!r} is missing in ",
            Row(missing.index(True)),
            ": give every row a group, one of its own if it belongs to none",
        )
    try:
        codes = np.unique(values, return_inverse=True)[1]
    except TypeError:  # numbers beside text
        codes = np.unique([str(v) for v in values.tolist()], return_inverse=True)[1]
    return codes.astype(np.int64)


def _require_length(values: Any, n_rows: int, part: str, name: str) -> AnyArray | None:
    if values is None:
        return None
    entries: AnyArray = np.asarray(values_of(values))
    if entries.ndim != 1 or len(entries) != n_rows:
        raise DataError(f"{part} of {name!r} must have an entry for each of the {n_rows} rows")
    return entries


def _columns_with_missing(X: Any) -> list[int]:
    """Return the columns with a missing value somewhere."""
    if scipy.sparse.issparse(X):
        columns: IntArray = np.unique(X.indices[np.isnan(X.data)])
        return [int(column) for column in columns]
    if not is_frame(X):
        return np.flatnonzero(np.isnan(X).any(axis=0)).tolist()
    return [
        position
        for position, column in enumerate(X.get_columns())
        if (np.isnan(column.to_numpy()).any() if column.dtype.is_float() else column.null_count())
    ]


def _shuffle_groups(codes: IntArray, groups: IntArray, rng: np.random.Generator) -> IntArray:
    """Shuffle labels between groups where each has one label, else between rows."""
    first = np.unique(groups, return_index=True)[1]
    by_group = codes[first]
    if (by_group[groups] != codes).any():
        return codes[rng.permutation(len(codes))]
    return by_group[rng.permutation(len(by_group))][groups]


def _blocks(X: Any) -> Any:
    if scipy.sparse.issparse(X):
        yield from (X.data.tobytes(), X.indices.tobytes(), X.indptr.tobytes())
    elif is_frame(X):
        for column in X.get_columns():
            if column.dtype.is_numeric():
                yield column.to_numpy().tobytes()
            else:
                yield repr(column.cast(str).to_list()).encode()
    else:
        step = max(1, (1 << 24) // max(1, X.shape[1] * X.itemsize))
        for low in range(0, len(X), step):
            yield np.ascontiguousarray(X[low : low + step]).tobytes()
