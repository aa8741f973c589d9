"""From the options of ``featly prior`` to a report, and from the report to a document."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from featly import __version__
from featly.basics.errors import DataError, ParameterError
from featly.cli import job
from featly.cli.changes import favoured_rows
from featly.cli.printing import say, words_on_terminal
from featly.registry import METHODS, method_class
from featly.study import PriorReport, prior_report
from featly.study.prior_words import OPTIMISM, Compared

__all__ = ["check", "document", "report", "table"]


def check(options: Mapping[str, Any]) -> None:
    """Refuse what cannot be before the file is read."""
    _sizes(options["sizes"])
    if options["method"] is not None:
        _method(job.method_name(options["method"]), options)


def _sizes(text: str | None) -> list[int]:
    try:
        return [int(part) for part in text.split(",")] if text is not None else []
    except ValueError:
        raise ParameterError(
            f"--sizes {text!r}: give numbers with commas, such as 8,16,64"
        ) from None


def _method(name: str, options: Mapping[str, Any]) -> Any:
    method = method_class(name)(**job.parse_settings(name, options["settings"] or []))
    if "prior" not in method._uses:
        able = [other for other, m in METHODS.items() if "prior" in m.uses]
        raise ParameterError(f"{name} does not rank by a prior: use one of {', '.join(able)}")
    return method


def report(found: job.Job, options: Mapping[str, Any]) -> tuple[PriorReport, str]:
    """The report, and the name of the method."""
    if not found.schema.prior:
        raise ParameterError(
            "which columns do you believe in? Say --prior FILE with lines such as 'TP53,10', or "
            "--prior-from RANKING"
        )
    loud, fill, groups = not options["quiet"], bool(options["fill"]), options["row_groups"]
    if groups is not None and groups not in [str(name) for name in found.names]:
        raise DataError(f"--row-groups {groups!r} is no column of the table")
    if options["method"] is not None:
        name = job.method_name(options["method"])
    else:
        name = job.choose_method(found, fill=fill)
        if loud:
            say(f"method: {name} (--method chooses another)", "dim")
    try:
        told = prior_report(
            _method(name, options),
            found.X,
            found.y,
            schema=found.schema,
            size=options["size"],
            sizes=_sizes(options["sizes"]),
            splits=options["splits"],
            learner=options["learner"],
            fill=fill,
            row_groups=groups,
            random_state=options["seed"],
            n_jobs=options["jobs"],
            verbose=loud and words_on_terminal(),
        )
    except DataError as problem:
        raise type(problem)(job.in_words_of_the_file(str(problem), found)) from None
    if not hasattr(found.X, "columns"):  # a matrix has no names, but its file has
        told = replace(told, names=[str(name) for name in found.names])
    return told, name


def table(told: PriorReport) -> Any:
    """Ranks with and without, as a polars frame."""
    return replace(told, library=None).table()


def document(
    found: job.Job, name: str, told: PriorReport, options: Mapping[str, Any]
) -> dict[str, Any]:
    """All of it, for machines."""
    rows = table(told)
    return {
        "featly": __version__,
        "file": found.table.source.strip("'"),
        "rows": told.n_rows,
        "columns": len(told.names),
        "target": found.target,
        "classes": found.classes,
        "method": name,
        "notes": [*found.notes, *told.notes],
        "size": told.size,
        "splits": told.n_splits,
        "seed": options["seed"],
        "learner": told.learner,
        "favoured": favoured_rows(told.names, told.prior, told.rank_with, told.rank_without),
        "common": told.common,
        "came_in": told.came_in,
        "went_out": told.went_out,
        "figures": [
            {"size": size, "figure": figure, **_figures(compared)}
            for size, found_here in told.figures.items()
            for figure, compared in found_here.items()
        ],
        "failures": told.results.failures.height,
        "caution": OPTIMISM,
        "ranking": rows.to_dicts(),
    }


def _figures(compared: Compared) -> dict[str, Any]:
    return {
        "with": compared.with_prior._asdict(),
        "without": compared.without._asdict(),
        "difference": compared.difference._asdict(),
        "verdict": compared.verdict(),
    }
