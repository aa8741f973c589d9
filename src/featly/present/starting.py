"""From the options of a command to a table and a fitted method, with a few words on the way."""

import os
import time
from typing import Any

__all__ = ["asked", "fitted", "loaded"]


def _request(options: dict[str, Any]) -> Any:
    """The options that speak of the file and its columns."""
    from dataclasses import fields

    from featly.present.job import Request

    known = [f.name for f in fields(Request)]
    return Request(**{k: v for k, v in options.items() if k in known and v is not None})


def loaded(options: dict[str, Any], *, need_target: bool = True, by_blocks: bool = False) -> Any:
    """The table that the options speak of; what was noticed about it is said."""
    from featly.present import job
    from featly.present.printing import say, words_on_terminal

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
    from featly.errors import ParameterError
    from featly.present import job

    if auto and _is_auto(options):
        if options["settings"]:
            raise ParameterError(
                "--set goes with a method that is named: --method auto brings its own parameters"
            )
        return
    if options["method"] is not None:
        name = job.method_name(options["method"])
        if options["settings"]:
            job.parse_settings(name, options["settings"])


def fitted(found: Any, options: dict[str, Any], count: Any = None) -> tuple[str, Any, float]:
    """The method's name, the fitted method, and how many seconds it took to fit it."""
    from featly.present import job
    from featly.present.printing import say, words_on_terminal

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
    began = time.perf_counter()
    if loud and words_on_terminal() and _first_run():
        say("compiling for this machine, which is done once and takes some seconds ...", "dim")
    method = job.fit(
        found,
        name,
        settings,
        count=count,
        n_jobs=options["jobs"],
        verbose=loud and words_on_terminal(),
    )
    return name, method, time.perf_counter() - began


def _is_auto(options: dict[str, Any]) -> bool:
    from featly.present.job import AUTO

    return str(options["method"]).lower() == AUTO


def _taken_advice(found: Any, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The advised method and its parameters; gaps are filled where it needs that."""
    from featly.preprocessing import fill_missing
    from featly.present import job
    from featly.present.printing import say

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
    """Whether no loop has been compiled on this machine yet."""
    from featly.core.jit import cache_folder

    folder = cache_folder()
    return folder is None or not any(name.endswith(".nbc") for _, _, names in os.walk(folder)
                                     for name in names)  # fmt: skip
