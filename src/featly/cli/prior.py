"""``featly prior``: the effect of a prior, measured on rows that were never seen."""

from typing import Annotated, Any

import typer

from featly.cli.errors import make_command
from featly.cli.evaluate import _PROTOCOL, Processes
from featly.cli.options import (
    File,
    Json,
    MethodName,
    Quiet,
    Settings,
    Target,
    about_columns,
    complete_column,
)
from featly.cli.starting import check_method_options, load_data

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
    seed: Annotated[int, typer.Option(min=0, help="Of the splits.", rich_help_panel=_PROTOCOL)] = 0,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o",
                     help="Save the ranks with and without: .csv, .json, .parquet."),
    ] = None,
    json: Json = False,
    settings: Settings = None,
    jobs: Processes = None,
    quiet: Quiet = False,
    **shared: Any,
) -> None:  # fmt: skip
    """Say what a prior changed: the columns, how well they predict, how stable they are.

    featly prior tumours.csv --target outcome --prior genes.csv --size 30
    """
    options = {**locals(), **shared}
    from featly.basics.atomic_file import check_writable, whole_file
    from featly.basics.json_text import as_json
    from featly.cli import beliefs
    from featly.cli.printing import print_json, say
    from featly.io.write import check_ending, write_frame

    check_method_options(options)
    beliefs.check(options)
    if output is not None:
        check_ending(output)
        check_writable(output)
    with load_data(options | {"fill": False}) as data:  # gaps are filled split by split
        report, name = beliefs.report(data, options)
        document = beliefs.document(data, name, report, options)
    if output is not None:
        if check_ending(output) == ".json":
            with whole_file(output) as out:
                out.write(as_json(document).encode())
        else:
            write_frame(beliefs.table(report), output, inert=True)
        if output == "-":
            return
        if not quiet:
            say(f"the ranks with and without the prior are in {output}")
    if json:
        print_json(document)
    else:
        print(report)
