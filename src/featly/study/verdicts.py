"""Published claims held against what a study found.

A *value* holds if it lies inside our interval, or within the rounding of what was printed. Where a
made dataset was drawn several times, the interval is where another draw would fall: what was
published is one draw, too. That one is *better* holds if the interval of the difference lies above
zero; that two are *equal* holds if it contains zero. What cannot be tested says why.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from featly.errors import ParameterError
from featly.measures.statistics import corrected_resampled_t, plain_interval
from featly.study.dataset import family_of

if TYPE_CHECKING:
    import polars as pl

    from featly.study.results import Results

__all__ = ["Claim", "Finding", "Verdict", "Verdicts", "cell", "judge"]

HOLDS, FAILS, UNTESTABLE = "holds", "does not hold", "cannot be tested"


@dataclass(frozen=True)
class Finding:
    """What we found about a claim: a value with its interval, and whether the claim holds.

    `holds` is None where the claim cannot be tested, and `why` says why.
    """

    holds: bool | None
    why: str
    ours: float | None = None
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True)
class Claim:
    """Something that was published, and how to test it.

    Use :meth:`value`, :meth:`better`, :meth:`equal`, :meth:`untestable`, or pass a `check` of your
    own.

    Parameters
    ----------
    name : str
        Such as "D17".
    text : str
        What was claimed.
    check : callable of Results to Finding
    published : float, str or None
        The printed figure.
    where : str
        Table or section.

    Examples
    --------
    >>> from featly.study import Claim
    >>> claim = Claim.value("D17", "SVM-RFE finds four of five on Madelon", 80, where="table 3.11",
    ...                     dataset="madelon", method="svm-rfe", metric="success")
    >>> claim.published
    80
    """

    name: str
    text: str
    check: Callable[["Results"], Finding]
    published: float | str | None = None
    where: str = ""

    @classmethod
    def value(
        cls,
        name: str,
        text: str,
        published: float,
        *,
        where: str = "",
        tolerance: float | None = None,
        **which: Any,
    ) -> "Claim":
        """A printed figure: it holds if it is inside our 95% interval, or rounds to ours.

        Parameters
        ----------
        name, text, where
            See the class.
        published : float
        tolerance : float or None
            How far off it may be, if our interval is narrower; None is half a unit of the last
            printed digit.
        **which
            dataset, method, metric, learner, size: see :func:`cell`.
        """
        allowed = _rounding(published) if tolerance is None else tolerance
        return cls(
            name, text, lambda results: _judge_value(results, published, allowed, which),
            published, where,
        )  # fmt: skip

    @classmethod
    def better(
        cls,
        name: str,
        text: str,
        *,
        method: str,
        than: str,
        published: float | str | None = None,
        where: str = "",
        **which: Any,
    ) -> "Claim":
        """One method is better than another: the interval of the difference must be above 0."""
        return cls(
            name, text, lambda results: _judge_pair(results, method, than, which, equal=False),
            published, where,
        )  # fmt: skip

    @classmethod
    def equal(
        cls,
        name: str,
        text: str,
        *,
        method: str,
        than: str,
        published: float | str | None = None,
        where: str = "",
        **which: Any,
    ) -> "Claim":
        """Two methods do not differ: the interval of the difference must contain 0."""
        return cls(
            name, text, lambda results: _judge_pair(results, method, than, which, equal=True),
            published, where,
        )  # fmt: skip

    @classmethod
    def untestable(
        cls, name: str, text: str, why: str, *, published: float | str | None = None,
        where: str = "",
    ) -> "Claim":  # fmt: skip
        """A claim that cannot be tested, and why."""
        return cls(name, text, lambda results: Finding(None, why), published, where)


@dataclass(frozen=True)
class Verdict:
    """A claim and what became of it."""

    claim: Claim
    finding: Finding

    @property
    def verdict(self) -> str:
        """ "holds", "does not hold" or "cannot be tested"."""
        holds = self.finding.holds
        return UNTESTABLE if holds is None else HOLDS if holds else FAILS


class Verdicts(Sequence[Verdict]):
    """What became of the claims of a study; what :meth:`Results.verdicts` returns."""

    def __init__(self, verdicts: Sequence[Verdict], biased: bool = False) -> None:
        self._verdicts = list(verdicts)
        self.biased = biased

    def __getitem__(self, at: Any) -> Any:
        return self._verdicts[at]

    def __len__(self) -> int:
        return len(self._verdicts)

    def table(self) -> "pl.DataFrame":
        """One row a claim: claim, text, where, published, ours, lower, upper, verdict, why."""
        import polars as pl

        rows = [
            (
                v.claim.name,
                v.claim.text,
                v.claim.where,
                None if v.claim.published is None else _number(v.claim.published),
                v.finding.ours,
                v.finding.lower,
                v.finding.upper,
                v.verdict,
                v.finding.why,
            )
            for v in self
        ]
        texts = dict.fromkeys(("claim", "text", "where", "published"), pl.String)
        numbers = dict.fromkeys(("ours", "lower", "upper"), pl.Float64)
        last = dict.fromkeys(("verdict", "why"), pl.String)
        return pl.DataFrame(rows, orient="row", schema={**texts, **numbers, **last})

    def counts(self) -> dict[str, int]:
        """How many hold, do not hold, cannot be tested."""
        found = [v.verdict for v in self]
        return {word: found.count(word) for word in (HOLDS, FAILS, UNTESTABLE)}

    def markdown(self) -> str:
        """A table for a page."""
        lines = [
            "| claim | what was published | printed | ours | verdict | why |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for v in self:
            where = f" ({v.claim.where})" if v.claim.where else ""
            printed = "" if v.claim.published is None else _number(v.claim.published)
            cells = [v.claim.name, v.claim.text + where, printed, _ours(v.finding), v.verdict]
            cells.append(v.finding.why)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {word}" for word, n in self.counts().items())
        lines = [
            f"{v.claim.name}: {v.verdict} ({_ours(v.finding) or 'no figure'}"
            + (f"; printed {_number(v.claim.published)}" if v.claim.published is not None else "")
            + f"): {v.claim.text}. {v.finding.why}"
            for v in self
        ]
        return "\n".join([f"{len(self)} claims: {counts}", *lines])


def judge(claims: Sequence[Claim], results: "Results") -> Verdicts:
    """A verdict on every claim."""
    return Verdicts([Verdict(claim, claim.check(results)) for claim in claims], results.biased)


# ---- looking things up ---------------------------------------------------------------------------
def cell(
    results: "Results",
    *,
    dataset: str,
    method: str,
    metric: str = "bcr",
    learner: str | None = None,
    size: int | None = None,
) -> tuple[npt.NDArray[np.float64], bool]:
    """All values of one cell of a table: one a draw of a made dataset, else one a split.

    Parameters
    ----------
    results : Results
    dataset : str
        A dataset, or the part before the slash of several: ``"led-25/0"``, ``"led-25/1"``, ...
        are draws of ``"led-25"``, and a value is then the mean over the splits of a draw.
    method, metric : str
    learner, size
        May be left out where there is one only; a metric of the selection itself needs no learner.

    Returns
    -------
    values : float array
    are_draws : bool
    """
    import polars as pl

    names = [n for n in results.about["datasets"] if n == dataset or family_of(n) == dataset]
    if not names:
        raise ParameterError(f"the study has no dataset {dataset!r}")
    if method not in results.about["methods"]:
        raise ParameterError(f"the study has no method {method!r}")
    rows = results.rows.with_columns(results.values(metric).cast(pl.Float64).alias("value")).filter(
        (pl.col("null_draw") == 0)
        & (pl.col("split") >= 0)
        & pl.col("dataset").is_in(names)
        & (pl.col("method") == method)
        & pl.col("value").is_not_null()
        & pl.col("value").is_not_nan()
    )
    if learner is not None:
        rows = rows.filter(pl.col("learner") == learner)
    if size is not None:
        rows = rows.filter(pl.col("size") == size)
    own = results.rankings.filter(
        pl.col("subset") & pl.col("dataset").is_in(names) & (pl.col("method") == method)
    )
    if size is None and own.is_empty() and rows.n_unique(["dataset", "size"]) > len(names):
        sizes = sorted(rows["size"].unique().to_list())
        raise ParameterError(f"say at which size {method!r} is looked at: {sizes}")
    draws = len(names) > 1
    by = rows.group_by("dataset" if draws else "split", maintain_order=True)
    return by.agg(pl.col("value").mean())["value"].to_numpy(), draws


def _interval(
    results: "Results", values: npt.NDArray[np.float64], draws: bool, dataset: str
) -> tuple[float, float]:
    """Draws are independent; splits are not."""
    if len(values) < 2:
        return float("nan"), float("nan")
    if draws:
        return plain_interval(values)
    found = corrected_resampled_t(values, *results._parts(dataset))
    return found.lower, found.upper


def _judge_value(
    results: "Results", published: float, tolerance: float, which: dict[str, Any]
) -> Finding:
    try:
        values, draws = cell(results, **which)
    except ParameterError as problem:
        return Finding(None, str(problem))
    if not len(values):
        return Finding(None, _no_values(results, which["dataset"], which["method"]))
    ours = float(values.mean())
    lower, upper = _interval(results, values, draws, which["dataset"])
    if draws and len(values) > 1:  # what was published is one more draw
        half = (upper - lower) / 2 * np.sqrt(len(values) + 1)
        lower, upper = ours - half, ours + half
    inside = not np.isnan(lower) and lower <= published <= upper
    near = abs(ours - published) <= tolerance
    over = f"{len(values)} {'draws' if draws else 'splits'}"
    what = "the range of 95% of draws" if draws else "our 95% interval"
    if inside:
        why = f"inside {what} ({over})"
    elif near:
        why = f"ours rounds to it ({over})"
    else:
        why = f"outside {what} ({over})"
    return _finding(inside or near, why, ours, lower, upper)


def _judge_pair(
    results: "Results", method: str, than: str, which: dict[str, Any], *, equal: bool
) -> Finding:
    from featly.study.results import GREATER

    try:
        one, draws = cell(results, method=method, **which)
        other, _ = cell(results, method=than, **which)
    except ParameterError as problem:
        return Finding(None, str(problem))
    for values, name in ((one, method), (other, than)):
        if not len(values):
            return Finding(None, _no_values(results, which["dataset"], name))
    if len(one) != len(other):
        return Finding(None, "the methods failed on different splits: they cannot be paired")
    sign = 1 if GREATER.get(which.get("metric", "bcr"), True) else -1
    difference = sign * (one - other)
    ours = float(difference.mean())
    lower, upper = _interval(results, difference, draws, which["dataset"])
    over = f"{len(one)} {'draws' if draws else 'splits'}"
    if equal:
        holds = bool(lower <= 0 <= upper)
        why = f"the interval of the difference {'contains' if holds else 'excludes'} 0 ({over})"
        return _finding(holds, why, ours, lower, upper)
    if lower > 0:
        return _finding(True, f"the difference is above 0 ({over})", ours, lower, upper)
    why = "is below 0" if upper < 0 else "cannot be told from 0"
    return _finding(False, f"the difference {why} ({over})", ours, lower, upper)


def _finding(holds: bool, why: str, ours: float, lower: float, upper: float) -> Finding:
    if np.isnan(lower):
        return Finding(holds, why, ours)
    return Finding(holds, why, ours, float(lower), float(upper))


def _no_values(results: "Results", dataset: str, method: str) -> str:
    import polars as pl

    names = [n for n in results.about["datasets"] if n == dataset or family_of(n) == dataset]
    failed = results.rankings.filter(
        pl.col("dataset").is_in(names)
        & (pl.col("method") == method)
        & pl.col("failure").is_not_null()
    )
    if failed.is_empty():
        return f"{method} has no values on {dataset}"
    return f"{method} failed on {dataset}: {failed['failure'][0]}"


def _rounding(published: float) -> float:
    digits = f"{published}".partition(".")[2]
    return 0.5 * 10.0 ** -(len(digits) if digits not in ("", "0") else 0)


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _ours(finding: Finding) -> str:
    if finding.ours is None:
        return ""
    if finding.lower is None or finding.upper is None:
        return f"{finding.ours:.3g}"
    return f"{finding.ours:.3g} ({finding.lower:.3g} to {finding.upper:.3g})"
