"""What a prior changed in one ranking: the same method once more, without it."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from featly.cli import job
from featly.cli.printing import say, words_on_terminal

__all__ = ["Change", "changed", "favoured_rows"]

PATIENCE = 20.0  # seconds: who waited longer for one ranking does not wait for another unasked
SHOWN = 3


@dataclass(frozen=True)
class Change:
    """How a ranking differs from the one without the prior; empty where that is not known.

    Attributes
    ----------
    favoured : list of dict
        Columns that the prior favours: feature, prior, rank, rank_without; best first.
    first : int
        How many columns of either ranking are compared.
    same : int
        How many of those are in both.
    came_in, went_out : list of str
    remark : str
        What is said where nothing was compared.
    """

    favoured: list[dict[str, Any]] = field(default_factory=list)
    first: int = 0
    same: int = 0
    came_in: list[str] = field(default_factory=list)
    went_out: list[str] = field(default_factory=list)
    remark: str = ""

    def document(self) -> dict[str, Any]:
        """An entry for the JSON document, or nothing."""
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
        """What the prior changed, in a line."""
        if not self.favoured:
            return self.remark
        ranks = [
            f"{row['feature']!r} {row['rank']:,} (without it {row['rank_without']:,})"
            for row in self.favoured[:SHOWN]
        ]
        more = len(self.favoured) - SHOWN
        others = f" and {more:,} more" if more > 0 else ""
        told = f"{self.same} of the first {self.first} columns {'is' if self.same == 1 else 'are'}"
        if self.first == 1:
            told = f"the first column is {'' if self.same else 'not '}"
        told = f"{told.rstrip()} the same as without it"
        return f"ranks with the prior: {', '.join(ranks)}{others}; {told}"

    def tell(self, options: Mapping[str, Any]) -> None:
        """Say so, unless silence is asked for."""
        if self.line() and not options["quiet"]:
            say(f"note: {self.line()}", "yellow")


def changed(
    found: job.Job,
    name: str,
    ranker: Any,
    options: Mapping[str, Any],
    first: int,
    seconds: float,
    files: Sequence[str | None],
) -> Change:
    """Rank once more without the prior, where the method uses one and somebody is told.

    Parameters
    ----------
    found : Job
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
        Files that are written; one in JSON is told, too.
    """
    prior = ranker._columns.prior
    used = "prior" in ranker._uses and hasattr(ranker, "ranking_")
    if not used or prior is None or prior.min() == prior.max():
        return Change()
    machine = options["json"] or any(
        path and path.endswith((".json", ".json.gz")) for path in files
    )
    if options["quiet"] and not machine:
        return Change()
    if seconds > PATIENCE and not machine:
        return Change(remark="'featly prior' tells what the prior changed; it takes more fits")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it was said of the first fit
        other = job.fit(
            replace(found, schema=replace(found.schema, prior={})),
            name,
            job.parse_settings(name, options["settings"] or []),
            n_jobs=options["jobs"],
            verbose=not options["quiet"] and words_on_terminal(),
            resources={key: options.get(key) for key in job.RESOURCES},
        )
    names = found.names
    now, before = ranker.order_[:first], other.order_[:first]
    return Change(
        favoured=favoured_rows(names, prior, ranker.ranking_, other.ranking_),
        first=first,
        same=len(np.intersect1d(now, before)),
        came_in=[str(names[j]) for j in now if j not in before],
        went_out=[str(names[j]) for j in before if j not in now],
    )


def favoured_rows(
    names: Sequence[str], prior: np.ndarray, ranks: np.ndarray, without: np.ndarray
) -> list[dict[str, Any]]:
    """Favoured columns with their ranks, best first."""
    where = np.flatnonzero(prior > prior.min())
    return [
        {
            "feature": str(names[j]),
            "prior": float(prior[j]),
            "rank": int(ranks[j]),
            "rank_without": int(without[j]),
        }
        for j in where[np.argsort(ranks[where])].tolist()
    ]
