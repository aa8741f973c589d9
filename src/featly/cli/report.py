"""``featly report``: a page on a file, its columns and its classes, in one command."""

import shlex
import sys
from typing import Annotated, Any

import typer

from featly.cli.errors import make_command
from featly.cli.evaluate import (
    _PROTOCOL,
    Processes,
    ProtocolName,
    RowGroups,
    Sampler,
    Seed,
    SplitColumn,
    TestSize,
)
from featly.cli.options import (
    _READING,
    FORMAT_NAMES,
    RESULTS,
    DropTwins,
    File,
    Quiet,
    Target,
    about_columns,
    complete_method,
)

__all__ = ["report"]

_PAGE = "The page"


@make_command(
    about_columns,
    without=("format",),
    stop_message="featly: stopped, and no report was written; with --keep-fits FOLDER what is done "
    "is kept, and the same command goes on",
)
def report(
    file: File,
    target: Target = None,
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="The report: .html, .md, .pdf or .json."),
    ] = "report.html",
    methods: Annotated[
        str | None,
        typer.Option("--methods", "-m", metavar="NAMES", autocompletion=complete_method,
                     help="First the method that makes the signature, then others to compare with: "
                     "svm-rfe,jmi. Left out: what 'featly advise' says."),
    ] = None,
    page_format: Annotated[
        str | None,
        typer.Option("--format", rich_help_panel=_PAGE,
                     help="html, md, pdf (where a browser is) or json; else by the ending of "
                     "--output."),
    ] = None,
    no_individuals: Annotated[
        bool,
        typer.Option("--no-individuals", rich_help_panel=_PAGE,
                     help="No values of single rows, no rare levels, no count from which fewer "
                     "than five rows follow."),
    ] = False,
    title: Annotated[
        str | None, typer.Option(rich_help_panel=_PAGE, help="Title of the page.")
    ] = None,
    shown: Annotated[
        int,
        typer.Option("--shown", min=1, max=1000, rich_help_panel=_PAGE,
                     help="Columns of the ranking to show."),
    ] = 100,
    figures: Annotated[
        str | None,
        typer.Option(rich_help_panel=_PAGE, metavar="FOLDER",
                     help="Save the figures there, too, as SVG."),
    ] = None,
    ranking: Annotated[
        str | None,
        typer.Option("--ranking", rich_help_panel=_PAGE,
                     help=f"Save the whole ranking, too: {RESULTS}."),
    ] = None,
    splits: Annotated[
        int | None,
        typer.Option("--splits", "-s", min=1, rich_help_panel=_PROTOCOL,
                     help="Number of random splits (20), folds (10) or bootstrap samples (100), "
                     "for how often columns are chosen."),
    ] = None,
    protocol: ProtocolName = "subsampling",
    test_size: TestSize = None,
    sizes: Annotated[
        str | None,
        typer.Option(rich_help_panel=_PROTOCOL, metavar="SIZES",
                     help="Numbers of columns to try: 1,2,4,8, powers, all or rule-of-thumb. Left "
                     "out: as advised."),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(rich_help_panel=_PROTOCOL, metavar="NAME",
                     help="What is trained on the selected columns: linear-svm, naive-bayes, "
                     "logistic, 1-nn, 5-nn, tree, forest, rbf-svm. Left out: as advised."),
    ] = None,
    thorough: Annotated[
        bool,
        typer.Option("--thorough", rich_help_panel=_PROTOCOL,
                     help="Draw the nested folds five times, and compare advised alternatives, "
                     "too: narrower intervals, five times the work."),
    ] = False,
    null: Annotated[
        int | None,
        typer.Option("--null", min=19, rich_help_panel=_PROTOCOL,
                     help="Shuffles of the classes at most to test whether the columns predict, "
                     "however long they take. Left out: 99, or 19, as the time allows."),
    ] = None,
    resample: Sampler = None,
    row_groups: RowGroups = None,
    drop_twins: DropTwins = False,
    split_column: SplitColumn = None,
    seed: Seed = 0,
    metric: Annotated[
        str,
        typer.Option(help="bcr, auc, accuracy, error, sensitivity, specificity."),
    ] = "bcr",
    rule: Annotated[
        str | None,
        typer.Option(help="How the number of columns is chosen: best, one-standard-error, "
                     "within-interval, knee, rule-of-thumb, or a number. Left out: best."),
    ] = None,
    keep_fits: Annotated[
        str | None,
        typer.Option("--keep-fits", metavar="FOLDER",
                     help="Keep the fits there; a run that was stopped goes on where it was."),
    ] = None,
    input_format: Annotated[
        str | None,
        typer.Option(rich_help_panel=_READING,
                     help=f"{FORMAT_NAMES}; seen from the file."),
    ] = None,
    jobs: Processes = None,
    quiet: Quiet = False,
    **shared: Any,
) -> None:  # fmt: skip
    """Evaluate, select and explain, in one page that needs nothing else.

    featly report tumours.csv --target outcome -o report.html
    """
    options = {**locals(), **shared, "format": input_format}
    from featly.cli.printing import is_error_terminal, say
    from featly.cli.report_request import check_report_options, make_report

    check_report_options(options)

    def print_note(text: str, style: str = "dim") -> None:
        if not quiet:
            say(text, style)

    options["command"] = shlex.join(["featly", *sys.argv[1:]])
    result = make_report(options, print_note=print_note, verbose=not quiet and is_error_terminal())
    if figures is not None:
        written = result.save_figures(figures)
        print_note(f"{len(written)} figures are in {figures}", "")
    if ranking is not None:
        result.save_ranking(ranking)
        print_note(f"the ranking is in {ranking}", "")
    result.save(output, format=page_format)
    print_note(str(result.facts["summary"]), "")
    if output != "-":
        print_note(f"the report is in {output}", "")
