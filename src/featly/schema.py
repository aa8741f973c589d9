"""What is known about the columns, in one object."""

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from featly.errors import DataError, SchemaError
from featly.frames import (
    ArrayTable,
    DefaultNames,
    Table,
    frame_of,
    library_of,
    open_table,
    refuse_shapes,
)
from featly.kinds import CATEGORICAL, CONTINUOUS, KINDS

__all__ = ["Columns", "Schema", "SchemaReport"]

Name = str | int


@dataclass(frozen=True)
class Schema:
    """What is known about the columns: kinds, prices, beliefs, groups.

    Every method takes ``schema=``: a Schema, the same as a plain dict, or None to read the kinds
    from the dtypes: category, text and bool are categorical, ordered categories are ordinal,
    numbers are continuous. (A polars Enum is categorical, and may be declared ordinal.) Columns
    are given by name, or by an integer, which is always a position.

    Parameters
    ----------
    categorical : sequence of columns
        Unordered levels, whatever the dtype.
    ordinal : mapping of column to its levels in order, or sequence of columns
        Without levels, a column must be numeric or an ordered category.
    continuous : sequence of columns
        Numbers, whatever the dtype: booleans become 0 and 1, text is read as numbers.
    keep : sequence of columns
        Ranked first, counted among the selected, never eliminated.
    prior : mapping of column to number >= 1
        How much more than others a column is believed to matter; 1 for those not named.
    costs : mapping of column to number >= 0
        What it costs to measure a column; 0 for those not named.
    column_groups : mapping of group name to sequence of columns
        Columns that come together, such as the values of one laboratory test.

    Examples
    --------
    >>> from featly import Schema
    >>> Schema(categorical=["stage"], prior={"TP53": 10})
    Schema(categorical=['stage'], prior={'TP53': 10})

    A column that is named wrongly is an error that names it:

    >>> import polars as pl
    >>> Schema(keep=["agee"]).describe(pl.DataFrame({"age": [50, 61], "sex": ["f", "m"]}))
    Traceback (most recent call last):
    ...
    featly.errors.SchemaError: keep names 'agee', which is not a column; did you mean 'age'?
    """

    categorical: Sequence[Name] = ()
    ordinal: Mapping[Name, Sequence[Any]] | Sequence[Name] = field(default_factory=dict)
    continuous: Sequence[Name] = ()
    keep: Sequence[Name] = ()
    prior: Mapping[Name, float] = field(default_factory=dict)
    costs: Mapping[Name, float] = field(default_factory=dict)
    column_groups: Mapping[str, Sequence[Name]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for part in ("categorical", "continuous", "keep"):
            self._check_columns(part, getattr(self, part))
        if isinstance(self.ordinal, Mapping):
            self._check_columns("ordinal", self.ordinal)
            for name, levels in self.ordinal.items():
                if isinstance(levels, str) or len(set(levels)) != len(levels) or not len(levels):
                    raise SchemaError(
                        f"ordinal levels of {name!r} are {levels!r}: give a list of different "
                        "levels, lowest first"
                    )
        else:
            self._check_columns("ordinal", self.ordinal)
        self._check_numbers("prior", self.prior, 1, "a prior is a finite number of at least 1")
        self._check_numbers("costs", self.costs, 0, "a cost is a finite number of at least 0")
        if not isinstance(self.column_groups, Mapping):
            raise SchemaError("column_groups must map the name of a group to its columns")
        for group, members in self.column_groups.items():
            self._check_columns(f"column_groups[{group!r}]", members)
        said: dict[Name, str] = {}
        for kind in KINDS:
            for name in getattr(self, kind):
                if name in said:
                    raise SchemaError(f"{name!r} cannot be {said[name]} and {kind}")
                said[name] = kind

    def __repr__(self) -> str:
        parts = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self)]
        given = [
            part for part, f in zip(parts, fields(self), strict=True) if len(getattr(self, f.name))
        ]
        return f"Schema({', '.join(given)})"

    @staticmethod
    def _check_columns(part: str, columns: Any) -> None:
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            raise SchemaError(f"{part}={columns!r}: give a list of columns")
        for name in columns:
            if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
                raise SchemaError(f"{part} names {name!r}: a column is a name or a position")

    @classmethod
    def _check_numbers(cls, part: str, values: Any, least: float, rule: str) -> None:
        if not isinstance(values, Mapping):
            raise SchemaError(f"{part} must map columns to numbers, such as {{'age': {least}}}")
        cls._check_columns(part, values)
        for name, value in values.items():
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or value < least:
                raise SchemaError(f"{part} of {name!r} is {value!r}: {rule}")

    @classmethod
    def of(cls, schema: "Schema | Mapping[str, Any] | None") -> "Schema":
        """A Schema from what a method's ``schema`` parameter may be.

        Examples
        --------
        >>> Schema.of({"keep": ["age"]})
        Schema(keep=['age'])
        """
        if schema is None:
            return cls()
        if isinstance(schema, Schema):
            return schema
        if not isinstance(schema, Mapping):
            raise SchemaError(f"schema is {schema!r}: give a Schema, a dict or None")
        known = [f.name for f in fields(cls)]
        for part in schema:
            if part not in known:
                raise SchemaError(f"a schema has no part {part!r}{_nearest(str(part), known)}")
        return cls(**schema)

    def resolve(self, names: "list[str] | DefaultNames", inferred: Any) -> "Columns":
        """Apply this schema to a table with these column names and kinds by dtype."""
        place: dict[str, int] = {}

        def position(name: str) -> int | None:
            if isinstance(names, DefaultNames):
                return names.position(name)
            if not place:
                place.update({name: k for k, name in enumerate(names)})
            return place.get(name)

        def find(part: str, column: Name) -> int:
            if isinstance(column, str):
                found = position(column)
                if found is None:
                    raise SchemaError(
                        f"{part} names {column!r}, which is not a column"
                        f"{_nearest(column, list(names))}"
                    )
                return found
            if not 0 <= column < len(names):
                raise SchemaError(
                    f"{part} names position {column}: positions run from 0 to {len(names) - 1}"
                )
            return int(column)

        def find_all(part: str, columns: Iterable[Name]) -> list[int]:
            found = [find(part, column) for column in columns]
            seen: set[int] = set()
            for column in found:
                if column in seen:
                    raise SchemaError(f"{part} names {names[column]!r} twice")
                seen.add(column)
            return found

        def numbers(part: str, values: Mapping[Name, float], default: float) -> Any:
            if not values:
                return None
            out = np.full(len(names), default)
            out[find_all(part, values)] = list(values.values())
            return out

        inferred = np.asarray(inferred, dtype=np.uint8)
        kinds = inferred.copy()
        said: dict[int, str] = {}
        for code, word in enumerate(KINDS):
            for column in find_all(word, getattr(self, word)):
                if column in said:
                    raise SchemaError(f"{names[column]!r} cannot be {said[column]} and {word}")
                said[column] = word
                kinds[column] = code
        levels = {}
        if isinstance(self.ordinal, Mapping):
            levels = {find("ordinal", name): list(order) for name, order in self.ordinal.items()}
        return Columns(
            names=names,
            kinds=kinds,
            inferred=inferred,
            levels=levels,
            keep=np.array(find_all("keep", self.keep), dtype=np.int64),
            prior=numbers("prior", self.prior, 1.0),
            costs=numbers("costs", self.costs, 0.0),
            groups={
                name: np.array(find_all(f"column_groups[{name!r}]", members), dtype=np.int64)
                for name, members in self.column_groups.items()
            },
        )

    def describe(self, X: Any) -> "SchemaReport":
        """How this schema reads a table, and which columns look wrong.

        Nothing is changed: a remark says what looks odd and what could be declared.

        Parameters
        ----------
        X : data frame or two-dimensional array

        Returns
        -------
        SchemaReport
            Printed, it is a table; ``report.remarks`` maps columns to what looks wrong.

        Examples
        --------
        >>> import polars as pl
        >>> frame = pl.DataFrame({"age": [50, 61, 47], "weight": ["71", "80.5", "65"]})
        >>> print(Schema().describe(frame))
        3 rows, 2 columns: 1 continuous, 1 categorical
        weight: text that reads as numbers; declare it continuous, or convert it
        """
        refuse_shapes(X)
        library = library_of(X)
        if library is None:
            X = X.tocsc() if hasattr(X, "tocsc") else np.asarray(X)
            if X.ndim != 2:
                raise DataError(f"X has {X.ndim} dimensions, where a table has 2")
            numeric = X.dtype.kind not in "OUST"
            return _describe(self, ArrayTable(X) if numeric else open_table(X), None)
        return _describe(self, open_table(X), library)


@dataclass(frozen=True)
class Columns:
    """A schema applied to one table: an entry for every column."""

    names: list[str] | DefaultNames
    kinds: np.ndarray
    inferred: np.ndarray
    levels: dict[int, list[Any]]
    keep: np.ndarray
    prior: np.ndarray | None
    costs: np.ndarray | None
    groups: dict[str, np.ndarray]

    def given(self) -> list[str]:
        """The parts beside kinds that the schema states."""
        parts = {
            "keep": len(self.keep) > 0,
            "prior": self.prior is not None,
            "costs": self.costs is not None,
            "column_groups": bool(self.groups),
        }
        return [part for part, present in parts.items() if present]


@dataclass(frozen=True)
class SchemaReport:
    """How a schema reads a table: what :meth:`featly.Schema.describe` returns.

    Attributes
    ----------
    n_rows : int
    names, kinds : list of str
        Name and kind of every column.
    n_missing, n_distinct : list of int
        Missing cells of every column, and different values among the others.
    remarks : dict
        What looks wrong, by column name; columns that look right are absent.
    library : str or None
        The frame library of the table.

    Examples
    --------
    >>> import polars as pl
    >>> report = Schema().describe(pl.DataFrame({"site": ["north", "north"], "age": [50, 61]}))
    >>> report.remarks
    {'site': "constant ('north'); it cannot tell rows apart"}
    """

    n_rows: int
    names: list[str]
    kinds: list[str]
    n_missing: list[int]
    n_distinct: list[int]
    remarks: dict[str, str]
    library: str | None = None

    def table(self) -> Any:
        """One row a column: name, kind, missing and distinct values, remark."""
        return frame_of(
            {
                "column": self.names,
                "kind": self.kinds,
                "missing": self.n_missing,
                "distinct": self.n_distinct,
                "remark": [self.remarks.get(name, "") for name in self.names],
            },
            self.library,
        )

    def __str__(self) -> str:
        counts = [f"{self.kinds.count(kind)} {kind}" for kind in KINDS if kind in self.kinds]
        lines = [f"{self.n_rows} rows, {len(self.names)} columns: {', '.join(counts)}"]
        missing = sum(1 for count in self.n_missing if count)
        if missing:
            lines.append(f"{missing} column{'s have' if missing > 1 else ' has'} missing values")
        alike: dict[str, list[str]] = {}
        for name, remark in self.remarks.items():
            alike.setdefault(_in_general(remark), []).append(name)
        for remark, names in alike.items():
            if len(names) <= 3:
                lines += [f"{name}: {self.remarks[name]}" for name in names]
            else:
                own = {self.remarks[name] for name in names}
                told = own.pop() if len(own) == 1 else remark
                lines.append(f"{len(names)} columns ({', '.join(names[:3])}, ...): {told}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def _in_general(remark: str) -> str:
    """A remark without what is special about one column, so that many can share it."""
    return re.sub(r"^\d+ whole", "few whole", re.sub(r" \(.*?\)(?=;)| '.*?'", "", remark))


def _nearest(name: str, known: list[str]) -> str:
    found = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {found[0]!r}?" if found else ""


FEW_LEVELS = 10
BLOCK = 256  # columns of numbers that are read together
ID_WORDS = ("id", "identifier", "uuid", "key", "index", "patient_id", "sample", "sample_id", "name")


def _describe(schema: Schema, table: Table, library: str | None) -> SchemaReport:
    inferred = table.kinds()
    columns = schema.resolve(table.names, inferred)
    declared = {
        name if isinstance(name, str) else table.names[name]
        for kind in KINDS
        for name in getattr(schema, kind)
    }
    n_missing, n_distinct, remarks = [], [], {}
    for j, (levels, gaps) in enumerate(_levels(table, inferred)):
        name = table.names[j]
        n_missing.append(gaps)
        n_distinct.append(len(levels))
        remark = _remark(
            name,
            inferred[j],
            levels,
            table.n_rows - gaps,
            declared=name in declared,
            category=table.declared(j),
        )
        if inferred[j] == CATEGORICAL and columns.kinds[j] == CONTINUOUS:
            wrong = [level for level in levels if not _reads_as_number(level)]
            remark = f"declared continuous, but {wrong[0]!r} is no number" if wrong else remark
        if remark:
            remarks[name] = remark
    return SchemaReport(
        table.n_rows,
        table.names,
        [KINDS[kind] for kind in columns.kinds],
        n_missing,
        n_distinct,
        remarks,
        library,
    )


def _levels(table: Table, inferred: Any) -> Iterator[tuple[list[Any], int]]:
    """The different values of every column in order, and how many are missing."""
    at = 0
    while at < len(inferred):
        stop = at + 1
        if inferred[at] != CONTINUOUS:
            yield table.levels(at)
            at = stop
            continue
        while stop < min(len(inferred), at + BLOCK) and inferred[stop] == CONTINUOUS:
            stop += 1
        block = table.numbers(range(at, stop))
        for x in block.T:
            present = x[~np.isnan(x)]
            yield np.unique(present).tolist(), len(x) - len(present)
        at = stop


def _remark(
    name: str, kind: int, levels: list[Any], n_present: int, *, declared: bool, category: bool
) -> str:
    """What looks wrong about a column, or an empty string.

    `declared` in the schema, nothing is doubted; a `category` by its dtype may well have numbers
    for names.
    """
    if n_present == 0:
        return "entirely missing; leave it out"
    if len(levels) == 1:
        return f"constant ({levels[0]!r}); it cannot tell rows apart"
    if kind == CONTINUOUS and not np.isfinite([levels[0], levels[-1]]).all():
        return "has infinite values; replace them, or make them missing"
    if declared:
        return ""
    unique = len(levels) == n_present and n_present > FEW_LEVELS
    sounds_like_id = name.lower() in ID_WORDS or name.lower().endswith(("_id", "-id", " id"))
    if kind == CONTINUOUS:
        whole = all(float(level).is_integer() for level in levels)
        steps = np.diff(levels)
        if whole and unique and (sounds_like_id or (steps == 1).all()):
            return "different in every row, like an identifier; leave it out"
        if whole and len(levels) <= FEW_LEVELS and n_present > 2 * len(levels) and len(levels) > 2:
            return f"{len(levels)} whole numbers, read as continuous; are they labels?"
        return ""
    if kind == CATEGORICAL:
        odd = [level for level in levels if not _reads_as_number(level)]
        if not odd and not category and all(isinstance(level, str) for level in levels):
            return "text that reads as numbers; declare it continuous, or convert it"
        blank = [level for level in odd if str(level).strip().lower() in _BLANKS]
        if blank:
            return f"the level {blank[0]!r} looks like a missing value"
        if odd and len(odd) <= FEW_ODD and len(levels) - len(odd) > FEW_LEVELS:
            return f"numbers but for {odd[0]!r}, so read as labels; is that a missing value?"
        if all(isinstance(level, str) and _DATE.fullmatch(level) for level in levels):
            return "dates; turn them into a number, such as days since an event"
        if unique:
            return "different in every row, like an identifier; leave it out"
    return ""


FEW_ODD = 3
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_BLANKS = {"", "?", "na", "n/a", "nan", "none", "null", "missing", "-", "."}


def _reads_as_number(level: Any) -> bool:
    if isinstance(level, bool):
        return True
    try:
        return math.isfinite(float(level))
    except ValueError:
        return False
