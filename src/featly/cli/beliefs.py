"""Conversion of ``featly prior`` options to a report, and of the report to a document."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from featly import __version__
from featly.basics.errors import DataError, ParameterError
from featly.cli import job
from featly.cli.changes import favoured_rows
from featly.cli.printing import is_error_terminal, say
from featly.registry import METHODS, method_class
from featly.study import PriorReport, prior_report
from featly.study.prior_words import OPTIMISM, Compared

__all__ = ["check", "document", "report", "table"]


def check(options: Mapping[str, Any]) -> None:
    """Raise an error for impossible options before the file is read."""
    _parse_sizes(options["sizes"])
    if options["method"] is not None:
        _make_method(job.method_name(options["method"]), options)


def _parse_sizes(text: str | None) -> list[int]:
    try:
        return [int(part) for part in text.split(",")] if text is not None else []
    except ValueError:
        raise ParameterError(
            f"--sizes {text!r}: give numbers with commas, such as 8,16,64"
        ) from None


def _make_method(name: str, options: Mapping[str, Any]) -> Any:
    method = method_class(name)(**job.parse_settings(name, options["settings"] or []))
    if "prior" not in method._uses:
        methods_with_prior = [
            other_method for other_method, m in METHODS.items() if "prior" in m.uses
        ]
        raise ParameterError(
            f"{name} does not rank by a prior: use one of {', '.join(methods_with_prior)}"
        )
    return method


def report(data: job.LoadedData, options: Mapping[str, Any]) -> tuple[PriorReport, str]:
    """Return the report on a prior, and the name of the method."""
    if not data.schema.prior:
        raise ParameterError(
            "which columns do you believe in? Say --prior FILE with lines such as 'TP53,10', or "
            "--prior-from RANKING"
        )
    loud, fill, groups = not options["quiet"], bool(options["fill"]), options["row_groups"]
    if groups is not None and groups not in [str(name) for name in data.names]:
        raise DataError(f"--row-groups {groups!r} is no column of the table")
    if options["method"] is not None:
        name = job.method_name(options["method"])
    else:
        name = job.choose_method(data, fill=fill)
        if loud:
            say(f"method: {name} (--method chooses another)", "dim")
    try:
        result = prior_report(
            _make_method(name, options),
            data.X,
            data.y,
            schema=data.schema,
            size=options["size"],
            sizes=_parse_sizes(options["sizes"]),
            splits=options["splits"],
            learner=options["learner"],
            fill=fill,
            row_groups=groups,
            random_state=options["seed"],
            n_jobs=options["jobs"],
            verbose=loud and is_error_terminal(),
        )
    except DataError as problem:
        raise type(problem)(job.reword_for_file(str(problem), data)) from None
    if not hasattr(data.X, "columns"):  # a matrix has no names, but its file has
        result = replace(result, names=[str(name) for name in data.names])
    return result, name


def table(result: PriorReport) -> Any:
    """Return the ranks with and without the prior as a polars frame."""
    return replace(result, library=None).table()


def document(
    data: job.LoadedData, name: str, result: PriorReport, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the whole report as a document for machines."""
    rows = table(result)
    return {
        "featly": __version__,
        "file": data.table.source.strip("'"),
        "rows": result.n_rows,
        "columns": len(result.names),
        "target": data.target,
        "classes": data.classes,
        "method": name,
        "notes": [*data.notes, *result.notes],
        "size": result.size,
        "splits": result.n_splits,
        "seed": options["seed"],
        "learner": result.learner,
        "favoured": favoured_rows(
            result.names, result.prior, result.rank_with, result.rank_without
        ),
        "common": result.common,
        "came_in": result.came_in,
        "went_out": result.went_out,
        "figures": [
            {"size": size, "figure": figure, **_figures(compared)}
            for size, comparisons in result.figures.items()
            for figure, compared in comparisons.items()
        ],
        "failures": result.results.failures.height,
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
