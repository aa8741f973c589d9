"""Conversion of a command's options to a table and a fitted method, with notes on the way."""

import os
import time
from contextlib import ExitStack
from typing import Any

__all__ = ["check_method_options", "fit_method", "load_data"]


def _build_request(options: dict[str, Any]) -> Any:
    """Return the options that speak of the file and its columns."""
    from dataclasses import fields

    from featly.cli.job import Request

    request_fields = [f.name for f in fields(Request)]
    return Request(**{k: v for k, v in options.items() if k in request_fields and v is not None})


def load_data(options: dict[str, Any], *, need_target: bool = True, by_blocks: bool = False) -> Any:
    """Load the table that the options speak of, and say what was noticed about it."""
    from featly.cli import job
    from featly.cli.printing import is_error_terminal, say

    is_loud = not options["quiet"]
    data = job.load(
        _build_request(options),
        need_target=need_target,
        verbose=is_loud and is_error_terminal(),
        by_blocks=by_blocks,
    )
    if is_loud:
        rows, columns = data.X.shape
        shape = f"{data.table.source}: {_amount(rows, 'row')}, {_amount(columns, 'column')}"
        say("; ".join([shape, *data.notes]), "dim")
    return data


def _amount(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"


def check_method_options(options: dict[str, Any], *, auto: bool = False) -> None:
    """Raise an error for an unknown method or parameter before the file is read.

    `auto` says whether the command can take what is advised.
    """
    from featly.basics.errors import ParameterError
    from featly.cli import job

    resources = _requested_resources(options)
    if auto and _is_auto(options):
        if options["settings"]:
            raise ParameterError(
                "--set goes with a method that is named: --method auto brings its own parameters"
            )
        return
    if options["method"] is not None:
        name = job.method_name(options["method"])
        if options["settings"] or any(resources.values()):  # else its class can wait
            settings = job.parse_settings(name, options["settings"] or [])
            job.resource_parameters(name, resources, settings)


def _requested_resources(options: dict[str, Any]) -> dict[str, Any]:
    """Return the requested device, memory and cache; raise an error if they are not there."""
    from featly.basics.errors import DeviceError, ParameterError
    from featly.basics.resources import DEVICES
    from featly.cli.stored import parse_memory_limit
    from featly.cli.wording import reword_parameters

    device, cache = options.get("device"), options.get("cache")
    parse_memory_limit(options.get("memory_limit"))
    if device is not None and device not in DEVICES:
        raise ParameterError(f"--device {device!r}: give auto, cpu or cuda")
    if cache is not None and os.path.exists(cache) and not os.path.isdir(cache):
        raise ParameterError(f"--cache {cache!r} is a file: give a folder")
    if device == "cuda":
        from featly.core.runtime.device_cuda import xp

        try:
            xp()
        except DeviceError as problem:
            raise DeviceError(reword_parameters(str(problem))) from None
    return {"device": device, "memory_limit": options.get("memory_limit"), "cache": cache}


def fit_method(data: Any, options: dict[str, Any], count: Any = None) -> tuple[str, Any, float]:
    """Fit the method; return its name, the fitted method, and the seconds it took."""
    from featly.cli import job
    from featly.cli.printing import is_error_terminal, say
    from featly.cli.watching import choose_watcher, describe_stop

    is_loud = not options["quiet"]
    settings: Any = None
    if _is_auto(options):
        name, settings = _follow_advice(data, options)
    elif options["method"] is not None:
        name = job.method_name(options["method"])
    else:
        name = job.choose_method(data)
        if is_loud:
            say(f"method: {name} (--method chooses another)", "dim")
    if settings is None:
        settings = job.parse_settings(name, options["settings"] or [])
    resources = _requested_resources(options)
    job.resource_parameters(name, resources, settings)
    start = time.perf_counter()
    if is_loud and is_error_terminal() and _is_first_run():
        say("compiling for this machine, which is done once and takes some seconds ...", "dim")
    with ExitStack() as stack:
        bar = is_loud and is_error_terminal()
        watching = choose_watcher(data, name, settings, resources, bar=bar, loud=is_loud)
        try:
            method = job.fit(
                data,
                name,
                settings,
                count=count,
                n_jobs=options["jobs"],
                verbose=bar if watching is None else stack.enter_context(watching),
                resources=resources,
            )
        except job.Stopped as stopped:
            stack.close()
            stopped.message = describe_stop(stopped.method, data, resources["cache"], watching)
            raise
        if watching is not None:
            watching.finish()
    return name, method, time.perf_counter() - start


def _is_auto(options: dict[str, Any]) -> bool:
    from featly.cli.job import AUTO

    return str(options["method"]).lower() == AUTO


def _follow_advice(data: Any, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the advised method and its parameters; fill missing values if it needs that."""
    from featly.basics.errors import DataError
    from featly.cli import job
    from featly.cli.printing import say
    from featly.io.stores import StoredTable
    from featly.preprocessing import fill_missing

    if isinstance(data.X, StoredTable):
        raise DataError(
            f"--method auto looks at a table in memory, and {data.table.source} stays on disk: "
            "name a method, such as f-test for one pass, or mrmr and jmi for columns that "
            "complete each other"
        )
    advice = data.advice = job.advise_on_table(data, n_jobs=options["jobs"])
    if not options["quiet"]:
        say(f"method: {advice.call()}, as advised: {advice.reasons[0]}", "dim")
    if advice.fill:
        data.X, filled_columns = fill_missing(data.X)
        columns = _amount(len(filled_columns), "column")
        note = f"gaps filled in {columns}, which {advice.method} needs"
        data.notes.append(note)
        if not options["quiet"]:
            say(note, "dim")
    return advice.method, advice.parameters


def _is_first_run() -> bool:
    """Return whether no loop has been compiled on this machine yet."""
    from featly.core.runtime.jit import has_compiled_kernels

    return not has_compiled_kernels()
