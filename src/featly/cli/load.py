"""Options about a file and its columns in, a loaded table with its target and schema out."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse

from featly import __version__
from featly.basics.errors import DataError, ParameterError, SchemaError
from featly.basics.params import Number
from featly.basics.typing import AnyArray, IntArray
from featly.cli.printing import amount, is_error_terminal, say
from featly.cli.stored import StoredFile, no_target_error, scan_file
from featly.diagnostics.alarms import Findings
from featly.io import ColumnFinder, TableFile, read_table
from featly.io.schema_files import read_ranking, read_schema_file, read_weights
from featly.io.stores import StoredTable
from featly.io.stores.rows import RowSubset
from featly.problem.target import infer_kind
from featly.table.formats import FORMATS, format_of_name, is_always_stored
from featly.table.frames import DefaultNames
from featly.table.schema import ABOUT_NO_COLUMN, Schema
from featly.table.unknown_column import describe_unknown_column

__all__ = ["LoadedData", "Request", "load", "load_data"]

FEW_NAMES = 16  # up to so many are looked up one by one in a file of names
LIKELY_TARGETS = ("class", "target", "outcome", "label", "y", "diagnosis", "status")


@dataclass(frozen=True)
class Request:
    """A file and its columns as the user describes them; the fields are named as the options."""

    file: str
    target: str | None = None
    target_kind: str | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    ordinal: Sequence[str] = ()
    keep: Sequence[str] = ()
    known_before: Sequence[str] = ()
    prior: str | None = None
    prior_from: str | None = None
    prior_top: int | None = None
    prior_weight: float | None = None
    costs: str | None = None
    trade_off: float | None = None
    schema: str | None = None
    format: str | None = None
    separator: str | None = None
    encoding: str | None = None
    header: bool | None = None
    missing: Sequence[str] = ()
    n_features: int | None = None
    sheet: str | None = None
    fill: bool = False
    ignore_missing: bool = False
    target_file: str | None = None
    dataset: str | None = None
    layer: str | None = None
    memory_limit: str | None = None

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Take the options of a command that describe the file and its columns."""
        names = [f.name for f in fields(cls)]
        return cls(**{name: options[name] for name in names if options.get(name) is not None})


@dataclass
class LoadedData:
    """A table with its target and schema, ready for a method.

    Attributes
    ----------
    table : TableFile or StoredFile
        The file that the columns come from.
    X : data frame, array, sparse matrix or StoredTable
        Without the target, the dropped columns and the rows that have no target.
    y : array or None
    names : sequence of str
        Names of the columns of `X` in the file.
    schema : Schema
    notes : list of str
        Remarks on the file, for the user.
    rows : int array or None
        Positions of the rows of `X` in the file; None if all of its rows are there.
    advice : Advice or None
        The advice that the method comes from, for ``--method auto``.
    findings : Findings
        What :func:`featly.check_table` says about the table.
    """

    table: TableFile | StoredFile
    X: Any
    y: AnyArray | None
    names: Sequence[str]
    schema: Schema
    notes: list[str] = field(default_factory=list)
    rows: IntArray | None = None
    advice: Any = None
    findings: Findings = field(default_factory=Findings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.table.close()

    @property
    def own_names(self) -> list[str] | None:
        """Names of the columns, if the file has some for a matrix that has none."""
        names = self.names
        return names if scipy.sparse.issparse(self.X) and isinstance(names, list) else None

    def name_in_file(self, name: str) -> str:
        """Return a column's name in the file, where a method calls it x0, x1, ..."""
        if self.own_names is None:
            return name
        position = DefaultNames(len(self.own_names)).position(name)
        return name if position is None else self.own_names[position]

    @property
    def target(self) -> str | None:
        """Name of the target."""
        return self.table.target

    @cached_property
    def target_kind(self) -> str | None:
        """The kind of the target; None if there is none, or whole numbers may be either."""
        if self.y is None:
            return None
        return self.schema.target_kind or infer_kind(self.y)

    @cached_property
    def classes(self) -> dict[str, int]:
        """Number of rows of every class; empty if the target holds numbers."""
        if self.y is None or self.target_kind == "numbers":
            return {}
        labels, counts = np.unique(self.y, return_counts=True)
        return {str(label): int(n) for label, n in zip(labels, counts, strict=True)}

    @property
    def numbers(self) -> tuple[float, float]:
        """The smallest and the largest number of a target that holds numbers."""
        try:
            values = np.asarray(self.y).astype(np.float64)
        except (TypeError, ValueError):
            raise DataError(
                f"target {self.target!r} of {self.table.source} holds text: correct it, or leave "
                "out --target-kind numbers"
            ) from None
        return float(values.min()), float(values.max())

    def describe_target(self) -> str:
        """Return the classes with their numbers of rows, or the range of the numbers."""
        if self.target_kind == "numbers":
            return "numbers from {:g} to {:g}".format(*self.numbers)
        return ", ".join(f"{label} {n}" for label, n in self.classes.items())

    def target_facts(self) -> dict[str, Any]:
        """Return the entries of a JSON document about the target."""
        if self.target_kind == "numbers":
            return {"target_kind": "numbers", "target_range": list(self.numbers)}
        return {"target_kind": self.target_kind, "classes": self.classes}

    def require_classes(self, command: str) -> None:
        """Raise DataError unless the target holds classes, which the command is for."""
        if self.target_kind == "numbers":
            raise DataError(
                f"target {self.target!r} of {self.table.source} holds numbers, and {command} is "
                "for classes: cut them into classes for it. 'featly rank', 'featly select' and "
                "'featly describe' take numbers"
            )
        if self.y is not None and self.target_kind is None:
            raise DataError(
                f"target {self.target!r} of {self.table.source} has {len(self.classes)} different "
                "whole numbers, which may be classes or numbers: say which by --target-kind "
                "classes or --target-kind numbers"
            )

    def facts(self) -> dict[str, Any]:
        """Return the entries with which every JSON document about the table begins."""
        rows, columns = self.X.shape
        return {
            "featly": __version__,
            "file": self.table.source.strip("'"),
            "rows": rows,
            "columns": columns,
            "target": self.target,
        }

    def check_column(self, name: str | None, option: str) -> None:
        """Raise DataError if an option names a column that the table does not have."""
        if name is not None and name not in [str(column) for column in self.names]:
            raise DataError(f"{option} {name!r} {describe_unknown_column(name, self.names)}")


def load_data(
    options: Mapping[str, Any], *, need_target: bool = True, by_blocks: bool = False
) -> LoadedData:
    """Load the table that the options describe, and print its shape and the notes on it.

    Parameters
    ----------
    options : mapping
        Of a command.
    need_target : bool, default=True
        Whether a table without a target is an error.
    by_blocks : bool, default=False
        Whether the command takes a table that stays on disk.
    """
    loud = not options["quiet"]
    data = load(
        Request.from_options(options),
        need_target=need_target,
        verbose=loud and is_error_terminal(),
        by_blocks=by_blocks,
    )
    if loud:
        rows, columns = data.X.shape
        shape = f"{data.table.source}: {amount(rows, 'row')}, {amount(columns, 'column')}"
        say("; ".join([shape, *data.notes]), "dim")
    return data


def load(
    request: Request, *, need_target: bool = True, verbose: bool = False, by_blocks: bool = False
) -> LoadedData:
    """Read the file, take the target and the dropped columns out, build the schema.

    Parameters
    ----------
    request : Request
    need_target, by_blocks : bool
        As in :func:`load_data`.
    verbose : bool, default=False
        True shows a progress bar; a function is called with (done, total).
    """
    parts, transfer = _schema_parts(request), _read_transfer(request)
    drop = [*_split_names(request.drop), *parts.pop("drop", [])]
    target = request.target if request.target is not None else parts.pop("target", None)
    parts.pop("target", None)
    if request.memory_limit is not None or is_always_stored(request.file):
        return _load_stored(request, target, drop, parts, transfer, need_target, by_blocks)
    for option in ("target_file", "dataset", "layer"):
        if getattr(request, option) is not None:
            raise ParameterError(
                f"--{option.replace('_', '-')} goes with files that are read by blocks of columns, "
                f"which {request.file!r} is not: leave it out"
                + (", and name the column by --target" if option == "target_file" else "")
            )
    table: Any = read_table(
        request.file,
        target=target,
        format=request.format,
        separator=request.separator,
        encoding=request.encoding,
        header=request.header,
        missing=_split_names(request.missing),
        n_features=request.n_features,
        sheet=request.sheet,
        apart=[*drop, *parts.get("categorical", []), *parts.get("ordinal", {})],
        verbose=verbose,
    )
    try:
        if need_target and table.y is None:
            raise _no_target_error(table)
        return _prepare(table, drop, parts, transfer, fill_rule=_fill_rule(request))
    except BaseException:
        table.close()
        raise


def _load_stored(
    request: Request,
    target: str | None,
    drop: list[str],
    parts: dict[str, Any],
    transfer: "_Transfer | None",
    need_target: bool,
    by_blocks: bool,
) -> LoadedData:
    """Load a table that stays on disk."""
    if not by_blocks:
        raise DataError(
            f"{request.file!r} is read by blocks of columns, which 'featly rank', 'featly select' "
            "and 'featly describe' do: this command needs a table that is read whole, such as a "
            ".csv or .parquet file"
        )
    file = request.file
    kind = format_of_name(file)
    unused: dict[str, Any] = {
        "--fill": request.fill,
        "--ignore-missing": request.ignore_missing,
        "--n-features": request.n_features,
        "--sheet": request.sheet,
    }
    if request.format is not None and (request.format != kind or is_always_stored(file)):
        unused["--format"] = request.format
    if kind is None or "without" not in FORMATS[kind].store_options:
        unused["--drop"] = drop
    text_format = {name: getattr(request, name) for name in ("separator", "encoding", "header")}
    text_format["missing"] = _split_names(request.missing)
    if request.target_file is None:
        unused |= {f"--{name}": value for name, value in text_format.items()}
    for option, setting in unused.items():
        if setting or (setting is False and option == "--header"):
            raise ParameterError(f"{option} is not for {file!r}, which stays on disk: leave it out")
    table = scan_file(
        file,
        target,
        request.target_file,
        dataset=request.dataset,
        layer=request.layer,
        without=drop,
        memory_limit=request.memory_limit,
        text_format=text_format,
    )
    try:
        if need_target and table.y is None:
            raise no_target_error(table)
        return _prepare(table, [], parts, transfer, fill_rule="")
    except BaseException:
        table.close()
        raise


def _prepare(
    table: Any,
    drop: list[str],
    parts: dict[str, Any],
    transfer: "_Transfer | None",
    *,
    fill_rule: str,
) -> LoadedData:
    """Return the table without dropped columns and rows without a target, and its schema."""
    X, y, names, notes = table.X, table.y, table.names, list(table.notes)
    rows = None
    if drop:
        find = ColumnFinder(names, table.source)
        dropped = {find(name, "--drop") for name in drop}
        parts = _drop_from_schema(parts, find, dropped)
        remaining = [j for j in range(len(names)) if j not in dropped]
        if not remaining:
            raise DataError(f"all columns of {table.source} are dropped: drop fewer")
        X = X[:, remaining]
        names = [names[j] for j in remaining]
    if y is not None:
        present = np.array([v is not None and v == v for v in y], bool)
        n_without = int((~present).sum())
        if n_without == len(y):
            raise DataError(f"target {table.target!r} of {table.source} is missing in every row")
        if n_without:
            rows = np.flatnonzero(present)
            X = RowSubset(X, rows) if isinstance(X, StoredTable) else X[rows]
            y = y[present]
            y = np.array(y.tolist(), dtype=object if y.dtype.kind == "O" else None)
            if y.dtype.kind == "f" and (y == np.floor(y)).all():
                y = y.astype(np.int64)
            verbs = ("row has", "stays") if n_without == 1 else ("rows have", "stay")
            notes.append(f"{n_without} {verbs[0]} no {table.target!r} and {verbs[1]} out")
    if transfer is not None:
        # a prior that is given for a column goes before the one of the ranking
        parts["prior"] = transfer.prior(names, notes) | parts.get("prior", {})
    # by position if the table itself has no names, or so many that a list of them takes long
    by_position = scipy.sparse.issparse(X) or isinstance(X, StoredTable)
    schema = _build_schema(parts, names, table, by_position=by_position)
    if fill_rule and not scipy.sparse.issparse(X):
        from featly.preprocessing import fill_missing

        X, filled = fill_missing(X, fill_rule)
        if filled:
            examples = ", ".join(repr(names[j]) for j in filled[:3])
            ellipsis = ", ..." if len(filled) > 3 else ""
            noun = "column" if len(filled) == 1 else "columns"
            notes.append(f"missing values filled in {len(filled)} {noun} ({examples}{ellipsis})")
    return LoadedData(table, X, y, names, schema, notes, rows)


def _fill_rule(request: Request) -> str:
    """Return the rule by which missing values are filled; "" if they are not."""
    if request.ignore_missing and request.fill:
        raise ParameterError("--fill and --ignore-missing both fill missing values: give one")
    return "draw" if request.ignore_missing else "median" if request.fill else ""


def _drop_from_schema(
    parts: dict[str, Any], find: ColumnFinder, dropped_positions: set[int]
) -> dict[str, Any]:
    """Return the parts of a schema without the dropped columns; none of them may be in `keep`."""

    def is_retained(part: str, name: Any) -> bool:
        is_dropped = find(name, part) in dropped_positions
        if is_dropped and part == "keep":
            raise SchemaError(f"{name!r} cannot be kept and dropped")
        return not is_dropped

    remaining_parts: dict[str, Any] = {}
    for part, value in parts.items():
        if part in ABOUT_NO_COLUMN:
            remaining_parts[part] = value
        elif part == "column_groups":
            remaining_parts[part] = {
                g: [n for n in names_ if is_retained(part, n)] for g, names_ in value.items()
            }
        elif isinstance(value, Mapping):
            remaining_parts[part] = {
                name: entry for name, entry in value.items() if is_retained(part, name)
            }
        else:
            remaining_parts[part] = [name for name in value if is_retained(part, name)]
    if not remaining_parts.get("costs"):  # all columns that cost something are dropped
        remaining_parts.pop("trade_off", None)
    return remaining_parts


def _no_target_error(table: TableFile) -> DataError:
    lower = {str(name).lower(): str(name) for name in table.names}
    likely = [lower[word] for word in LIKELY_TARGETS if word in lower]
    hint = f" {likely[0]!r}" if likely else ""
    examples = ", ".join(str(name) for name in list(table.names)[:5])
    ellipsis = ", ..." if len(table.names) > 5 else ""
    return DataError(
        f"which column of {table.source} is to be predicted? Say --target{hint} (its columns are "
        f"{examples}{ellipsis})"
    )


# ---- the schema ----------------------------------------------------------------------------------
def _split_names(values: Sequence[str]) -> list[str]:
    """Split options that may be repeated and may hold several names, separated by commas."""
    return [name.strip() for row in csv.reader(values) for name in row if name.strip()]


def _schema_parts(request: Request) -> dict[str, Any]:
    """Return the parts of the schema file, with those of the options added."""
    parts = read_schema_file(request.schema) if request.schema else {}
    for part in ("categorical", "keep", "known_before"):
        listed = _split_names(getattr(request, part))
        if listed:
            parts[part] = list(dict.fromkeys([*parts.get(part, []), *listed]))
    for text in request.ordinal:
        name, mark, levels = text.partition("=")
        if not mark or not levels:
            raise SchemaError(
                f"--ordinal {text!r} has no levels: give them, lowest first: stage=I,II,III"
            )
        parts.setdefault("ordinal", {})[name.strip()] = _split_names([levels])
    if request.target_kind is not None:
        parts["target_kind"] = request.target_kind
    _check_target_kind(parts.get("target_kind"))
    for part, path in (("prior", request.prior), ("costs", request.costs)):
        if path:
            parts[part] = parts.get(part, {}) | read_weights(path, part)
    if request.trade_off is not None:
        parts["trade_off"] = request.trade_off
    if parts.get("trade_off") and not parts.get("costs"):
        raise ParameterError("--trade-off weighs costs: give them by --costs")
    return parts


@dataclass(frozen=True)
class _Transfer:
    """A ranking of another table, whose first columns get a prior here."""

    file: str
    ranking: Any
    top: int
    weight: float

    def prior(self, names: Sequence[str], notes: list[str]) -> dict[str, float]:
        """Return the prior of the columns of both tables; add a note on their number."""
        column_names = [str(name) for name in names]
        try:
            everywhere = Schema.prior_from(self.ranking, self.top, self.weight).prior
            prior = Schema.prior_from(
                self.ranking, self.top, self.weight, columns=column_names
            ).prior
        except SchemaError as problem:
            raise problem.preceded_by(f"--prior-from {self.file!r}: ") from None
        first = sum(name in everywhere for name in prior)
        noun = "column is" if len(prior) == 1 else "columns are"
        notes.append(
            f"{len(prior)} {noun} favoured by {self.weight:g}: the best of {self.file!r} that are "
            f"here, {first} of them among its first {len(everywhere)}"
        )
        return {str(name): value for name, value in prior.items()}


def _read_transfer(request: Request) -> _Transfer | None:
    """Read the ranking of ``--prior-from``, before the table is read."""
    if request.prior_from is None:
        for option in ("prior_top", "prior_weight"):
            if getattr(request, option) is not None:
                raise ParameterError(
                    f"--{option.replace('_', '-')} goes with --prior-from: give both"
                )
        return None
    ranking = read_ranking(request.prior_from)
    weight = 10.0 if request.prior_weight is None else request.prior_weight
    Number(at_least=1).check("prior_weight", weight)
    top = 50 if request.prior_top is None else request.prior_top
    Schema.prior_from(ranking, top, weight)  # raises errors before the table is read
    return _Transfer(request.prior_from, ranking, top, weight)


def _check_target_kind(kind: str | None) -> None:
    """Raise ParameterError for a kind of target that a file cannot have."""
    if kind == "survival":
        raise ParameterError(
            "--target-kind survival: a file has one target column, and survival has two, the time "
            "and the event: rank it from Python, by FTest().fit(X, y) with a structured array y"
        )
    if kind not in (None, "classes", "numbers"):
        raise ParameterError(f"--target-kind {kind}: give classes or numbers")


def _build_schema(
    parts: dict[str, Any],
    names: Sequence[str],
    table: TableFile | StoredFile,
    *,
    by_position: bool,
) -> Schema:
    """Build a schema by names or positions; raise an error for an unknown column."""
    find = ColumnFinder(names, table.source)
    look_up = getattr(names, "position", None)  # names that are read from a file have it
    about_columns = [value for part, value in parts.items() if part not in ABOUT_NO_COLUMN]
    if sum(map(len, about_columns)) > FEW_NAMES:
        look_up = None

    def resolve_name(part: str, name: Any) -> Any:
        position = look_up(name) if look_up is not None and isinstance(name, str) else None
        position = find(name, part) if position is None else position
        return position if by_position else str(names[position])

    Schema.of(parts)  # errors about numbers out of range then have the names of the user
    resolved: dict[str, Any] = {}
    for part, value in parts.items():
        if part in ABOUT_NO_COLUMN:
            resolved[part] = value
        elif part == "column_groups":
            resolved[part] = {
                group: [resolve_name(part, name) for name in members]
                for group, members in value.items()
            }
        elif isinstance(value, Mapping):
            resolved[part] = {resolve_name(part, name): entry for name, entry in value.items()}
        else:
            resolved[part] = [resolve_name(part, name) for name in value]
    return Schema.of(resolved)
