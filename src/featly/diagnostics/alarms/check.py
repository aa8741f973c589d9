"""All alarms, questions and notes about one table."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from featly.basics.errors import Row, Text
from featly.basics.typing import FloatArray, IntArray
from featly.diagnostics.alarms.batches import (
    Batch,
    find_batches,
    group_rows,
    lag_correlation,
)
from featly.diagnostics.alarms.finding import (
    DATES,
    IDENTIFIER,
    REPEATED,
    TEXT,
    Example,
    Finding,
    Findings,
    join_names,
    let_in,
)
from featly.diagnostics.alarms.identifiers import (
    IdentifierGroups,
    Identifiers,
    find_identifiers,
)
from featly.diagnostics.alarms.missing import find_missing_that_tells
from featly.diagnostics.alarms.row_groups import identifier_groups
from featly.diagnostics.alarms.separation import find_separator, find_timers, is_late_name
from featly.diagnostics.alarms.twins import Twins, find_twins
from featly.diagnostics.reading import Rows, check_count, draw_stratified, read_rows
from featly.problem.target import Classes, Target, read_target
from featly.table.frames import take_rows
from featly.table.schema import Schema

__all__ = ["check_rows", "check_safely", "check_table", "not_checked"]

FEW_IN_CLASS = 5
NOT_CHECKED = "not checked"
COPY_SHARE = 0.2  # of the rows: a copy of the classes has fewer levels
LAG, LAG_LEVEL = 0.2, 0.01
MOST_CELLS, LEAST_DRAWN = 1_000_000, 300  # questions and notes are asked of a sample of rows
MOST_ROWS = 50_000  # that are read
MOST_CHECKED, MOST_SPARSE = 1_000_000_000, 20_000_000  # cells


def check_table(
    X: Any,
    y: Any = None,
    *,
    schema: Schema | dict[str, Any] | None = None,
    names: Sequence[str] | None = None,
    has_row_groups: bool = False,
    random_state: int = 0,
) -> Findings:
    """Look for what would make results too good, before they are believed.

    **Alarms**: rows that are alike in nearly everything, columns that number the rows, missing
    values that tell the class, a column that is a copy of the class. **Questions**: a column that
    nearly separates the classes, a time until the event, a site or batch that goes with the class;
    a good predictor can look the same, so only a person can answer. **Notes**: small classes, order
    of the rows, free text, dates. The rules and how often each is wrong are in
    :doc:`/guide/alarms`.

    Parameters
    ----------
    X : data frame, array or sparse matrix of shape (n_rows, n_features)
    y : sequence of shape (n_rows,) or None
        The target. Without it, only what needs none is looked for.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        No question is asked about the columns of `known_before`, and those of `keep` may be
        identifiers.
    names : sequence of str or None, default=None
        Names of the columns, if the table has none.
    has_row_groups : bool, default=False
        Whether groups of rows are stated, so that rows that are alike are no alarm.
    random_state : int, default=0
        Seed of the random numbers.
        They draw rows and columns of large tables, and shuffle.

    Returns
    -------
    Findings

    Examples
    --------
    >>> import numpy as np
    >>> from featly import check_table
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 8))
    >>> twice, y = np.concatenate([X, X]), np.tile(rng.integers(0, 2, 40), 2)
    >>> print(check_table(twice, y)[0].text)
    80 of 80 rows are equal to another row, such as row 0 and row 40...
    """
    check_count("random_state", random_state, 0)
    stated = Schema.of(schema)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    target = None
    if y is not None:
        kinds = ("classes", "numbers", "survival")
        target = read_target(y, n_rows, "check_table", targets=kinds, kind=stated.target_kind)
    drawn = None
    if n_rows > MOST_ROWS and not isinstance(X, Rows):
        rng = np.random.default_rng(random_state)
        drawn = np.sort(rng.choice(n_rows, MOST_ROWS, replace=False))
        X = take_rows(X, drawn)
    rows = read_rows(X, schema)
    if names is not None:
        rows = replace(rows, names=[str(name) for name in names])

    def names_of(part: Sequence[str | int]) -> list[str]:
        return [rows.names[name] if isinstance(name, int) else name for name in part]

    return check_rows(
        rows,
        target,
        known_before=names_of(stated.known_before),
        keep=names_of(stated.keep),
        has_row_groups=has_row_groups,
        drawn=drawn,
        n_rows=n_rows,
        random_state=random_state,
    )


def check_safely(X: Any, y: Any, **options: Any) -> Findings:
    """Check a table that a method will read, too; see :func:`check_table`.

    What a method refuses it says itself. A sparse or very large table is not checked, and a note
    says so.
    """
    n_cells = math.prod(X.shape) if hasattr(X, "shape") else 0  # lists are not large
    is_sparse = scipy.sparse.issparse(X)
    if n_cells > (MOST_SPARSE if is_sparse else MOST_CHECKED):
        return not_checked("is sparse" if is_sparse else "has very many cells")
    try:
        return check_table(X, y, **options)
    except ValueError:  # of ours, or of scikit-learn
        return Findings()


def not_checked(reason: str) -> Findings:
    """Return the note that a table was not checked."""
    text = f"The table {reason}, and is not checked for rows or columns that make results too good."
    remedy = "featly.check_table looks at a part of it, such as some thousand rows."
    return Findings((Finding("note", NOT_CHECKED, text, remedy),))


def check_rows(
    rows: Rows,
    target: Target | None,
    *,
    known_before: Sequence[str] = (),
    keep: Sequence[str] = (),
    has_row_groups: bool = False,
    drawn: IntArray | None = None,
    n_rows: int = 0,
    random_state: int = 0,
) -> Findings:
    """Look for the same in a table that was read; see :func:`check_table`.

    `drawn` are the positions of the rows in a larger table of `n_rows` rows, whose target this is.
    """
    known = tuple(known_before)
    identifiers = find_identifiers(rows)
    who = [name for name in identifiers.who if name not in {*known, *keep}]
    apart = set(who) | set(identifiers.many_levels)
    columns = np.array([name not in apart for name in rows.names], np.bool_)
    plain = rows.take_columns(columns)
    twins = find_twins(plain, is_part=drawn is not None, random_state=random_state)
    if drawn is not None:
        twins = twins.in_larger_table(drawn, n_rows)
    findings = _about_twins(twins, has_row_groups)
    findings += _about_identifiers(identifiers, who, has_row_groups)
    findings += _about_groups(rows, plain, who, has_row_groups, random_state)
    if isinstance(target, Classes):
        findings += _about_small_classes(target)
        part = target if drawn is None else target.take(drawn)
        findings += _about_classes(rows, plain, part, known, random_state)
    return Findings.from_list(findings)


# ---- rows ----------------------------------------------------------------------------------------
def _about_twins(twins: Twins, has_row_groups: bool) -> list[Finding]:
    if not len(twins.pairs):
        if twins.equal_share < 0.2:
            return []
        text = f"{twins.equal_share:.0%} of the rows have an equal row, as tables of few values do."
        return [Finding("note", "equal rows", text)]
    first, second = twins.pairs[0].tolist()
    alike = np.unique(twins.pairs)
    if twins.n_queries < twins.n_rows:
        share = f"{twins.share:.0%} of {twins.n_queries} rows drawn from {twins.n_rows}"
        subject = f"{share} are"
    else:
        subject = f"{len(alike)} of {twins.n_rows} rows are"
    how = "equal to" if len(twins.copies) == len(twins.pairs) else "alike in nearly everything with"
    example = Example(Row(first), " and ", Row(second))
    parts = (f"{subject} {how} another row", example, ".")
    message, rows = Text(*parts), tuple(alike.tolist())
    if has_row_groups:
        return [Finding("note", "twins", message, rows=rows)]
    options = (("row_groups", "auto"), ("drop_twins", ""))
    if not twins.is_alarm:
        return [Finding("note", "twins", message, "Are they one patient?", options, rows=rows)]
    consequence = (
        " If one patient is there twice, results are too good: a row is predicted by its own twin."
    )
    remedy = "Say which rows belong together, or leave out all but one of them."
    message = Text(*parts, consequence)
    return [Finding("alarm", "twins", message, remedy, options, rows=rows)]


def _about_groups(
    rows: Rows, plain: Rows, who: Sequence[str], has_row_groups: bool, random_state: int
) -> list[Finding]:
    """Look for groups of rows in the parts of identifiers."""
    if has_row_groups:
        return []
    return [_about_group(groups) for groups in identifier_groups(rows, plain, who, random_state)]


def _about_group(groups: IdentifierGroups) -> Finding:
    text = Text(
        f"The parts of {groups.column!r} make {groups.n_groups} groups of rows",
        Example(repr(groups.example)),
        ", and rows of one group are more alike than others. If a group is one patient, results "
        "are too good: a row is predicted by others of its patient.",
    )
    rows = np.flatnonzero(np.bincount(groups.labels)[groups.labels] > 1)
    remedy = "Keep the rows of a group together."
    options = (("row_groups", "auto"),)
    return Finding(
        "alarm", "groups in an identifier", text, remedy, options, (groups.column,),
        tuple(rows.tolist()),
    )  # fmt: skip


# ---- columns -------------------------------------------------------------------------------------
def _about_identifiers(
    identifiers: Identifiers, who: Sequence[str], has_row_groups: bool
) -> list[Finding]:
    findings = []
    names = tuple(name for name in identifiers.repeated if name in who)
    if names:
        one = len(names) == 1
        subject = "has the name of an identifier, and its" if one else (
            "have the names of identifiers, and their"
        )  # fmt: skip
        text = (
            f"{join_names(names)} {subject} values repeat. If rows of one individual are on both "
            "sides of a split, results are too good."
        )
        options: tuple[tuple[str, str], ...] = (("row_groups", names[0]),)
        remedy = "Keep the rows of an individual together, or say that there are no individuals."
        if has_row_groups:
            remedy, options = "Leave it out." if one else "Leave them out.", (("drop", names[0]),)
        options = (*options, *let_in(names))
        findings.append(Finding("alarm", REPEATED, text, remedy, options, names))
    words = (
        ("numbers", "numbers the rows", "number the rows"),
        ("texts", "names the rows: at least half of its values are different",
         "name the rows: at least half of their values are different"),
        ("free", "holds free text", "hold free text"),
        ("dates", "holds dates", "hold dates"),
    )  # fmt: skip
    for part, singular, plural in words:
        names = tuple(name for name in getattr(identifiers, part) if name in who)
        if not names:
            continue
        text = f"{join_names(names)} {singular if len(names) == 1 else plural}."
        if part in ("numbers", "texts"):
            text += " Such a column tells who a row is, not how it is."
            remedy = "Leave it out." if len(names) == 1 else "Leave them out."
            options = (("drop", ",".join(names[:3])),)
            findings.append(Finding("alarm", IDENTIFIER, text, remedy, options, names))
        elif part == "dates":
            remedy = "Turn it into a number, such as days since an event, or leave it out."
            findings.append(Finding("note", DATES, text, remedy, (("drop", names[0]),), names))
        else:
            remedy = "Leave it out."
            findings.append(Finding("note", TEXT, text, remedy, (("drop", names[0]),), names))
    if identifiers.many_levels:
        names = tuple(identifiers.many_levels)
        verb = "has" if len(names) == 1 else "have"
        text = f"{join_names(names)} {verb} more levels than a fifth of the rows."
        remedy = "Does it say which rows belong together, such as those of a patient? Then say so."
        findings.append(
            Finding("question", "many levels", text, remedy, (("row_groups", names[0]),), names)
        )
    return findings


def _about_classes(
    rows: Rows, plain: Rows, target: Classes, known: tuple[str, ...], random_state: int
) -> list[Finding]:
    """Look for columns that tell the class too well, and for small classes."""
    y, labels = target.codes, [str(label) for label in target.labels]
    rng = np.random.default_rng(random_state)
    drawn = draw_stratified(y, max(LEAST_DRAWN, MOST_CELLS // max(plain.n_columns, 1)), rng)
    sample, codes = (plain, y) if len(drawn) == len(y) else (plain.take_rows(drawn), y[drawn])
    groupings = [
        (f, groups) for f, groups in group_rows(sample, 30) if sample.names[f] not in known
    ]
    findings = _about_copies(sample, codes, len(labels), groupings)
    copies = {name for finding in findings for name in finding.columns}
    findings += _about_missing(rows, y, labels, known)
    if len(labels) == 2:
        findings += _about_separators(sample, codes, known, copies)
    for batch in find_batches(sample, codes, len(labels), groupings, random_state=random_state):
        if batch.name not in copies:
            findings.append(_about_batch(batch))
    findings += _about_order(sample.numbers, codes, random_state)
    return findings


def _about_small_classes(target: Classes) -> list[Finding]:
    counts = np.bincount(target.codes, minlength=len(target.labels))
    few = [
        f"{str(label)!r} ({n} {'row' if n == 1 else 'rows'})"
        for label, n in zip(target.labels, counts.tolist(), strict=True)
        if n < FEW_IN_CLASS
    ]
    if not few:
        return []
    more = f" and {len(few) - 3} more" if len(few) > 3 else ""
    text = f"Classes with fewer than {FEW_IN_CLASS} rows: {', '.join(few[:3])}{more}."
    remedy = "Nothing can be said about how well they are predicted; join or leave them out."
    return [Finding("note", "small classes", text, remedy)]


def _about_copies(
    rows: Rows, y: IntArray, n_classes: int, groupings: Sequence[tuple[int, IntArray]]
) -> list[Finding]:
    """Look for columns of few values each of which has rows of one class only."""
    findings = []
    for f, values in groupings:
        name, is_known = rows.names[f], values >= 0
        table = np.bincount(values[is_known] * n_classes + y[is_known])
        table = np.pad(table, (0, -len(table) % n_classes)).reshape(-1, n_classes)
        counts = table.sum(axis=1)
        n_levels = int((counts > 0).sum())
        is_pure = ((table > 0).sum(axis=1) <= 1).all() and (table.sum(axis=0) > 0).all()
        if is_pure and 2 <= n_levels < COPY_SHARE * len(y) and counts.sum() >= 20:
            text = (
                f"{name!r} is the class in other words: each of its {n_levels} values has rows of "
                "one class only."
            )
            findings.append(
                Finding("alarm", "copy of the class", text, "Leave it out.",
                        (("drop", name), ("known_before", name)), (name,))
            )  # fmt: skip
    return findings


def _about_missing(
    rows: Rows, y: IntArray, labels: Sequence[str], known: tuple[str, ...]
) -> list[Finding]:
    columns, by_row, _ = find_missing_that_tells(rows, y, len(labels))
    findings: list[Finding] = []
    for column in columns:
        if set(column.names) <= set(known):
            continue
        most, least = int(column.shares.argmax()), int(column.shares.argmin())
        one = len(column.names) == 1
        text = (
            f"{join_names(column.names)} {'is' if one else 'are'} missing in "
            f"{column.shares[most]:.0%} of {labels[most]!r} and {column.shares[least]:.0%} of "
            f"{labels[least]!r}. A method that uses missing values may choose "
            f"{'it' if one else 'them'} for these alone."
        )
        remedy = "Is a value missing because of the outcome? Then go by values alone."
        options = (("ignore_missing", ""), *let_in(column.names))
        findings.append(
            Finding("alarm", "missing values", text, remedy, options, tuple(column.names))
        )
    if by_row is not None and not columns:
        most, least = int(by_row.means.argmax()), int(by_row.means.argmin())
        text = (
            f"Rows of {labels[most]!r} have {by_row.means[most]:.1f} missing values on average, "
            f"rows of {labels[least]!r} {by_row.means[least]:.1f}."
        )
        remedy = "Is that because of the outcome? Then go by values alone."
        options = (("ignore_missing", ""),)
        findings.append(Finding("alarm", "missing values", text, remedy, options))
    return findings


def _about_separators(
    rows: Rows, y: IntArray, known: tuple[str, ...], copies: set[str]
) -> list[Finding]:
    findings = []
    separator = find_separator(_leave_out(rows, copies), y)
    if separator is not None and separator.name not in known:
        verb = "orders" if separator.is_number else "tells"
        what = "pairs of rows of the two classes" if separator.is_number else "rows"
        late = ", and its name is that of something known afterwards" * is_late_name(separator.name)
        text = (
            f"{separator.name!r} alone {verb} {separator.area:.0%} of the {what} right, the next "
            f"column {separator.next_area:.0%}{late}."
        )
        findings.append(_ask_whether_known(text, "separates", separator.name))
    asked = {finding.columns[0] for finding in findings}
    for timer in find_timers(rows, y, known=known):
        if timer.name not in asked:
            text = f"{timer.name!r} has the name of a time, and differs between the classes."
            findings.append(_ask_whether_known(text, "time to the event", timer.name))
    return findings


def _ask_whether_known(text: str, kind: str, name: str, is_late: bool = False) -> Finding:
    question = "Was it known before the outcome? Say so, or leave it out."
    options = (("known_before", name), ("drop", name))
    return Finding("question", kind, text, question, options, (name,), is_late=is_late)


def _leave_out(rows: Rows, names: set[str]) -> Rows:
    return rows.take_columns(np.array([name not in names for name in rows.names], np.bool_))


def _about_batch(batch: Batch) -> Finding:
    text = (
        f"{batch.share:.0%} of the columns differ between the values of {batch.name!r} within "
        f"each class, and {batch.name!r} goes with the class (V = {batch.v:.2f}). If it is how "
        "or where rows were collected, the result may be about that."
    )
    remedy = "If so, keep rows of one value together; if it is a trait of the patient, say so."
    options = (("row_groups", batch.name), ("known_before", batch.name))
    return Finding("question", "batch", text, remedy, options, (batch.name,))


def _about_order(numbers: FloatArray, y: IntArray, random_state: int) -> list[Finding]:
    correlation, p = lag_correlation(numbers, y, random_state=random_state)
    if correlation < LAG or p > LAG_LEVEL:
        return []
    text = (
        f"Rows that follow each other are alike (correlation {correlation:.2f} within a class). "
        "Were they measured one after the other, or at one place?"
    )
    return [Finding("note", "order", text, "Then rows of one block belong together.",
                    (("row_groups", "COLUMN"),))]  # fmt: skip
