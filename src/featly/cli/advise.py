"""``featly advise``: which method for this table, why, how to judge it, and what to type next."""

import shlex
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from featly.cli.errors import guarded
from featly.cli.evaluate import _PROTOCOL
from featly.cli.options import (
    File,
    Jobs,
    Json,
    Quiet,
    Target,
    about_columns,
    complete_column,
)
from featly.cli.starting import loaded
from featly.registry import METHODS

__all__ = ["advise"]

WIDEST = 100  # characters of a line on a terminal
# options about columns and the file, which every command after this one needs, too
SHARED = (
    "target", "categorical", "ordinal", "keep", "drop", "prior", "prior_from", "prior_top",
    "prior_weight", "costs", "schema", "missing", "format", "separator", "encoding", "header",
    "n_features",
)  # fmt: skip


@guarded(about_columns, without=("fill",))
def advise(
    file: File,
    target: Target = None,
    row_groups: Annotated[
        str | None,
        typer.Option(rich_help_panel=_PROTOCOL, autocompletion=complete_column, metavar="COLUMN",
                     help="The column that tells which rows belong together, such as the patient."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of samples and of the advised splits.")] = 0,
    json: Json = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
    **shared: Any,
) -> None:  # fmt: skip
    """Say which method suits a table, why, and how to judge it. Nothing is ranked.

    featly advise tumours.csv --target outcome
    """
    options = {**locals(), **shared}
    from featly.basics.errors import DataError
    from featly.cli import job
    from featly.cli.printing import print_json

    with loaded(options) as found:
        if row_groups is not None and row_groups not in [str(name) for name in found.names]:
            raise DataError(f"--row-groups {row_groups!r} is no column of the table")
        advice = job.advised(found, row_groups=row_groups, seed=seed, n_jobs=jobs)
        commands = next_commands(advice, options)
        if json:
            about = {"file": found.table.source.strip("'"), "target": found.target}
            print_json(about | advice.document() | {"commands": commands})
            return
        for line in lines(advice, commands):
            print(line)


# ---- in words ------------------------------------------------------------------------------------
def lines(advice: Any, commands: Sequence[str]) -> list[str]:
    """The advice for people: what, why, what else, how to judge it, what looks wrong, what next."""
    filled = ", gaps filled first" if advice.fill else ""
    found = [
        f"use {advice.call()}{filled}",
        *_wrapped(METHODS[advice.method].summary),
        *_wrapped(str(advice.reasons[0])),
    ]
    if advice.alternatives:
        found.append("or")
        for other in advice.alternatives:
            found += _wrapped(f"{other.method} if {other.when}")
    found.append(f"judge it by {advice.learner} on {advice.splits!r}, size {advice.size_rule}")
    for reason in advice.reasons[1:]:
        found += _wrapped(str(reason))
    if advice.warnings:
        found.append("look out")
        for text in advice.warnings:
            found += _wrapped(text)
    return [*found, "next", *(f"  {command}" for command in commands)]


def _wrapped(text: str) -> list[str]:
    """A point of a list, in lines that fit a terminal; in a pipe in one."""
    from featly.cli.printing import on_terminal

    if not on_terminal():
        return [f"  - {text}"]
    width = max(40, min(WIDEST, shutil.get_terminal_size().columns))
    return textwrap.wrap(
        text, width, initial_indent="  - ", subsequent_indent="    ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


# ---- what to type next ---------------------------------------------------------------------------
def next_commands(advice: Any, options: Mapping[str, Any]) -> list[str]:
    """Commands that do what is advised, with the options that were given about the columns."""
    given = [options["file"], *_given(options)]
    groups = [] if options["row_groups"] is None else ["--row-groups", options["row_groups"]]
    # whose rows belong together is no column to rank
    apart = [] if options["row_groups"] is None else ["--drop", options["row_groups"]]
    seed = ["--seed", str(options["seed"])] if options["seed"] else []
    settings = [f"--set={name}={value}" for name, value in advice.parameters.items()]
    fill = ["--fill"] if advice.fill else []
    method = ["--method", advice.method]
    # --format of a report is that of the page
    reported = ["--input-format" if word == "--format" else word for word in given]
    judged = ["--learner", advice.learner, *_protocol(advice), *groups, *seed]
    return [
        _typed("rank", given, apart, method, settings, fill),
        _typed("evaluate", given, ["--methods", "auto"], judged, ["--rule", advice.size_rule]),
        _typed("report", reported, groups, seed, ["-o", "report.html"]),
    ]


def _typed(command: str, *parts: Sequence[str]) -> str:
    return shlex.join(["featly", command, *(word for part in parts for word in part)])


def _given(options: Mapping[str, Any]) -> list[str]:
    """The options about columns as they were typed."""
    words = []
    for name in SHARED:
        value, option = options[name], f"--{name.replace('_', '-')}"
        if value is None:
            continue
        if isinstance(value, bool):
            words.append(option if value else f"--no-{name}")
        else:
            several = value if isinstance(value, list | tuple) else [value]
            # after = also where it begins with a dash
            dashed = any(str(entry).startswith("-") for entry in several)
            for entry in several:
                words += [f"{option}={entry}"] if dashed else [option, str(entry)]
    return words


def _protocol(advice: Any) -> list[str]:
    """The advised splits and sizes, where they are not what evaluate does anyway."""
    from featly.study import KFold

    words = []
    if isinstance(advice.splits, KFold):
        words += ["--protocol", "k-fold", "--splits", str(advice.splits.n_folds)]
    else:
        words += ["--splits", str(advice.splits.n_splits)]
        if advice.splits.test_size != 0.1:
            words += ["--test-size", str(advice.splits.test_size)]
    return [*words, *([] if advice.sizes == "powers" else ["--sizes", advice.sizes])]
