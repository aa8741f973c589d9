"""``featly combine``: one ranking from the rankings in several files."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from featly.cli.errors import guarded
from featly.cli.options import Jobs, Json, Quiet

__all__ = ["combine"]

SHOWN = 20  # rows of a table on a terminal
FEW_LISTS = 3  # that a terminal has room for beside one another
_RULE = "What a rule takes"


def complete_rule(incomplete: str) -> list[str]:
    """Rules whose names begin so."""
    from featly.combine.rankings import RULES

    return [rule for rule in RULES if rule.startswith(incomplete)]


@guarded()
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
                     help="Of k-first: how many places of a list count, or the fraction of them "
                     "(0.1)."),
    ] = None,
    tie_sd: Annotated[
        str,
        typer.Option(metavar="WHICH", rich_help_panel=_RULE,
                     help="Of average-sd and third-quartile-sd: among equals, the larger or the "
                     "smaller SD goes first."),
    ] = "larger",
    constant: Annotated[
        float,
        typer.Option(rich_help_panel=_RULE,
                     help="Of reciprocal-rank: what is added to a position."),
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
        typer.Option("--output", "-o", help="Save the whole ranking: .csv, .json, .parquet."),
    ] = None,
    json: Json = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Make one ranking of several: of methods, of pairs of classes, of cohorts.

    featly combine f-test.csv relieff.csv svm-rfe.csv --rule schulze
    """
    from featly import __version__
    from featly.basics.atomic_file import check_place, whole_file
    from featly.basics.errors import ParameterError
    from featly.basics.json_text import as_json
    from featly.cli.printing import on_terminal, print_json, print_table, say, words_on_terminal
    from featly.combine.rankings import combine_rankings
    from featly.io.write import check_ending, write_frame

    count = _count(k)
    _check_rule(rule)
    if output is not None:
        check_ending(output)
        check_place(output)
    read = _read(files)
    try:
        found = combine_rankings(
            read.positions,
            rule,
            k=count,
            tie_sd=tie_sd,
            unlisted=unlisted,
            constant=constant,
            n_jobs=jobs,
            verbose=not quiet and words_on_terminal(),
        )
    except ParameterError as problem:
        raise ParameterError(_in_words_of_the_files(str(problem), read.names)) from None
    columns = _columns(read, found)
    size, n_lists = read.positions.shape
    document = {
        "featly": __version__,
        "files": list(files),
        "rule": rule,
        "options": {"k": count, "tie_sd": tie_sd, "constant": constant, "unlisted": unlisted},
        "features": size,
        "lists": n_lists,
        "missing": dict(zip(read.labels, read.n_missing, strict=True)),
        "ties": found.ties,
        "ranking": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(),
                                                                         strict=True)],
    }  # fmt: skip
    if not quiet:
        for line in _words(read, found.ties, unlisted):
            say(line, "dim")
    if output is not None:
        if check_ending(output) == ".json":
            with whole_file(output) as out:
                out.write(as_json(document).encode())
        else:
            import polars as pl

            write_frame(pl.DataFrame(columns), output, inert=True)
        if output == "-":
            return
        if not quiet:
            say(f"the ranking is in {output}")
    shown = size if top == 0 or (top is None and not on_terminal()) else (top or SHOWN)
    if json:
        document["ranking"] = document["ranking"][: size if top is None else shown]
        print_json(document)
        return
    more = [f"{size - shown:,} more; --top 0 shows all"] if size > shown else []
    if n_lists > FEW_LISTS and on_terminal():
        columns = {name: values for name, values in columns.items() if name not in read.labels}
        where = "in the file" if output else "with --output or --json"
        more.append(f"the position in each of the {n_lists} lists is {where}")
    rows = list(zip(*(values[:shown] for values in columns.values()), strict=True))
    title = f"{rule} of {n_lists} lists"
    print_table(list(columns), rows, title=title, note=". ".join(more))


@dataclass(frozen=True)
class _Read:
    """The rankings of all files: positions of the features, names of both."""

    positions: Any
    names: list[str]
    labels: list[str]

    @property
    def n_missing(self) -> list[int]:
        import numpy as np

        return [int(n) for n in np.isnan(self.positions).sum(axis=0)]


def _count(text: str | None) -> int | float | None:
    from featly.basics.errors import ParameterError

    if text is None:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise ParameterError(f"--k {text!r}: give a number of places, or a fraction such as 0.1")


def _check_rule(rule: str) -> None:
    """Refuse a rule that does not exist, with the nearest one."""
    import difflib

    from featly.basics.errors import ParameterError
    from featly.combine.rankings import RULES

    if rule not in RULES:
        near = difflib.get_close_matches(rule.lower(), RULES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(RULES)}"
        raise ParameterError(f"--rule {rule!r}: {hint}")


def _read(files: Sequence[str]) -> _Read:
    """The positions that the files tell; what is no ranking is an error that names the file."""
    import numpy as np

    from featly.basics.errors import DataError, ParameterError

    if len(files) < 2:
        raise ParameterError(
            f"{files[0]!r} alone is one ranking already: name at least two files to combine"
        )
    twice = next((file for j, file in enumerate(files) if file in files[:j]), None)
    if twice is not None:
        raise ParameterError(f"{twice!r} is named twice: name every file once")
    lists = [_places(file) for file in files]
    names = list(dict.fromkeys(name for one in lists for name in one))
    if not names:
        raise DataError(f"{files[0]!r} names no feature")
    positions = np.array([[one.get(name, np.nan) for one in lists] for name in names])
    return _Read(positions, names, _labels(files))


def _places(file: str) -> dict[str, float]:
    """The position of every feature of a file; what is selected without ranks shares the first."""
    import numpy as np
    from scipy.stats import rankdata

    from featly.basics.errors import DataError
    from featly.io.schema_files import read_ranking

    frame = read_ranking(file)
    names = frame["feature"].to_list()
    if not names:
        raise DataError(f"{file!r} has no row: leave it out")
    twice = frame["feature"].is_duplicated()
    if twice.any():
        seen = frame["feature"].filter(twice)[0]
        raise DataError(f"{file!r} has {seen!r} twice: a ranking names a feature once")
    if "rank" in frame.columns:
        ranks = frame["rank"].to_numpy()
        if np.isnan(ranks).any():
            row = int(np.flatnonzero(np.isnan(ranks))[0])
            raise DataError(f"{file!r} gives {names[row]!r} no rank: give a number")
    else:
        ranks = ~frame["selected"].to_numpy()
    return dict(zip(names, rankdata(ranks).tolist(), strict=True))


def _labels(files: Sequence[str]) -> list[str]:
    """Short names of the files, or the whole ones where the short do not tell them apart."""
    short = [re.sub(r"\.(csv|tsv|tab|txt|json|parquet|pq)(\.gz)?$", "", Path(file).name)
             for file in files]  # fmt: skip
    clash = len(set(short)) < len(short) or {"rank", "feature", "score", "p_value"} & {*short}
    return list(files) if clash else short


def _columns(read: _Read, found: Any) -> dict[str, list[Any]]:
    """Rank, feature, score and the position in each file, best first."""
    columns: dict[str, list[Any]] = {
        "rank": found.ranking[found.order].tolist(),
        "feature": [read.names[i] for i in found.order],
        "score": found.scores[found.order].tolist(),
    }
    if found.p_values is not None:
        columns["p_value"] = found.p_values[found.order].tolist()
    for label, places in zip(read.labels, read.positions[found.order].T, strict=True):
        whole = all(place.is_integer() or place != place for place in places.tolist())
        kind = int if whole else float
        columns[label] = [None if place != place else kind(place) for place in places.tolist()]
    return columns


def _words(read: _Read, ties: int, unlisted: str) -> list[str]:
    """How many lists and features, what is missing where, how many tie."""
    size, n_lists = read.positions.shape
    lines = [f"{n_lists} lists, {size:,} {'feature' if size == 1 else 'features'}"]
    gaps = [(label, n) for label, n in zip(read.labels, read.n_missing, strict=True) if n]
    if gaps:
        places = ", ".join(f"{n:,} in {label}" for label, n in gaps[:10])
        if len(gaps) > 10:
            places += f", and some in {len(gaps) - 10} more"
        other = {
            "last": "they come last there (--unlisted unknown lets the other lists decide)",
            "unknown": "the lists that have them decide (--unlisted last puts them last)",
        }[unlisted]
        lines.append(f"missing: {places}; {other}")
    if ties:
        lines.append(f"{ties:,} features share their score with another; the tie rule orders them")
    return lines


def _in_words_of_the_files(text: str, names: list[str]) -> str:
    """A message about feature 3 as one about the feature's name."""
    return re.sub(r"\bfeature (\d+)", lambda found: repr(names[int(found[1])]), text)
