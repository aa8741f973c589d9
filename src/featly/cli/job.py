"""From what a user typed to a fitted method: nothing here prints or knows a terminal."""

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
from featly.cli.stored import StoredFile, is_stored, no_target, scan_file
from featly.cli.wording import in_words_of_options
from featly.io import ColumnFinder, TableFile, read_table
from featly.io.schema_files import read_ranking, read_schema_file, read_weights
from featly.io.stores import StoredTable
from featly.io.stores.rows import RowsOf
from featly.registry import METHODS, Method, method_class, methods_that, suggested
from featly.table.frames import is_frame, open_table
from featly.table.schema import Schema

__all__ = [
    "AUTO",
    "OWN_OPTIONS",
    "RESOURCES",
    "Job",
    "Request",
    "Stopped",
    "advised",
    "choose_method",
    "decides_itself",
    "fit",
    "granted",
    "in_words_of_the_file",
    "load",
    "method_name",
    "parse_settings",
]

AUTO = "auto"  # as a method: what is advised
RESOURCES = ("device", "memory_limit", "cache")  # options that are parameters of a method
OWN_OPTIONS = ("schema", "n_features_to_select", "n_jobs", "verbose", *RESOURCES)  # not for --set
# the first of them that takes a table ranks it; the last takes all
DEFAULTS = ("f-test", "svm-rfe", "mkl-rfe", "univariate-test")
# the same where a prior is given: the first that uses it
BELIEVING = ("arom", "svm-rfe", "mkl-rfe", "relieff", "jmi", "signal-to-noise")
# for a table that stays on disk: one pass over it, gaps as they are
STORED_DEFAULTS = ("f-test", "univariate-test")
STORED_BELIEVING = ("jmi",)
FEW_NAMES = 16  # up to which each is looked up by itself in a file of names
LIKELY_TARGETS = ("class", "target", "outcome", "label", "y", "diagnosis", "status")


@dataclass(frozen=True)
class Request:
    """What a user says about a file and its columns."""

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
    """Ctrl-C while a method was fitted; the method has what it did by then, if that is anything.

    Attributes
    ----------
    method : method
        Fitted as far as it came, or not at all.
    told : str
        What is said about it.
    """

    def __init__(self, method: Any) -> None:
        super().__init__()
        self.method = method
        self.told = ""


@dataclass
class Job:
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
        """What the target is called."""
        return self.table.target

    @cached_property
    def classes(self) -> dict[str, int]:
        """Rows of every class."""
        if self.y is None:
            return {}
        labels, counts = np.unique(self.y, return_counts=True)
        return {str(label): int(n) for label, n in zip(labels, counts, strict=True)}


def load(
    request: Request, *, need_target: bool = True, verbose: bool = False, by_blocks: bool = False
) -> Job:
    """Read the file, take the target and the dropped columns out, build the schema.

    `by_blocks` says whether the command can do with a table that stays on disk.
    """
    parts, transfer = _schema_parts(request), _transfer(request)
    drop = [*_names(request.drop), *parts.pop("drop", [])]
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
        missing=_names(request.missing),
        n_features=request.n_features,
        apart=[*drop, *parts.get("categorical", []), *parts.get("ordinal", {})],
        verbose=verbose,
    )
    try:
        if need_target and table.y is None:
            raise _no_target(table)
        return _prepared(table, drop, parts, transfer, fill=request.fill)
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
) -> Job:
    """A table that stays on disk."""
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
    reading = {name: getattr(request, name) for name in ("separator", "encoding", "header")}
    reading["missing"] = _names(request.missing)
    if request.target_file is None:
        unused |= {f"--{name}": value for name, value in reading.items()}
    for option, given in unused.items():
        if given or (given is False and option == "--header"):
            raise ParameterError(f"{option} is not for {file!r}, which stays on disk: leave it out")
    table = scan_file(
        file,
        target,
        request.target_file,
        dataset=request.dataset,
        layer=request.layer,
        without=drop,
        memory_limit=request.memory_limit,
        reading=reading,
    )
    try:
        if need_target and table.y is None:
            raise no_target(table)
        return _prepared(table, [], parts, transfer, fill=False)
    except BaseException:
        table.close()
        raise


def _prepared(
    table: Any,
    drop: list[str],
    parts: dict[str, Any],
    transfer: "_Transfer | None",
    *,
    fill: bool,
) -> Job:
    X, y, names, notes = table.X, table.y, table.names, list(table.notes)
    rows = None
    if drop:
        find = ColumnFinder(names, table.source)
        gone = {find(name, "--drop") for name in drop}
        parts = _without(parts, find, gone)
        kept = [j for j in range(len(names)) if j not in gone]
        if not kept:
            raise DataError(f"nothing is left of {table.source} to rank: drop fewer columns")
        X = X[:, kept]
        names = [names[j] for j in kept]
    if y is not None:
        present = np.array([v is not None and v == v for v in y], bool)
        without = int((~present).sum())
        if without == len(y):
            raise DataError(f"target {table.target!r} of {table.source} is missing in every row")
        if without:
            rows = np.flatnonzero(present)
            X = RowsOf(X, rows) if isinstance(X, StoredTable) else X[rows]
            y = y[present]
            y = np.array(y.tolist(), dtype=object if y.dtype.kind == "O" else None)
            if y.dtype.kind == "f" and (y == np.floor(y)).all():
                y = y.astype(np.int64)
            verbs = ("row has", "stays") if without == 1 else ("rows have", "stay")
            notes.append(f"{without} {verbs[0]} no {table.target!r} and {verbs[1]} out")
    if transfer is not None:
        # what is said of a single column goes before what a ranking says
        parts["prior"] = transfer.prior(names, notes) | parts.get("prior", {})
    # by position where the table itself has no names, or so many that a list of them takes long
    by_position = scipy.sparse.issparse(X) or isinstance(X, StoredTable)
    schema = _schema(parts, names, table, by_position=by_position)
    if fill and not scipy.sparse.issparse(X):
        from featly.preprocessing import fill_missing

        X, filled = fill_missing(X)
        if filled:
            shown = ", ".join(repr(names[j]) for j in filled[:3])
            more = ", ..." if len(filled) > 3 else ""
            many = "column" if len(filled) == 1 else "columns"
            notes.append(f"gaps filled in {len(filled)} {many} ({shown}{more})")
    return Job(table, X, y, names, schema, notes, rows)


def _without(parts: dict[str, Any], find: ColumnFinder, gone: set[int]) -> dict[str, Any]:
    """The parts of a schema without the columns that are dropped; none of those may be kept."""

    def stays(part: str, name: Any) -> bool:
        dropped = find(name, part) in gone
        if dropped and part == "keep":
            raise SchemaError(f"{name!r} cannot be kept and dropped")
        return not dropped

    found: dict[str, Any] = {}
    for part, value in parts.items():
        if part == "column_groups":
            found[part] = {g: [n for n in names_ if stays(part, n)] for g, names_ in value.items()}
        elif isinstance(value, Mapping):
            found[part] = {name: entry for name, entry in value.items() if stays(part, name)}
        else:
            found[part] = [name for name in value if stays(part, name)]
    return found


def _no_target(table: TableFile) -> DataError:
    lower = {str(name).lower(): str(name) for name in table.names}
    likely = [lower[word] for word in LIKELY_TARGETS if word in lower]
    such = f" {likely[0]!r}" if likely else ""
    shown = ", ".join(str(name) for name in list(table.names)[:5])
    more = ", ..." if len(table.names) > 5 else ""
    return DataError(
        f"which column of {table.source} is to be predicted? Say --target{such} (its columns are "
        f"{shown}{more})"
    )


# ---- the schema ----------------------------------------------------------------------------------
def _names(values: Sequence[str]) -> list[str]:
    """Names from options that may be repeated and may hold several, separated by commas."""
    return [name.strip() for row in csv.reader(values) for name in row if name.strip()]


def _schema_parts(request: Request) -> dict[str, Any]:
    parts = read_schema_file(request.schema) if request.schema else {}
    for part in ("categorical", "keep"):
        named = _names(getattr(request, part))
        if named:
            parts[part] = list(dict.fromkeys([*parts.get(part, []), *named]))
    for text in request.ordinal:
        name, mark, levels = text.partition("=")
        if not mark or not levels:
            raise SchemaError(f"--ordinal {text!r}: give levels, lowest first: stage=I,II,III")
        parts.setdefault("ordinal", {})[name.strip()] = _names([levels])
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
        """The prior of the columns that both tables have, and a note of how many those are."""
        here = [str(name) for name in names]
        try:
            everywhere = Schema.prior_from(self.ranking, self.top, self.weight).prior
            found = Schema.prior_from(self.ranking, self.top, self.weight, columns=here).prior
        except SchemaError as problem:
            raise SchemaError(f"--prior-from {self.file!r}: {problem}") from None
        first = sum(name in everywhere for name in found)
        many = "column is" if len(found) == 1 else "columns are"
        notes.append(
            f"{len(found)} {many} favoured by {self.weight:g}: the best of {self.file!r} that are "
            f"here, {first} of them among its first {len(everywhere)}"
        )
        return {str(name): value for name, value in found.items()}


def _transfer(request: Request) -> _Transfer | None:
    """The ranking that is to become a prior, read before the table is."""
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


def _schema(
    parts: dict[str, Any],
    names: Sequence[str],
    table: TableFile | StoredFile,
    *,
    by_position: bool,
) -> Schema:
    """A schema whose columns are all there, by their names or positions."""
    find = ColumnFinder(names, table.source)
    look_up = getattr(names, "position", None)  # of names that lie in a file
    if sum(len(value) for value in parts.values()) > FEW_NAMES:
        look_up = None

    def found(part: str, name: Any) -> Any:
        position = look_up(name) if look_up is not None and isinstance(name, str) else None
        position = find(name, part) if position is None else position
        return position if by_position else str(names[position])

    Schema.of(parts)  # numbers out of range are told with the names that the user gave
    resolved: dict[str, Any] = {}
    for part, value in parts.items():
        if part == "column_groups":
            resolved[part] = {
                group: [found(part, name) for name in members] for group, members in value.items()
            }
        elif isinstance(value, Mapping):
            resolved[part] = {found(part, name): entry for name, entry in value.items()}
        else:
            resolved[part] = [found(part, name) for name in value]
    return Schema.of(resolved)


# ---- the method ----------------------------------------------------------------------------------
def method_name(text: str) -> str:
    """The name of a method in the registry; DataError with the nearest one."""
    known = {**{name: name for name in METHODS}, **{m.class_name: n for n, m in METHODS.items()}}
    lower = {name.lower(): name for name in known}
    if text.lower() in lower:
        return known[lower[text.lower()]]
    near = difflib.get_close_matches(text.lower(), list(lower), n=1)
    hint = f"did you mean {known[lower[near[0]]]!r}? " if near else ""
    raise DataError(f"there is no method {text!r}: {hint}'featly methods' lists them")


def decides_itself(text: str | None) -> bool:
    """Whether a method, by its name, says itself how many columns it selects."""
    if text is None or text.lower() == AUTO:
        return False
    return "n_features_to_select" not in method_class(method_name(text))().get_params()


def parse_settings(name: str, settings: Sequence[str]) -> dict[str, Any]:
    """Parameters of a method from texts such as ``C=0.1``; ``ranker__C=0.1`` of its ranker."""
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
            near = difflib.get_close_matches(parameter, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            has = f": it has {', '.join(known)}" if known else ": it has none to set"
            raise ParameterError(f"{name} has no parameter {parameter!r}{hint or has}")
        words = {"true": True, "false": False, "none": None}
        try:
            values[parameter] = words.get(value.lower(), value)
            if value.lower() not in words:
                values[parameter] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            values[parameter] = value  # a word
        if isinstance(defaults[parameter], bool) and not isinstance(values[parameter], bool):
            raise ParameterError(f"--set {text!r}: give true or false")
    if "ranker" in values:
        values["ranker"] = method_name(str(values["ranker"]))
    if inner:
        ranker = values.get("ranker", defaults["ranker"])
        own = parse_settings(ranker, [text.removeprefix("ranker__") for text in inner])
        values["ranker"] = method_class(ranker)(**own)
    return values


def obstacles(method: Method, job: Job, kinds: Mapping[str, str], gap: str | None) -> list[str]:
    """Why a method does not take a table."""
    found = [
        f"{kind} columns ({column!r})" for kind, column in kinds.items() if kind not in method.kinds
    ]
    if gap is not None and not method.missing:
        found.append(f"missing values ({gap!r})")
    n_classes = len(job.classes)
    if n_classes > 2 and not method.many_classes:
        found.append(f"{n_classes} classes")
    if scipy.sparse.issparse(job.X) and not method.sparse:
        found.append("sparse tables")
    return found


def choose_method(job: Job, *, fill: bool = False) -> str:
    """The first of the default methods that takes the table as it is; the last takes any.

    With a prior it is one that uses it, if any does; arom only where there are as many columns as
    rows, for it asks that the classes can be separated. With `fill`, gaps are going to be filled.
    """
    kinds, gap = _kinds(job), None if fill else _first_gap(job)
    if isinstance(job.X, StoredTable):
        names = STORED_BELIEVING if job.schema.prior else STORED_DEFAULTS
        return next(name for name in names if not obstacles(METHODS[name], job, kinds, gap))
    using = [name for name in BELIEVING if "prior" in METHODS[name].uses]
    if job.X.shape[1] < job.X.shape[0]:
        using = [name for name in using if name != "arom"]
    names = [*(using if job.schema.prior else []), *DEFAULTS]
    return next(name for name in names if not obstacles(METHODS[name], job, kinds, gap))


def advised(job: Job, *, row_groups: Any = None, seed: int = 0, n_jobs: int | None = None) -> Any:
    """What is advised for a table; warnings and errors speak of the columns of the file."""
    from featly.study import advise

    try:
        found = advise(
            job.X,
            job.y,
            schema=job.schema,
            row_groups=row_groups,
            random_state=seed,
            n_jobs=n_jobs,
        )
    except DataError as problem:
        raise type(problem)(in_words_of_the_file(str(problem), job)) from None
    told = tuple(_with_names(text, job) for text in found.warnings)
    return replace(found, warnings=told)


def _kinds(job: Job) -> dict[str, str]:
    """An example of every kind of column that the table has."""
    if isinstance(job.X, StoredTable) and job.X.dtype is None:
        inferred: Any = open_table(job.X.schema_frame()).kinds()
    elif is_frame(job.X):
        inferred = open_table(job.X).kinds()
    else:
        inferred = np.full(len(job.names), CONTINUOUS)
    found = job.schema.resolve(job.names, inferred).kinds  # type: ignore[arg-type]
    codes, where = np.unique(found, return_index=True)
    return {KINDS[code]: str(job.names[at]) for code, at in zip(codes, where, strict=True)}


def _first_gap(job: Job) -> str | None:
    """A column with a missing value, if there is one."""
    if isinstance(job.X, StoredTable):
        # looking for one would be a pass over the file: genotypes have them, others may
        return str(job.names[0]) if job.X.missing is not None else None
    if scipy.sparse.issparse(job.X):
        at = np.flatnonzero(np.isnan(job.X.data))
        column = np.searchsorted(job.X.indptr, at[0], side="right") - 1 if len(at) else None
        return None if column is None else str(job.names[column])
    if not is_frame(job.X):
        gaps = np.flatnonzero(np.isnan(job.X).any(axis=0))
        return str(job.names[gaps[0]]) if len(gaps) else None
    for column in job.X.get_columns():
        # polars takes a name such as '*' for a pattern
        if column.null_count() or (column.dtype.is_float() and column.alias("").is_nan().any()):
            return column.name
    return None


def fit(
    job: Job,
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
    parameters = dict(settings) | {"schema": job.schema, "n_jobs": n_jobs}
    parameters |= granted(name, resources or {}, settings)
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
        return method.fit(job.X, job.y)
    except DataError as problem:
        told = in_words_of_the_file(str(problem), job)
        if "memory_limit" not in known:
            told = told.replace("Give a larger --memory-limit, or a method", "Use a method")
        raise type(problem)(told) from None
    except (DeviceError, ParameterError) as problem:
        raise type(problem)(in_words_of_options(str(problem))) from None
    except KeyboardInterrupt:
        raise Stopped(method) from None


def granted(
    name: str, resources: Mapping[str, Any], settings: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Those of the resources that were asked for, or ParameterError where a method has no such.

    A method that reads and computes as its ranker does has them for that.

    Examples
    --------
    >>> granted("f-test", {"memory_limit": "2GB", "device": None, "cache": None})
    {'memory_limit': '2GB'}
    >>> granted("f-test", {"cache": "kept"})
    Traceback (most recent call last):
    ...
    featly.ParameterError: --cache kept: f-test has no search to be kept. Leave it
    out, ...
    """
    asked = {key: value for key, value in resources.items() if value is not None}
    known = method_class(name)().get_params()
    if asked and "ranker" in known and METHODS[name].streams:
        ranker = (settings or {}).get("ranker", known["ranker"])
        ranker = method_class(ranker)() if isinstance(ranker, str) else ranker
        inner = granted(method_name(type(ranker).__name__), resources)
        return {"ranker": ranker.set_params(**inner)} if inner else {}
    for key, value in asked.items():
        if key in known or (key == "device" and value != "cuda"):
            continue
        if key == "device":
            why, able = "computes on the CPU only", suggested(methods_that(on_device=True))
        elif key == "memory_limit":
            why, able = "needs the whole table in memory", suggested(methods_that(streams=True))
        else:
            why, able = "has no search to be kept", ", ".join(_with_parameter("cache"))
        option = f"--{key.replace('_', '-')} {value}"
        raise ParameterError(f"{option}: {name} {why}. Leave it out, or use {able}")
    return {key: value for key, value in asked.items() if key in known}


def _with_parameter(parameter: str) -> list[str]:
    """Class names of the methods that have a parameter."""
    found = {m.class_name: method_class(name) for name, m in METHODS.items() if m.streams}
    return [name for name, cls in found.items() if parameter in cls().get_params()]


def in_words_of_the_file(message: str, job: Job) -> str:
    """What went wrong, with the names and rows of the file instead of those of the matrix."""
    if message.startswith("y "):
        message = f"target {job.target!r} {message[2:]}"

    def counted(found: re.Match[str]) -> str:
        row = int(found[1])
        return f"in row {1 + (row if job.rows is None else int(job.rows[row]))} of the data"

    message = re.sub(r"in row (\d+)", counted, message)  # people count rows from 1
    message = in_words_of_options(message)
    message = re.sub(r"PairwiseRanker\(\w+\(\)\)", "--set multiclass=ovo", message)
    return f"{job.table.source}: {_with_names(message, job)}"


def _with_names(message: str, job: Job) -> str:
    """A sparse matrix has no names, but its file has."""
    if scipy.sparse.issparse(job.X) and isinstance(job.names, list):
        for position, name in _mentioned(message, job.names):
            message = message.replace(f"'x{position}'", repr(name))
    return message


def _mentioned(message: str, names: Sequence[str]) -> list[tuple[int, str]]:
    found = {int(digits) for digits in re.findall(r"'x(\d+)'", message)}
    return [(position, names[position]) for position in found if position < len(names)]
