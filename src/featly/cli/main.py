"""The command line: rank, select, evaluate, combine, prior, redundancy, study, describe, ..."""

import atexit
import gc
import os
import sys
from contextlib import ExitStack
from typing import Annotated, Any

import typer

from featly import __version__
from featly.cli import advise as advising
from featly.cli import combine as combining
from featly.cli import evaluate as evaluating
from featly.cli import prior as believing
from featly.cli import redundancy as pairing
from featly.cli import report as reporting
from featly.cli.errors import MISTAKE, OWN_FAULT, guarded
from featly.cli.options import (
    Cache,
    Dataset,
    Device,
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
from featly.cli.starting import asked, fitted, loaded
from featly.registry import METHODS

__all__ = ["app", "main", "run"]

SHOWN = 20  # rows of a table on a terminal
FEW_LISTS = 3  # that a terminal has room for beside one another

app = typer.Typer(
    name="featly",
    help="What each column of a table is worth, and how sure one can be.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: featly describe table.csv --target outcome",
)


def main() -> None:
    """Run the command line; what typer finds wrong is told in one line, too."""
    from featly.cli.printing import say

    # what the libraries load stays: looking through it for garbage takes a tenth of a short run
    gc.set_threshold(100_000, 50, 50)
    try:
        code = app(standalone_mode=False)
    except Exception as problem:
        told = getattr(problem, "format_message", None)
        if told is None:
            raise
        asked = getattr(problem, "ctx", None)
        text = " ".join(told().split()).rstrip(".")
        if asked is not None and "such" in text and "ossible" not in text and "mean" not in text:
            text += f"; '{asked.command_path} --help' lists what there is"
        if text:  # empty where help was printed, because nothing was asked
            say(f"featly: {text}", "red")
        code = MISTAKE
    sys.exit(code or 0)


def run() -> None:
    """Run the command line as a program of its own, and leave at once when it is done.

    To take down an interpreter with all these libraries takes half a second, for nothing.
    """
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else OWN_FAULT
    if "featly.study.run" in sys.modules:
        sys.modules[
            "featly.study.run"
        ].stop_workers()  # else they keep the reader of a pipe waiting
    atexit._run_exitfuncs()  # joblib's, which else would complain of folders left behind
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or MISTAKE
    os._exit(code)


# ---- what commands do ----------------------------------------------------------------------------
def _outcome(found: Any, fitted: Any, *, selected: bool) -> Any:
    """The ranking, best first, with the names of the file."""
    from featly.cli.outcome import Outcome

    return Outcome(found.names, fitted, selected=selected)


def _document(found: Any, name: str, fitted: Any) -> dict[str, Any]:
    """All there is to say about a ranking but its rows, for machines."""
    from featly.cli.job import OWN_OPTIONS

    rows, width = found.X.shape
    return {
        "featly": __version__,
        "file": found.table.source.strip("'"),
        "rows": rows,
        "columns": width,
        "target": found.target,
        "classes": found.classes,
        "method": name,
        "parameters": {k: v for k, v in fitted.get_params().items() if k not in OWN_OPTIONS},
        "notes": found.notes,
        **({} if found.advice is None else {"advice": found.advice.document()}),
    }


def _narrow(outcome: Any, fitted: Any, output: str | None) -> tuple[list[str], list[str]]:
    """Heads for a terminal: without a position in each of many lists, and where those are."""
    from featly.cli.printing import on_terminal

    lists = getattr(fitted, "problems_", [])
    if len(lists) <= FEW_LISTS or not on_terminal():
        return outcome.heads, []
    where = "in the file" if output else "with --output or --json"
    short = [name for name in outcome.heads if name not in lists]
    return short, [f"the position in each of the {len(lists)} lists is {where}"]


def _save(document: dict[str, Any], outcome: Any, path: str) -> None:
    """A ranking as CSV, TSV, parquet, or with all that is known about it as JSON."""
    from featly.basics.atomic_file import whole_file
    from featly.basics.json_text import as_json
    from featly.io.write import check_ending, write_frame

    if check_ending(path) == ".json":
        with whole_file(path) as out:
            out.write(as_json(_with_rows(document, outcome.records())).encode())
        return
    write_frame(outcome.frame(), path, inert=True)


def _with_rows(document: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The document with its rows behind what is said of the table."""
    last = {key: document[key] for key in ("selected", "prior") if key in document}
    first = {key: value for key, value in document.items() if key not in last}
    return {**first, "ranking": rows, **last}


def _check_output(path: str | None, *, json: bool = True) -> None:
    """Refuse a name before the work instead of after it."""
    from featly.basics.atomic_file import check_place
    from featly.io.write import check_ending

    if path is not None:
        check_ending(path, json=json)
        check_place(path)


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
@guarded(about_columns)
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
        typer.Option("--output", "-o", help="Save the whole ranking: .csv, .json, .parquet."),
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
    **shared: Any,
) -> None:
    """Rank the columns of a table from best to worst.

    featly rank tumours.csv --target outcome --method svm-rfe --top 20
    """
    options = {**locals(), **shared}
    from featly.cli.changes import changed
    from featly.cli.printing import on_terminal, print_json, print_table, say

    asked(options, auto=True)
    _check_output(output)
    with loaded(options, by_blocks=True) as found:
        name, ranker, seconds = fitted(found, options)
        outcome = _outcome(found, ranker, selected=False)
        document = _document(found, name, ranker)
        count = len(outcome)
        shown = count if top == 0 or (top is None and not on_terminal()) else (top or SHOWN)
        first = shown if shown < count else min(SHOWN, (count + 1) // 2)
        change = changed(found, name, ranker, options, first, seconds, files=[output])
        document |= change.document()
        if output is not None:
            _save(document, outcome, output)
            if output == "-":
                change.tell(options)
                return
            if not quiet:
                say(f"the ranking is in {output}")
        if json:
            print_json(_with_rows(document, outcome.records(None if top is None else shown)))
            change.tell(options)
            return
        heads, more = _narrow(outcome, ranker, output)
        classes = ", ".join(f"{label} {n}" for label, n in found.classes.items())
        if count > shown:
            more = [f"{count - shown:,} more; --top 0 shows all", *more]
        title = f"{name} for {found.target} ({classes})"
        print_table(heads, outcome.rows(shown, heads), title=title, note="; ".join(more))
        change.tell(options)


@app.command()
@guarded(about_columns)
def select(
    file: File,
    target: Target = None,
    target_file: TargetFile = None,
    count: Annotated[
        str | None,
        typer.Option("--count", "-k", help="How many: 20, a fraction such as 0.1, or "
                     "rule-of-thumb, largest-gap, two-variances; else half."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="The reduced table: .csv, .tsv, .parquet. Left out: "
                     "CSV on standard output."),
    ] = None,
    ranking: Annotated[
        str | None, typer.Option("--ranking", help="Save the ranking, too: .csv, .json, .parquet.")
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
    **shared: Any,
) -> None:  # fmt: skip
    """Select the best columns and write the table with those and the target.

    featly select tumours.csv --target outcome --count 20 --output small.csv
    """
    options = {**locals(), **shared}
    from featly.cli.changes import changed
    from featly.cli.printing import on_terminal, print_json, print_table, say

    asked(options, auto=True)
    _check_output(output, json=False)
    _check_output(ranking)
    wanted = _wanted(count)
    with loaded(options, by_blocks=True) as found:
        _check_room(found, wanted, method)
        name, ranker, seconds = fitted(found, options, wanted)
        outcome = _outcome(found, ranker, selected=True)
        places = outcome.places.tolist()
        document = _document(found, name, ranker)
        change = changed(found, name, ranker, options, len(places), seconds, files=[ranking])
        document |= {"selected": outcome.chosen} | change.document()
        if output is not None:
            _save_columns(found, places, output)
            if not quiet and output != "-":
                many = "column" if len(places) == 1 else "columns"
                say(f"{len(places):,} {many} and {found.target!r} are in {output}")
        if ranking is not None:
            _save(document, outcome, ranking)
        if json:
            print_json(_with_rows(document, outcome.records()))
        elif on_terminal() and output != "-":
            heads, _ = _narrow(outcome, ranker, ranking)
            names = [word for word in heads if word != "selected"]
            rows = outcome.rows(min(SHOWN, len(places)), names)  # the selected ones come first
            notes = [] if output else ["--output FILE writes the table with these columns"]
            if len(places) > SHOWN:
                notes = [f"{len(places) - SHOWN:,} more", *notes]
            print_table(names, rows, title=f"selected by {name}", note="; ".join(notes))
        elif output is None:  # in a pipe, the table itself
            _save_columns(found, places, "-")
        change.tell(options)


def _save_columns(found: Any, places: list[int], output: str) -> None:
    """Write the columns at these places as they stand in the file."""
    from featly.cli.stored import StoredFile

    if isinstance(found.table, StoredFile):
        found.table.check_room(len(places))
        found.table.save_places(places, output)
    else:
        found.table.save_columns([str(found.names[place]) for place in places], output)


def _check_room(found: Any, wanted: int | float | str | None, method: str | None) -> None:
    """Refuse to select more than can be written, before the work."""
    from featly.basics.errors import ParameterError
    from featly.cli.job import decides_itself
    from featly.cli.stored import StoredFile

    if not isinstance(found.table, StoredFile):
        return
    width = found.X.shape[1]
    if wanted is None and not decides_itself(method):
        raise ParameterError(
            f"how many of the {width:,} columns of {found.table.source}? Say --count: without it, "
            "half of them would be written"
        )
    if isinstance(wanted, int | float):
        found.table.check_room(int(wanted if isinstance(wanted, int) else wanted * width))


def _wanted(count: str | None) -> int | float | str | None:
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
@guarded(about_columns, without=("fill",))
def describe(
    file: File,
    target: Target = None,
    target_file: TargetFile = None,
    dataset: Dataset = None,
    layer: Layer = None,
    deep: Annotated[
        bool,
        typer.Option("--deep", help="Also: how hard the classes are to tell apart, odd rows, "
                     "columns that repeat others."),
    ] = False,
    against: Annotated[
        str | None,
        typer.Option(help="With --deep: a second table with these columns. Does it differ?",
                     metavar="FILE"),
    ] = None,
    split_column: Annotated[
        str | None,
        typer.Option(help="With --deep: a column that tells train from test rows. Do they differ?",
                     metavar="COLUMN", autocompletion=complete_column),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="With --deep: of samples and shuffles.")] = 0,
    json: Json = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
    **shared: Any,
) -> None:  # fmt: skip
    """Say what the columns of a table are, and what looks wrong.

    featly describe tumours.csv --target outcome --deep
    """
    options = {**locals(), **shared}
    from featly.cli.describe import description
    from featly.cli.printing import on_terminal, print_json, print_table, say

    _check_deep(options)
    with loaded(options, need_target=False, by_blocks=not deep) as found:
        told = description(found)
        lines = told.lines
        if deep:
            more = _looked_into(found, options)
            told.document["deep"] = more.document
            lines = [*lines, *more.lines]
        if json:
            print_json(told.document)
            return
        for line in lines:
            say(line)
        shown = told.rows[:SHOWN] if on_terminal() else told.rows
        hidden = len(told.rows) - len(shown)
        note = f"{hidden:,} more columns; --json has them all" if hidden else ""
        if told.names:
            print_table(told.names, shown, note=note)


def _check_deep(options: dict[str, Any]) -> None:
    from featly.basics.errors import ParameterError

    for name in ("against", "split_column"):
        if options[name] is not None and not options["deep"]:
            raise ParameterError(f"--{name.replace('_', '-')} goes with --deep: add that")


def _looked_into(found: Any, options: dict[str, Any]) -> Any:
    """What ``--deep`` asks for."""
    from featly.cli.deep import deep_description
    from featly.cli.printing import say, words_on_terminal

    def told(word: str) -> None:
        say(f"{word} ...", "dim")

    loud = not options["quiet"] and words_on_terminal()
    with ExitStack() as opened:
        other = None
        if options["against"] is not None:
            other = opened.enter_context(_other(options))
        return deep_description(
            found,
            against=other,
            split=options["split_column"],
            seed=options["seed"],
            n_jobs=options["jobs"],
            progress=told if loud else None,
        )


def _other(options: dict[str, Any]) -> Any:
    """The table of ``--against``, which may come without the target: it is to be predicted."""
    from featly.basics.errors import DataError

    second = options | {"file": options["against"]}
    try:
        return loaded(second, need_target=False)
    except DataError as problem:
        if options["target"] is None or not str(problem).startswith("target "):
            raise
        return loaded(second | {"target": None}, need_target=False)


@app.command()
@guarded()
def methods(
    name: Annotated[
        str | None,
        typer.Argument(help="One method, with its parameters.", autocompletion=complete_method),
    ] = None,
    json: Json = False,
) -> None:
    """List the methods: what each takes, what it costs, how well it is checked."""
    from featly.cli.describe import about_method, method_rows
    from featly.cli.printing import on_terminal, print_json, print_table

    if name is not None:
        about = about_method(name)
        if json:
            print_json(about)
            return
        print(f"{about['name']}: {about['summary']}\n")
        for word in ("tier", "takes", "uses", "cost", "runs", "class"):
            print(f"{word:<7} {about[word]}")
        print()
        rows = [(p["name"], p["default"], p["meaning"]) for p in about["parameters"]]
        print_table(["--set", "default", "meaning"], rows)
        return
    if json:
        from dataclasses import asdict

        print_json([{"name": n, "class": m.class_name, **asdict(m)} for n, m in METHODS.items()])
        return
    names, rows = method_rows(short=on_terminal())
    note = (
        "disk: reads a table by blocks of columns; GPU: computes on one\n"
        "featly methods NAME tells more about one"
    )
    print_table(names, rows, note=note)


app.command(name="advise")(advising.advise)
app.command(name="evaluate")(evaluating.evaluate)
app.command(name="report")(reporting.report)
app.command(name="combine")(combining.combine)
app.command(name="prior")(believing.prior_changes)
app.command(name="redundancy")(pairing.redundant_columns)
app.add_typer(evaluating.study, name="study")
