"""Report of the kinds that a schema gives a table, and of the columns that look wrong."""

import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from featly.basics.kinds import CATEGORICAL, CONTINUOUS, KINDS
from featly.table.frames import Table, frame_of

__all__ = ["SchemaReport", "build_schema_report"]


@dataclass(frozen=True)
class SchemaReport:
    """Kinds and suspicious columns of a table: the result of :meth:`featly.Schema.describe`.

    Attributes
    ----------
    n_rows : int
    names, kinds : list of str
        Name and kind of every column.
    n_missing, n_distinct : list of int
        Missing cells of every column, and different values among the others.
    remarks : dict
        Remarks on columns that look wrong, by column name.
    library : str or None
        The frame library of the table.
    value_free : dict
        The remarks without the values that they name.

    Examples
    --------
    >>> import polars as pl
    >>> from featly import Schema
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
    value_free: dict[str, str] = field(default_factory=dict)

    def without_values(self) -> "SchemaReport":
        """Return the same report with remarks that name no value of any row."""
        return replace(self, remarks=self.value_free)

    def table(self) -> Any:
        """Return a frame of one row a column: name, kind, missing and distinct values, remark."""
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
            alike.setdefault(_generalise(remark), []).append(name)
        for remark, names in alike.items():
            if len(names) <= 3:
                lines += [f"{name}: {self.remarks[name]}" for name in names]
            else:
                distinct_remarks = {self.remarks[name] for name in names}
                text = distinct_remarks.pop() if len(distinct_remarks) == 1 else remark
                lines.append(f"{len(names)} columns ({', '.join(names[:3])}, ...): {text}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def _generalise(remark: str) -> str:
    """Return a remark without what is special about one column, so that many columns share it."""
    return re.sub(r"^\d+ whole", "few whole", re.sub(r" \(.*?\)(?=;)| '.*?'", "", remark))


FEW_LEVELS = 10
FEW_WORDS = 3  # among numbers
BLOCK = 256  # columns of numbers that are read at a time
ID_WORDS = ("id", "identifier", "uuid", "key", "index", "patient_id", "sample", "sample_id", "name")


def build_schema_report(
    table: Table, kinds: np.ndarray, declared: Collection[str], library: str | None
) -> SchemaReport:
    """Report on the values of every column.

    Parameters
    ----------
    table : Table
    kinds : uint8 array
        Of the columns, by dtype and schema.
    declared : collection of str
        Columns whose kind the schema states.
    library : str or None
        The frame library of the table.
    """
    inferred = table.kinds()
    n_missing, n_distinct = [], []
    remarks: dict[str, str] = {}
    value_free: dict[str, str] = {}
    for j, (levels, missing) in enumerate(_levels(table, inferred)):
        name = table.names[j]
        n_missing.append(missing)
        n_distinct.append(len(levels))
        remark = _remark(
            name,
            int(inferred[j]),
            levels,
            table.n_rows - missing,
            declared=name in declared,
            category=table.is_declared(j),
        )
        if inferred[j] == CATEGORICAL and kinds[j] == CONTINUOUS:
            wrong = [level for level in levels if not _is_number_text(level)]
            if wrong:
                remark = Remark("declared continuous, but {} is no number", wrong[0], "a level")
        if remark is not None:
            remarks[name] = remark.text.format(repr(remark.value))
            value_free[name] = remark.text.format(remark.instead)
    return SchemaReport(
        table.n_rows,
        table.names,
        [KINDS[kind] for kind in kinds],
        n_missing,
        n_distinct,
        remarks,
        library,
        value_free,
    )


def _levels(table: Table, inferred: Any) -> Iterator[tuple[list[Any], int]]:
    """Yield the different values of every column in order, and how many are missing."""
    start = 0
    while start < len(inferred):
        stop = start + 1
        if inferred[start] != CONTINUOUS:
            yield table.levels(start)
            start = stop
            continue
        while stop < min(len(inferred), start + BLOCK) and inferred[stop] == CONTINUOUS:
            stop += 1
        block = table.numbers(range(start, stop))
        for x in block.T:
            present = x[~np.isnan(x)]
            yield np.unique(present).tolist(), len(x) - len(present)
        start = stop


class Remark(NamedTuple):
    """A remark on a column that looks wrong; {} stands for a value, or for a word instead of it."""

    text: str
    value: Any = None
    instead: str = ""


def _remark(
    name: str, kind: int, levels: list[Any], n_present: int, *, declared: bool, category: bool
) -> Remark | None:
    """Return a remark on what looks wrong about a column, or None.

    The kind of a column is not doubted if it is `declared` in the schema. Levels that are numbers
    are not doubted if the dtype is a `category`.
    """
    if n_present == 0:
        return Remark("entirely missing; leave it out")
    if len(levels) == 1:
        return Remark("constant ({}); it cannot tell rows apart", levels[0], "one value")
    if kind == CONTINUOUS and not np.isfinite([levels[0], levels[-1]]).all():
        return Remark("has infinite values; replace them, or make them missing")
    if declared:
        return None
    unique = len(levels) == n_present and n_present > FEW_LEVELS
    sounds_like_id = name.lower() in ID_WORDS or name.lower().endswith(("_id", "-id", " id"))
    if kind == CONTINUOUS:
        whole = all(float(level).is_integer() for level in levels)
        steps = np.diff(levels)
        if whole and unique and (sounds_like_id or (steps == 1).all()):
            return IDENTIFIER
        if whole and len(levels) <= FEW_LEVELS and n_present > 2 * len(levels) and len(levels) > 2:
            return Remark(f"{len(levels)} whole numbers, read as continuous; are they labels?")
        return None
    if kind == CATEGORICAL:
        words = [level for level in levels if not _is_number_text(level)]
        if not words and not category and all(isinstance(level, str) for level in levels):
            return Remark("text that reads as numbers; declare it continuous, or convert it")
        blank = [level for level in words if str(level).strip().lower() in _BLANKS]
        if blank:
            return Remark("the level {} looks like a missing value", blank[0], "of one name")
        if words and len(words) <= FEW_WORDS and len(levels) - len(words) > FEW_LEVELS:
            text = "numbers but for {}, so read as labels; is that a missing value?"
            return Remark(text, words[0], "a word")
        if all(isinstance(level, str) and _DATE.fullmatch(level) for level in levels):
            return Remark("dates; turn them into a number, such as days since an event")
        if unique:
            return IDENTIFIER
    return None


IDENTIFIER = Remark("different in every row, like an identifier; leave it out")


_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_BLANKS = {"", "?", "na", "n/a", "nan", "none", "null", "missing", "-", "."}


def _is_number_text(level: Any) -> bool:
    if isinstance(level, bool):
        return True
    try:
        return math.isfinite(float(level))
    except ValueError:
        return False
