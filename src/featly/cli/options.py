"""Options that commands share, and completions that a shell may offer for them."""

from typing import Annotated

import typer

from featly.entry_points import offered_methods
from featly.registry import METHODS
from featly.table.formats import (
    always_stored,
    describe_endings,
    readable,
    scannable,
    taking,
    writable,
)

__all__ = [
    "FORMAT_NAMES",
    "RESULTS",
    "TABLES",
    "Cache",
    "Dataset",
    "Device",
    "DropTwins",
    "File",
    "Jobs",
    "Json",
    "Layer",
    "MemoryLimit",
    "MethodName",
    "Quiet",
    "Settings",
    "Target",
    "TargetFile",
    "about_columns",
    "complete_column",
    "complete_method",
    "complete_method_or_auto",
]


# ---- completion ----------------------------------------------------------------------------------
def complete_method(incomplete: str) -> list[tuple[str, str]]:
    """Return the methods whose names begin with the typed text, with their summaries."""
    methods = {name: f"of the package {m.package}" for name, m in offered_methods().items()}
    methods |= {name: method.summary for name, method in METHODS.items()}
    return [(name, text) for name, text in methods.items() if name.startswith(incomplete)]


def complete_column(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the columns of the file that is on the line already, as far as they complete it."""
    from featly.io.read import column_names

    # as long as the option has no value, the file is among the other words
    words = [ctx.params.get("file"), *(word for word in ctx.args if not word.startswith("-"))]
    try:
        names = column_names(next(word for word in words if word))
    except Exception:  # the command reports what is wrong with the file
        return []
    return [name for name in names if name.startswith(incomplete)][:100]


def complete_method_or_auto(incomplete: str) -> list[tuple[str, str]]:
    """Return the same methods, and the word "auto" for the advised one."""
    auto = [("auto", "what 'featly advise' says")] if "auto".startswith(incomplete) else []
    return [*auto, *complete_method(incomplete)]


# ---- options, the same on every command ----------------------------------------------------------
_COLUMNS, _READING = "What you know about the columns", "How the file is read"
_LARGE = f"Large tables, which stay on disk ({describe_endings(scannable(), usual=True)})"
_LIMITED = describe_endings((n for n in scannable() if n not in always_stored()), usual=True)
_WITH_MATRICES = describe_endings(taking("dataset"), usual=True)
FORMAT_NAMES = ", ".join(readable())
RESULTS = describe_endings(writable(), usual=True)  # what --output writes
TABLES = describe_endings((name for name in writable() if name != "json"), usual=True)

File = Annotated[str, typer.Argument(help="The table; - is standard input.", metavar="FILE")]
Target = Annotated[
    str | None,
    typer.Option("--target", "-t", help="The column to predict.", autocompletion=complete_column),
]
TargetFile = Annotated[
    str | None,
    typer.Option(help="The class of every row, in a file of its own: .npy, or a table with that "
                 "column.", metavar="FILE", rich_help_panel=_LARGE),
]  # fmt: skip
MemoryLimit = Annotated[
    str | None,
    typer.Option(help="Memory for the table, such as 2GB or 500MB; a quarter of what is free "
                 f"otherwise. With it, {_LIMITED} are read by blocks of columns, too.",
                 metavar="SIZE", rich_help_panel=_LARGE),
]  # fmt: skip
Device = Annotated[
    str | None,
    typer.Option(help="Where to compute: auto, cpu or cuda.", metavar="DEVICE",
                 rich_help_panel=_LARGE, autocompletion=lambda: ["auto", "cpu", "cuda"]),
]  # fmt: skip
Cache = Annotated[
    str | None,
    typer.Option(help="Folder for packed columns and the search: the next run starts at once, and "
                 "goes on after Ctrl-C.", metavar="FOLDER", rich_help_panel=_LARGE),
]  # fmt: skip
Dataset = Annotated[
    str | None,
    typer.Option(help=f"Which matrix of a {_WITH_MATRICES} file.", metavar="PATH",
                 rich_help_panel=_LARGE),
]  # fmt: skip
Layer = Annotated[
    str | None,
    typer.Option(help="Which layer of an .h5ad file, in place of X.", metavar="NAME",
                 rich_help_panel=_LARGE),
]  # fmt: skip
MethodName = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        help="How to rank; 'featly methods' lists them, auto is what 'featly advise' says. "
        "Left out: the first of f-test and svm-rfe that takes the table; with a prior, of arom "
        "and svm-rfe.",
        autocompletion=complete_method_or_auto,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A parameter of the method, such as C=0.1.", metavar="NAME=VALUE"),
]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", help="Threads; all cores by default.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but the result.")]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="Columns whose numbers are labels: ward,site.", rich_help_panel=_COLUMNS,
                 metavar="COLUMNS",
                 autocompletion=complete_column),
]  # fmt: skip
Ordinal = Annotated[
    list[str] | None,
    typer.Option(help="Levels of a column, lowest first: stage=I,II,III.",
                 metavar="COLUMN=LEVELS", rich_help_panel=_COLUMNS),
]  # fmt: skip
Keep = Annotated[
    list[str] | None,
    typer.Option(help="Columns that are selected in any case.", rich_help_panel=_COLUMNS,
                 metavar="COLUMNS",
                 autocompletion=complete_column),
]  # fmt: skip
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Columns to leave out, such as identifiers.", rich_help_panel=_COLUMNS,
                 metavar="COLUMNS",
                 autocompletion=complete_column),
]  # fmt: skip
KnownBefore = Annotated[
    list[str] | None,
    typer.Option(help="Columns that were known before the outcome and are no record of how rows "
                 "were collected: no question is asked about them.", rich_help_panel=_COLUMNS,
                 metavar="COLUMNS",
                 autocompletion=complete_column),
]  # fmt: skip
DropTwins = Annotated[
    bool,
    typer.Option("--drop-twins", rich_help_panel=_COLUMNS,
                 help="Leave out rows that are like an earlier row in nearly everything, as of "
                 "patients who were entered twice."),
]  # fmt: skip
Prior = Annotated[
    str | None,
    typer.Option(help="File of lines 'column,prior', priors from 1 up.", metavar="FILE",
                 rich_help_panel=_COLUMNS),
]  # fmt: skip
PriorFrom = Annotated[
    str | None,
    typer.Option(help="A ranking of another table, as --output saves it: its best columns are "
                 "favoured here.", metavar="FILE", rich_help_panel=_COLUMNS),
]  # fmt: skip
PriorTop = Annotated[
    int | None,
    typer.Option(help="How many of --prior-from are favoured (50).", rich_help_panel=_COLUMNS,
                 min=1),
]  # fmt: skip
PriorWeight = Annotated[
    float | None,
    typer.Option(help="Their prior, a number from 1 up (10).", rich_help_panel=_COLUMNS),
]
Costs = Annotated[
    str | None,
    typer.Option(help="File of lines 'column,cost'.", metavar="FILE", rich_help_panel=_COLUMNS),
]
TradeOff = Annotated[
    float | None,
    typer.Option(help="Rank by the score less this times the cost.", rich_help_panel=_COLUMNS,
                 min=0),
]  # fmt: skip
TargetKind = Annotated[
    str | None,
    typer.Option(help="What the target is, if its values do not say: classes or numbers.",
                 rich_help_panel=_COLUMNS),
]  # fmt: skip
SchemaFile = Annotated[
    str | None,
    typer.Option("--schema", help="All of this, and the target, in a TOML file.",
                 metavar="FILE.toml", rich_help_panel=_COLUMNS),
]  # fmt: skip
Fill = Annotated[
    bool,
    typer.Option("--fill", help="Fill missing values before ranking: medians, and a level "
                 "'missing'.", rich_help_panel=_COLUMNS),
]  # fmt: skip
IgnoreMissing = Annotated[
    bool,
    typer.Option("--ignore-missing", rich_help_panel=_COLUMNS,
                 help="Rank by values alone: missing cells get values drawn from the same column, "
                 "so that nothing is learnt from what is missing."),
]  # fmt: skip
Missing = Annotated[
    list[str] | None,
    typer.Option(help="Further cells that mean a missing value, such as -9.", metavar="CELLS",
                 rich_help_panel=_READING),
]  # fmt: skip
Format = Annotated[
    str | None,
    typer.Option(help=f"{FORMAT_NAMES}; guessed from the file.",
                 rich_help_panel=_READING),
]  # fmt: skip
Separator = Annotated[
    str | None,
    typer.Option(help="What is between cells; guessed from the file.", rich_help_panel=_READING),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="Encoding of a text file; guessed from the file.", rich_help_panel=_READING),
]
Sheet = Annotated[
    str | None,
    typer.Option(help="Which sheet of a spreadsheet; the first one with cells otherwise.",
                 metavar="NAME", rich_help_panel=_READING),
]  # fmt: skip
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line names the columns.",
                 rich_help_panel=_READING),
]  # fmt: skip
NFeatures = Annotated[
    int | None,
    typer.Option("--n-features", help="Columns of a LIBSVM file, if the last ones are all 0.",
                 rich_help_panel=_READING, min=1),
]  # fmt: skip


def about_columns(
    target_kind: TargetKind = None,
    categorical: Categorical = None,
    ordinal: Ordinal = None,
    keep: Keep = None,
    drop: Drop = None,
    known_before: KnownBefore = None,
    prior: Prior = None,
    prior_from: PriorFrom = None,
    prior_top: PriorTop = None,
    prior_weight: PriorWeight = None,
    costs: Costs = None,
    trade_off: TradeOff = None,
    schema: SchemaFile = None,
    fill: Fill = False,
    ignore_missing: IgnoreMissing = False,
    missing: Missing = None,
    format: Format = None,
    separator: Separator = None,
    encoding: Encoding = None,
    header: Header = None,
    n_features: NFeatures = None,
    sheet: Sheet = None,
) -> None:
    """Declare the options about a file and its columns for commands that take them."""
