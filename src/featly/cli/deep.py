"""``featly describe --deep``: difficulty of the classes, and suspicious rows and columns.

The sentences are in :mod:`featly.cli.deep_words`; the figures behind them are in the document.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from featly.basics.errors import DataError
from featly.basics.typing import AnyArray, IntArray
from featly.cli.deep_words import (
    THRESHOLDS,
    Finding,
    about_boundaries,
    about_classes,
    about_columns,
    about_identifiers,
    about_rows,
    about_shift,
)
from featly.cli.load import LoadedData
from featly.diagnostics import (
    Shift,
    SuspectRows,
    complexity,
    shift,
    suspect_columns,
    suspect_rows,
)
from featly.diagnostics.reading import Rows, read_rows
from featly.table.frames import is_frame
from featly.table.schema import Schema
from featly.table.unknown_column import describe_unknown_column

__all__ = ["Deep", "deep_description"]

MOST_ROWS = 4000  # a sample of so many is taken of a larger table
MOST_WORK = 2e10  # rows x rows x columns, above which the sample is smaller


@dataclass(frozen=True)
class Deep:
    """Findings in sentences, most serious first, and a document with all figures."""

    lines: list[str]
    document: dict[str, Any]


def deep_description(
    data: LoadedData,
    *,
    against: LoadedData | None = None,
    split: str | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[str], Any] | None = None,
) -> Deep:
    """Look at the classes, the rows and the columns of a table.

    Parameters
    ----------
    data : LoadedData
        With or without a target.
    against : LoadedData or None
        A second table with the same columns, which is compared with this one.
    split : str or None
        A column with two values that divide the rows into parts, such as train and test. Classes
        and rows are then those of the first part.
    seed : int
        Seed of the samples and permutations.
    n_jobs : int or None
        Threads; None means all cores. The result does not depend on it.
    progress : callable or None
        Called with a word for the next step.
    """
    say: Callable[[str], Any] = progress or (lambda step: None)
    say("reading")
    rows, parts, names = _parts(data, split)
    target = None if data.y is None else np.asarray(data.y)
    y = None if target is None else target[parts[0]]
    all_rows, first = rows, rows.take_rows(parts[0]) if split is not None else rows
    is_informative = first.has_repeats
    identifiers = [
        name
        for name, informative in zip(first.names, is_informative, strict=True)
        if not informative
    ]
    first = first.take_columns(is_informative)
    max_rows = _row_limit(first)
    findings: list[Finding] = []
    document: dict[str, Any] = {"thresholds": THRESHOLDS, "seed": seed}
    if split is not None:
        n_left_out = rows.n_rows - sum(map(len, parts))
        neither = f" ({n_left_out:,} of neither stay out)" if n_left_out else ""
        sizes = [f"{len(part):,} {name}" for part, name in zip(parts, names, strict=True)]
        findings.append(
            Finding(
                "split-column",
                f"{' and '.join(sizes)} rows{neither}; what follows is of the {names[0]} rows",
            )
        )
    if identifiers:
        findings.append(about_identifiers(identifiers))
    classes = set() if y is None else {str(label) for label in y.tolist()}
    measured = target is not None and (data.target_kind == "numbers" or _is_measurement(target))
    labels = y if len(classes) > 1 and not measured else None
    if measured:
        findings.append(
            Finding("classes", f"target {data.target!r} looks measured: no classes to tell apart")
        )
    elif split is not None and len(classes) == 1:
        text = f"the {names[0]} rows are all of class {classes.pop()}: nothing to tell apart"
        findings.append(Finding("classes", text, serious=True))
    if labels is not None and first.n_columns:
        measures = complexity(
            first, labels, max_rows=max_rows, random_state=seed, n_jobs=n_jobs, progress=progress
        )
        findings += about_classes(measures) + about_boundaries(measures)
        document["complexity"] = asdict(measures) | {"imbalance_ratio": measures.imbalance_ratio}
    say("columns")
    columns = suspect_columns(all_rows, n_jobs=n_jobs)
    findings += about_columns(columns)
    document["suspect_columns"] = asdict(columns)
    say("rows")
    if first.n_columns:
        suspects = suspect_rows(first, labels, max_rows=max_rows, random_state=seed, n_jobs=n_jobs)
        row_positions = np.arange(rows.n_rows) if data.rows is None else data.rows
        findings += about_rows(suspects, row_positions[parts[0]] + 1, labels)
        document["suspect_rows"] = _row_document(suspects, row_positions[parts[0]] + 1)
    shifts = _shifts(data, split, rows, parts, names, against, target, seed, n_jobs, say)
    for about, result, pair_names in shifts:
        findings += about_shift(about, result, pair_names, identifiers)
        document.setdefault("shift", {})[about] = _shift_document(result)
    first_of_all = ("split-column", "identifiers")
    findings.sort(key=lambda finding: (finding.about not in first_of_all, not finding.serious))
    document["findings"] = [asdict(finding) for finding in findings]
    return Deep([finding.text for finding in findings], document)


# ---- parts of the table --------------------------------------------------------------------------
def _parts(
    data: LoadedData, split: str | None
) -> tuple[Rows, tuple[IntArray, ...], tuple[str, ...]]:
    """Return the table, the rows of its parts, and the names of the parts."""
    if split is None:
        rows = replace(read_rows(data.X, data.schema), names=[str(name) for name in data.names])
        return rows, (np.arange(rows.n_rows),), ("",)
    column_names = [str(name) for name in data.names]
    if not is_frame(data.X) or split not in column_names:
        known = column_names if is_frame(data.X) else []
        reason = describe_unknown_column(split, known, data.table.source)
        raise DataError(f"--split-column {split!r} {reason}")
    texts = np.array(
        [_name_part(split, label) for label in data.X[:, column_names.index(split)].to_list()]
    )
    values = sorted(set(texts.tolist()) - {""})
    if len(values) != 2:
        examples = ", ".join(values[:5]) or "none"
        raise DataError(f"--split-column {split!r} has to have two values; it has {examples}")
    # first the part that is called train, else the larger one
    values.sort(key=lambda value: (not value.lower().startswith("train"), -(texts == value).sum()))
    other_columns = [j for j, name in enumerate(column_names) if name != split]
    if not other_columns:
        raise DataError(f"{data.table.source} has no column but {split!r}: nothing to look at")
    rows = read_rows(data.X[:, other_columns], _schema_without(data, split))
    return rows, tuple(np.flatnonzero(texts == value) for value in values), tuple(values)


def _name_part(split: str, label: Any) -> str:
    """Return the name of the part of rows with this value; empty if it is missing."""
    if label is None or label != label:
        return ""
    number = isinstance(label, int | float)
    return f"{split} {label:g}" if number else str(label)


def _schema_without(data: LoadedData, split: str | None) -> Schema:
    """Return the kinds of the columns from the schema, without the column that splits."""
    schema = data.schema
    ordinal: Any = [name for name in schema.ordinal if name != split]
    if isinstance(schema.ordinal, Mapping):
        ordinal = {name: schema.ordinal[name] for name in ordinal}
    categorical, continuous = (
        [name for name in names if name != split]
        for names in (schema.categorical, schema.continuous)
    )
    return Schema(categorical=categorical, ordinal=ordinal, continuous=continuous)


def _is_measurement(y: AnyArray) -> bool:
    """Return whether a target has fractions, or too many values to be classes."""
    if y.dtype.kind == "f" and (y != np.floor(y)).any():
        return True
    return len({str(label) for label in y.tolist()}) > max(20, len(y) // 10)


def _row_limit(rows: Rows) -> int:
    return int(min(MOST_ROWS, max(200, (MOST_WORK / max(rows.n_columns, 1)) ** 0.5)))


def _shifts(
    data: LoadedData,
    split: str | None,
    rows: Rows,
    parts: Sequence[IntArray],
    names: Sequence[str],
    against: LoadedData | None,
    target: Any,
    seed: int,
    n_jobs: int | None,
    say: Callable[[str], Any],
) -> list[tuple[str, Shift, tuple[str, str]]]:
    """Compare the parts of the table, or the table and another: their columns and classes."""
    shifts = []
    if len(parts) == 2:
        say("shift")
        pair_names = (names[0], names[1])
        for part, name in zip(parts, names, strict=True):
            _check_rows(len(part), f"--split-column {split!r}: part {name!r}")
        first, second = (rows.take_rows(part) for part in parts)
        shifts.append(("split", shift(first, second, random_state=seed, n_jobs=n_jobs), pair_names))
        if target is not None:
            labels = [target[part] for part in parts]
            shifts.append(("classes", _class_shift(data, labels, seed), pair_names))
    if against is not None:
        say("shift")
        pair_names = ("this table", "the other")
        _check_rows(rows.n_rows, str(data.table.source))
        _check_rows(against.X.shape[0], str(against.table.source))
        positions = [j for j, name in enumerate(data.names) if split is None or str(name) != split]
        own_columns, other_columns = _align_columns(data, positions, against)
        schema = _schema_without(data, split)
        try:
            result = shift(
                own_columns, other_columns, schema=schema, random_state=seed, n_jobs=n_jobs
            )
        except DataError as problem:
            raise problem.preceded_by(f"--against {against.table.source}: ") from None
        result = replace(result, names=[str(data.names[j]) for j in positions])
        shifts.append(("against", result, pair_names))
        if target is not None and against.y is not None:
            labels = [target, np.asarray(against.y)]
            shifts.append(("classes against", _class_shift(data, labels, seed), pair_names))
    return shifts


def _check_rows(n_rows: int, table_name: str) -> None:
    if n_rows < 2:
        raise DataError(f"{table_name} has {n_rows} row: at least 2 are needed to compare")


def _align_columns(data: LoadedData, positions: list[int], other: LoadedData) -> tuple[Any, Any]:
    """Return the columns at these positions, and the same of the other table."""
    position_of = {str(name): j for j, name in enumerate(other.names)}
    names = [str(data.names[j]) for j in positions]
    absent = [name for name in names if name not in position_of]
    if absent:
        remedy = f"--against needs the columns of {data.table.source}"
        if scipy.sparse.issparse(other.X):
            remedy = f"say --n-features {len(data.names)} if the others are 0 there"
        raise DataError(f"column {absent[0]!r} is not in {other.table.source}: {remedy}")
    order = [position_of[name] for name in names]
    own_columns = data.X if len(positions) == len(data.names) else data.X[:, positions]
    return own_columns, other.X if order == list(range(len(position_of))) else other.X[:, order]


def _class_shift(data: LoadedData, labels: Sequence[Any], seed: int) -> Shift:
    """Compare the classes of two parts as a column."""
    no_columns, one_column = np.empty(0, np.int64), np.zeros(1, np.int64)
    if _is_measurement(np.concatenate(labels)) and all(part.dtype.kind in "iuf" for part in labels):
        numbers = [np.asarray(part, np.float64)[:, None] for part in labels]
        empty = [np.empty((0, len(part)), np.int64) for part in labels]
        names: list[str] = [str(data.target)]
        pair = [
            Rows(x, codes, one_column, no_columns, names, [])
            for x, codes in zip(numbers, empty, strict=True)
        ]
        return shift(*pair, random_state=seed)
    texts = [np.array([str(label) for label in part]) for part in labels]
    values = np.unique(np.concatenate(texts))
    levels = {str(value): code for code, value in enumerate(values, 1)}
    tables = [
        Rows(
            np.empty((len(part), 0)),
            (np.searchsorted(values, part) + 1)[None],
            no_columns,
            one_column,
            [str(data.target)],
            [levels],
        )
        for part in texts
    ]
    return shift(*tables, random_state=seed)


# ---- documents -------------------------------------------------------------------------
def _row_document(suspects: SuspectRows, numbers: IntArray) -> dict[str, Any]:
    index_of_row = {int(row): k for k, row in enumerate(suspects.rows)}
    return {
        "rows_looked_at": len(suspects.rows),
        "outliers": [
            {
                "row": int(numbers[row]),
                "score": float(suspects.outlier_scores[index_of_row[int(row)]]),
                "column": column,
            }
            for row, column in zip(suspects.outliers, suspects.outlier_columns, strict=True)
        ],
        "mislabelled": [
            {
                "row": int(numbers[row]),
                "score": float(suspects.label_scores[index_of_row[int(row)]]),
                "suggested": label,
            }
            for row, label in zip(suspects.mislabelled, suspects.suggested, strict=True)
        ],
    }


def _shift_document(result: Shift) -> dict[str, Any]:
    fields = ("energy", "p_value", "new_levels", "n_first", "n_second", "n_used")
    columns = result.to_frame().to_dicts()
    return {name: getattr(result, name) for name in fields} | {"columns": columns}
