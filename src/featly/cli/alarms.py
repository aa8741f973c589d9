"""Alarms, questions and notes about a table, on standard error and in JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from featly.cli.printing import amount, say
from featly.cli.stored import StoredFile
from featly.cli.words import OptionWords
from featly.diagnostics.alarms import (
    Findings,
    all_left_out_error,
    check_safely,
    not_checked,
    twin_groups,
)
from featly.diagnostics.alarms.missing import describe_missing
from featly.diagnostics.reading import read_rows
from featly.table.frames import is_frame, take_columns, take_rows
from featly.table.schema import Schema

if TYPE_CHECKING:
    from featly.cli.load import LoadedData

__all__ = [
    "check_data",
    "chosen_for_missing",
    "document_findings",
    "prepare_rows",
    "say_alarms",
    "settle_row_groups",
]

STYLES = {"alarm": "bold red", "question": "yellow", "note": "dim"}
AUTO = "auto"  # as --row-groups
PARTLY = 0.5  # of what a column says is said by its missing values
NO_FEATURES = ("row_groups", "split_column")  # options that name a column


def check_data(data: "LoadedData", options: Mapping[str, Any], *, leave_out: bool = True) -> None:
    """Check the table of a command, once, and say what was found.

    The findings are in ``data.findings``. Columns that number or name the rows are taken out of the
    data, unless the schema lets them in.

    Parameters
    ----------
    data : LoadedData
    options : mapping
        Of the command.
    leave_out : bool, default=True
        Whether such columns are taken out.
    """
    data.findings = _check(data, options)
    if options.get("fill") or options.get("ignore_missing"):
        data.findings = data.findings.mend("missing values", "They are filled.")
    if leave_out:
        _leave_out(data)
    say_alarms(data.findings, options, notes=not leave_out)


def _check(data: "LoadedData", options: Mapping[str, Any]) -> Findings:
    if isinstance(data.table, StoredFile):
        return not_checked("stays on disk")
    X, schema, names = data.X, data.schema, data.own_names
    apart = [options[name] for name in NO_FEATURES if options.get(name) in list(data.names)]
    if apart and is_frame(X):
        X = take_columns(X, [k for k, name in enumerate(data.names) if name not in apart])
        schema, names = schema.without(apart), None
    has_groups = options.get("row_groups") is not None
    if data.target_kind == "classes":
        schema = replace(schema, target_kind="classes")
    return check_safely(X, data.y, schema=schema, names=names, has_row_groups=has_groups)


def _leave_out(data: "LoadedData") -> None:
    """Take columns that number or name the rows out of the data."""
    left_out = set(data.findings.columns_to_leave_out())
    if not left_out:
        return
    kept = [k for k, name in enumerate(data.names) if str(name) not in left_out]
    if not kept:
        raise all_left_out_error(str(data.table.source), sorted(left_out))
    data.X = take_columns(data.X, kept) if is_frame(data.X) else data.X[:, kept]
    data.names = [str(data.names[k]) for k in kept]
    data.schema = data.schema.without(left_out)
    data.findings = data.findings.mend_left_out()


def prepare_rows(data: "LoadedData", options: Mapping[str, Any]) -> None:
    """Leave out the rows that are like an earlier row, if ``--drop-twins`` says so."""
    if not options.get("drop_twins"):
        return
    groups = _twin_groups(data)
    first = np.sort(np.unique(groups, return_index=True)[1])
    n_dropped = len(groups) - len(first)
    if n_dropped:
        data.X, data.y = take_rows(data.X, first), None if data.y is None else data.y[first]
        data.rows = first if data.rows is None else data.rows[first]
    note = f"{amount(n_dropped, 'row')} that {'is' if n_dropped == 1 else 'are'} like an earlier "
    note += f"row {'stays' if n_dropped == 1 else 'stay'} out"
    data.notes.append(note)
    if not options["quiet"]:
        say(note, "dim")


def settle_row_groups(data: "LoadedData", options: Mapping[str, Any]) -> Any:
    """Return the column of ``--row-groups``, or the groups of rows that are alike."""
    name = options["row_groups"]
    if name != AUTO or AUTO in list(data.names):
        data.check_column(name, "--row-groups")
        return name
    groups = _twin_groups(data)
    sizes = np.bincount(np.bincount(groups))
    n_groups, n_rows = int(sizes[2:].sum()), int((np.arange(len(sizes)) * sizes)[2:].sum())
    note = f"row groups: {amount(n_rows, 'row')} in {amount(n_groups, 'group')} of rows alike"
    data.notes.append(note)
    if not options["quiet"]:
        say(note, "dim")
    return groups


def _twin_groups(data: "LoadedData") -> Any:
    if isinstance(data.table, StoredFile) or scipy.sparse.issparse(data.X):
        from featly.basics.errors import DataError

        raise DataError(
            f"rows of {data.table.source} cannot be compared with each other: it is sparse, or "
            "stays on disk"
        )
    return twin_groups(data.X, schema=data.schema)


def chosen_for_missing(data: "LoadedData", ranker: Any, positions: Sequence[int]) -> list[str]:
    """Return a sentence on every chosen column whose missing values say more than its values.

    Only methods that read what is missing choose a column for it.
    """
    is_plain = is_frame(data.X) or isinstance(data.X, np.ndarray)
    if not is_plain or not data.classes or not getattr(ranker, "_reads_missing", False):
        return []
    X = take_columns(data.X, positions) if is_frame(data.X) else data.X[:, list(positions)]
    names = [str(data.names[position]) for position in positions]
    kinds = Schema(categorical=[n for n in data.schema.categorical if n in names])
    labels, codes = np.unique(np.asarray(data.y), return_inverse=True)
    columns = describe_missing(read_rows(X, kinds), codes, len(labels))
    texts = [str(label) for label in labels]
    return [
        f"{name!r} is {column.sentence(texts)} (--ignore-missing goes by values alone)"
        for name, column in zip(names, columns, strict=True)
        if column.n_missing and column.is_related and column.share >= PARTLY
    ]


def document_findings(data: "LoadedData", options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the findings for JSON, in the words of the command."""
    return data.findings.to_dicts(OptionWords(options), known=options)


def say_alarms(findings: Findings, options: Mapping[str, Any], *, notes: bool = False) -> None:
    """Print alarms on standard error, and questions and notes unless they are unwanted.

    Parameters
    ----------
    findings : Findings
    options : mapping
        Of the command; `quiet` leaves out all but alarms.
    notes : bool, default=False
        Whether notes are printed as well; those on columns that are left out always are.
    """
    words = OptionWords(options)
    shown: Sequence[Any] = findings if notes else findings.to_say + findings.about("not checked")
    for finding in shown:
        if finding.level == "alarm" or not options["quiet"]:
            text = f"{finding.level}: {finding.describe(words, known=options)}"
            say(text, STYLES[finding.level])
