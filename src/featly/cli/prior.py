"""``featly prior``: the effect of a prior, measured on rows that were never seen."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from featly.cli.errors import make_command
from featly.cli.evaluate import _PROTOCOL, Processes
from featly.cli.options import (
    RESULTS,
    File,
    Json,
    MethodName,
    Quiet,
    Settings,
    Target,
    about_columns,
    complete_column,
)

if TYPE_CHECKING:
    import polars as pl

    from featly.cli.load import LoadedData
    from featly.study import PriorReport
    from featly.study.prior_words import Compared

__all__ = ["prior_changes"]


@make_command(about_columns)
def prior_changes(
    file: File,
    target: Target = None,
    method: MethodName = None,
    size: Annotated[
        int, typer.Option("--size", "-k", min=1, help="Columns of a signature.")
    ] = 30,
    sizes: Annotated[
        str | None,
        typer.Option(metavar="SIZES", rich_help_panel=_PROTOCOL,
                     help="Further numbers of columns to compare at: 8,16,64."),
    ] = None,
    splits: Annotated[
        int,
        typer.Option("--splits", "-s", min=3, rich_help_panel=_PROTOCOL,
                     help="Random splits, 90% to train and 10% to test."),
    ] = 50,
    learner: Annotated[
        str,
        typer.Option(rich_help_panel=_PROTOCOL, metavar="NAME",
                     help="What is trained on the selected columns."),
    ] = "linear-svm",
    row_groups: Annotated[
        str | None,
        typer.Option(rich_help_panel=_PROTOCOL, autocompletion=complete_column, metavar="COLUMN",
                     help="The column that tells which rows belong together, such as the patient."),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the splits.", rich_help_panel=_PROTOCOL)
    ] = 0,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o",
                     help=f"Save the ranks with and without: {RESULTS}."),
    ] = None,
    json: Json = False,
    settings: Settings = None,
    jobs: Processes = None,
    quiet: Quiet = False,
    **shared: Any,
) -> None:  # fmt: skip
    """Measure what a prior changes: the columns, how well they predict, how stable they are.

    featly prior tumours.csv --target outcome --prior genes.csv --size 30
    """
    options = {**locals(), **shared}
    from featly.cli.load import load_data
    from featly.cli.method import check_method_options
    from featly.cli.printing import check_output, print_json, save_result, say

    check_method_options(options)
    _check_options(options)
    check_output(output)
    # missing values are filled split by split, from the training rows
    with load_data(options | {"fill": False, "ignore_missing": False}) as data:
        data.require_classes("'featly prior'")
        report, name = _report_prior(data, options)
        document = _make_document(data, name, report, options)
    if output is not None:
        save_result(output, lambda: document, lambda: _rank_table(report))
        if output == "-":
            return
        if not quiet:
            say(f"the ranks with and without the prior are in {output}")
    if json:
        print_json(document)
    else:
        print(report)


# ---- options -------------------------------------------------------------------------------------
def _check_options(options: Mapping[str, Any]) -> None:
    """Raise an error for impossible options before the file is read."""
    from featly.cli.method import method_name

    _parse_sizes(options["sizes"])
    if options["method"] is not None:
        _make_method(method_name(options["method"]), options)


def _parse_sizes(text: str | None) -> list[int]:
    from featly.basics.errors import ParameterError

    try:
        return [int(part) for part in text.split(",")] if text is not None else []
    except ValueError:
        raise ParameterError(
            f"--sizes {text!r}: give numbers with commas, such as 8,16,64"
        ) from None


def _make_method(name: str, options: Mapping[str, Any]) -> Any:
    """Make the method with its settings; ParameterError if it does not use a prior."""
    from featly.basics.errors import ParameterError
    from featly.cli.method import parse_settings
    from featly.registry import METHODS, method_class

    method = method_class(name)(**parse_settings(name, options["settings"] or []))
    if "prior" not in method._uses:
        names = [other_name for other_name, m in METHODS.items() if "prior" in m.uses]
        raise ParameterError(f"{name} does not rank by a prior: use one of {', '.join(names)}")
    return method


# ---- the report ----------------------------------------------------------------------------------
def _report_prior(data: "LoadedData", options: Mapping[str, Any]) -> tuple["PriorReport", str]:
    """Return the report on a prior, and the name of the method."""
    from featly.basics.errors import ParameterError
    from featly.cli.method import choose_method, method_name
    from featly.cli.printing import is_error_terminal, say
    from featly.cli.studies import requested_fill
    from featly.cli.words import in_words_of_the_file
    from featly.study import prior_report

    if not data.schema.prior:
        raise ParameterError(
            "there is no prior: say --prior FILE with lines such as 'TP53,10', or --prior-from "
            "RANKING"
        )
    loud, fill = not options["quiet"], requested_fill(options)
    data.check_column(options["row_groups"], "--row-groups")
    if options["method"] is not None:
        name = method_name(options["method"])
    else:
        name = choose_method(data, fill=bool(fill))
        if loud:
            say(f"method: {name} (--method chooses another)", "dim")
    with in_words_of_the_file(data):
        report = prior_report(
            _make_method(name, options),
            data.X,
            data.y,
            schema=data.schema,
            size=options["size"],
            sizes=_parse_sizes(options["sizes"]),
            splits=options["splits"],
            learner=options["learner"],
            fill=fill,
            row_groups=options["row_groups"],
            random_state=options["seed"],
            n_jobs=options["jobs"],
            verbose=loud and is_error_terminal(),
        )
    if not hasattr(data.X, "columns"):  # a matrix has no names, but its file has
        report = replace(report, names=[str(name) for name in data.names])
    return report, name


def _rank_table(report: "PriorReport") -> "pl.DataFrame":
    """Return the ranks with and without the prior."""
    frame: pl.DataFrame = replace(report, library=None).table()
    return frame


def _make_document(
    data: "LoadedData", name: str, report: "PriorReport", options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the whole report, for machines."""
    from featly.cli.changes import favoured_rows
    from featly.study.prior_words import OPTIMISM

    # the column of --row-groups is no column of the report
    return data.facts() | {
        "rows": report.n_rows,
        "columns": len(report.names),
        "classes": data.classes,
        "method": name,
        "notes": [*data.notes, *report.notes],
        "size": report.size,
        "splits": report.n_splits,
        "seed": options["seed"],
        "learner": report.learner,
        "favoured": favoured_rows(
            report.names, report.prior, report.rank_with, report.rank_without
        ),
        "common": report.common,
        "came_in": report.came_in,
        "went_out": report.went_out,
        "figures": [
            {"size": size, "figure": figure, **_comparison_entries(compared)}
            for size, comparisons in report.figures.items()
            for figure, compared in comparisons.items()
        ],
        "failures": report.results.failures.height,
        "caution": OPTIMISM,
        "ranking": _rank_table(report).to_dicts(),
    }


def _comparison_entries(compared: "Compared") -> dict[str, Any]:
    return {
        "with": compared.with_prior._asdict(),
        "without": compared.without._asdict(),
        "difference": compared.difference._asdict(),
        "verdict": compared.verdict(),
    }
