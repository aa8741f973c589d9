"""``featly redundancy``: columns of a table that have much in common, among all pairs."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from featly.cli.errors import make_command
from featly.cli.options import (
    RESULTS,
    Dataset,
    Device,
    File,
    Jobs,
    Json,
    Layer,
    MemoryLimit,
    Quiet,
    about_columns,
    complete_column,
)

if TYPE_CHECKING:
    from featly.cli.load import LoadedData

__all__ = ["redundant_columns"]

SHOWN = 20  # rows of a table on a terminal
NAMED = 4  # columns of a group that fit on a terminal
THRESHOLD = 0.95
LONG = 1e10  # multiplications above which a bar is shown: some tenths of a second
MEASURES = ("pearson", "spearman", "information")
# options about columns that make no difference to a comparison of two columns
UNUSED = (
    "target_kind", "keep", "known_before", "prior", "prior_from", "prior_top", "prior_weight",
    "costs", "trade_off", "fill", "ignore_missing",
)  # fmt: skip


def complete_measure(incomplete: str) -> list[str]:
    """Return the measures whose names begin with the typed text."""
    return [measure for measure in MEASURES if measure.startswith(incomplete)]


@make_command(about_columns, without=UNUSED)
def redundant_columns(
    file: File,
    threshold: Annotated[
        float | None,
        typer.Option(help=f"Pairs that reach this value, up to 1. Left out: {THRESHOLD}.",
                     metavar="VALUE"),
    ] = None,
    neighbours: Annotated[
        int | None,
        typer.Option("--neighbours", "-k", min=1, metavar="COUNT",
                     help="Instead of pairs: this many nearest columns of each column."),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(metavar="NAME", autocompletion=complete_measure,
                     help="pearson or spearman: absolute correlations of columns of numbers; or "
                     "information, for columns of all kinds. Left out: pearson."),
    ] = None,
    groups: Annotated[
        bool, typer.Option("--groups", help="Groups of columns instead of pairs.")
    ] = False,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", help="The column to predict, which is left out.",
                     autocompletion=complete_column),
    ] = None,
    top: Annotated[
        int | None, typer.Option("--top", "-n", help="Print only the first; 0 is all.", min=0)
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o",
                     help=f"Save all pairs, neighbours or groups: {RESULTS}."),
    ] = None,
    max_pairs: Annotated[
        int, typer.Option(help="More pairs than this are an error.", min=1, metavar="COUNT")
    ] = 10_000_000,
    json: Json = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
    memory_limit: MemoryLimit = None,
    device: Device = None,
    dataset: Dataset = None,
    layer: Layer = None,
    **shared: Any,
) -> None:  # fmt: skip
    """Find columns that have much in common, among all pairs of them.

    featly redundancy tumours.csv --threshold 0.9 --output pairs.csv
    """
    options = {**locals(), **shared}
    from featly.cli.load import load_data
    from featly.cli.printing import is_output_terminal, print_json, print_table, say

    _check_options(options)
    with load_data(_drop_memory_limit(options), need_target=False, by_blocks=True) as data:
        data = _take_comparable(data, options)
        result = _compare(data, options)
        if not quiet:
            for line in result.text().splitlines():
                say(line)
        if output is not None:
            _save_result(data, result, options)
            if output == "-":
                return
            if not quiet:
                noun = "groups" if groups else "neighbours" if neighbours else "pairs"
                say(f"the {noun} are in {output}")
        if json:
            print_json(_make_document(data, result, options))
            return
        heads, rows, count = _group_rows(result) if groups else _pair_rows(result)
        n_shown = (
            count if top == 0 or (top is None and not is_output_terminal()) else (top or SHOWN)
        )
        note = f"{count - n_shown:,} more; --top 0 shows all" if count > n_shown else ""
        if count or not is_output_terminal():  # an empty table says less than the line above
            print_table(heads, [row for row, _ in zip(rows, range(n_shown))], note=note)  # noqa: B905


# ---- options and the table -----------------------------------------------------------------------
def _check_options(options: dict[str, Any]) -> None:
    """Raise an error for impossible options before the file is read."""
    from featly.basics.errors import ParameterError
    from featly.cli.method import check_device
    from featly.cli.printing import check_output
    from featly.cli.stored import parse_memory_limit

    threshold, measure = options["threshold"], options["measure"]
    if options["neighbours"] is not None:
        for name, value in (("threshold", threshold), ("groups", options["groups"] or None)):
            if value is not None:
                raise ParameterError(f"--{name} and --neighbours: give one of the two")
    if threshold is not None and not 0 < threshold <= 1:
        raise ParameterError(f"--threshold {threshold:g}: give a number above 0, and at most 1")
    if measure is not None and measure not in MEASURES:
        raise ParameterError(f"--measure {measure!r}: give {', '.join(MEASURES)}")
    check_device(options["device"])
    parse_memory_limit(options["memory_limit"])
    check_output(options["output"])


def _drop_memory_limit(options: dict[str, Any]) -> dict[str, Any]:
    """Drop the memory limit for a file that is read whole: it limits the comparison only."""
    from featly.table.formats import can_be_stored

    by_blocks = can_be_stored(options["file"])
    return options if by_blocks else options | {"memory_limit": None}


def _take_comparable(data: "LoadedData", options: dict[str, Any]) -> "LoadedData":
    """Return the table without columns that the measure does not take; print a note on them."""
    from featly.basics.errors import DataError
    from featly.basics.kinds import CATEGORICAL
    from featly.cli.printing import say
    from featly.table.frames import is_frame, open_table, take_columns
    from featly.table.schema import Schema

    if options["measure"] == "information" or not is_frame(data.X):
        return data
    table = open_table(data.X)
    columns = data.schema.resolve(table.names, table.kinds())
    numeric = [j for j, kind in enumerate(columns.kinds) if kind != CATEGORICAL]
    n_out = len(columns.kinds) - len(numeric)
    if n_out == 0:
        return data
    if not numeric:
        raise DataError(
            f"{data.table.source} has no columns of numbers: --measure information takes others"
        )
    if not options["quiet"]:
        first = next(n for n, k in zip(table.names, columns.kinds, strict=True) if k == CATEGORICAL)
        description = (
            f"{first!r}, which is" if n_out == 1 else f"{n_out:,} columns such as {first!r}, "
        )
        description += "" if n_out == 1 else "which are"
        say(f"without {description} categorical: --measure information takes those, too", "dim")
    names = [data.names[j] for j in numeric]
    ordinal = data.schema.ordinal
    remaining = {str(name) for name in names}
    ordinal_names = [name for name in ordinal if str(name) in remaining]
    if isinstance(ordinal, Mapping):
        ordinal = {name: ordinal[name] for name in ordinal_names}
    return replace(
        data, X=take_columns(data.X, numeric), names=names, schema=Schema(ordinal=ordinal)
    )


def _compare(data: "LoadedData", options: dict[str, Any]) -> Any:
    """Return the redundancy of the columns, under the names of the file."""
    from featly.cli.printing import is_error_terminal
    from featly.cli.words import in_words_of_the_file
    from featly.diagnostics.redundancy import redundancy

    measure, count = options["measure"] or "pearson", options["neighbours"]
    threshold = options["threshold"] or THRESHOLD
    rows, width = data.X.shape
    is_long = float(rows) * width**2 > LONG
    with in_words_of_the_file(data):
        result = redundancy(
            data.X,
            threshold=None if count is not None else threshold,
            neighbours=count,
            measure=measure,
            max_pairs=options["max_pairs"],
            schema=data.schema,
            device=options["device"] or "auto",
            memory_limit=options["memory_limit"],
            n_jobs=options["jobs"],
            verbose=is_long and not options["quiet"] and is_error_terminal(),
        )
    return replace(result, names=[str(name) for name in data.names], library=None)


# ---- output --------------------------------------------------------------------------------------
def _pair_rows(result: Any) -> tuple[list[str], Iterator[tuple[Any, ...]], int]:
    """Return heads, rows and number of pairs, or of columns with their neighbours."""
    frame = result.table()
    return frame.columns, frame.iter_rows(), frame.height


def _group_rows(result: Any) -> tuple[list[str], Iterator[tuple[Any, ...]], int]:
    """Return heads, rows and number of groups, with the representative of each."""
    from featly.cli.printing import is_output_terminal

    frame, rows = result.group_table(), []
    most = NAMED if is_output_terminal() else frame.height
    for (first,), part in frame.group_by("group", maintain_order=True):
        members = part["feature"].to_list()[1:]
        and_more = [f"and {len(members) - most:,} more"] if len(members) > most else []
        text = ", ".join([*members[:most], *and_more])
        rows.append((first, part["representative"][0], part.height, text))
    return ["group", "representative", "n_columns", "others"], iter(rows), len(rows)


def _save_result(data: "LoadedData", result: Any, options: dict[str, Any]) -> None:
    from featly.cli.printing import save_result

    save_result(
        options["output"],
        lambda: _make_document(data, result, options),
        result.group_table if options["groups"] else result.table,
    )


def _make_document(data: "LoadedData", result: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return everything about the redundancy, for machines."""
    document = data.facts() | {"measure": result.measure, "notes": data.notes}
    if result.threshold is None:
        document["neighbours"] = result.table().to_dicts()
        return document
    pairs = {} if options["groups"] else {"pairs": result.table().to_dicts()}
    groups: dict[int, list[str]] = {}
    for row in result.group_table().iter_rows(named=True):
        groups.setdefault(row["group"], []).append(row["feature"])
    return document | {
        "threshold": result.threshold,
        **pairs,
        "groups": [{"representative": names[0], "columns": names} for names in groups.values()],
    }
