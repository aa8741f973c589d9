"""Conversion of a user's input to a fitted method; nothing here prints or knows a terminal."""

import ast
import csv
import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse

from featly.basics.errors import DataError, DeviceError, ParameterError, SchemaError
from featly.basics.kinds import CONTINUOUS, KINDS
from featly.cli.stored import StoredFile, is_stored, no_target_error, scan_file
from featly.cli.wording import reword_parameters
from featly.io import ColumnFinder, TableFile, read_table
from featly.io.schema_files import read_ranking, read_schema_file, read_weights
from featly.io.stores import StoredTable
from featly.io.stores.rows import RowSubset
from featly.registry import METHODS, Method, method_class, methods_that, suggested
from featly.table.frames import is_frame, open_table
from featly.table.schema import Schema

__all__ = [
    "AUTO",
    "OWN_OPTIONS",
    "RESOURCES",
    "LoadedData",
    "Request",
    "Stopped",
    "advise_on_table",
    "choose_method",
    "fit",
    "has_own_count",
    "load",
    "method_name",
    "parse_settings",
    "resource_parameters",
    "reword_for_file",
]

AUTO = "auto"  # as a method: what is advised
RESOURCES = ("device", "memory_limit", "cache")  # options that are parameters of a method
OWN_OPTIONS = ("schema", "n_features_to_select", "n_jobs", "verbose", *RESOURCES)  # not for --set
# the first of them that takes a table ranks it; the last takes all
DEFAULTS = ("f-test", "svm-rfe", "mkl-rfe", "univariate-test")
# the same where a prior is given: the first that uses it
PRIOR_DEFAULTS = ("arom", "svm-rfe", "mkl-rfe", "relieff", "jmi", "signal-to-noise")
# for a table that stays on disk: one pass over it, gaps as they are
STORED_DEFAULTS = ("f-test", "univariate-test")
STORED_PRIOR_DEFAULTS = ("jmi",)
FEW_NAMES = 16  # up to which each is looked up by itself in a file of names
LIKELY_TARGETS = ("class", "target", "outcome", "label", "y", "diagnosis", "status")


@dataclass(frozen=True)
class Request:
    """Description of a file and its columns by the user."""

    file: str
    target: str | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    ordinal: Sequence[str] = ()
    keep: Sequence[str] = ()
    prior: str | None = None
    prior_from: str | None = None
    prior_top: int | None = None
    prior_weight: float | None = None
    costs: str | None = None
    schema: str | None = None
    format: str | None = None
    separator: str | None = None
    encoding: str | None = None
    header: bool | None = None
    missing: Sequence[str] = ()
    n_features: int | None = None
    fill: bool = False
    target_file: str | None = None
    dataset: str | None = None
    layer: str | None = None
    memory_limit: str | None = None


class Stopped(KeyboardInterrupt):
    """Ctrl-C while a method was fitted, with the method and the work done until then.

    Attributes
    ----------
    method : method
        Fitted as far as it came, or not at all.
    message : str
        What is said about it.
    """

    def __init__(self, method: Any) -> None:
        super().__init__()
        self.method = method
        self.message = ""


@dataclass
class LoadedData:
    """A table with its target and schema, ready for a method."""

    table: TableFile | StoredFile
    X: Any
    y: np.ndarray | None
    names: Sequence[str]
    schema: Schema
    notes: list[str] = field(default_factory=list)
    rows: np.ndarray | None = None  # where the rows stand in the file, if some stay out
    advice: Any = None  # where a method was asked for by it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.table.close()

    @property
    def target(self) -> str | None:
        """Name of the target."""
        return self.table.target

    @cached_property
    def classes(self) -> dict[str, int]:
        """Number of rows of every class."""
        if self.y is None:
            return {}
        labels, counts = np.unique(self.y, return_counts=True)
        return {str(label): int(n) for label, n in zip(labels, counts, strict=True)}


def load(
    request: Request, *, need_target: bool = True, verbose: bool = False, by_blocks: bool = False
) -> LoadedData:
    """Read the file, take the target and the dropped columns out, build the schema.

    `by_blocks` says whether the command can do with a table that stays on disk.
    """
    parts, transfer = _schema_parts(request), _read_transfer(request)
    drop = [*_split_names(request.drop), *parts.pop("drop", [])]
    target = request.target if request.target is not None else parts.pop("target", None)
    parts.pop("target", None)
    if request.memory_limit is not None or is_stored(request.file):
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
        apart=[*drop, *parts.get("categorical", []), *parts.get("ordinal", {})],
        verbose=verbose,
    )
    try:
        if need_target and table.y is None:
            raise _no_target_error(table)
        return _prepare(table, drop, parts, transfer, fill=request.fill)
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
    parquet = file.lower().endswith((".parquet", ".pq"))
    unused = {"--fill": request.fill, "--n-features": request.n_features}
    if request.format not in (None, "parquet") or (request.format and not parquet):
        unused["--format"] = request.format
    if not parquet:
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
        return _prepare(table, [], parts, transfer, fill=False)
    except BaseException:
        table.close()
        raise


def _prepare(
    table: Any,
    drop: list[str],
    parts: dict[str, Any],
    transfer: "_Transfer | None",
    *,
    fill: bool,
) -> LoadedData:
    X, y, names, notes = table.X, table.y, table.names, list(table.notes)
    rows = None
    if drop:
        find = ColumnFinder(names, table.source)
        dropped = {find(name, "--drop") for name in drop}
        parts = _drop_from_schema(parts, find, dropped)
        remaining = [j for j in range(len(names)) if j not in dropped]
        if not remaining:
            raise DataError(f"nothing is left of {table.source} to rank: drop fewer columns")
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
        # what is said of a single column goes before what a ranking says
        parts["prior"] = transfer.prior(names, notes) | parts.get("prior", {})
    # by position where the table itself has no names, or so many that a list of them takes long
    by_position = scipy.sparse.issparse(X) or isinstance(X, StoredTable)
    schema = _build_schema(parts, names, table, by_position=by_position)
    if fill and not scipy.sparse.issparse(X):
        from featly.preprocessing import fill_missing

        X, filled = fill_missing(X)
        if filled:
            examples = ", ".join(repr(names[j]) for j in filled[:3])
            ellipsis = ", ..." if len(filled) > 3 else ""
            noun = "column" if len(filled) == 1 else "columns"
            notes.append(f"gaps filled in {len(filled)} {noun} ({examples}{ellipsis})")
    return LoadedData(table, X, y, names, schema, notes, rows)


def _drop_from_schema(
    parts: dict[str, Any], find: ColumnFinder, dropped_positions: set[int]
) -> dict[str, Any]:
    """Return the parts of a schema without the dropped columns, of which none may be kept."""

    def is_retained(part: str, name: Any) -> bool:
        is_dropped = find(name, part) in dropped_positions
        if is_dropped and part == "keep":
            raise SchemaError(f"{name!r} cannot be kept and dropped")
        return not is_dropped

    remaining_parts: dict[str, Any] = {}
    for part, value in parts.items():
        if part == "column_groups":
            remaining_parts[part] = {
                g: [n for n in names_ if is_retained(part, n)] for g, names_ in value.items()
            }
        elif isinstance(value, Mapping):
            remaining_parts[part] = {
                name: entry for name, entry in value.items() if is_retained(part, name)
            }
        else:
            remaining_parts[part] = [name for name in value if is_retained(part, name)]
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
    parts = read_schema_file(request.schema) if request.schema else {}
    for part in ("categorical", "keep"):
        listed = _split_names(getattr(request, part))
        if listed:
            parts[part] = list(dict.fromkeys([*parts.get(part, []), *listed]))
    for text in request.ordinal:
        name, mark, levels = text.partition("=")
        if not mark or not levels:
            raise SchemaError(f"--ordinal {text!r}: give levels, lowest first: stage=I,II,III")
        parts.setdefault("ordinal", {})[name.strip()] = _split_names([levels])
    for part, path in (("prior", request.prior), ("costs", request.costs)):
        if path:
            parts[part] = parts.get(part, {}) | read_weights(path, part)
    return parts


@dataclass(frozen=True)
class _Transfer:
    """A ranking of another table, to become a prior."""

    file: str
    ranking: Any
    top: int
    weight: float

    def prior(self, names: Sequence[str], notes: list[str]) -> dict[str, float]:
        """Return the prior of the columns of both tables, and add a note on their number."""
        column_names = [str(name) for name in names]
        try:
            everywhere = Schema.prior_from(self.ranking, self.top, self.weight).prior
            prior = Schema.prior_from(
                self.ranking, self.top, self.weight, columns=column_names
            ).prior
        except SchemaError as problem:
            raise SchemaError(f"--prior-from {self.file!r}: {problem}") from None
        first = sum(name in everywhere for name in prior)
        noun = "column is" if len(prior) == 1 else "columns are"
        notes.append(
            f"{len(prior)} {noun} favoured by {self.weight:g}: the best of {self.file!r} that are "
            f"here, {first} of them among its first {len(everywhere)}"
        )
        return {str(name): value for name, value in prior.items()}


def _read_transfer(request: Request) -> _Transfer | None:
    """Read the ranking that is to become a prior, before the table is read."""
    if request.prior_from is None:
        for option in ("prior_top", "prior_weight"):
            if getattr(request, option) is not None:
                raise ParameterError(
                    f"--{option.replace('_', '-')} goes with --prior-from: give both"
                )
        return None
    ranking = read_ranking(request.prior_from)
    weight = 10.0 if request.prior_weight is None else request.prior_weight
    top = 50 if request.prior_top is None else request.prior_top
    Schema.prior_from(ranking, top, weight)  # what makes no sense is told before the table is read
    return _Transfer(request.prior_from, ranking, top, weight)


def _build_schema(
    parts: dict[str, Any],
    names: Sequence[str],
    table: TableFile | StoredFile,
    *,
    by_position: bool,
) -> Schema:
    """Build a schema by names or positions; raise an error for a column that is not there."""
    find = ColumnFinder(names, table.source)
    look_up = getattr(names, "position", None)  # of names that lie in a file
    if sum(len(value) for value in parts.values()) > FEW_NAMES:
        look_up = None

    def resolve_name(part: str, name: Any) -> Any:
        position = look_up(name) if look_up is not None and isinstance(name, str) else None
        position = find(name, part) if position is None else position
        return position if by_position else str(names[position])

    Schema.of(parts)  # numbers out of range are told with the names that the user gave
    resolved: dict[str, Any] = {}
    for part, value in parts.items():
        if part == "column_groups":
            resolved[part] = {
                group: [resolve_name(part, name) for name in members]
                for group, members in value.items()
            }
        elif isinstance(value, Mapping):
            resolved[part] = {resolve_name(part, name): entry for name, entry in value.items()}
        else:
            resolved[part] = [resolve_name(part, name) for name in value]
    return Schema.of(resolved)


# ---- the method ----------------------------------------------------------------------------------
def method_name(text: str) -> str:
    """Return the name of a method in the registry; DataError names the nearest one."""
    known = {**{name: name for name in METHODS}, **{m.class_name: n for n, m in METHODS.items()}}
    lower = {name.lower(): name for name in known}
    if text.lower() in lower:
        return known[lower[text.lower()]]
    nearest = difflib.get_close_matches(text.lower(), list(lower), n=1)
    hint = f"did you mean {known[lower[nearest[0]]]!r}? " if nearest else ""
    raise DataError(f"there is no method {text!r}: {hint}'featly methods' lists them")


def has_own_count(text: str | None) -> bool:
    """Return whether a method, by its name, chooses itself how many columns it selects."""
    if text is None or text.lower() == AUTO:
        return False
    return "n_features_to_select" not in method_class(method_name(text))().get_params()


def parse_settings(name: str, settings: Sequence[str]) -> dict[str, Any]:
    """Parse parameters of a method from texts: ``C=0.1``; ``ranker__C=0.1`` of its ranker."""
    defaults = method_class(name)().get_params()
    known = [parameter for parameter in defaults if parameter not in OWN_OPTIONS]
    inner = [text for text in settings if "ranker" in known and text.startswith("ranker__")]
    values = {}
    for text in settings:
        if text in inner:
            continue
        parameter, mark, value = (part.strip() for part in text.partition("="))
        if not mark:
            raise ParameterError(f"--set {text!r}: give a name and a value, such as C=1")
        if parameter in RESOURCES and parameter in defaults:
            option = f"--{parameter.replace('_', '-')}"
            raise ParameterError(f"--set {text!r}: say {option} {value}")
        if parameter not in known:
            nearest = difflib.get_close_matches(parameter, known, n=1)
            hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
            has = f": it has {', '.join(known)}" if known else ": it has none to set"
            raise ParameterError(f"{name} has no parameter {parameter!r}{hint or has}")
        constants = {"true": True, "false": False, "none": None}
        try:
            values[parameter] = constants.get(value.lower(), value)
            if value.lower() not in constants:
                values[parameter] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            values[parameter] = value  # a word
        if isinstance(defaults[parameter], bool) and not isinstance(values[parameter], bool):
            raise ParameterError(f"--set {text!r}: give true or false")
    if "ranker" in values:
        values["ranker"] = method_name(str(values["ranker"]))
    if inner:
        ranker = values.get("ranker", defaults["ranker"])
        ranker_settings = parse_settings(ranker, [text.removeprefix("ranker__") for text in inner])
        values["ranker"] = method_class(ranker)(**ranker_settings)
    return values


def obstacles(
    method: Method, data: LoadedData, kinds: Mapping[str, str], missing_column: str | None
) -> list[str]:
    """Return the reasons for which a method does not take a table."""
    reasons = [
        f"{kind} columns ({column!r})" for kind, column in kinds.items() if kind not in method.kinds
    ]
    if missing_column is not None and not method.missing:
        reasons.append(f"missing values ({missing_column!r})")
    n_classes = len(data.classes)
    if n_classes > 2 and not method.many_classes:
        reasons.append(f"{n_classes} classes")
    if scipy.sparse.issparse(data.X) and not method.sparse:
        reasons.append("sparse tables")
    return reasons


def choose_method(data: LoadedData, *, fill: bool = False) -> str:
    """Return the first default method that takes the table as it is; the last takes any.

    With a prior it is one that uses it, if any does; arom only where there are as many columns as
    rows, for it asks that the classes can be separated. With `fill`, gaps are going to be filled.
    """
    kinds, missing_column = _kind_examples(data), None if fill else _column_with_missing(data)
    if isinstance(data.X, StoredTable):
        names = STORED_PRIOR_DEFAULTS if data.schema.prior else STORED_DEFAULTS
        return next(
            name for name in names if not obstacles(METHODS[name], data, kinds, missing_column)
        )
    using_prior = [name for name in PRIOR_DEFAULTS if "prior" in METHODS[name].uses]
    if data.X.shape[1] < data.X.shape[0]:
        using_prior = [name for name in using_prior if name != "arom"]
    names = [*(using_prior if data.schema.prior else []), *DEFAULTS]
    return next(name for name in names if not obstacles(METHODS[name], data, kinds, missing_column))


def advise_on_table(
    data: LoadedData, *, row_groups: Any = None, seed: int = 0, n_jobs: int | None = None
) -> Any:
    """Return advice for a table, with warnings and errors in the names of the file."""
    from featly.study import advise

    try:
        advice = advise(
            data.X,
            data.y,
            schema=data.schema,
            row_groups=row_groups,
            random_state=seed,
            n_jobs=n_jobs,
        )
    except DataError as problem:
        raise type(problem)(reword_for_file(str(problem), data)) from None
    warnings = tuple(_replace_positions(text, data) for text in advice.warnings)
    return replace(advice, warnings=warnings)


def _kind_examples(data: LoadedData) -> dict[str, str]:
    """Return an example of every kind of column that the table has."""
    if isinstance(data.X, StoredTable) and data.X.dtype is None:
        inferred: Any = open_table(data.X.schema_frame()).kinds()
    elif is_frame(data.X):
        inferred = open_table(data.X).kinds()
    else:
        inferred = np.full(len(data.names), CONTINUOUS)
    kinds = data.schema.resolve(data.names, inferred).kinds  # type: ignore[arg-type]
    codes, first_positions = np.unique(kinds, return_index=True)
    return {
        KINDS[code]: str(data.names[at]) for code, at in zip(codes, first_positions, strict=True)
    }


def _column_with_missing(data: LoadedData) -> str | None:
    """Return the name of a column with a missing value, if there is one."""
    if isinstance(data.X, StoredTable):
        # looking for one would be a pass over the file: genotypes have them, others may
        return str(data.names[0]) if data.X.missing is not None else None
    if scipy.sparse.issparse(data.X):
        at = np.flatnonzero(np.isnan(data.X.data))
        column = np.searchsorted(data.X.indptr, at[0], side="right") - 1 if len(at) else None
        return None if column is None else str(data.names[column])
    if not is_frame(data.X):
        with_missing = np.flatnonzero(np.isnan(data.X).any(axis=0))
        return str(data.names[with_missing[0]]) if len(with_missing) else None
    for column in data.X.get_columns():
        # polars takes a name such as '*' for a pattern
        if column.null_count() or (column.dtype.is_float() and column.alias("").is_nan().any()):
            return column.name
    return None


def fit(
    data: LoadedData,
    name: str,
    settings: Mapping[str, Any],
    *,
    count: Any = None,
    n_jobs: int | None = None,
    verbose: bool | Callable[[int, int], Any] = False,
    resources: Mapping[str, Any] | None = None,
) -> Any:
    """Fit a method to a job; its errors speak of the file and the target by their names.

    `resources` are a device, a memory limit and a cache, as far as the method has them. Ctrl-C is
    raised as `Stopped`, with what was done.
    """
    cls = method_class(name)
    parameters = dict(settings) | {"schema": data.schema, "n_jobs": n_jobs}
    parameters |= resource_parameters(name, resources or {}, settings)
    known = cls().get_params()
    if "n_features_to_select" in known:
        parameters["n_features_to_select"] = count
    elif count is not None:
        raise ParameterError(
            f"{name} decides itself how many columns it selects: leave out --count"
        )
    if verbose and "verbose" in known:
        parameters["verbose"] = verbose
    method = cls(**parameters)
    try:
        return method.fit(data.X, data.y)
    except DataError as problem:
        message = reword_for_file(str(problem), data)
        if "memory_limit" not in known:
            message = message.replace("Give a larger --memory-limit, or a method", "Use a method")
        raise type(problem)(message) from None
    except (DeviceError, ParameterError) as problem:
        raise type(problem)(reword_parameters(str(problem))) from None
    except KeyboardInterrupt:
        raise Stopped(method) from None


def resource_parameters(
    name: str, resources: Mapping[str, Any], settings: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the requested resources as parameters; ParameterError if a method has no such.

    A method that reads and computes as its ranker does has them for that.

    Examples
    --------
    >>> resource_parameters("f-test", {"memory_limit": "2GB", "device": None, "cache": None})
    {'memory_limit': '2GB'}
    >>> resource_parameters("f-test", {"cache": "kept"})
    Traceback (most recent call last):
    ...
    featly.ParameterError: --cache kept: f-test has no search to be kept. Leave it
    out, ...
    """
    requested = {key: value for key, value in resources.items() if value is not None}
    known = method_class(name)().get_params()
    if requested and "ranker" in known and METHODS[name].streams:
        ranker = (settings or {}).get("ranker", known["ranker"])
        ranker = method_class(ranker)() if isinstance(ranker, str) else ranker
        inner = resource_parameters(method_name(type(ranker).__name__), resources)
        return {"ranker": ranker.set_params(**inner)} if inner else {}
    for key, value in requested.items():
        if key in known or (key == "device" and value != "cuda"):
            continue
        if key == "device":
            reason, alternatives = (
                "computes on the CPU only",
                suggested(methods_that(on_device=True)),
            )
        elif key == "memory_limit":
            reason, alternatives = (
                "needs the whole table in memory",
                suggested(methods_that(streams=True)),
            )
        else:
            reason, alternatives = "has no search to be kept", ", ".join(_classes_with("cache"))
        option = f"--{key.replace('_', '-')} {value}"
        raise ParameterError(f"{option}: {name} {reason}. Leave it out, or use {alternatives}")
    return {key: value for key, value in requested.items() if key in known}


def _classes_with(parameter: str) -> list[str]:
    """Return the class names of the methods that have a parameter."""
    classes = {m.class_name: method_class(name) for name, m in METHODS.items() if m.streams}
    return [name for name, cls in classes.items() if parameter in cls().get_params()]


def reword_for_file(message: str, data: LoadedData) -> str:
    """Reword a message by the names and rows of the file instead of the matrix."""
    if message.startswith("y "):
        message = f"target {data.target!r} {message[2:]}"

    def count_from_one(match: re.Match[str]) -> str:
        row = int(match[1])
        return f"in row {1 + (row if data.rows is None else int(data.rows[row]))} of the data"

    message = re.sub(r"in row (\d+)", count_from_one, message)  # people count rows from 1
    message = reword_parameters(message)
    message = re.sub(r"PairwiseRanker\(\w+\(\)\)", "--set multiclass=ovo", message)
    return f"{data.table.source}: {_replace_positions(message, data)}"


def _replace_positions(message: str, data: LoadedData) -> str:
    """Replace positions of a sparse matrix in a message by the names of its file."""
    if scipy.sparse.issparse(data.X) and isinstance(data.names, list):
        for position, name in _mentioned_columns(message, data.names):
            message = message.replace(f"'x{position}'", repr(name))
    return message


def _mentioned_columns(message: str, names: Sequence[str]) -> list[tuple[int, str]]:
    positions = {int(digits) for digits in re.findall(r"'x(\d+)'", message)}
    return [(position, names[position]) for position in positions if position < len(names)]
