r"""Figures by repeat, differences and tests of claims that the studies of chapter 4 share.

A printed figure of tables 4.11 to 4.16 is the mean of five folds of one deal. Ours are such means
of several deals ("repeats"), with the prediction interval of one more of them,

.. math:: \bar v \pm t_{R-1} \sqrt{1 + 1 / R}\; s,

and a printed figure is *near* if it lies inside, give or take 0.01, because the book rounds or cuts
off. Of a single official split a figure is near if it is within one test row of ours (1/19 of the
accuracy, 1/7 of the sensitivity, 1/12 of the specificity), give or take 0.01.

Differences of methods on the same splits have the corrected resampled interval (Nadeau and Bengio,
2003) on each set; sets are independent, so that errors of their average add in squares. Differences
of two ways to deal rows on the same set have Student's interval over repeats: it is about
more deals of this set, not about another set.
"""

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from featly.basics.typing import AnyArray, FloatArray
from featly.measures.statistics import plain_interval
from featly.study import Claim, Finding, Results
from featly.study.store import ALL_ROWS
from studies.microarray_tables import (
    AVERAGES,
    F1,
    GENES,
    IMBALANCE,
    LEARNERS,
    RANKERS,
    ROWS,
    SETS,
    SHOWN,
    SUBSETS,
    TABLES,
    read_printed,
)
from studies.multiclass_measures import average_gains, of_runs
from studies.prior_measures import Gain

FOLDS = 5
CUT_OFF = 0.01  # what rounding or cutting off may change
AROUND = 0.05  # "around 0.7"
IMPORTANT = 0.02  # below this a difference of accuracies is none to speak of
BRAIN = "Brain (substitute)"
NAMES = {"Brain": BRAIN, "CNS": "CNS", "Colon": "Colon", "DLBCL": "DLBCL"}
VALIDATION = {"CV": "five folds", "DOB-SCV": "five DOB-SCV folds"}
GROUPS = {
    "no selection": ("none",),
    "subset filter": SUBSETS,
    "ranker, 10 genes": tuple(f"{ranker} 10" for ranker in RANKERS),
    "ranker, 50 genes": tuple(f"{ranker} 50" for ranker in RANKERS),
}

Key = tuple[str, str, str]  # set, row of the tables, learner
Check = Callable[[Results], Finding]


# ---- figures of a study --------------------------------------------------------------------------
@functools.lru_cache(maxsize=64)  # many claims need the same
def by_split(results: Results, metric: str = "accuracy") -> dict[Key, FloatArray]:
    """A figure of every split, by set, row of the tables, and learner."""
    method, size = pl.col("method"), pl.col("size").cast(pl.String)
    row = pl.when(method.is_in(RANKERS)).then(method + " " + size).otherwise(method).alias("row")
    rows = results.rows.with_columns(results.values(metric).cast(pl.Float64).alias("value"), row)
    rows = rows.filter(pl.col("split") != ALL_ROWS).sort("split")
    return {
        (str(dataset), str(name), str(learner)): part["value"].to_numpy()
        for (dataset, name, learner), part in rows.group_by("dataset", "row", "learner")
    }


def by_repeat(results: Results, metric: str = "accuracy") -> dict[Key, FloatArray]:
    """The mean of five folds in every repeat."""
    fold_values = by_split(results, metric)
    return {key: values.reshape(-1, FOLDS).mean(axis=1) for key, values in fold_values.items()}


def genes(results: Results, dataset: str, method: str) -> FloatArray:
    """Return the number of genes that a subset filter chose at every split."""
    is_fit = (pl.col("dataset") == dataset) & (pl.col("method") == method)
    fits = results.rankings.filter(is_fit & (pl.col("split") != ALL_ROWS)).sort("split")
    return fits["order"].list.len().to_numpy().astype(np.float64)


def parts(results: Results, dataset: str) -> tuple[float, float]:
    """Mean numbers of training and test rows."""
    is_split = (pl.col("dataset") == dataset) & (pl.col("split") != ALL_ROWS)
    fits = results.rankings.filter(is_split)
    return float(fits["n_train"].mean()), float(fits["n_test"].mean())  # type: ignore[arg-type]


# ---- printed figures -----------------------------------------------------------------------------
def judge_nearness(values: FloatArray, published: float, allowed: float) -> Finding:
    """Judge whether one more deal might have given what was printed."""
    mean, n = float(values.mean()), len(values)
    if n < 2:
        return Finding(bool(abs(mean - published) <= allowed), "one repeat, no interval", mean)
    half = float(stats.t.ppf(0.975, n - 1) * np.sqrt(1 + 1 / n) * values.std(ddof=1))
    lower, upper = mean - half, mean + half
    holds = bool(lower - allowed <= published <= upper + allowed)
    why = f"{'inside' if holds else 'outside'} the interval of one more deal ({n} repeats)"
    return Finding(holds, why, mean, lower, upper)


def cells(validation: str) -> list[Claim]:
    """Every accuracy of the tables of one way to validate."""

    def check(key: Key, published: float) -> Check:
        return lambda results: judge_nearness(by_repeat(results)[key], published, CUT_OFF)

    cell_claims = []
    for table, (learner, way) in TABLES.items():
        if way != validation:
            continue
        for (name, row), (accuracy, _, _) in read_printed(table).items():
            dataset = NAMES[name]
            text = f"{learner} after {row} on {dataset}, {VALIDATION[way]}: accuracy"
            if row == "none":
                text = f"{learner} on all genes of {dataset}, {VALIDATION[way]}: accuracy"
            claim = Claim(f"T{table} {name} {row}", text, check((dataset, row, learner), accuracy),
                          accuracy, f"table {table}")  # fmt: skip
            cell_claims.append(claim)
    return cell_claims


def gene_numbers(validation: str) -> list[Claim]:
    """E3: table 4.7."""

    def check(dataset: str, method: str, published: float) -> Check:
        def judge_numbers(results: Results) -> Finding:
            numbers = genes(results, dataset, method).reshape(-1, FOLDS).mean(axis=1)
            return judge_nearness(numbers, published, 0.5)

        return judge_numbers

    at = list(VALIDATION).index(validation)
    return [
        Claim(
            f"E3 {name} {method} {validation}",
            f"genes that {method} chooses on {NAMES[name]}, {VALIDATION[validation]}",
            check(NAMES[name], method, numbers[at]), numbers[at], "table 4.7",
        )
        for method, numbers_by_set in GENES.items()
        for name, numbers in numbers_by_set.items()
    ]  # fmt: skip


# ---- arithmetic ----------------------------------------------------------------------------------
def imbalance(y: AnyArray) -> float:
    """Rows of the larger class over those of the smaller."""
    _, counts = np.unique(y, return_counts=True)
    return float(counts.max() / counts.min())


def largest_f1(X: FloatArray, y: AnyArray) -> float:
    """Return the largest F1 of a complete gene, (mean - mean)^2 / (variance + variance).

    Variances are those of samples (over n - 1): only so is Colon 1.08. Genes with missing values
    are left out, because the print does not say what it took for one.
    """
    first, second = (X[y == label] for label in np.unique(y))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = (first.mean(axis=0) - second.mean(axis=0)) ** 2 / (
            first.var(axis=0, ddof=1) + second.var(axis=0, ddof=1)
        )
    return float(ratio[np.isfinite(ratio)].max())


def arithmetic(
    tables: Mapping[str, Callable[[], tuple[FloatArray, AnyArray]]],
) -> list[Claim]:
    """E1 and E2, from the tables themselves; `tables` read them by the book's name."""

    def ratio(name: str) -> Check:
        def judge_ratio(results: Results) -> Finding:
            ours = imbalance(tables[name]()[1])
            return judge_rounding(ours, IMBALANCE[name])

        return judge_ratio

    def overlap(name: str) -> Check:
        def judge_overlap(results: Results) -> Finding:
            return judge_rounding(largest_f1(*tables[name]()), F1[name])

        return judge_overlap

    ratio_claims = [
        Claim(f"E1 {name}", f"ratio of imbalance of {NAMES[name]}", ratio(name), value, "table 4.6")
        for name, value in IMBALANCE.items()
    ]
    return ratio_claims + [
        Claim(f"E2 {name}", f"largest F1 of a gene of {NAMES[name]}", overlap(name), value,
              "table 4.6")
        for name, value in F1.items()
    ]  # fmt: skip


def judge_rounding(ours: float, published: float) -> Finding:
    """Judge whether ours rounds to a printed figure of two decimals."""
    holds = bool(abs(ours - published) <= 0.005 + 1e-9)
    return Finding(holds, f"ours {'rounds' if holds else 'does not round'} to it", ours)


def printed_best(results: Results) -> Finding:
    """Judge E6 by the print: who has the highest average over all seven sets?"""
    first, sums = [], dict.fromkeys(ROWS, 0.0)
    for table, averages in AVERAGES.items():
        known = {row: value for row, value in zip(ROWS, averages, strict=True) if value is not None}
        best = max(known.values())
        names = [row for row, value in known.items() if value == best]
        first.append((table, names, best))
        for row, value in known.items():
            sums[row] += value / len(AVERAGES)
    listing = "; ".join(f"{table}: {', '.join(names)} {best:.2f}" for table, names, best in first)
    holds = all({"cfs", "interact"} & set(names) for _, names, _ in first)
    means_text = ", ".join(f"{row} {sums[row]:.3f}" for row in sorted(
        (row for row in ROWS if row != "relieff 50"), key=lambda row: -sums[row])[:4])  # fmt: skip
    return Finding(
        holds, f"highest printed average: {listing}. Mean of the six tables: {means_text}"
    )


# ---- directions ----------------------------------------------------------------------------------
def method_gain(
    results: Results, first: Sequence[str], second: Sequence[str], learners: Sequence[str]
) -> Gain:
    """Accuracy after some rows of the tables less that after others, average over sets."""
    values = by_split(results)

    def mean(dataset: str, rows: Sequence[str]) -> FloatArray:
        row_values = [values[dataset, row, learner] for row in rows for learner in learners]
        return np.asarray(np.mean(row_values, axis=0))

    return average_gains(
        [
            of_runs(mean(dataset, first) - mean(dataset, second), parts(results, dataset))
            for dataset in results.about["datasets"]
        ]
    )


def learner_gain(results: Results, first: str, second: str) -> Gain:
    """Accuracy of one learner less that of another, average over rows of the tables and sets."""
    values = by_split(results)
    gains = []
    for dataset in results.about["datasets"]:
        each = [np.mean([values[dataset, row, name] for row in ROWS], axis=0)
                for name in (first, second)]  # fmt: skip
        gains.append(of_runs(each[0] - each[1], parts(results, dataset)))
    return average_gains(gains)


def mean_of(results: Results, row: str, learner: str) -> float:
    """Accuracy over sets and splits."""
    values = by_split(results)
    sets = results.about["datasets"]
    return float(np.mean([values[dataset, row, learner].mean() for dataset in sets]))


def e6a(results: Results) -> Finding:
    """SVM-RFE is not the best choice for the SVM."""
    means = {row: mean_of(results, row, "SVM") for row in ROWS}
    eliminated = max((row for row in ROWS if row.startswith("svm-rfe")), key=lambda r: means[r])
    other = max((r for r in ROWS if r != "none" and not r.startswith("svm-rfe")),
                key=lambda r: means[r])  # fmt: skip
    gain = method_gain(results, [other], [eliminated], ["SVM"])
    why = (
        f"the best other, {other}, {means[other]:.3f}; {eliminated} {means[eliminated]:.3f}. "
        "The other is the highest of nine, which favours the claim"
    )
    return gain.as_finding(gain.is_positive, why)


def e6b(results: Results) -> Finding:
    """CFS and INTERACT are better than the rankers, over all learners."""
    rankers = [row for row in ROWS if row not in ("none", *SUBSETS)]
    gain = method_gain(results, ["cfs", "interact"], rankers, LEARNERS)
    each = {row: np.mean([mean_of(results, row, learner) for learner in LEARNERS]) for row in ROWS}
    order = sorted(each, key=lambda row: -each[row])
    listing = ", ".join(f"{row} {each[row]:.3f}" for row in order)
    return gain.as_finding(
        gain.is_positive, f"CFS and INTERACT less the mean of the rankers; {listing}"
    )


def e6c(results: Results) -> Finding:
    """No selection at all is better than CFS for the SVM."""
    gain = method_gain(results, ["none"], ["cfs"], ["SVM"])
    listing = ", ".join(f"{row} {mean_of(results, row, 'SVM'):.3f}" for row in ("none", "cfs"))
    return gain.as_finding(gain.is_positive, f"accuracy of the SVM: {listing}")


def e6d(results: Results) -> Finding:
    """SVM and naive Bayes are better than C4.5."""
    gains = {learner: learner_gain(results, learner, "C4.5") for learner in ("SVM", "naive Bayes")}
    listing = "; ".join(f"{learner} less C4.5 {gain}" for learner, gain in gains.items())
    least = min(gains.values(), key=lambda gain: gain.lower)
    return least.as_finding(all(gain.is_positive for gain in gains.values()), listing)


def e8(results: Results) -> Finding:
    """The best accuracy on CNS is around 0.7."""
    accuracies = {key: values for key, values in by_split(results).items() if key[0] == "CNS"}
    best = max(accuracies, key=lambda key: accuracies[key].mean())
    gain = of_runs(accuracies[best], parts(results, "CNS"))
    why = f"the highest of {len(accuracies)}: {best[2]} after {best[1]}; around is 0.65 to 0.75"
    return gain.as_finding(abs(gain.mean - 0.7) <= AROUND, why)


def direction_claims(suffix: str) -> list[Claim]:
    """E6 and E8 under one way to validate."""
    directions = [
        ("E6a", "SVM-RFE is not the best choice for the SVM", e6a, None, "4.5.2.1"),
        ("E6b", "subset filters, CFS and INTERACT, are the best on average", e6b, None, "4.5.2.1"),
        ("E6c", "for the SVM no selection is better than CFS, as table 4.15 prints", e6c,
         ".82 and .78", "table 4.15"),
        ("E6d", "SVM and naive Bayes are better than C4.5", e6d, None, "4.5.2.1"),
        ("E8", "the best accuracy on CNS is around 0.7", e8, 0.7, "4.5.2.3"),
    ]  # fmt: skip
    return [
        Claim(f"{name} {suffix}", f"{text} ({suffix})", check, published, where)
        for name, text, check, published, where in directions
    ]


# ---- five folds against five DOB-SCV folds -------------------------------------------------------
def stored_repeats(file: Path) -> dict[Key, FloatArray] | None:
    """Accuracies by repeat of a study that was committed; None where there is none."""
    if not file.exists():
        return None
    repeats = json.loads(file.read_text("utf-8"))["repeats"]
    return {
        (dataset, row, learner): np.array(values)
        for dataset, rows in repeats.items()
        for row, learners in rows.items()
        for learner, values in learners.items()
    }


def repeats_to_store(results: Results) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Return the repeats in the form that :func:`stored_repeats` reads."""
    stored: dict[str, dict[str, dict[str, list[float]]]] = {}
    repeats = by_repeat(results)
    for dataset in results.about["datasets"]:
        for row in ROWS:
            for learner in LEARNERS:
                values = repeats[dataset, row, learner].round(4).tolist()
                stored.setdefault(dataset, {}).setdefault(row, {})[learner] = values
    return stored


def deal_gain(
    balanced: Mapping[Key, FloatArray],
    plain: Mapping[Key, FloatArray],
    learner: str,
    sets: Sequence[str],
) -> Gain:
    """Accuracy by DOB-SCV less that by plain folds, average over rows of the tables and sets."""
    each = []
    for deal in (balanced, plain):
        values = [deal[dataset, row, learner] for dataset in sets for row in ROWS]
        each.append(np.mean(values, axis=0))
    n = min(len(values) for values in each)
    difference = each[0][:n] - each[1][:n]
    return Gain(float(difference.mean()), *plain_interval(difference))


def combination(accuracies: Mapping[Key, FloatArray], learner: str, group: str) -> FloatArray:
    """Accuracy by repeat of a learner after a group of methods, average over sets."""
    sets = dict.fromkeys(dataset for dataset, _, _ in accuracies)
    values = [accuracies[dataset, row, learner] for dataset in sets for row in GROUPS[group]]
    return np.asarray(np.mean(values, axis=0))


def sets_of(accuracies: Mapping[Key, FloatArray]) -> list[str]:
    """The sets of stored figures."""
    return list(dict.fromkeys(dataset for dataset, _, _ in accuracies))


# ---- the page ------------------------------------------------------------------------------------
def table_of(results: Results, table: str) -> dict[str, Any]:
    """One of tables 4.11 to 4.16: ours, and printed in brackets."""
    learner, way = TABLES[table]
    figures = [by_repeat(results, metric) for metric in ("accuracy", "sensitivity", "specificity")]
    spread = figures[0]
    rows = []
    for row in SHOWN:
        cells_of = [row]
        for name in SETS:
            key = NAMES[name], row, learner
            ours = " ".join(f"{np.nanmean(metric_values[key]):.2f}" for metric_values in figures)
            theirs = " ".join(f"{value:.2f}" for value in read_printed(table)[name, row])
            cells_of.append(f"{ours} ± {spread[key].std(ddof=1):.2f} ({theirs})")
        rows.append(cells_of)
    title = (
        f"Table {table} again: {learner}, {VALIDATION[way]}; accuracy, sensitivity, specificity, "
        "± of the accuracy over repeats (printed)"
    )
    return {"title": title, "head": ["after", *(NAMES[name] for name in SETS)], "rows": rows}


def table_of_rates(results: Results) -> dict[str, Any]:
    """Balanced rates, which the book does not print."""
    rates = by_repeat(results, "bcr")
    rows = [
        [row, *(
            " ".join(f"{rates[NAMES[name], row, learner].mean():.2f}" for learner in LEARNERS)
            for name in SETS
        )]
        for row in SHOWN
    ]  # fmt: skip
    title = f"Balanced classification rate of {', '.join(LEARNERS)}"
    return {"title": title, "head": ["after", *(NAMES[name] for name in SETS)], "rows": rows}


def table_of_genes(results: Results, validation: str) -> dict[str, Any]:
    """Table 4.7: ours, and printed in brackets."""
    at = list(VALIDATION).index(validation)
    rows = []
    for method, numbers_by_set in GENES.items():
        cells_of = [method]
        for name, numbers in numbers_by_set.items():
            ours = genes(results, NAMES[name], method)
            cells_of.append(f"{ours.mean():.1f}, {ours.min():.0f} to {ours.max():.0f} "
                            f"({numbers[at]})")  # fmt: skip
        rows.append(cells_of)
    title = f"Table 4.7 again: genes chosen, {VALIDATION[validation]}, least and most (printed)"
    return {"title": title, "head": ["", *(NAMES[name] for name in SETS)], "rows": rows}
