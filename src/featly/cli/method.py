"""The choice of a method, its settings from texts, and its fit with messages on the way."""

import ast
import difflib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import scipy.sparse

from featly.basics.errors import DataError, ParameterError
from featly.basics.kinds import CONTINUOUS, KINDS
from featly.basics.params import check_parameters, parameters_of
from featly.basics.resources import DEVICES
from featly.cli.load import LoadedData
from featly.cli.printing import amount, is_error_terminal, say
from featly.cli.progress import choose_watcher, describe_stop
from featly.cli.stored import parse_memory_limit
from featly.cli.warm import announce_compilation
from featly.cli.words import in_words_of_the_file
from featly.io.stores import StoredTable
from featly.registry import (
    METHODS,
    describe_unknown_method,
    find_method,
    method_class,
    methods_that,
    suggest,
)
from featly.table.frames import is_frame, open_table

__all__ = [
    "AUTO",
    "OWN_OPTIONS",
    "RESOURCES",
    "Stopped",
    "advise_on_table",
    "check_device",
    "check_method_options",
    "choose_method",
    "find_obstacles",
    "fit",
    "fit_method",
    "has_own_count",
    "method_name",
    "parse_settings",
    "resource_parameters",
]

AUTO = "auto"  # as a method: the advised one
RESOURCES = ("device", "memory_limit", "cache")  # options that are parameters of a method
# parameters that an option gives, so --set does not
OWN_OPTIONS = {
    "schema": "--schema",
    "n_features_to_select": "--count",
    "n_jobs": "--jobs",
    "verbose": "--quiet",
    **{name: f"--{name.replace('_', '-')}" for name in RESOURCES},
}
# the first of them that takes a table ranks it; for classes univariate-test takes every table, and
# for numbers symmetric-uncertainty
DEFAULTS = ("f-test", "svm-rfe", "mkl-rfe", "univariate-test", "symmetric-uncertainty")
# the same if a prior is given: the first that uses it
PRIOR_DEFAULTS = ("arom", "svm-rfe", "mkl-rfe", "relieff", "jmi", "signal-to-noise")
# for a table that stays on disk: one pass over it, missing values as they are
STORED_DEFAULTS = ("f-test", "univariate-test", "symmetric-uncertainty")
STORED_PRIOR_DEFAULTS = ("jmi",)


class Stopped(KeyboardInterrupt):
    """Ctrl-C while a method was fitted, with the method and the work done until then.

    Attributes
    ----------
    method : method
        Fitted as far as it came, or not at all.
    message : str
        The message for the user; empty until somebody sets it.
    """

    def __init__(self, method: Any) -> None:
        super().__init__()
        self.method = method
        self.message = ""


# ---- names, settings and resources ---------------------------------------------------------------
def method_name(text: str) -> str:
    """Return the name of a method in the registry; DataError says what comes nearest."""
    name = find_method(text)
    if name is None:
        raise DataError(describe_unknown_method(text))
    return name


def has_own_count(text: str | None) -> bool:
    """Return whether a method, by its name, chooses itself how many columns it selects."""
    if text is None or text.lower() == AUTO:
        return False
    return "n_features_to_select" not in method_class(method_name(text))().get_params()


def parse_settings(name: str, settings: Sequence[str]) -> dict[str, Any]:
    """Parse parameters of a method from texts: ``C=0.1``; ``ranker__C=0.1`` of its ranker."""
    rules = parameters_of(method_class(name))
    known = sorted(rules.keys() - OWN_OPTIONS.keys())
    ranker_texts = [text for text in settings if "ranker" in known and text.startswith("ranker__")]
    values = {}
    for text in settings:
        if text in ranker_texts:
            continue
        parameter, mark, value = (part.strip() for part in text.partition("="))
        if not mark:
            raise ParameterError(f"--set {text!r}: give a name and a value, such as C=1")
        if parameter in OWN_OPTIONS and parameter in rules:
            raise ParameterError(f"--set {text!r}: leave it to {OWN_OPTIONS[parameter]}")
        if parameter not in known:
            nearest = difflib.get_close_matches(parameter, known, n=1)
            hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
            has = f": it has {', '.join(known)}" if known else ": it has none to set"
            raise ParameterError(f"{name} has no parameter {parameter!r}{hint or has}")
        values[parameter] = _parse_value(value)
        if parameter == "ranker":
            values[parameter] = method_name(str(values[parameter]))
        if not rules[parameter].accepts(values[parameter]):
            raise ParameterError(f"--set {text!r}: {rules[parameter].advice(values[parameter])}")
    if ranker_texts:
        ranker = values.get("ranker", rules["ranker"].default)
        ranker_settings = parse_settings(
            ranker, [text.removeprefix("ranker__") for text in ranker_texts]
        )
        values["ranker"] = method_class(ranker)(**ranker_settings)
    check_parameters(method_class(name)(**values))
    return values


def _parse_value(text: str) -> Any:
    constants = {"true": True, "false": False, "none": None}
    if text.lower() in constants:
        return constants[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # a word


def check_method_options(options: Mapping[str, Any], *, auto: bool = False) -> None:
    """Raise an error for an unknown method, parameter or resource before the file is read.

    Parameters
    ----------
    options : mapping
        Of a command.
    auto : bool, default=False
        Whether the command takes ``--method auto``.
    """
    resources = _requested_resources(options)
    if auto and _is_auto(options):
        if options["settings"]:
            raise ParameterError(
                "--set goes with a method that is named: --method auto brings its own parameters"
            )
        return
    if options["method"] is not None:
        name = method_name(options["method"])
        if options["settings"] or any(resources.values()):  # else its class need not be imported
            settings = parse_settings(name, options["settings"] or [])
            resource_parameters(name, resources, settings)


def check_device(device: str | None) -> None:
    """Raise ParameterError for a device of an unknown name."""
    if device is not None and device not in DEVICES:
        raise ParameterError(f"--device {device!r}: give auto, cpu or cuda")


def _requested_resources(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the requested device, memory and cache; raise an error if one cannot be had."""
    device, cache = options.get("device"), options.get("cache")
    parse_memory_limit(options.get("memory_limit"))
    check_device(device)
    if cache is not None and os.path.exists(cache) and not os.path.isdir(cache):
        raise ParameterError(f"--cache {cache!r} is a file: give a folder")
    if device == "cuda":
        from featly.core.runtime.device_cuda import xp

        xp()  # raises DeviceError
    return {"device": device, "memory_limit": options.get("memory_limit"), "cache": cache}


def resource_parameters(
    name: str, resources: Mapping[str, Any], settings: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the requested resources as parameters; ParameterError if a method lacks one.

    A method that reads and computes through a ranker passes them to the ranker.

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
        parameters = resource_parameters(method_name(type(ranker).__name__), resources)
        return {"ranker": ranker.set_params(**parameters)} if parameters else {}
    for key, value in requested.items():
        if key in known or (key == "device" and value != "cuda"):
            continue
        if key == "device":
            reason = "computes on the CPU only"
            alternatives = suggest(methods_that(on_device=True))
        elif key == "memory_limit":
            reason = "needs the whole table in memory"
            alternatives = suggest(methods_that(streams=True))
        else:
            reason = "has no search to be kept"
            alternatives = ", ".join(_classes_with("cache"))
        option = f"--{key.replace('_', '-')} {value}"
        raise ParameterError(f"{option}: {name} {reason}. Leave it out, or use {alternatives}")
    return {key: value for key, value in requested.items() if key in known}


def _classes_with(parameter: str) -> list[str]:
    """Return the class names of the methods that have a parameter."""
    classes = {m.class_name: method_class(name) for name, m in METHODS.items() if m.streams}
    return [name for name, cls in classes.items() if parameter in cls().get_params()]


# ---- the choice of a method ----------------------------------------------------------------------
def find_obstacles(data: LoadedData, *, fill: bool = False) -> Callable[[str], list[str]]:
    """Return a function of a method's name: the reasons for which it does not take the table.

    Parameters
    ----------
    data : LoadedData
    fill : bool, default=False
        Whether missing values are filled before the method sees the table.
    """
    kinds = _kind_examples(data)
    missing_column = None if fill else _column_with_missing(data)

    def list_obstacles(name: str) -> list[str]:
        method = METHODS[name]
        reasons = [
            f"{kind} columns ({column!r})"
            for kind, column in kinds.items()
            if kind not in method.kinds
        ]
        if missing_column is not None and not method.missing:
            reasons.append(f"missing values ({missing_column!r})")
        if data.target_kind not in (None, *method.targets):
            reasons.append(f"a target of {data.target_kind}")
        n_classes = len(data.classes)
        if n_classes > 2 and not method.many_classes:
            reasons.append(f"{n_classes} classes")
        if scipy.sparse.issparse(data.X) and not method.sparse:
            reasons.append("sparse tables")
        return reasons

    return list_obstacles


def choose_method(data: LoadedData, *, fill: bool = False) -> str:
    """Return the first default method that takes the table and its target as they are.

    If there is a prior, it is the first that uses it, if any does, and likewise for costs that a
    trade-off weighs; arom only if there are at least
    as many columns as rows, because it needs classes that can be separated. `fill` is as in
    :func:`find_obstacles`.
    """
    obstacles = find_obstacles(data, fill=fill)
    if isinstance(data.X, StoredTable):
        stored_names = STORED_PRIOR_DEFAULTS if data.schema.prior else STORED_DEFAULTS
        return next(name for name in stored_names if not obstacles(name))
    using_prior = [name for name in PRIOR_DEFAULTS if "prior" in METHODS[name].uses]
    if data.X.shape[1] < data.X.shape[0]:
        using_prior = [name for name in using_prior if name != "arom"]
    names = [*(using_prior if data.schema.prior else []), *DEFAULTS]
    if data.schema.trade_off:
        names = [name for name in names if "costs" in METHODS[name].uses]
    return next(name for name in names if not obstacles(name))


def _kind_examples(data: LoadedData) -> dict[str, str]:
    """Return an example of every kind of column that the table has."""
    if isinstance(data.X, StoredTable) and data.X.dtype is None:
        inferred: Any = open_table(data.X.schema_frame()).kinds()
    elif is_frame(data.X):
        inferred = open_table(data.X).kinds()
    else:
        inferred = np.full(len(data.names), CONTINUOUS)
    kinds = data.schema.resolve(data.names, inferred).kinds
    codes, first_positions = np.unique(kinds, return_index=True)
    return {
        KINDS[code]: str(data.names[at]) for code, at in zip(codes, first_positions, strict=True)
    }


def _column_with_missing(data: LoadedData) -> str | None:
    """Return the name of a column with a missing value, if there is one."""
    if isinstance(data.X, StoredTable):
        # to look for one would be a pass over the file: genotypes have them, others may
        return str(data.names[0]) if data.X.missing is not None else None
    if scipy.sparse.issparse(data.X):
        at = np.flatnonzero(np.isnan(data.X.data))
        position = np.searchsorted(data.X.indptr, at[0], side="right") - 1 if len(at) else None
        return None if position is None else str(data.names[position])
    if not is_frame(data.X):
        with_missing = np.flatnonzero(np.isnan(data.X).any(axis=0))
        return str(data.names[with_missing[0]]) if len(with_missing) else None
    for column in data.X.get_columns():
        # polars takes a name such as '*' for a pattern
        if column.null_count() or (column.dtype.is_float() and column.alias("").is_nan().any()):
            return str(column.name)
    return None


def advise_on_table(
    data: LoadedData, *, row_groups: Any = None, seed: int = 0, n_jobs: int | None = None
) -> Any:
    """Return advice for a table, with warnings and errors in the names of the file."""
    from featly.study import advise

    with in_words_of_the_file(data):
        return advise(
            data.X,
            data.y,
            schema=data.schema,
            row_groups=row_groups,
            names=data.own_names,
            findings=data.findings,
            random_state=seed,
            n_jobs=n_jobs,
        )


def _is_auto(options: Mapping[str, Any]) -> bool:
    return str(options["method"]).lower() == AUTO


def _follow_advice(data: LoadedData, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the advised method and its parameters; fill missing values if it needs that."""
    from featly.preprocessing import fill_missing

    if isinstance(data.X, StoredTable):
        raise DataError(
            f"--method auto looks at a table in memory, and {data.table.source} stays on disk: "
            "name a method, such as f-test for one pass, or mrmr and jmi for columns that "
            "complete each other"
        )
    data.require_classes("--method auto")
    advice = data.advice = advise_on_table(data, n_jobs=options["jobs"])
    if not options["quiet"]:
        say(f"method: {advice.call()}, as advised: {advice.reasons[0]}", "dim")
    if advice.fill:
        data.X, filled_columns = fill_missing(data.X)
        columns = amount(len(filled_columns), "column")
        note = f"missing values filled in {columns}, which {advice.method} needs"
        data.notes.append(note)
        if not options["quiet"]:
            say(note, "dim")
    return advice.method, advice.parameters


# ---- the fit -------------------------------------------------------------------------------------
def fit_method(
    data: LoadedData, options: Mapping[str, Any], count: Any = None
) -> tuple[str, Any, float]:
    """Choose and fit the method; return its name, the fitted method, and the seconds it took.

    Parameters
    ----------
    data : LoadedData
    options : mapping
        Of a command.
    count : int, float, str or None, default=None
        How many columns to select, as ``n_features_to_select``.
    """
    loud = not options["quiet"]
    if _is_auto(options):
        name, settings = _follow_advice(data, options)
    else:
        if options["method"] is not None:
            name = method_name(options["method"])
            if loud and options["method"].lower() not in (name, METHODS[name].class_name.lower()):
                say(f"method: {name}, which is what {options['method']} is called here", "dim")
        else:
            name = choose_method(data)
            if loud:
                say(f"method: {name} (--method chooses another)", "dim")
        settings = parse_settings(name, options["settings"] or [])
    resources = _requested_resources(options)
    resource_parameters(name, resources, settings)
    start = time.perf_counter()
    bar = loud and is_error_terminal()
    with ExitStack() as stack:
        if bar:
            stack.enter_context(announce_compilation(name))
        watcher = choose_watcher(data, name, settings, resources, bar=bar, loud=loud)
        try:
            method = fit(
                data,
                name,
                settings,
                count=count,
                n_jobs=options["jobs"],
                verbose=bar if watcher is None else stack.enter_context(watcher),
                resources=resources,
            )
        except Stopped as stopped:
            stack.close()
            stopped.message = describe_stop(stopped.method, data, resources["cache"], watcher)
            raise
        if watcher is not None:
            watcher.finish()
    return name, method, time.perf_counter() - start


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
    """Fit a method to a table; its errors have the names of the file and the target.

    `resources` are a device, a memory limit and a cache, as far as the method has them. Ctrl-C is
    raised as `Stopped`, with the work done until then.
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
        with in_words_of_the_file(data):
            return method.fit(data.X, data.y)
    except KeyboardInterrupt:
        raise Stopped(method) from None
