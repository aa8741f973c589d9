"""The effect of a prior on one ranking: the same method once more, without it."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from featly.basics.typing import FloatArray, IntArray
from featly.cli import method as cli_method
from featly.cli.load import LoadedData
from featly.cli.printing import is_error_terminal, say
from featly.io.write import check_ending

__all__ = ["Change", "compare_without_prior", "favoured_rows"]

PATIENCE = 20.0  # seconds of the first fit, beyond which no second one is made for a message
SHOWN = 3  # columns in a message


@dataclass(frozen=True)
class Change:
    """Differences between a ranking and the one without the prior; empty if not compared.

    Attributes
    ----------
    favoured : list of dict
        Columns that the prior favours: feature, prior, rank, rank_without; best first.
    first : int
        How many columns of either ranking are compared.
    same : int
        How many of those are in both.
    came_in, went_out : list of str
        Those that are only in the ranking with the prior, or only in the one without it.
    remark : str
        Message for the user if nothing was compared.
    """

    favoured: list[dict[str, Any]] = field(default_factory=list)
    first: int = 0
    same: int = 0
    came_in: list[str] = field(default_factory=list)
    went_out: list[str] = field(default_factory=list)
    remark: str = ""

    def document(self) -> dict[str, Any]:
        """Return an entry for the JSON document, or nothing."""
        if not self.favoured:
            return {}
        return {
            "prior": {
                "favoured": self.favoured,
                "first": self.first,
                "same": self.same,
                "came_in": self.came_in,
                "went_out": self.went_out,
            }
        }

    def line(self) -> str:
        """Return the effect of the prior in one line."""
        if not self.favoured:
            return self.remark
        ranks = [
            f"{row['feature']!r} {row['rank']:,} (without it {row['rank_without']:,})"
            for row in self.favoured[:SHOWN]
        ]
        n_more = len(self.favoured) - SHOWN
        and_more = f" and {n_more:,} more" if n_more > 0 else ""
        overlap = (
            f"{self.same} of the first {self.first} columns {'is' if self.same == 1 else 'are'}"
        )
        if self.first == 1:
            overlap = f"the first column is {'' if self.same else 'not '}"
        overlap = f"{overlap.rstrip()} the same as without it"
        return f"ranks with the prior: {', '.join(ranks)}{and_more}; {overlap}"

    def report(self, options: Mapping[str, Any]) -> None:
        """Print that line on standard error, unless ``--quiet`` is given."""
        if self.line() and not options["quiet"]:
            say(f"note: {self.line()}", "yellow")


def compare_without_prior(
    data: LoadedData,
    name: str,
    ranker: Any,
    options: Mapping[str, Any],
    first: int,
    seconds: float,
    files: Sequence[str | None],
) -> Change:
    """Rank once more without the prior, if the method uses one and somebody sees the result.

    Parameters
    ----------
    data : LoadedData
    name : str
        Of the method.
    ranker : fitted method
    options : mapping
        Of the command.
    first : int
        How many columns to compare.
    seconds : float
        How long the first fit took. Beyond `PATIENCE`, the second is for JSON only.
    files : sequence of path or None
        Files that are written; one in JSON has the comparison, too.
    """
    prior = ranker._columns.prior
    uses_prior = "prior" in ranker._uses and hasattr(ranker, "ranking_")
    if not uses_prior or prior is None or prior.min() == prior.max():
        return Change()
    writes_json = options["json"] or any(path and check_ending(path) == "json" for path in files)
    if options["quiet"] and not writes_json:
        return Change()
    if seconds > PATIENCE and not writes_json:
        return Change(remark="'featly prior' tells what the prior changed; it takes more fits")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first fit gave the same ones
        unbiased = cli_method.fit(
            replace(data, schema=replace(data.schema, prior={})),
            name,
            cli_method.parse_settings(name, options["settings"] or []),
            n_jobs=options["jobs"],
            verbose=not options["quiet"] and is_error_terminal(),
            resources={key: options.get(key) for key in cli_method.RESOURCES},
        )
    names = data.names
    first_with, first_without = ranker.order_[:first], unbiased.order_[:first]
    return Change(
        favoured=favoured_rows(names, prior, ranker.ranking_, unbiased.ranking_),
        first=first,
        same=len(np.intersect1d(first_with, first_without)),
        came_in=[str(names[j]) for j in first_with if j not in first_without],
        went_out=[str(names[j]) for j in first_without if j not in first_with],
    )


def favoured_rows(
    names: Sequence[str], prior: FloatArray, ranks: IntArray, without: IntArray
) -> list[dict[str, Any]]:
    """Return the favoured columns with their ranks, best first."""
    favoured = np.flatnonzero(prior > prior.min())
    return [
        {
            "feature": str(names[j]),
            "prior": float(prior[j]),
            "rank": int(ranks[j]),
            "rank_without": int(without[j]),
        }
        for j in favoured[np.argsort(ranks[favoured])].tolist()
    ]
