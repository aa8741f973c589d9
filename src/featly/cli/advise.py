"""``featly advise``: a method for this table, reasons, an evaluation, and the next commands."""

import shlex
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from featly.cli.errors import make_command
from featly.cli.evaluate import _PROTOCOL
from featly.cli.options import (
    DropTwins,
    File,
    Jobs,
    Json,
    Quiet,
    Target,
    about_columns,
    complete_column,
)
from featly.registry import METHODS

__all__ = ["advise"]

WIDEST = 100  # characters of a line on a terminal
# options about columns and the file: the next commands repeat them
SHARED = (
    "target", "target_kind", "categorical", "ordinal", "keep", "drop", "known_before",
    "prior", "prior_from", "prior_top", "prior_weight", "costs", "trade_off", "schema", "missing",
    "format", "separator", "encoding", "header", "n_features", "sheet",
)  # fmt: skip


@make_command(about_columns, without=("fill", "ignore_missing"))
def advise(
    file: File,
    target: Target = None,
    row_groups: Annotated[
        str | None,
        typer.Option(rich_help_panel=_PROTOCOL, autocompletion=complete_column, metavar="COLUMN",
                     help="The column that tells which rows belong together, such as the patient; "
                     "auto: rows that are alike in nearly everything."),
    ] = None,
    drop_twins: DropTwins = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of samples and advised splits.")] = 0,
    json: Json = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
    **shared: Any,
) -> None:  # fmt: skip
    """Advise a method for a table, with reasons and an evaluation. Nothing is ranked.

    featly advise tumours.csv --target outcome
    """
    options = {**locals(), **shared}
    from featly.cli.alarms import (
        check_data,
        document_findings,
        prepare_rows,
        settle_row_groups,
    )
    from featly.cli.load import load_data
    from featly.cli.method import advise_on_table
    from featly.cli.printing import print_json

    with load_data(options) as data:
        data.require_classes("'featly advise'")
        prepare_rows(data, options)
        groups = settle_row_groups(data, options)
        check_data(data, options)
        advice = advise_on_table(data, row_groups=groups, seed=seed, n_jobs=jobs)
        commands = next_commands(advice, options)
        if json:
            header = {"file": data.table.source.strip("'"), "target": data.target}
            document = advice.document() | {"findings": document_findings(data, options)}
            print_json(header | document | {"commands": commands})
            return
        for line in lines(advice, commands):
            print(line)


# ---- sentences -----------------------------------------------------------------------------------
def lines(advice: Any, commands: Sequence[str]) -> list[str]:
    """Return the advice as lines of text, best method first, next commands last."""
    filled = ", missing values filled first" if advice.fill else ""
    output = [
        f"use {advice.call()}{filled}",
        *_wrap_point(METHODS[advice.method].summary),
        *_wrap_point(str(advice.reasons[0])),
    ]
    if advice.alternatives:
        output.append("or")
        for alternative in advice.alternatives:
            output += _wrap_point(f"{alternative.method} if {alternative.when}")
    output.append(f"judge it by {advice.learner} on {advice.splits!r}, size {advice.size_rule}")
    for reason in advice.reasons[1:]:
        output += _wrap_point(str(reason))
    if advice.warnings:
        output.append("look out")
        for text in advice.warnings:
            output += _wrap_point(text)
    return [*output, "next", *(f"  {command}" for command in commands)]


def _wrap_point(text: str) -> list[str]:
    """Return one point of a list in lines that fit a terminal, or in one line for a pipe."""
    from featly.cli.printing import is_output_terminal

    if not is_output_terminal():
        return [f"  - {text}"]
    width = max(40, min(WIDEST, shutil.get_terminal_size().columns))
    return textwrap.wrap(
        text, width, initial_indent="  - ", subsequent_indent="    ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


# ---- the next commands ---------------------------------------------------------------------------
def next_commands(advice: Any, options: Mapping[str, Any]) -> list[str]:
    """Return commands that do what is advised, with the given options about columns."""
    table_options = [options["file"], *_column_options(options)]
    groups = [] if options["row_groups"] is None else ["--row-groups", options["row_groups"]]
    # the column of row groups is not ranked
    # nor is it there if rows are grouped by what they are alike in
    is_column = options["row_groups"] not in (None, "auto")
    drop_groups = ["--drop", options["row_groups"]] if is_column else []
    twins = ["--drop-twins"] if options["drop_twins"] else []
    seed = ["--seed", str(options["seed"])] if options["seed"] else []
    settings = [f"--set={name}={value}" for name, value in advice.parameters.items()]
    fill = ["--fill"] if advice.fill else []
    method = ["--method", advice.method]
    # --format of a report is that of the page
    report_options = ["--input-format" if word == "--format" else word for word in table_options]
    judge_options = ["--learner", advice.learner, *_protocol(advice), *groups, *seed]
    return [
        _type_command("rank", table_options, drop_groups, twins, method, settings, fill),
        _type_command(
            "evaluate",
            table_options,
            ["--methods", "auto"],
            judge_options,
            twins,
            ["--rule", advice.size_rule],
        ),
        _type_command("report", report_options, groups, twins, seed, ["-o", "report.html"]),
    ]


def _type_command(command: str, *parts: Sequence[str]) -> str:
    return shlex.join(["featly", command, *(word for part in parts for word in part)])


def _column_options(options: Mapping[str, Any]) -> list[str]:
    """Return the options about the columns as they were typed."""
    words = []
    for name in SHARED:
        value, option = options[name], f"--{name.replace('_', '-')}"
        if value is None:
            continue
        if isinstance(value, bool):
            words.append(option if value else f"--no-{name}")
        else:
            entries = value if isinstance(value, list | tuple) else [value]
            # a value that begins with a dash would be read as an option, unless it follows =
            has_dash = any(str(entry).startswith("-") for entry in entries)
            for entry in entries:
                words += [f"{option}={entry}"] if has_dash else [option, str(entry)]
    return words


def _protocol(advice: Any) -> list[str]:
    """Return options for the advised splits and sizes, if evaluate has other defaults."""
    from featly.study import KFold

    words = []
    if isinstance(advice.splits, KFold):
        words += ["--protocol", "k-fold", "--splits", str(advice.splits.n_folds)]
    else:
        words += ["--splits", str(advice.splits.n_splits)]
        if advice.splits.test_size != 0.1:
            words += ["--test-size", str(advice.splits.test_size)]
    return [*words, *([] if advice.sizes == "powers" else ["--sizes", advice.sizes])]
