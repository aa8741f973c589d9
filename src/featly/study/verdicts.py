"""Published claims compared with the results of a study.

A *value* holds if it lies inside our interval, or within the rounding of the printed figure. Where
a made dataset was drawn several times, the interval is the range of the draws, since the published
figure is from one draw, too: another draw falls into the range of 39 with 95% probability. That one
method is *better* holds if the interval of the difference lies above zero; that two are *equal*
holds if it contains zero. A claim that cannot be tested says why.
"""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from featly.basics.errors import ParameterError
from featly.measures.statistics import corrected_resampled_t, plain_interval
from featly.study.curves import RATES
from featly.study.dataset import family_of
from featly.study.split_values import KEYS, at_own_size, own_sizes, split_values

if TYPE_CHECKING:
    import polars as pl

    from featly.study.results import Results

__all__ = ["Claim", "Finding", "Verdict", "Verdicts", "judge"]

HOLDS, FAILS, UNTESTABLE = "holds", "does not hold", "cannot be tested"
BIASED = "BIASED: columns were selected on all rows, test rows included"
WHICH = ("dataset", "method", "metric", "learner", "size")


@dataclass(frozen=True)
class Finding:
    """Our finding about a claim: a value with its interval, and whether the claim holds.

    `holds` is None where the claim cannot be tested, and `why` says why.
    """

    holds: bool | None
    why: str
    ours: float | None = None
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True)
class Claim:
    """A published claim, and how to test it.

    Use :meth:`value`, :meth:`better`, :meth:`equal`, :meth:`untestable`, or pass a `check` of your
    own.

    Parameters
    ----------
    name : str
        Such as "D17".
    text : str
        The claim in words.
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
        """Return a claim about a figure: it holds if it is in our 95% interval, or rounds to ours.

        Parameters
        ----------
        name, text, where
            See the class.
        published : float
        tolerance : float or None
            How far off it may be, if our interval is narrower; None is half a unit of the last
            printed digit.
        **which
            dataset, method, metric, learner, size of the figure. The draws of one made dataset
            (``led-25/0``, ``led-25/1``, ...) have the name before the slash. Learner and
            size may be left out where there is one only.
        """
        allowed = _half_unit(published) if tolerance is None else tolerance
        _check(name, which, ("dataset", "method"))
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
        """Return the claim that a method is better: the interval of the difference is above 0."""
        _check(name, which, ("dataset",))
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
        """Return the claim that two methods are equal: the interval of the difference holds 0."""
        _check(name, which, ("dataset",))
        return cls(
            name, text, lambda results: _judge_pair(results, method, than, which, equal=True),
            published, where,
        )  # fmt: skip

    @classmethod
    def untestable(
        cls, name: str, text: str, why: str, *, published: float | str | None = None,
        where: str = "",
    ) -> "Claim":  # fmt: skip
        """Return a claim that cannot be tested, with the reason."""
        return cls(name, text, lambda results: Finding(None, why), published, where)


@dataclass(frozen=True)
class Verdict:
    """A claim with the finding about it."""

    claim: Claim
    finding: Finding

    @property
    def verdict(self) -> str:
        """The verdict as text: "holds", "does not hold" or "cannot be tested"."""
        holds = self.finding.holds
        return UNTESTABLE if holds is None else HOLDS if holds else FAILS


class Verdicts(Sequence[Verdict]):
    """Verdicts on the claims of a study, as :meth:`Results.verdicts` returns them."""

    def __init__(self, verdicts: Sequence[Verdict], biased: bool = False) -> None:
        self._verdicts = list(verdicts)
        self.biased = biased

    def __getitem__(self, index: Any) -> Any:
        return self._verdicts[index]

    def __len__(self) -> int:
        return len(self._verdicts)

    def table(self) -> "pl.DataFrame":
        """Return one row a claim: published, ours with its interval, verdict, why, biased."""
        import polars as pl

        rows = [
            (
                v.claim.name,
                v.claim.text,
                v.claim.where,
                None if v.claim.published is None else _format_number(v.claim.published),
                v.finding.ours,
                v.finding.lower,
                v.finding.upper,
                v.verdict,
                v.finding.why,
                self.biased,
            )
            for v in self
        ]
        texts = dict.fromkeys(("claim", "text", "where", "published"), pl.String)
        numbers = dict.fromkeys(("ours", "lower", "upper"), pl.Float64)
        last = dict.fromkeys(("verdict", "why"), pl.String)
        schema = {**texts, **numbers, **last, "biased": pl.Boolean}
        return pl.DataFrame(rows, orient="row", schema=schema)

    def counts(self) -> dict[str, int]:
        """Return how many claims hold, do not hold, cannot be tested."""
        outcomes = [v.verdict for v in self]
        return {word: outcomes.count(word) for word in (HOLDS, FAILS, UNTESTABLE)}

    def markdown(self) -> str:
        """Return the verdicts as a table in Markdown."""
        lines = [f"**{BIASED}**", ""] if self.biased else []
        lines += [
            "| claim | what was published | printed | ours | verdict | why |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for v in self:
            where = f" ({v.claim.where})" if v.claim.where else ""
            printed = "" if v.claim.published is None else _format_number(v.claim.published)
            cells = [
                v.claim.name,
                v.claim.text + where,
                printed,
                _format_ours(v.finding),
                v.verdict,
            ]
            cells.append(v.finding.why)
            lines.append("| " + " | ".join(_escape_cell(text) for text in cells) + " |")
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {word}" for word, n in self.counts().items())
        lines = [
            f"{v.claim.name}: {v.verdict} ({_format_ours(v.finding) or 'no figure'}"
            + (
                f"; printed {_format_number(v.claim.published)}"
                if v.claim.published is not None
                else ""
            )
            + f"): {v.claim.text}. {v.finding.why}"
            for v in self
        ]
        biased = [BIASED] if self.biased and len(self) else []
        return "\n".join([f"{len(self)} claims: {counts}", *biased, *lines])


def judge(claims: Sequence[Claim], results: "Results") -> Verdicts:
    """Return a verdict on every claim."""
    return Verdicts([Verdict(claim, claim.check(results)) for claim in claims], results.biased)


# ---- the results that a claim is about -----------------------------------------------------------
def lines_of(
    results: "Results",
    *,
    dataset: str,
    method: str,
    metric: str = "bcr",
    learner: str | None = None,
    size: int | None = None,
) -> "pl.DataFrame":
    """Return the row of the curves that a claim is about; of a made dataset, one row a draw.

    Parameters
    ----------
    results : Results
    dataset : str
        A dataset, or the part before the slash of several: ``"led-25/0"``, ``"led-25/1"``, ...
        are draws of ``"led-25"``.
    method, metric : str
    learner, size
        May be left out where there is one only. A metric of the selection itself needs no learner,
        and a method that chooses the number of columns itself needs no size.
    """
    import polars as pl

    learners, datasets = list(results.about["learners"]), list(results.about["datasets"])
    names = [dataset] if dataset in datasets else [n for n in datasets if family_of(n) == dataset]
    if not names:
        raise ParameterError(f"the study has no dataset {dataset!r}")
    if method not in results.about["methods"]:
        raise ParameterError(f"the study has no method {method!r}")
    if learner is None and len(learners) > 1 and metric in RATES:
        raise ParameterError(f"say which learner is meant: {', '.join(learners)}")
    learner = learners[0] if learner is None else learner
    if learner not in learners:
        raise ParameterError(f"the study has no learner {learner!r}")
    lines = results.curves(metric).filter(
        pl.col("dataset").is_in(names)
        & (pl.col("method") == method)
        & (pl.col("learner") == learner)
        & pl.col("mean").is_not_null()
    )
    own = own_sizes(results).filter(pl.col("dataset").is_in(names) & (pl.col("method") == method))
    if lines.is_empty():
        raise ParameterError(_no_values(results, names, dataset, method))
    sizes = sorted(lines["size"].unique().to_list())
    if size is not None and own.is_empty():
        lines = lines.filter(pl.col("size") == size)
        if lines.is_empty():
            raise ParameterError(f"{method!r} was not evaluated at {size} columns, but at {sizes}")
    if lines["dataset"].n_unique() < lines.height:
        raise ParameterError(f"say at which size {method!r} is meant: {sizes}")
    return lines


def _has_draws(lines: "pl.DataFrame") -> bool:
    return lines.height > 1


def _values_by_split(results: "Results", lines: "pl.DataFrame", metric: str) -> dict[Any, float]:
    """Return the values behind one row of the curves, by split."""
    rows = at_own_size(split_values(results, metric, draws=False), own_sizes(results))
    rows = rows.join(lines.select(KEYS), on=KEYS, how="semi").drop_nulls("value")
    return dict(rows.select("split", "value").rows())


def _judge_value(
    results: "Results", published: float, tolerance: float, row_key: dict[str, Any]
) -> Finding:
    try:
        lines = lines_of(results, **row_key)
    except ParameterError as problem:
        return Finding(None, str(problem))
    ours = float(lines["mean"].mean())  # type: ignore[arg-type]
    if _has_draws(lines):  # the published figure is from one draw, too
        means = lines["mean"].to_numpy()
        lower, upper = float(means.min()), float(means.max())
        over, interval_name = f"{lines.height} draws", "the range of our draws"
    else:
        lower, upper = (lines[end].fill_null(np.nan)[0] for end in ("lower", "upper"))
        over, interval_name = _number_of_splits(lines["n"][0]), "our 95% interval"
    is_near = abs(ours - published) <= tolerance
    margin = 0.0 if is_near else tolerance  # the printed figure was rounded
    inside = bool(lower - margin <= published <= upper + margin)
    if inside:
        why = f"inside {interval_name} ({over})"
    elif is_near:
        why = f"ours rounds to it ({over})"
    elif np.isnan(lower):
        why = f"ours does not round to it ({over}, which makes no interval)"
    else:
        why = f"outside {interval_name} ({over})"
    return _make_finding(inside or is_near, why, ours, lower, upper)


def _judge_pair(
    results: "Results", method: str, than: str, row_key: dict[str, Any], *, equal: bool
) -> Finding:
    from featly.study.results import GREATER

    metric = row_key.get("metric", "bcr")
    try:
        first, second = (lines_of(results, method=m, **row_key) for m in (method, than))
    except ParameterError as problem:
        return Finding(None, str(problem))
    if _has_draws(first) or _has_draws(second):
        values = [dict(lines.select("dataset", "mean").rows()) for lines in (first, second)]
    else:
        values = [_values_by_split(results, lines, metric) for lines in (first, second)]
    if set(values[0]) != set(values[1]):
        paired_by = "draws" if _has_draws(first) else "splits"
        return Finding(None, f"the methods failed on different {paired_by}: they cannot be paired")
    sign = 1 if GREATER[metric] else -1
    difference = sign * np.array([values[0][key] - values[1][key] for key in values[0]])
    ours = float(difference.mean())
    if len(difference) < 2:
        return Finding(None, "one split makes no interval: nothing says how sure it is", ours)
    if _has_draws(first):
        lower, upper = plain_interval(difference)
        over = f"{len(difference)} draws"
    else:
        test = corrected_resampled_t(difference, *results._parts(first["dataset"][0]))
        lower, upper, over = test.lower, test.upper, _number_of_splits(len(difference))
    if equal:
        holds = bool(lower <= 0 <= upper)
        why = f"the interval of the difference {'contains' if holds else 'excludes'} 0 ({over})"
        return _make_finding(holds, why, ours, lower, upper)
    if lower > 0:
        return _make_finding(True, f"the difference is above 0 ({over})", ours, lower, upper)
    why = "is below 0" if upper < 0 else "cannot be told from 0"
    return _make_finding(False, f"the difference {why} ({over})", ours, lower, upper)


def _make_finding(holds: bool, why: str, ours: float, lower: float, upper: float) -> Finding:
    if np.isnan(lower):
        return Finding(holds, why, ours)
    return Finding(holds, why, ours, float(lower), float(upper))


def _no_values(results: "Results", names: list[str], dataset: str, method: str) -> str:
    import polars as pl

    failed = results.failures.filter(
        pl.col("dataset").is_in(names) & (pl.col("method") == method) & (pl.col("null_draw") == 0)
    )
    if failed.is_empty():
        return f"{method} has no values on {dataset}"
    return f"{method} failed on {dataset}: {failed['failure'][0]}"


def _check(name: str, row_key: dict[str, Any], needed: tuple[str, ...]) -> None:
    """Raise ParameterError for wrong keys, which else would be noticed after the study."""
    known = [part for part in WHICH if part != "method" or part in needed]
    for part in row_key:
        if part not in known:
            near = difflib.get_close_matches(part, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
            raise ParameterError(f"claim {name!r} has no {part!r}: {hint}")
    for part in needed:
        if part not in row_key:
            raise ParameterError(f"claim {name!r}: say {part}=")


def _number_of_splits(n: int) -> str:
    return f"{n} split{'s' * (n != 1)}"


def _half_unit(published: float) -> float:
    """Return half a unit of the last digit."""
    if float(published).is_integer():
        return 0.5
    exponent = Decimal(repr(float(published))).as_tuple().exponent
    return 0.5 * 10.0 ** int(exponent)


def _escape_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _format_number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _format_ours(finding: Finding) -> str:
    if finding.ours is None:
        return ""
    if finding.lower is None or finding.upper is None:
        return f"{finding.ours:.3g}"
    return f"{finding.ours:.3g} ({finding.lower:.3g} to {finding.upper:.3g})"
