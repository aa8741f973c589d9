"""The command line: rank, select, evaluate, combine, prior, redundancy, study, describe, ..."""

import atexit
import gc
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from featly import __version__
from featly.cli.advise import advise
from featly.cli.combine import combine
from featly.cli.errors import MISTAKE, OWN_FAULT, make_command
from featly.cli.evaluate import evaluate, study
from featly.cli.options import (
    RESULTS,
    TABLES,
    Cache,
    Dataset,
    Device,
    DropTwins,
    File,
    Jobs,
    Json,
    Layer,
    MemoryLimit,
    MethodName,
    Quiet,
    Settings,
    Target,
    TargetFile,
    about_columns,
    complete_column,
    complete_method,
)
from featly.cli.prior import prior_changes
from featly.cli.redundancy import redundant_columns
from featly.cli.report import report
from featly.cli.warm import warm
from featly.registry import all_methods

if TYPE_CHECKING:
    from featly.cli.deep import Deep
    from featly.cli.load import LoadedData
    from featly.cli.outcome import Outcome

__all__ = ["app", "main", "run"]

SHOWN = 20  # rows of a table on a terminal
FEW_LISTS = 3  # lists that fit beside one another on a terminal

app: typer.Typer = typer.Typer(
    name="featly",
    help="What each column of a table is worth, and how sure one can be.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: featly describe table.csv --target outcome",
)


def main() -> None:
    """Run the command line; print an error of typer in one line, too."""
    from featly.cli.printing import say

    # the libraries' objects stay: to look through them for garbage takes a tenth of a short run
    gc.set_threshold(100_000, 50, 50)
    try:
        code = app(standalone_mode=False)
    except Exception as problem:
        format_message = getattr(problem, "format_message", None)
        if format_message is None:
            raise
        context = getattr(problem, "ctx", None)
        text = " ".join(format_message().split()).rstrip(".")
        if context is not None and "such" in text and "ossible" not in text and "mean" not in text:
            text += f"; '{context.command_path} --help' lists what there is"
        if text:  # empty if help was printed because there were no arguments
            say(f"featly: {text}", "red")
        code = MISTAKE
    sys.exit(code or 0)


def run() -> None:
    """Run the command line as a program of its own, and leave at once when it is done.

    The regular exit of an interpreter with all these libraries takes half a second.
    """
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else OWN_FAULT
    if "featly.study.run" in sys.modules:
        # running workers would keep the reader of a pipe waiting
        sys.modules["featly.study.run"].stop_workers()
    atexit._run_exitfuncs()  # joblib's: else it warns of folders left behind
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or MISTAKE
    os._exit(code)


# ---- shared by the commands ----------------------------------------------------------------------
def _make_document(data: "LoadedData", name: str, ranker: Any) -> dict[str, Any]:
    """Return everything about a ranking but its rows, for machines."""
    from featly.cli.method import OWN_OPTIONS

    return data.facts() | {
        **data.target_facts(),
        "method": name,
        "parameters": {k: v for k, v in ranker.get_params().items() if k not in OWN_OPTIONS},
        "notes": data.notes,
        **({} if data.advice is None else {"advice": data.advice.document()}),
    }


def _terminal_heads(
    outcome: "Outcome", ranker: Any, output: str | None, n_shown: int
) -> tuple[list[str], list[str]]:
    """Return column heads for a terminal, without those that say nothing there, and notes."""
    from featly.cli.printing import is_output_terminal

    if not is_output_terminal():
        return outcome.heads, []
    notes = [outcome.evidence_note] if outcome.evidence_note else []
    has_filler = outcome.has_filler(n_shown)
    heads = [name for name in outcome.heads if has_filler or name != "evidence"]
    lists = getattr(ranker, "problems_", [])
    if len(lists) > FEW_LISTS:
        location = "in the file" if output else "with --output or --json"
        heads = [name for name in heads if name not in lists]
        notes.append(f"the position in each of the {len(lists)} lists is {location}")
    return heads, notes


def _terminal_rows(outcome: "Outcome", count: int, heads: list[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the first rows; on a terminal, the cells of "evidence" are words."""
    from featly.cli.printing import is_output_terminal

    rows = outcome.rows(count, heads)
    if "evidence" not in heads or not is_output_terminal():
        yield from rows
        return
    place = heads.index("evidence")
    for row in rows:
        yield (*row[:place], "yes" if row[place] else "none", *row[place + 1 :])


def _report_filler(outcome: "Outcome", options: dict[str, Any]) -> None:
    """Print on standard error how many columns have no evidence, if no table on a terminal does."""
    from featly.cli.printing import is_output_terminal, say

    if outcome.evidence_note and not options["quiet"] and not is_output_terminal():
        say(f"note: {outcome.evidence_note}", "yellow")


def _save_ranking(document: dict[str, Any], outcome: "Outcome", path: str) -> None:
    """Write a ranking as CSV, TSV or parquet, or with everything known about it as JSON."""
    from featly.cli.printing import save_result

    save_result(path, lambda: _add_rows(document, outcome.records()), outcome.frame)


def _add_rows(document: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the document with the rows of the ranking after the facts about the table."""
    last = {key: document[key] for key in ("selected", "prior") if key in document}
    first = {key: value for key, value in document.items() if key not in last}
    return first | {"ranking": rows} | last


# ---- commands ------------------------------------------------------------------------------------
def _version(value: bool) -> None:
    if value:
        print(f"featly {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command()
@make_command(about_columns)
def rank(
    file: File,
    target: Target = None,
    target_file: TargetFile = None,
    method: MethodName = None,
    top: Annotated[
        int | None, typer.Option("--top", "-n", help="Print only the best; 0 is all.", min=0)
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help=f"Save the whole ranking: {RESULTS}."),
    ] = None,
    json: Json = False,
    settings: Settings = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
    memory_limit: MemoryLimit = None,
    device: Device = None,
    cache: Cache = None,
    dataset: Dataset = None,
    layer: Layer = None,
    drop_twins: DropTwins = False,
    **shared: Any,
) -> None:
    """Rank the columns of a table from best to worst.

    featly rank tumours.csv --target outcome --method svm-rfe --top 20
    """
    options = {**locals(), **shared}
    from featly.basics.errors import NoEvidenceWarning
    from featly.cli.alarms import check_data, document_findings, prepare_rows
    from featly.cli.changes import compare_without_prior
    from featly.cli.load import load_data
    from featly.cli.method import check_method_options, fit_method
    from featly.cli.outcome import Outcome
    from featly.cli.printing import (
        check_output,
        is_output_terminal,
        print_json,
        print_table,
        say,
    )

    check_method_options(options, auto=True)
    check_output(output)
    with load_data(options, by_blocks=True) as data:
        prepare_rows(data, options)
        check_data(data, options)
        with warnings.catch_warnings():  # a line below the ranking says it of all columns
            warnings.simplefilter("ignore", NoEvidenceWarning)
            name, ranker, seconds = fit_method(data, options)
        outcome = Outcome(data.names, ranker, selected=False)
        _report_filler(outcome, options)
        document = _make_document(data, name, ranker) | {"with_evidence": outcome.n_with_evidence}
        document["findings"] = document_findings(data, options)
        count = len(outcome)
        n_shown = (
            count if top == 0 or (top is None and not is_output_terminal()) else (top or SHOWN)
        )
        n_compared = n_shown if n_shown < count else min(SHOWN, (count + 1) // 2)
        change = compare_without_prior(
            data, name, ranker, options, n_compared, seconds, files=[output]
        )
        document |= change.document()
        if output is not None:
            _save_ranking(document, outcome, output)
            if output == "-":
                change.report(options)
                return
            if not quiet:
                say(f"the ranking is in {output}")
        if json:
            print_json(_add_rows(document, outcome.records(None if top is None else n_shown)))
            change.report(options)
            return
        heads, notes = _terminal_heads(outcome, ranker, output, n_shown)
        if count > n_shown:
            notes = [f"{count - n_shown:,} more; --top 0 shows all", *notes]
        title = f"{name} for {data.target} ({data.describe_target()})"
        rows = _terminal_rows(outcome, n_shown, heads)
        print_table(heads, rows, title=title, note="; ".join(notes))
        change.report(options)


@app.command()
@make_command(about_columns)
def select(
    file: File,
    target: Target = None,
    target_file: TargetFile = None,
    count: Annotated[
        str | None,
        typer.Option("--count", "-k", help="How many columns: 20, a fraction such as 0.1, or "
                     "fdr (q-values up to 0.1), rule-of-thumb, largest-gap, two-variances. "
                     "Left out: fdr, or rule-of-thumb if there are no q-values."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help=f"The reduced table: {TABLES}. Left out: "
                     "CSV on standard output."),
    ] = None,
    ranking: Annotated[
        str | None, typer.Option("--ranking", help=f"Save the ranking, too: {RESULTS}.")
    ] = None,
    method: MethodName = None,
    json: Json = False,
    settings: Settings = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
    memory_limit: MemoryLimit = None,
    device: Device = None,
    cache: Cache = None,
    dataset: Dataset = None,
    layer: Layer = None,
    drop_twins: DropTwins = False,
    **shared: Any,
) -> None:  # fmt: skip
    """Select the best columns and write the table with those and the target.

    featly select tumours.csv --target outcome --count 20 --output small.csv
    """
    options = {**locals(), **shared}
    from featly.cli.alarms import (
        check_data,
        chosen_for_missing,
        document_findings,
        prepare_rows,
    )
    from featly.cli.changes import compare_without_prior
    from featly.cli.load import load_data
    from featly.cli.method import check_method_options, fit_method
    from featly.cli.outcome import Outcome
    from featly.cli.printing import (
        check_output,
        is_output_terminal,
        print_json,
        print_table,
        say,
    )
    from featly.cli.size import settle_size

    check_method_options(options, auto=True)
    check_output(output, json=False)
    check_output(ranking)
    requested_count = _parse_count(count)
    with load_data(options, by_blocks=True) as data:
        _check_memory(data, requested_count, method)
        prepare_rows(data, options)
        check_data(data, options)
        name, ranker, seconds = fit_method(data, options, requested_count)
        size = settle_size(ranker, requested_count)
        if size.origin and not quiet:
            say(size.line())
        outcome = Outcome(data.names, ranker, selected=True)
        if ranking is not None:  # of the selected columns a warning has spoken
            _report_filler(outcome, options)
        positions = outcome.positions.tolist()
        for line in [] if quiet else chosen_for_missing(data, ranker, positions):
            say(f"note: {line}", "yellow")
        document = _make_document(data, name, ranker) | {"with_evidence": outcome.n_with_evidence}
        change = compare_without_prior(
            data, name, ranker, options, len(positions), seconds, files=[ranking]
        )
        document |= {"selected": outcome.selected_names}
        document |= {"findings": document_findings(data, options)}
        document |= size.document()
        document |= change.document()
        if output is not None:
            _save_columns(data, positions, output)
            if not quiet and output != "-":
                noun = "column" if len(positions) == 1 else "columns"
                say(f"{len(positions):,} {noun} and {data.target!r} are in {output}")
        if ranking is not None:
            _save_ranking(document, outcome, ranking)
        if json:
            print_json(_add_rows(document, outcome.records()))
        elif is_output_terminal() and output != "-":
            n_shown = min(SHOWN, len(positions))
            heads, _ = _terminal_heads(outcome, ranker, ranking, n_shown)
            names = [word for word in heads if word != "selected"]
            rows = _terminal_rows(outcome, n_shown, names)  # the selected ones come first
            notes = [] if output else ["--output FILE writes the table with these columns"]
            if outcome.evidence_note:
                notes = [outcome.evidence_note, *notes]
            if len(positions) > SHOWN:
                notes = [f"{len(positions) - SHOWN:,} more", *notes]
            print_table(names, rows, title=f"selected by {name}", note="; ".join(notes))
        elif output is None:  # in a pipe, the table itself
            _save_columns(data, positions, "-")
        change.report(options)


def _save_columns(data: "LoadedData", positions: list[int], output: str) -> None:
    """Write the columns at these positions, with their cells as in the file."""
    from featly.cli.stored import StoredFile

    if isinstance(data.table, StoredFile):
        data.table.check_memory(len(positions))
        data.table.save_columns_at(positions, output)
    else:
        data.table.save_columns([str(data.names[position]) for position in positions], output)


def _check_memory(
    data: "LoadedData", requested_count: int | float | str | None, method: str | None
) -> None:
    """Raise an error for a selection too large to be written, before the work."""
    from featly.basics.errors import ParameterError
    from featly.cli.method import has_own_count
    from featly.cli.stored import StoredFile

    if not isinstance(data.table, StoredFile):
        return
    width = data.X.shape[1]
    if requested_count is None and not has_own_count(method):
        raise ParameterError(
            f"how many of the {width:,} columns of {data.table.source}? Say --count: a number, "
            "or fdr for as many as have a q-value of at most 0.1"
        )
    if isinstance(requested_count, int | float):
        data.table.check_memory(
            int(requested_count if isinstance(requested_count, int) else requested_count * width)
        )


def _parse_count(count: str | None) -> int | float | str | None:
    from featly.base import RULES
    from featly.basics.errors import ParameterError

    if count is None or count in RULES:
        return count
    try:
        return int(count)
    except ValueError:
        pass
    try:
        return float(count)
    except ValueError:
        raise ParameterError(
            f"--count {count!r}: give a number of columns, a fraction, or {', '.join(RULES)}"
        ) from None


@app.command()
@make_command(about_columns, without=("fill", "ignore_missing"))
def describe(
    file: File,
    target: Target = None,
    target_file: TargetFile = None,
    dataset: Dataset = None,
    layer: Layer = None,
    deep: Annotated[
        bool,
        typer.Option("--deep", help="Also how hard the classes are to tell apart, odd rows, and "
                     "columns that repeat others."),
    ] = False,
    against: Annotated[
        str | None,
        typer.Option(help="With --deep: a second table with these columns, to compare with.",
                     metavar="FILE"),
    ] = None,
    split_column: Annotated[
        str | None,
        typer.Option(help="With --deep: a column that tells train from test rows, to compare them.",
                     metavar="COLUMN", autocompletion=complete_column),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="With --deep: seed of what is drawn.")] = 0,
    json: Json = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
    **shared: Any,
) -> None:  # fmt: skip
    """Describe the columns of a table, and what looks wrong with them.

    featly describe tumours.csv --target outcome --deep
    """
    options = {**locals(), **shared}
    from featly.cli.alarms import check_data, document_findings
    from featly.cli.describe import description
    from featly.cli.load import load_data
    from featly.cli.printing import is_output_terminal, print_json, print_table, say

    _check_deep_options(options)
    with load_data(options, need_target=False, by_blocks=not deep) as data:
        overview = description(data)
        lines: list[str] = []
        if not json:
            for line in overview.lines:
                say(line)
        check_data(data, options, leave_out=False)
        overview.document["findings"] = document_findings(data, options)
        if deep:
            deep_findings = _describe_deep(data, options)
            overview.document["deep"] = deep_findings.document
            lines = deep_findings.lines
        if json:
            print_json(overview.document)
            return
        for line in lines:
            say(line)
        shown_rows = overview.rows[:SHOWN] if is_output_terminal() else overview.rows
        n_hidden = len(overview.rows) - len(shown_rows)
        note = f"{n_hidden:,} more columns; --json has them all" if n_hidden else ""
        if overview.names:
            print_table(overview.names, shown_rows, note=note)


def _check_deep_options(options: dict[str, Any]) -> None:
    from featly.basics.errors import ParameterError

    for name in ("against", "split_column"):
        if options[name] is not None and not options["deep"]:
            raise ParameterError(f"--{name.replace('_', '-')} goes with --deep: add that")


def _describe_deep(data: "LoadedData", options: dict[str, Any]) -> "Deep":
    """Return the findings of ``--deep``."""
    from featly.cli.deep import deep_description
    from featly.cli.printing import is_error_terminal, say

    def show_progress(step: str) -> None:
        say(f"{step} ...", "dim")

    loud = not options["quiet"] and is_error_terminal()
    with ExitStack() as stack:
        second = None
        if options["against"] is not None:
            second = stack.enter_context(_load_second_table(options))
        return deep_description(
            data,
            against=second,
            split=options["split_column"],
            seed=options["seed"],
            n_jobs=options["jobs"],
            progress=show_progress if loud else None,
        )


def _load_second_table(options: dict[str, Any]) -> "LoadedData":
    """Load the table of ``--against``, which may lack the target."""
    from featly.basics.errors import DataError
    from featly.cli.load import load_data

    second_options = options | {"file": options["against"]}
    try:
        return load_data(second_options, need_target=False)
    except DataError:
        if options["target"] is None:
            raise
        return load_data(second_options | {"target": None}, need_target=False)


@app.command()
@make_command()
def methods(
    name: Annotated[
        str | None,
        typer.Argument(help="One method, with its parameters.", autocompletion=complete_method),
    ] = None,
    json: Json = False,
) -> None:
    """List the methods: the tables that each takes, its cost, and how well it is checked."""
    from featly.cli.describe import about_method, method_rows
    from featly.cli.printing import is_output_terminal, print_json, print_table

    if name is not None:
        facts = about_method(name)
        if json:
            print_json(facts)
            return
        print(f"{facts['name']}: {facts['summary']}\n")
        for word in ("tier", "takes", "uses", "cost", "runs", "class"):
            print(f"{word:<7} {facts[word]}")
        print()
        heads = ("name", "default", "values", "meaning")
        rows = [tuple(parameter[head] for head in heads) for parameter in facts["parameters"]]
        print_table(["--set", "default", "what it may be", "meaning"], rows)
        return
    if json:
        print_json(
            [{"name": n, "class": m.class_name, **m.as_dict()} for n, m in all_methods().items()]
        )
        return
    names, rows = method_rows(short=is_output_terminal())
    note = (
        "disk: reads a table by blocks of columns; GPU: computes on one\n"
        "featly methods NAME tells more about one"
    )
    print_table(names, rows, note=note)


app.command(name="advise")(advise)
app.command(name="evaluate")(evaluate)
app.command(name="report")(report)
app.command(name="combine")(combine)
app.command(name="prior")(prior_changes)
app.command(name="redundancy")(redundant_columns)
app.command(name="warm")(warm)
app.add_typer(study, name="study")
