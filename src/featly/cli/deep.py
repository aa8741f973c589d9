"""What ``featly describe --deep`` tells: how hard the classes are, and what looks wrong.

The sentences are in :mod:`featly.cli.deep_words`; the figures behind them are in the document.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from featly.basics.errors import DataError
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
from featly.cli.job import Job
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

__all__ = ["Deep", "deep_description"]

MOST_ROWS = 4000  # of a larger table, so many are looked at
MOST_WORK = 2e10  # rows x rows x columns


@dataclass(frozen=True)
class Deep:
    """Findings in words, most serious first, and all figures."""

    lines: list[str]
    document: dict[str, Any]


def deep_description(
    job: Job,
    *,
    against: Job | None = None,
    split: str | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[str], Any] | None = None,
) -> Deep:
    """Look at the classes, the rows and the columns of a table.

    Parameters
    ----------
    job : Job
        With or without a target.
    against : Job or None
        A second table with the same columns: whether rows of this one look like those.
    split : str or None
        A column that says of each row which of two parts it belongs to, such as train and test.
        Classes and rows are then those of the first part.
    seed : int
        Draws samples and permutations.
    n_jobs : int or None
    progress : callable or None
        Is told what is done next, in a word.
    """
    say: Callable[[str], Any] = progress or (lambda word: None)
    say("reading")
    rows, parts, names = _parts(job, split)
    target = None if job.y is None else np.asarray(job.y)
    y = None if target is None else target[parts[0]]
    whole, first = rows, rows.take(parts[0]) if split is not None else rows
    telling = first.repeats
    unlike = [name for name, yes in zip(first.names, telling, strict=True) if not yes]
    first = first.columns(telling)
    most = _most_rows(first)
    findings: list[Finding] = []
    document: dict[str, Any] = {"thresholds": THRESHOLDS, "seed": seed}
    if split is not None:
        left = rows.n_rows - sum(map(len, parts))
        neither = f" ({left:,} of neither stay out)" if left else ""
        sizes = [f"{len(part):,} {name}" for part, name in zip(parts, names, strict=True)]
        findings.append(
            Finding(
                "split-column",
                f"{' and '.join(sizes)} rows{neither}; what follows is of the {names[0]} rows",
            )
        )
    if unlike:
        findings.append(about_identifiers(unlike))
    classes = set() if y is None else {str(label) for label in y.tolist()}
    measured = target is not None and _is_measurement(target)
    labels = y if len(classes) > 1 and not measured else None
    if measured:
        findings.append(
            Finding("classes", f"target {job.target!r} looks measured: no classes to tell apart")
        )
    elif split is not None and len(classes) == 1:
        only = f"the {names[0]} rows are all of class {classes.pop()}: nothing to tell apart"
        findings.append(Finding("classes", only, serious=True))
    if labels is not None and first.n_columns:
        found = complexity(
            first, labels, max_rows=most, random_state=seed, n_jobs=n_jobs, progress=progress
        )
        findings += about_classes(found) + about_boundaries(found)
        document["complexity"] = asdict(found) | {"imbalance_ratio": found.imbalance_ratio}
    say("columns")
    columns = suspect_columns(whole, n_jobs=n_jobs)
    findings += about_columns(columns)
    document["suspect_columns"] = asdict(columns)
    say("rows")
    if first.n_columns:
        odd = suspect_rows(first, labels, max_rows=most, random_state=seed, n_jobs=n_jobs)
        places = np.arange(rows.n_rows) if job.rows is None else job.rows
        findings += about_rows(odd, places[parts[0]] + 1, labels)
        document["suspect_rows"] = _row_document(odd, places[parts[0]] + 1)
    moved = _shifts(job, split, rows, parts, names, against, target, seed, n_jobs, say)
    for about, result, words in moved:
        findings += about_shift(about, result, words, unlike)
        document.setdefault("shift", {})[about] = _shift_document(result)
    first_of_all = ("split-column", "identifiers")
    findings.sort(key=lambda finding: (finding.about not in first_of_all, not finding.serious))
    document["findings"] = [asdict(finding) for finding in findings]
    return Deep([finding.text for finding in findings], document)


# ---- parts of the table --------------------------------------------------------------------------
def _parts(
    job: Job, split: str | None
) -> tuple[Rows, tuple[npt.NDArray[np.int64], ...], tuple[str, ...]]:
    """The table, which rows are in its parts, and what those are called."""
    if split is None:
        rows = replace(read_rows(job.X, job.schema), names=[str(name) for name in job.names])
        return rows, (np.arange(rows.n_rows),), ("",)
    known = [str(name) for name in job.names]
    if not is_frame(job.X) or split not in known:
        shown = ", ".join(known[:5])
        raise DataError(f"--split-column {split!r} is no column of {job.table.source} ({shown})")
    texts = np.array([_part_name(split, label) for label in job.X[:, known.index(split)].to_list()])
    values = sorted(set(texts.tolist()) - {""})
    if len(values) != 2:
        shown = ", ".join(values[:5]) or "none"
        raise DataError(f"--split-column {split!r} has to have two values; it has {shown}")
    # the one that is called train, else the larger
    values.sort(key=lambda value: (not value.lower().startswith("train"), -(texts == value).sum()))
    kept = [j for j, name in enumerate(known) if name != split]
    if not kept:
        raise DataError(f"{job.table.source} has no column but {split!r}: nothing to look at")
    rows = read_rows(job.X[:, kept], _schema_without(job, split))
    return rows, tuple(np.flatnonzero(texts == value) for value in values), tuple(values)


def _part_name(split: str, label: Any) -> str:
    """What rows with this value are called; nothing where it is missing."""
    if label is None or label != label:
        return ""
    number = isinstance(label, int | float)
    return f"{split} {label:g}" if number else str(label)


def _schema_without(job: Job, split: str | None) -> Schema:
    """What is said of the kinds of the columns, but for the one that splits them."""
    said = job.schema
    ordinal: Any = [name for name in said.ordinal if name != split]
    if isinstance(said.ordinal, Mapping):
        ordinal = {name: said.ordinal[name] for name in ordinal}
    categorical, continuous = (
        [name for name in names if name != split] for names in (said.categorical, said.continuous)
    )
    return Schema(categorical=categorical, ordinal=ordinal, continuous=continuous)


def _is_measurement(y: npt.NDArray[Any]) -> bool:
    """Whether a target has too many values for classes, or values that are no whole numbers."""
    if y.dtype.kind == "f" and (y != np.floor(y)).any():
        return True
    return len({str(label) for label in y.tolist()}) > max(20, len(y) // 10)


def _most_rows(rows: Rows) -> int:
    return int(min(MOST_ROWS, max(200, (MOST_WORK / max(rows.n_columns, 1)) ** 0.5)))


def _shifts(
    job: Job,
    split: str | None,
    rows: Rows,
    parts: Sequence[npt.NDArray[np.int64]],
    names: Sequence[str],
    against: Job | None,
    target: Any,
    seed: int,
    n_jobs: int | None,
    say: Callable[[str], Any],
) -> list[tuple[str, Shift, tuple[str, str]]]:
    """The comparisons that were asked for: of columns, and of classes."""
    found = []
    if len(parts) == 2:
        say("shift")
        words = (names[0], names[1])
        for part, name in zip(parts, names, strict=True):
            _enough(len(part), f"--split-column {split!r}: part {name!r}")
        one, two = (rows.take(part) for part in parts)
        found.append(("split", shift(one, two, random_state=seed, n_jobs=n_jobs), words))
        if target is not None:
            labels = [target[part] for part in parts]
            found.append(("classes", _of_classes(job, labels, seed), words))
    if against is not None:
        say("shift")
        words = ("this table", "the other")
        _enough(rows.n_rows, str(job.table.source))
        _enough(against.X.shape[0], str(against.table.source))
        here = [j for j, name in enumerate(job.names) if split is None or str(name) != split]
        own, other = _same_columns(job, here, against)
        schema = _schema_without(job, split)
        try:
            result = shift(own, other, schema=schema, random_state=seed, n_jobs=n_jobs)
        except DataError as problem:
            raise DataError(f"--against {against.table.source}: {problem}") from None
        result = replace(result, names=[str(job.names[j]) for j in here])
        found.append(("against", result, words))
        if target is not None and against.y is not None:
            labels = [target, np.asarray(against.y)]
            found.append(("classes against", _of_classes(job, labels, seed), words))
    return found


def _enough(n_rows: int, who: str) -> None:
    if n_rows < 2:
        raise DataError(f"{who} has {n_rows} row: at least 2 are needed to compare")


def _same_columns(job: Job, here: list[int], other: Job) -> tuple[Any, Any]:
    """Columns `here` of this table, and the same of the other."""
    known = {str(name): j for j, name in enumerate(other.names)}
    names = [str(job.names[j]) for j in here]
    absent = [name for name in names if name not in known]
    if absent:
        remedy = f"--against needs the columns of {job.table.source}"
        if scipy.sparse.issparse(other.X):
            remedy = f"say --n-features {len(job.names)} if the others are 0 there"
        raise DataError(f"column {absent[0]!r} is not in {other.table.source}: {remedy}")
    order = [known[name] for name in names]
    own = job.X if len(here) == len(job.names) else job.X[:, here]
    return own, other.X if order == list(range(len(known))) else other.X[:, order]


def _of_classes(job: Job, labels: Sequence[Any], seed: int) -> Shift:
    """The classes of two parts as a column."""
    none, only = np.empty(0, np.int64), np.zeros(1, np.int64)
    if _is_measurement(np.concatenate(labels)) and all(part.dtype.kind in "iuf" for part in labels):
        numbers = [np.asarray(part, np.float64)[:, None] for part in labels]
        empty = [np.empty((0, len(part)), np.int64) for part in labels]
        named: list[str] = [str(job.target)]
        pair = [
            Rows(x, codes, only, none, named, []) for x, codes in zip(numbers, empty, strict=True)
        ]
        return shift(*pair, random_state=seed)
    texts = [np.array([str(label) for label in part]) for part in labels]
    values = np.unique(np.concatenate(texts))
    levels = {str(value): code for code, value in enumerate(values, 1)}
    tables = [
        Rows(
            np.empty((len(part), 0)),
            (np.searchsorted(values, part) + 1)[None],
            none,
            only,
            [str(job.target)],
            [levels],
        )
        for part in texts
    ]
    return shift(*tables, random_state=seed)


# ---- documents -------------------------------------------------------------------------
def _row_document(found: SuspectRows, numbers: npt.NDArray[np.int64]) -> dict[str, Any]:
    place = {int(row): k for k, row in enumerate(found.rows)}
    return {
        "rows_looked_at": len(found.rows),
        "outliers": [
            {
                "row": int(numbers[row]),
                "score": float(found.outlier_scores[place[int(row)]]),
                "column": column,
            }
            for row, column in zip(found.outliers, found.outlier_columns, strict=True)
        ],
        "mislabelled": [
            {
                "row": int(numbers[row]),
                "score": float(found.label_scores[place[int(row)]]),
                "suggested": label,
            }
            for row, label in zip(found.mislabelled, found.suggested, strict=True)
        ],
    }


def _shift_document(found: Shift) -> dict[str, Any]:
    kept = ("energy", "p_value", "new_levels", "n_first", "n_second", "n_used")
    columns = found.to_frame().to_dicts()
    return {name: getattr(found, name) for name in kept} | {"columns": columns}
