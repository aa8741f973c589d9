"""From the options of a command to a table and a fitted method, with a few words on the way."""

import os
import time
from contextlib import ExitStack
from typing import Any

__all__ = ["asked", "fitted", "loaded"]


def _request(options: dict[str, Any]) -> Any:
    """The options that speak of the file and its columns."""
    from dataclasses import fields

    from featly.cli.job import Request

    known = [f.name for f in fields(Request)]
    return Request(**{k: v for k, v in options.items() if k in known and v is not None})


def loaded(options: dict[str, Any], *, need_target: bool = True, by_blocks: bool = False) -> Any:
    """The table that the options speak of; what was noticed about it is said."""
    from featly.cli import job
    from featly.cli.printing import say, words_on_terminal

    loud = not options["quiet"]
    found = job.load(
        _request(options),
        need_target=need_target,
        verbose=loud and words_on_terminal(),
        by_blocks=by_blocks,
    )
    if loud:
        rows, columns = found.X.shape
        shape = f"{found.table.source}: {_counted(rows, 'row')}, {_counted(columns, 'column')}"
        say("; ".join([shape, *found.notes]), "dim")
    return found


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"


def asked(options: dict[str, Any], *, auto: bool = False) -> None:
    """Refuse a method or a parameter that does not exist before the file is read.

    `auto` says whether the command can take what is advised.
    """
    from featly.basics.errors import ParameterError
    from featly.cli import job

    resources = _resources(options)
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
            job.granted(name, resources, settings)


def _resources(options: dict[str, Any]) -> dict[str, Any]:
    """The device, the memory and the cache that were asked for; what cannot be had is refused."""
    from featly.basics.errors import DeviceError, ParameterError
    from featly.basics.resources import DEVICES
    from featly.cli.stored import limit_of
    from featly.cli.wording import in_words_of_options

    device, cache = options.get("device"), options.get("cache")
    limit_of(options.get("memory_limit"))
    if device is not None and device not in DEVICES:
        raise ParameterError(f"--device {device!r}: give auto, cpu or cuda")
    if cache is not None and os.path.exists(cache) and not os.path.isdir(cache):
        raise ParameterError(f"--cache {cache!r} is a file: give a folder")
    if device == "cuda":
        from featly.core.runtime.device_cuda import xp

        try:
            xp()
        except DeviceError as problem:
            raise DeviceError(in_words_of_options(str(problem))) from None
    return {"device": device, "memory_limit": options.get("memory_limit"), "cache": cache}


def fitted(found: Any, options: dict[str, Any], count: Any = None) -> tuple[str, Any, float]:
    """The method's name, the fitted method, and how many seconds it took to fit it."""
    from featly.cli import job
    from featly.cli.printing import say, words_on_terminal
    from featly.cli.watching import stopped_words, watched

    loud = not options["quiet"]
    settings: Any = None
    if _is_auto(options):
        name, settings = _taken_advice(found, options)
    elif options["method"] is not None:
        name = job.method_name(options["method"])
    else:
        name = job.choose_method(found)
        if loud:
            say(f"method: {name} (--method chooses another)", "dim")
    if settings is None:
        settings = job.parse_settings(name, options["settings"] or [])
    resources = _resources(options)
    job.granted(name, resources, settings)
    began = time.perf_counter()
    if loud and words_on_terminal() and _first_run():
        say("compiling for this machine, which is done once and takes some seconds ...", "dim")
    with ExitStack() as shown:
        bar = loud and words_on_terminal()
        watching = watched(found, name, settings, resources, bar=bar, loud=loud)
        try:
            method = job.fit(
                found,
                name,
                settings,
                count=count,
                n_jobs=options["jobs"],
                verbose=bar if watching is None else shown.enter_context(watching),
                resources=resources,
            )
        except job.Stopped as stopped:
            shown.close()
            stopped.told = stopped_words(stopped.method, found, resources["cache"], watching)
            raise
        if watching is not None:
            watching.ended()
    return name, method, time.perf_counter() - began


def _is_auto(options: dict[str, Any]) -> bool:
    from featly.cli.job import AUTO

    return str(options["method"]).lower() == AUTO


def _taken_advice(found: Any, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The advised method and its parameters; gaps are filled where it needs that."""
    from featly.basics.errors import DataError
    from featly.cli import job
    from featly.cli.printing import say
    from featly.io.stores import StoredTable
    from featly.preprocessing import fill_missing

    if isinstance(found.X, StoredTable):
        raise DataError(
            f"--method auto looks at a table in memory, and {found.table.source} stays on disk: "
            "name a method, such as f-test for one pass, or mrmr and jmi for columns that "
            "complete each other"
        )
    advice = found.advice = job.advised(found, n_jobs=options["jobs"])
    if not options["quiet"]:
        say(f"method: {advice.call()}, as advised: {advice.reasons[0]}", "dim")
    if advice.fill:
        found.X, filled = fill_missing(found.X)
        columns = _counted(len(filled), "column")
        note = f"gaps filled in {columns}, which {advice.method} needs"
        found.notes.append(note)
        if not options["quiet"]:
            say(note, "dim")
    return advice.method, advice.parameters


def _first_run() -> bool:
    """Return whether no kernel of this version has been compiled on this machine yet."""
    from featly.core.runtime.jit import has_compiled_kernels

    return not has_compiled_kernels()
