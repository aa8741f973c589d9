"""What ``featly describe --deep`` tells: how hard the classes are, and what looks wrong.

The sentences are in :mod:`featly.present.deep_words`; the figures behind them are in the document.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.diagnostics import (
    Shift,
    SuspectRows,
    complexity,
    shift,
    suspect_columns,
    suspect_rows,
)
from featly.diagnostics.reading import Rows, read_rows
from featly.errors import DataError
from featly.frames import is_frame
from featly.present.deep_words import (
    THRESHOLDS,
    Finding,
    about_boundaries,
    about_classes,
    about_columns,
    about_rows,
    about_shift,
)
from featly.present.job import Job

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
    most = _most_rows(first)
    findings: list[Finding] = []
    document: dict[str, Any] = {"thresholds": THRESHOLDS, "seed": seed}
    if split is not None:
        sizes = [f"{len(part):,} {name}" for part, name in zip(parts, names, strict=True)]
        findings.append(
            Finding(
                "split-column",
                f"{' and '.join(sizes)} rows; what follows is of the {names[0]} rows",
            )
        )
    if y is not None and len(np.unique(y)) > 1:
        found = complexity(
            first, y, max_rows=most, random_state=seed, n_jobs=n_jobs, progress=progress
        )
        findings += about_classes(found) + about_boundaries(found)
        document["complexity"] = asdict(found) | {"imbalance_ratio": found.imbalance_ratio}
    say("columns")
    columns = suspect_columns(whole, n_jobs=n_jobs)
    findings += about_columns(columns)
    document["suspect_columns"] = asdict(columns)
    say("rows")
    labels = y if y is not None and len(np.unique(y)) > 1 else None
    odd = suspect_rows(first, labels, max_rows=most, random_state=seed, n_jobs=n_jobs)
    places = np.arange(rows.n_rows) if job.rows is None else job.rows
    findings += about_rows(odd, places[parts[0]] + 1)
    document["suspect_rows"] = _row_document(odd, places[parts[0]] + 1)
    moved = _shifts(job, rows, parts, names, against, target, seed, n_jobs, say)
    for about, result, words in moved:
        findings += about_shift(about, result, words)
        document.setdefault("shift", {})[about] = _shift_document(result)
    findings.sort(key=lambda finding: (finding.about != "split-column", not finding.serious))
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
    labels = job.X[:, known.index(split)].to_list()
    values = sorted({str(label) for label in labels if label is not None})
    if len(values) != 2:
        shown = ", ".join(values[:5])
        raise DataError(f"--split-column {split!r} has to have two values; it has {shown}")
    texts = np.array([str(label) for label in labels])
    # the one that is called train, else the larger
    values.sort(key=lambda value: (not value.lower().startswith("train"), -(texts == value).sum()))
    kept = [j for j, name in enumerate(known) if name != split]
    schema = job.schema
    if any(name == split for name in schema.categorical):
        schema = replace(schema, categorical=[n for n in schema.categorical if n != split])
    rows = read_rows(job.X[:, kept], schema)
    return rows, tuple(np.flatnonzero(texts == value) for value in values), tuple(values)


def _most_rows(rows: Rows) -> int:
    return int(min(MOST_ROWS, max(200, (MOST_WORK / max(rows.n_columns, 1)) ** 0.5)))


def _shifts(
    job: Job,
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
        one, two = (rows.take(part) for part in parts)
        found.append(("split", shift(one, two, random_state=seed, n_jobs=n_jobs), words))
        if target is not None:
            labels = [target[part] for part in parts]
            found.append(("classes", _of_classes(job, labels, seed), words))
    if against is not None:
        say("shift")
        words = ("this table", "the other")
        other = _same_columns(job, against)
        result = shift(job.X, other, schema=job.schema, random_state=seed, n_jobs=n_jobs)
        result = replace(result, names=[str(name) for name in job.names])
        found.append(("against", result, words))
        if target is not None and against.y is not None:
            labels = [target, np.asarray(against.y)]
            found.append(("classes against", _of_classes(job, labels, seed), words))
    return found


def _same_columns(job: Job, other: Job) -> Any:
    """The other table with the columns of this one, in their order."""
    known = {str(name): j for j, name in enumerate(other.names)}
    absent = [str(name) for name in job.names if str(name) not in known]
    if absent:
        raise DataError(
            f"column {absent[0]!r} is not in {other.table.source}: --against needs the columns of "
            f"{job.table.source}"
        )
    order = [known[str(name)] for name in job.names]
    return other.X if order == list(range(len(known))) else other.X[:, order]


def _of_classes(job: Job, labels: Sequence[Any], seed: int) -> Shift:
    """The classes of two parts as a column."""
    texts = [np.array([str(label) for label in part]) for part in labels]
    values = np.unique(np.concatenate(texts))
    levels = {str(value): code for code, value in enumerate(values, 1)}
    none, only = np.empty(0, np.int64), np.zeros(1, np.int64)
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
