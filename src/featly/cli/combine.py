"""``featly combine``: one ranking from the rankings in several files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from featly.cli.errors import make_command
from featly.cli.options import RESULTS, Jobs, Json, Quiet

if TYPE_CHECKING:
    from featly.basics.errors import Field

__all__ = ["combine"]

SHOWN = 20  # rows of a table on a terminal
FEW_LISTS = 3  # lists that fit beside one another on a terminal
_RULE = "What a rule takes"


def complete_rule(incomplete: str) -> list[str]:
    """Return the rules whose names begin with the typed text."""
    from featly.combine.rankings import RULES

    return [rule for rule in RULES if rule.startswith(incomplete)]


@make_command()
def combine(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILES", help="Rankings, as 'featly rank --output' saves them."),
    ],
    rule: Annotated[
        str,
        typer.Option("--rule", "-r", metavar="RULE", autocompletion=complete_rule,
                     help="average-sd, best, third-quartile-sd, k-first, condorcet, schulze, "
                     "borda, reciprocal-rank, robust-rank or stuart."),
    ] = "k-first",
    k: Annotated[
        str | None,
        typer.Option("--k", metavar="COUNT", rich_help_panel=_RULE,
                     help="For k-first: how many ranks of a list count, or the fraction of them "
                     "(0.1)."),
    ] = None,
    tie_sd: Annotated[
        str,
        typer.Option(metavar="WHICH", rich_help_panel=_RULE,
                     help="For average-sd and third-quartile-sd: of tied features, the one with "
                     "the larger or the smaller SD goes first."),
    ] = "larger",
    constant: Annotated[
        float,
        typer.Option(rich_help_panel=_RULE,
                     help="For reciprocal-rank: what is added to every position."),
    ] = 60,
    unlisted: Annotated[
        str,
        typer.Option(metavar="MEANING",
                     help="Features that a file leaves out come last there, or are unknown."),
    ] = "last",
    top: Annotated[
        int | None, typer.Option("--top", "-n", help="Print only the best; 0 is all.", min=0)
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help=f"Save the whole ranking: {RESULTS}."),
    ] = None,
    json: Json = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Make one ranking of several: of methods, of pairs of classes, of cohorts.

    featly combine f-test.csv relieff.csv svm-rfe.csv --rule schulze
    """
    from featly import __version__
    from featly.basics.errors import ParameterError
    from featly.cli.printing import (
        check_output,
        is_error_terminal,
        is_output_terminal,
        print_json,
        print_table,
        save_result,
        say,
    )
    from featly.combine.rankings import combine_rankings

    count = _parse_k(k)
    _check_rule(rule)
    check_output(output)
    lists = _read_lists(files)
    try:
        combined = combine_rankings(
            lists.positions,
            rule,
            k=count,
            tie_sd=tie_sd,
            unlisted=unlisted,
            constant=constant,
            n_jobs=jobs,
            verbose=not quiet and is_error_terminal(),
        )
    except ParameterError as problem:
        raise problem.replace_fields(lists.name_feature) from None
    columns = _columns(lists, combined)
    size, n_lists = lists.positions.shape
    document = {
        "featly": __version__,
        "files": list(files),
        "rule": rule,
        "options": {"k": count, "tie_sd": tie_sd, "constant": constant, "unlisted": unlisted},
        "features": size,
        "lists": n_lists,
        "missing": dict(zip(lists.labels, lists.n_missing, strict=True)),
        "ties": combined.ties,
        "ranking": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(),
                                                                         strict=True)],
    }  # fmt: skip
    if not quiet:
        for line in _summary_lines(lists, combined.ties, unlisted):
            say(line, "dim")
    if output is not None:
        import polars as pl

        save_result(output, lambda: document, lambda: pl.DataFrame(columns))
        if output == "-":
            return
        if not quiet:
            say(f"the ranking is in {output}")
    n_shown = size if top == 0 or (top is None and not is_output_terminal()) else (top or SHOWN)
    if json:
        document["ranking"] = document["ranking"][: size if top is None else n_shown]
        print_json(document)
        return
    notes = [f"{size - n_shown:,} more; --top 0 shows all"] if size > n_shown else []
    if n_lists > FEW_LISTS and is_output_terminal():
        columns = {name: values for name, values in columns.items() if name not in lists.labels}
        location = "in the file" if output else "with --output or --json"
        notes.append(f"the position in each of the {n_lists} lists is {location}")
    rows = list(zip(*(values[:n_shown] for values in columns.values()), strict=True))
    title = f"{rule} of {n_lists} lists"
    print_table(list(columns), rows, title=title, note=". ".join(notes))


@dataclass(frozen=True)
class _Lists:
    """Rankings of all files: positions of the features in each, names of features and files."""

    positions: Any
    names: list[str]
    labels: list[str]

    def name_feature(self, field: "Field") -> "Field":
        """Return a feature under its name in the files; other fields of a message unchanged."""
        from featly.basics.errors import Column, Feature

        return Column(self.names[field.position]) if isinstance(field, Feature) else field

    @property
    def n_missing(self) -> list[int]:
        """Number of features that each file leaves out."""
        import numpy as np

        return [int(n) for n in np.isnan(self.positions).sum(axis=0)]


def _parse_k(text: str | None) -> int | float | None:
    from featly.basics.errors import ParameterError

    if text is None:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise ParameterError(f"--k {text!r}: give a number of ranks, or a fraction such as 0.1")


def _check_rule(rule: str) -> None:
    """Raise an error for an unknown rule that names the nearest one."""
    import difflib

    from featly.basics.errors import ParameterError
    from featly.combine.rankings import RULES

    if rule not in RULES:
        nearest = difflib.get_close_matches(rule.lower(), RULES, n=1)
        hint = f"did you mean {nearest[0]!r}?" if nearest else f"there are {', '.join(RULES)}"
        raise ParameterError(f"--rule {rule!r}: {hint}")


def _read_lists(files: Sequence[str]) -> _Lists:
    """Read the rankings of all files; a file that holds none is an error."""
    import numpy as np

    from featly.basics.errors import DataError, ParameterError

    if len(files) < 2:
        raise ParameterError(
            f"{files[0]!r} is a single ranking: name at least two files to combine"
        )
    repeated = next((file for j, file in enumerate(files) if file in files[:j]), None)
    if repeated is not None:
        raise ParameterError(f"file {repeated!r} is named twice: name every file once")
    lists = [_read_positions(file) for file in files]
    names = list(dict.fromkeys(name for ranking in lists for name in ranking))
    if not names:
        raise DataError(f"{files[0]!r} names no feature")
    positions = np.array([[ranking.get(name, np.nan) for ranking in lists] for name in names])
    return _Lists(positions, names, _labels(files))


def _read_positions(file: str) -> dict[str, float]:
    """Return the position of every feature of a file; if it has no ranks, the selected ones tie."""
    import numpy as np
    from scipy.stats import rankdata

    from featly.basics.errors import DataError
    from featly.io.schema_files import read_ranking

    frame = read_ranking(file)
    names = frame["feature"].to_list()
    if not names:
        raise DataError(f"{file!r} has no row: leave it out")
    is_repeated = frame["feature"].is_duplicated()
    if is_repeated.any():
        first_repeated = frame["feature"].filter(is_repeated)[0]
        raise DataError(f"{file!r} has {first_repeated!r} twice: name every feature once")
    if "rank" in frame.columns:
        ranks = frame["rank"].to_numpy()
        if np.isnan(ranks).any():
            row = int(np.flatnonzero(np.isnan(ranks))[0])
            raise DataError(f"{file!r} has no rank for {names[row]!r}: give a number")
    else:
        ranks = ~frame["selected"].to_numpy()
    return dict(zip(names, rankdata(ranks).tolist(), strict=True))


def _labels(files: Sequence[str]) -> list[str]:
    """Return the names of the files without folders, or whole paths if those are ambiguous."""
    from featly.table.formats import strip_ending

    short = [strip_ending(Path(file).name) for file in files]
    is_ambiguous = len(set(short)) < len(short) or {"rank", "feature", "score", "p_value"} & {
        *short
    }
    return list(files) if is_ambiguous else short


def _columns(lists: _Lists, combined: Any) -> dict[str, list[Any]]:
    """Return rank, feature, score and the position in each file, best first."""
    columns: dict[str, list[Any]] = {
        "rank": combined.ranking[combined.order].tolist(),
        "feature": [lists.names[i] for i in combined.order],
        "score": combined.scores[combined.order].tolist(),
    }
    if combined.p_values is not None:
        columns["p_value"] = combined.p_values[combined.order].tolist()
    for label, positions in zip(lists.labels, lists.positions[combined.order].T, strict=True):
        are_whole = all(
            position.is_integer() or position != position for position in positions.tolist()
        )
        kind = int if are_whole else float
        columns[label] = [
            None if position != position else kind(position) for position in positions.tolist()
        ]
    return columns


def _summary_lines(lists: _Lists, ties: int, unlisted: str) -> list[str]:
    """Return lines on numbers of lists and features, missing features, and ties."""
    size, n_lists = lists.positions.shape
    lines = [f"{n_lists} lists, {size:,} {'feature' if size == 1 else 'features'}"]
    incomplete = [(label, n) for label, n in zip(lists.labels, lists.n_missing, strict=True) if n]
    if incomplete:
        details = ", ".join(f"{n:,} in {label}" for label, n in incomplete[:10])
        if len(incomplete) > 10:
            details += f", and some in {len(incomplete) - 10} more"
        explanation = {
            "last": "they come last there (--unlisted unknown lets the other lists decide)",
            "unknown": "the lists that have them decide (--unlisted last puts them last)",
        }[unlisted]
        lines.append(f"missing: {details}; {explanation}")
    if ties:
        lines.append(f"{ties:,} features share their score with another; the tie rule orders them")
    return lines
