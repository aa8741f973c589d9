"""Results of a study equal those of plain loops: fits, means, intervals, stabilities, tests."""

import math
import statistics
from fractions import Fraction
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import LeaveOneOut as TheirLeaveOneOut
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from featly import SVMRFE, DataError, FTest, ParameterError
from featly.base import SubsetSelector
from featly.datasets import make_problem
from featly.learners import make_learner
from featly.measures.recovery import success_index
from featly.measures.statistics import corrected_resampled_t, holm_levels
from featly.study import (
    Bootstrap,
    Dataset,
    Holdout,
    KFold,
    LeaveOneOut,
    Results,
    Study,
    Subsampling,
)
from featly.study.store import ALL_ROWS
from tests.reference import measures as reference_measures
from tests.reference import study as reference

SIZES = [1, 2, 4]


class ColumnsAboveMean(SubsetSelector):
    """Selects the columns whose mean exceeds that of all: another number at every split."""

    def __init__(self, *, schema=None, n_jobs=None):
        self.schema = schema
        self.n_jobs = n_jobs

    def _select(self, problem):
        mean = problem.moments().mean[0]
        return np.flatnonzero(mean >= mean.mean())


class ListedOrders(BaseEstimator):
    """A ranker with the next order of a list."""

    orders: ClassVar[list] = []

    def fit(self, X, y):
        self.order_ = np.array(ListedOrders.orders.pop(0))
        self.ranking_ = np.argsort(self.order_) + 1
        return self


class First(ClassifierMixin, BaseEstimator):
    """Predicts the value of the first column, which is a label."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return X[:, 0].astype(int)


# ---- comparison with the reference ---------------------------------------------------------------
def make_table(kind, seed):
    """Columns as lists, labels, groups: ties, a constant, missing values, text, a small class."""
    rng = np.random.default_rng(seed)
    n = 34
    labels = [0, 1] if kind == "mixed" else ["rare", "u", "v"]
    y = [labels[-1 - (row % 2)] for row in range(n)]
    if kind != "mixed":
        for row in (0, 11, 23, 30):
            y[row] = "rare"
    shift = {label: k for k, label in enumerate(labels)}
    columns = [
        [round(float(rng.normal()) + shift[label], 1) for label in y],  # ties
        [3.5] * n,
        [float(rng.integers(0, 3)) for _ in y],
        [float(rng.normal()) + 2 * (label == labels[1]) for label in y],
        [float(v) for v in rng.normal(size=n)],
        [float(v) for v in rng.normal(size=n).round(1)],
    ]
    if kind in ("missing", "mixed"):
        for column in (0, 4):
            for row in rng.choice(n, size=6, replace=False):
                columns[column][row] = math.nan
    if kind == "mixed":
        text = [str(rng.choice(["low", "high", "odd"])) for _ in y]
        for row in (3, 4, 17):
            text[row] = None
        columns.insert(2, text)
        columns.append([str(label) if rng.random() < 0.7 else "x" for label in y])
    groups = [row // 2 for row in rng.permutation(n)] if kind == "groups" else None
    return columns, y, groups


def as_dataset(columns, y, groups):
    if any(reference.is_text(column) for column in columns):
        table = pl.DataFrame({f"c{j}": column for j, column in enumerate(columns)}, strict=False)
    else:
        table = np.array(columns).T
    return Dataset.of(table, y, row_groups=groups)


CASES = {
    "plain": {"methods": {"f": FTest(), "best": SelectKBest(k=2), "none": None}},
    "missing": {"methods": {"f": FTest(), "none": None}, "fill": True},
    "groups": {"methods": {"f": FTest(), "wavering": ColumnsAboveMean()}},
    "mixed": {"methods": {"rfe": SVMRFE(), "none": None}, "fill": True},
    "outside": {"methods": {"f": FTest(), "best": SelectKBest(k=2)}, "selection": "outside"},
}


@pytest.mark.parametrize(("splits", "seed"), [(Subsampling(6, test_size=0.3), 0), (KFold(3), 1)])
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.filterwarnings("ignore:Features .* are constant", "ignore:invalid value encountered")
def test_a_study_equals_the_reference(kind, splits, seed):
    columns, y, groups = make_table(kind, seed)
    options = dict(CASES[kind])
    methods, outside = options.pop("methods"), options.get("selection") == "outside"
    learner = make_learner("5-nn") if kind == "mixed" else KNeighborsClassifier(3)
    data = as_dataset(columns, y, groups)
    results = Study(methods, data, splits, sizes=SIZES, learner={"nn": learner}, **options).run()
    parts = [
        (split.train.tolist(), split.test.tolist())
        for split in splits.split(None, y, row_groups=groups)
    ]
    naive = reference.fit_all(
        columns, y, parts, methods, SIZES, learner, fill=options.get("fill", False), outside=outside
    )
    check_fits(results, naive, sorted(set(y)))
    check_curves(results, naive, parts, len(columns))
    if kind != "groups":
        check_pairs(results, naive, parts)


def check_fits(results, naive, classes):
    assert results.failures.is_empty()
    orders = {
        (method, split): order
        for method, split, order in results.rankings.filter(pl.col("split") != ALL_ROWS)
        .select("method", "split", "order")
        .rows()
    }
    assert orders == {key: order for key, (order, _) in naive.items()}
    rows = {
        (method, split, size): (confusion, value, right)
        for method, split, size, confusion, value, right in results.rows.filter(
            pl.col("split") != ALL_ROWS
        )
        .select("method", "split", "size", "confusion", "bcr", "accuracy")
        .rows()
    }
    assert set(rows) == {(*key, size) for key, (_, outcomes) in naive.items() for size in outcomes}
    for key, (_, outcomes) in naive.items():
        for size, pairs in outcomes.items():
            confusion, value, right = rows[(*key, size)]
            assert confusion == reference.confusion(pairs, classes)
            assert value == pytest.approx(reference.bcr(pairs))
            assert right == pytest.approx(reference.accuracy(pairs))


def values_by_size(naive, method):
    """{size: values over splits}; one entry, the mean size, where sizes differ."""
    values_of_size = {}
    for (name, _), (_, outcomes) in naive.items():
        if name == method:
            for size, pairs in outcomes.items():
                values_of_size.setdefault(size, []).append(reference.bcr(pairs))
    n = sum(1 for name, _ in naive if name == method)
    if all(len(values) == n for values in values_of_size.values()):
        return values_of_size
    sizes = [size for (name, _), (_, o) in naive.items() if name == method for size in o]
    all_values = [reference.bcr(p) for (name, _), (_, o) in naive.items() if name == method
             for p in o.values()]  # fmt: skip
    return {round(statistics.mean(sizes)): all_values}


def part_sizes(parts):
    return (statistics.mean(len(a) for a, _ in parts), statistics.mean(len(b) for _, b in parts))


def check_curves(results, naive, parts, p):
    lines = {(r["method"], r["size"]): r for r in results.curves().rows(named=True)}
    methods = list(results.about["methods"])
    expected = {(m, size): v for m in methods for size, v in values_by_size(naive, m).items()}
    assert set(lines) == set(expected)
    n_train, n_test = part_sizes(parts)
    for (method, size), values in expected.items():
        line = lines[method, size]
        assert line["mean"] == pytest.approx(statistics.mean(values))
        assert line["sd"] == pytest.approx(statistics.stdev(values))
        assert line["n"] == len(values)
        lower, upper = reference.interval(values, n_train, n_test)
        assert (line["lower"], line["upper"]) == (pytest.approx(lower), pytest.approx(upper))
        ours = values_by_size(naive, method)
        sets = [
            order if len(ours) == 1 and size not in outcomes else order[:size]
            for (name, _), (order, outcomes) in naive.items()
            if name == method
        ]
        if len({len(s) for s in sets}) > 1 or len(ours) == 1:
            sets = [order for (name, _), (order, _) in naive.items() if name == method]
        index = reference_measures.kuncheva(sets, p)
        assert line["kuncheva"] == (None if index is None else pytest.approx(float(index)))
        labels = set(results.about["datasets"]["data"]["kinds"].get("categorical", []))
        mean = statistics.mean(len(labels & set(s)) for s in sets)
        assert line["categorical"] == pytest.approx(mean)
    order = [key[0] for key in lines]
    assert order == sorted(order, key=methods.index)  # as in the plan


def check_pairs(results, naive, parts):
    """The chosen sizes, the paired test and the win counts."""
    methods = list(results.about["methods"])
    chosen, values = {}, {}
    for method in methods:
        ours = values_by_size(naive, method)
        chosen[method] = reference.within_interval(sorted(ours), ours)
        values[method] = ours[chosen[method]]
    summary = {r["method"]: r for r in results.summary().rows(named=True)}
    assert {m: r["size"] for m, r in summary.items()} == chosen
    for method, line in summary.items():
        assert line["bcr"] == pytest.approx(statistics.mean(values[method]))
        assert (line["n_failed"], line["biased"]) == (0, results.biased)
        if line["kuncheva"] is not None:
            geometric_mean = math.sqrt(max(0, line["kuncheva"]) * line["bcr"])
            assert line["geometric_mean"] == pytest.approx(geometric_mean)
    comparison = results.compare(size="chosen")
    raw = []
    levels = holm_levels(comparison.pairs["p_value"].to_list())
    for row, level in zip(comparison.pairs.rows(named=True), levels, strict=True):
        a, b = values[row["method_a"]], values[row["method_b"]]
        difference = [x - z for x, z in zip(a, b, strict=True)]
        assert row["difference"] == pytest.approx(statistics.mean(difference))
        if row["lower"] is None:
            assert statistics.stdev(difference) == pytest.approx(0)
        else:
            test = corrected_resampled_t(difference, *part_sizes(parts), level)
            assert (row["lower"], row["upper"]) == (test.lower, test.upper)
            lies_beside_0 = row["lower"] > 0 or row["upper"] < 0
            assert lies_beside_0 == (row["p_adjusted"] <= 0.05)
        if statistics.variance(difference) > 0:
            p = reference.corrected_p(difference, *part_sizes(parts))
            assert row["p_value"] == pytest.approx(p)
        raw.append(row["p_value"])
    assert comparison.pairs["p_adjusted"].to_list() == pytest.approx(reference.holm(raw))
    for (a, b), share in reference.wins(values).items():
        i, j = comparison.wins.names.index(a), comparison.wins.names.index(b)
        assert comparison.wins.proportion[i, j] == pytest.approx(share)


# ---- comparing over blocks -----------------------------------------------------------------------
@pytest.fixture(scope="module")
def several():
    """Three methods on four tables of different widths."""
    rng = np.random.default_rng(0)
    datasets = {}
    for k, p in enumerate((5, 8, 8, 9)):
        X, y = rng.normal(size=(30, p)), rng.permutation(np.arange(30) % 2)
        X[:, k] += 1.5 * y
        datasets[f"set {k}"] = (X, y)
    methods = {"f": FTest(), "rfe": SVMRFE(), "none": None}
    return Study(methods, datasets, Subsampling(5, test_size=0.3), sizes=[1, 2, 8],
                 learner=["naive-bayes", "1-nn"]).run()  # fmt: skip


@pytest.mark.parametrize("size", [None, 2, "chosen"])
def test_friedman_is_scipys_over_the_blocks(several, size):
    comparison = several.compare(size=size)
    curves = several.curves()
    blocks = comparison.blocks.rows(named=True)
    assert len(blocks) == {None: (4 * 3 - 1) * 2, 2: 8, "chosen": 8}[size]
    for block in blocks:
        block_curves = curves.filter(
            (pl.col("dataset") == block["dataset"]) & (pl.col("learner") == block["learner"])
        )
        for method in ("f", "rfe", "none"):
            lines = block_curves.filter(pl.col("method") == method)
            if method != "none" and size != "chosen":
                lines = lines.filter(pl.col("size") == block["size"])
            elif method != "none":
                line_key = {"dataset": block["dataset"], "learner": block["learner"]}
                at = several.choose_size(method=method, **line_key)
                lines = lines.filter(pl.col("size") == at)
            assert lines["mean"].to_list() == [pytest.approx(block[method])]
    table = [comparison.blocks[name].to_numpy() for name in ("f", "rfe", "none")]
    theirs = stats.friedmanchisquare(*table)
    assert comparison.friedman.statistic == pytest.approx(theirs.statistic)
    assert comparison.friedman.p_value == pytest.approx(theirs.pvalue)
    ranks = np.mean([stats.rankdata(-row) for row in np.array(table).T], axis=0)
    assert comparison.nemenyi.mean_ranks == pytest.approx(ranks)
    assert comparison.pairs.height == 4 * 2 * 3


def test_comparing_errors_and_stabilities(several):
    right, wrong = several.compare("accuracy"), several.compare("error")
    assert wrong.friedman.mean_ranks == pytest.approx(right.friedman.mean_ranks)
    assert wrong.pairs["size_a"].to_list() == right.pairs["size_a"].to_list()
    negated = [-difference for difference in right.pairs["difference"]]
    assert wrong.pairs["difference"].to_list() == pytest.approx(negated, abs=1e-12)
    stable = several.compare("kuncheva")
    curves = several.curves()
    block = stable.blocks.row(0, named=True)
    line = curves.filter(
        (pl.col("dataset") == block["dataset"]) & (pl.col("learner") == block["learner"])
        & (pl.col("method") == "f") & (pl.col("size") == block["size"])
    )  # fmt: skip
    assert line["kuncheva"].to_list() == [pytest.approx(block["f"])]
    assert stable.pairs.is_empty()
    assert stable.wins is None
    several.compare("kuncheva", size="chosen")


def test_a_comparison_as_text(several):
    words = repr(several.compare(size=2))
    assert words.startswith("Comparison of bcr\nFriedman: 3 methods, 8 blocks")
    assert "set 0, 1-nn: f - rfe" in words
    assert "BIASED" not in words


def test_equal_means_are_ties():
    """0 + 0 + 3 fifths and 0 + 1 + 2 fifths are the same, but not in the last bits."""
    counts = {"one": (0, 0, 3), "other": (0, 1, 2)}
    y = np.arange(17) % 2
    X = np.column_stack([y, y]).astype(float)
    for column, values in enumerate(counts.values()):
        for split, right in enumerate(values):
            wrong = np.arange(5 * split + right, 5 * split + 5)
            X[wrong, column] = 1 - y[wrong]
    splits = [([15, 16], np.arange(5 * k, 5 * k + 5)) for k in range(3)]
    methods = {"one": Fixed(0), "other": Fixed(1)}
    results = Study(methods, {"a": (X, y), "b": (X + 0.25, y)}, splits, sizes=[1], learner=First(),
                    metrics=["accuracy"]).run()  # fmt: skip
    means = results.curves("accuracy").filter(pl.col("dataset") == "a")["mean"].to_list()
    assert means == pytest.approx([0.2, 0.2], abs=1e-15)
    assert results.compare("accuracy").friedman.mean_ranks.tolist() == [1.5, 1.5]


class Fixed(BaseEstimator):
    """Puts one column first."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.order_ = np.array([self.column, 1 - self.column])
        self.ranking_ = np.argsort(self.order_) + 1
        return self


def test_wrong_comparisons_are_refused(several):
    with pytest.raises(ParameterError, match="no metric 'area'"):
        several.compare("area")
    with pytest.raises(ParameterError, match="size='all'"):
        several.compare(size="all")
    with pytest.raises(ParameterError, match="size 8 of 'f' on 'set 0' was not evaluated"):
        several.compare(size=8)
    single = Study("f-test", (np.arange(20.0)[:, None] % 7, np.arange(20) % 2), KFold(3)).run()
    assert single.compare().friedman is None
    assert single.compare().pairs.is_empty()


def test_splits_where_one_failed_are_left_out_of_pairs():
    """Values are paired by the number of the split, not by their position in a list."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 4)), np.arange(40) % 2
    X[:, 0] += 0.5 * y
    X[0, 3], X[1, 3] = 77, 88

    methods = {"a": Failing(77), "b": Failing(88), "c": FTest()}
    splits = KFold(5, random_state=3)
    results = Study(methods, (X, y), splits, sizes=[2], learner=GaussianNB()).run()
    failed = {
        name: results.failures.filter(pl.col("method") == name)["split"].to_list() for name in "ab"
    }
    assert all(len(numbers) == 1 for numbers in failed.values())
    assert failed["a"] != failed["b"]
    whole = {
        name: dict(results.rows.filter(pl.col("method") == name).select("split", "bcr").rows())
        for name in "abc"
    }
    for row in results.compare(size=2).pairs.rows(named=True):
        a, b = whole[row["method_a"]], whole[row["method_b"]]
        difference = [a[k] - b[k] for k in range(5) if k in a and k in b]
        assert row["difference"] == pytest.approx(statistics.mean(difference))
        if len(a) == len(b):  # pairing by position would give another figure
            assert row["difference"] != pytest.approx(sum(a.values()) / 4 - sum(b.values()) / 4)
    assert results.compare(size=2).wins.n_runs == 3


class Failing(FTest):
    """Fails where the last column never takes a value: where one row is tested."""

    def __init__(self, value=0.0, *, n_features_to_select=None, schema=None, n_jobs=None):
        super().__init__(n_features_to_select=n_features_to_select, schema=schema, n_jobs=n_jobs)
        self.value = value

    def fit(self, X, y):
        if not (X[:, 3] == self.value).any():
            raise ValueError("gone")
        return super().fit(X, y)


def test_names_that_are_patterns():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), np.arange(30) % 2
    methods = {"*": FTest(), "^a$": None, "a": SelectKBest(k=1), "^.*$": SVMRFE()}
    study = Study(methods, {"*": (X, y), "^d$": (X + y[:, None], y)}, KFold(3), sizes=[1, 2],
                  learner={"^l$": GaussianNB(), "*": KNeighborsClassifier(1)}, null=1)  # fmt: skip
    results = study.run()
    assert results.compare().blocks.columns[3:] == list(methods)
    assert results.summary()["method"].unique(maintain_order=True).to_list() == list(methods)
    assert results.null_test().height == 2 * 4 * 2
    assert results.choose_size(dataset="*", method="*", learner="*") in (1, 2)
    assert results.selection(1, dataset="^d$", method="^a$", learner="^l$") == [
        "x0",
        "x1",
        "x2",
        "x3",
    ]


# ---- methods that choose their size --------------------------------------------------------------
def test_subsets_of_different_sizes():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 7)), np.arange(40) % 2
    results = Study({"wavering": ColumnsAboveMean(), "f": FTest()}, (X, y), Subsampling(10),
                    sizes=[1, 3], learner=["naive-bayes", "1-nn"]).run()  # fmt: skip
    sets = [order.tolist() for order in results.orders(method="wavering")]
    assert len({len(s) for s in sets}) > 1
    curves = results.curves().filter(pl.col("method") == "wavering")
    mean = round(statistics.mean(len(s) for s in sets))
    assert curves["size"].to_list() == [mean] * 2
    assert curves["n"].to_list() == [10, 10]
    index = float(reference_measures.kuncheva(sets, 7))
    assert curves["kuncheva"].to_list() == pytest.approx([index] * 2)
    assert results.summary(rule=3)["size"].to_list() == [mean, mean, 3, 3]
    line_key = {"method": "wavering", "learner": "1-nn"}
    curve = results.curve(**line_key)
    assert curve.values.shape == (10, 1)
    assert results.choose_size(**line_key) == mean
    union, intersection = set().union(*sets), set.intersection(*map(set, sets))
    assert results.selection(**line_key) == [f"x{j}" for j in sorted(union)]
    assert results.selection(rule="intersection", **line_key) == [
        f"x{j}" for j in sorted(intersection)
    ]
    best = sets[int(np.argmax(curve.values[:, 0]))]
    assert results.selection(rule="best", **line_key) == [f"x{j}" for j in sorted(best)]
    assert results.compare(size=3).blocks["wavering"].null_count() == 0


class ListedSelections(SubsetSelector):
    """A selector with the next selection of a list."""

    turns: ClassVar[list] = []

    def __init__(self, *, schema=None, n_jobs=None):
        self.schema = schema
        self.n_jobs = n_jobs

    def _select(self, problem):
        return ListedSelections.turns.pop(0)


def test_a_stability_below_minus_one():
    ListedSelections.turns[:] = [[0], [1, 2, 3, 4], [0], [1, 2, 3, 4]]
    X, y = np.random.default_rng(0).normal(size=(24, 5)), np.arange(24) % 2
    summary = Study({"m": ListedSelections()}, (X, y), KFold(4)).run(n_jobs=1).summary()
    assert summary["kuncheva"][0] < -1
    assert summary["geometric_mean"][0] == 0


def test_the_size_of_a_subset_is_that_of_the_splits():
    """Neither shuffled labels nor the fit on all rows count."""
    X, y = np.random.default_rng(0).normal(size=(24, 5)), np.arange(24) % 2
    ListedSelections.turns[:] = [[0], [0, 1, 2, 3, 4]] * 3
    results = Study({"m": ListedSelections()}, (X, y), KFold(3), null=1).run(n_jobs=1)
    assert results.curves()["size"].to_list() == [1]
    assert results.curves()["n"].to_list() == [3]
    ListedSelections.turns[:] = [[0, 1, 2, 3, 4], [0], [1], [0]]
    results = Study({"m": ListedSelections()}, (X, y), Bootstrap(3)).run(n_jobs=1)
    assert results.curves()["size"].to_list() == [1]
    assert results.curves()["mean"].null_count() == 0  # it finds the fit on all rows, though


# ---- sizes and selections ------------------------------------------------------------------------
def test_selections_of_rankings():
    ListedOrders.orders[:] = [[2, 0, 1], [2, 1, 0], [0, 2, 1]]
    table = pl.DataFrame({"a": [0.0, 1.0] * 6, "b": np.arange(12.0), "c": np.arange(12.0) ** 2})
    results = Study({"own": ListedOrders()}, (table, np.arange(12) % 2), KFold(3), sizes=[1, 2],
                    learner=GaussianNB()).run(n_jobs=1)  # fmt: skip
    assert results.selection(1) == ["a", "c"]
    assert results.selection(2) == ["a", "b", "c"]
    assert results.selection(2, rule="intersection") == ["c"]
    assert results.selection(1, rule="best") in (["a"], ["c"])
    assert results.selection(1, rule="best", metric="error") == results.selection(1, rule="best")
    with pytest.raises(ParameterError, match="size=3: rankings were evaluated at"):
        results.selection(3, rule="best")
    position = results.positions({"c": [2], "others": [0, 1]})["c"]
    assert (position.best, position.worst) == (1, 2)
    assert results.choose_size("best") in (1, 2)
    assert results.choose_size(2) == 2
    assert results.choose_size("rule-of-thumb") == 2


def test_ambiguous_arguments_are_refused():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    results = Study(["f-test", "none"], (X, y), KFold(3), sizes=[1, 2]).run()
    with pytest.raises(ParameterError, match="say which of the methods: f-test, none"):
        results.curve()
    with pytest.raises(ParameterError, match="'rfe' is none of the methods"):
        results.curve(method="rfe")
    with pytest.raises(ParameterError, match="no metric 'area'"):
        results.curves("area")
    with pytest.raises(ParameterError, match="level"):
        results.curves(level=95)
    with pytest.raises(ParameterError, match="size 3 of 'f-test' on 'data' was not evaluated"):
        results.summary(rule=3)
    with pytest.raises(ParameterError, match="run without shuffled labels"):
        results.null_test()


def test_sizes_that_were_not_evaluated_are_refused():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    results = Study("f-test", (X, y), KFold(3), sizes=[2]).run()
    assert results.summary()["size"].to_list() == [2]
    with pytest.raises(ParameterError, match="size 3 of 'f-test'"):
        results.summary(rule=3)


def test_a_single_split():
    X, y = np.random.default_rng(0).normal(size=(30, 4)), np.arange(30) % 2
    results = Study(["f-test", "none"], (X, y), Holdout(), sizes=[1, 2, 4]).run()
    curves = results.curves()
    assert curves["sd"].null_count() == curves["lower"].null_count() == 4
    assert curves["kuncheva"].null_count() == 4
    summary = results.summary()  # the interval of the best has no width
    best = curves.filter(pl.col("method") == "f-test").sort(
        "mean", "size", descending=[True, False]
    )
    assert summary["size"][0] == best["size"][0]
    assert results.compare().pairs.is_empty()
    official = Dataset.of(X, y, official=["train", "test", "train"] * 10)
    fits = Study("f-test", official, Holdout(), sizes=[1]).run().rankings
    assert fits["n_test"].to_list() == [10]


def test_tables_of_one_column():
    x = np.random.default_rng(0).normal(size=(30, 1))
    results = Study(["f-test", "none"], (x + np.arange(30)[:, None] % 2, np.arange(30) % 2),
                    KFold(3)).run()  # fmt: skip
    assert results.curves()["size"].to_list() == [1, 1]
    assert (
        results.curves()["kuncheva"].null_count() == 2
    )  # at all columns every selection is the same
    assert results.summary()["geometric_mean"].null_count() == 2


# ---- metrics of the selection --------------------------------------------------------------------
def test_metrics_of_known_relevant_columns():
    corral = make_problem("corral", random_state=1)
    X, y = np.random.default_rng(0).normal(size=(32, 4)), np.arange(32) % 2
    study = Study({"f": FTest(), "best": SelectKBest(k=3)}, {"corral": corral, "noise": (X, y)},
                  KFold(4), sizes=[1, 4], metrics=("success", "relevant", "bcr"))  # fmt: skip
    results = study.run()
    rows = results.rows.filter(pl.col("dataset") == "corral")
    orders = {
        (m, k): order for m, k, order in results.rankings.filter(pl.col("dataset") == "corral")
        .select("method", "split", "order").rows()
    }  # fmt: skip
    truth = corral.roles
    relevant = {column for group in truth.relevant for column in group}
    for row in rows.rows(named=True):
        chosen = orders[row["method"], row["split"]][: row["size"]]
        assert row["relevant"] == len(relevant & set(chosen))
        expected = success_index(chosen, truth, ranked=row["method"] == "f")
        assert row["success"] == pytest.approx(expected)
    wrong = results.values("irrelevant").filter(results.rows["dataset"] == "corral")
    assert (wrong + results.values("redundant").filter(results.rows["dataset"] == "corral")
            + rows["relevant"] == rows["size"]).all()  # fmt: skip
    noise = results.rows.filter(pl.col("dataset") == "noise")
    assert noise["success"].null_count() == noise.height  # relevant columns are not known
    summary = results.summary("success")
    assert summary.filter(pl.col("dataset") == "noise")["success"].null_count() == 2
    assert summary.filter(pl.col("dataset") == "corral")["success"].null_count() == 0
    assert summary["geometric_mean"].null_count() == 4  # no rate


def test_success_of_a_ranking_does_not_depend_on_its_size():
    corral, chosen = make_problem("corral"), [0, 1, 2, 3, 5]
    ListedOrders.orders[:], ListedSelections.turns[:] = [[*chosen, 4]] * 2, [chosen] * 2
    methods = {"own": ListedOrders(), "turns": ListedSelections()}
    results = Study(methods, corral, KFold(2), sizes=[5], metrics=["success"]).run(n_jobs=1)
    assert results.rows["success"].to_list() == [100.0, 100.0, 75.0, 75.0]


def test_categorical_columns_are_counted():
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    table = pl.DataFrame(
        {"a": rng.normal(size=30), "t": [f"l{v}" for v in y], "b": rng.normal(size=30)}
    )
    results = Study("svm-rfe", (table, y), KFold(3), sizes=[1, 2], metrics="categorical").run()
    assert results.rows["categorical"].to_list() == [1.0] * 6
    assert results.curves("categorical")["mean"].to_list() == [1.0, 1.0]
    assert results.curves("categorical")["categorical"].to_list() == [1.0, 1.0]


# ---- leave-one-out -------------------------------------------------------------------------------
def loo_pairs(results, size, method="f"):
    """(true, predicted) of every row."""
    rows = results.rows.filter(
        (pl.col("size") == size) & (pl.col("method") == method) & (pl.col("null_draw") == 0)
    )
    pairs = []
    for confusion in rows["confusion"].to_list():
        side = round(len(confusion) ** 0.5)
        pairs += [(cell // side, cell % side) for cell, n in enumerate(confusion) for _ in range(n)]
    return pairs


@pytest.fixture(scope="module")
def left_out():
    rng = np.random.default_rng(7)
    y = np.array([0] * 21 + [1] * 7)
    X = rng.normal(size=(28, 5))
    X[:, 1] += 1.3 * y
    options = {"sizes": [1, 2, 5], "learner": GaussianNB(), "null": 1}
    methods = {"f": FTest(), "none": None}
    ours = Study(methods, (X, y), LeaveOneOut(), **options).run()
    theirs = Study(methods, (X, y), TheirLeaveOneOut(), **options).run()
    return ours, theirs


@pytest.mark.parametrize("whose", [0, 1])
def test_leave_one_out_counts_all_rows_together(left_out, whose):
    results = left_out[whose]
    for metric in ("bcr", "accuracy", "error", "sensitivity", "specificity"):
        for line in results.curves(metric).filter(pl.col("method") == "f").rows(named=True):
            pairs = loo_pairs(results, line["size"])
            assert len(pairs) == 28
            recalls = [reference.recall(pairs, label) for label in (0, 1)]
            right = reference.accuracy(pairs)
            expected, variance = {
                "bcr": (
                    statistics.mean(recalls),
                    sum(r * (1 - r) / n for r, n in zip(recalls, (21, 7), strict=True)) / 4,
                ),
                "accuracy": (right, right * (1 - right) / 28),
                "error": (1 - right, right * (1 - right) / 28),
                "sensitivity": (recalls[1], recalls[1] * (1 - recalls[1]) / 7),
                "specificity": (recalls[0], recalls[0] * (1 - recalls[0]) / 21),
            }[metric]
            assert line["mean"] == pytest.approx(expected)
            half = stats.norm.ppf(0.975) * math.sqrt(variance)
            assert line["lower"] == pytest.approx(expected - half)
            assert line["upper"] == pytest.approx(expected + half)
            assert line["n"] == 28
    assert results.rows["bcr"].unique().sort().to_list() == [0.0, 1.0]  # a row itself


def test_all_tables_have_the_pooled_rate(left_out):
    results, theirs = left_out
    curves = results.curves()
    assert theirs.curves().equals(curves)
    line = dict(curves.filter(pl.col("method") == "f").select("size", "mean").rows())
    assert results.curve(method="f").mean == pytest.approx(list(line.values()))
    null = results.null_test().row(0, named=True)
    assert null["observed"] == pytest.approx(max(line.values()))
    other = curves.filter(pl.col("method") == "none")["mean"][0]
    for row in results.compare(size=2).pairs.rows(named=True):
        assert row["difference"] == pytest.approx(line[2] - other)


def test_leaving_out_groups():
    """Rows of a group hit or miss together: the error is that of a ratio of sums over groups."""
    rng = np.random.default_rng(2)
    groups = rng.integers(0, 9, size=40)
    y = (groups + (rng.random(40) < 0.2)) % 2
    X = rng.normal(size=(40, 3)) + 0.8 * y[:, None]
    results = Study({"f": FTest()}, Dataset.of(X, y, row_groups=groups), LeaveOneOut(),
                    sizes=[2], learner=GaussianNB()).run()  # fmt: skip
    matrices = [np.reshape(c, (2, 2)) for c in results.rows["confusion"].to_list()]
    assert len(matrices) == len(set(groups.tolist()))
    pairs = loo_pairs(results, 2)
    right, n = sum(np.trace(m) for m in matrices), 40
    line = results.curves("accuracy").row(0, named=True)
    assert line["mean"] == pytest.approx(right / n)
    residuals = [(np.trace(m) - right / n * m.sum()) / n for m in matrices]
    half = stats.norm.ppf(0.975) * math.sqrt(sum(r**2 for r in residuals))
    assert line["upper"] == pytest.approx(right / n + half)
    assert results.curves().row(0, named=True)["mean"] == pytest.approx(reference.bcr(pairs))
    assert results.curve("accuracy").mean == pytest.approx([right / n])


# ---- the bootstrap -------------------------------------------------------------------------------
@pytest.mark.parametrize("estimator", [".632", ".632+", "out-of-bag"])
@pytest.mark.parametrize("learner", [GaussianNB(), KNeighborsClassifier(1)])
def test_the_bootstrap_equals_its_formula(estimator, learner):
    rng = np.random.default_rng(5)
    y = np.array([0] * 18 + [1] * 12)
    X = rng.normal(size=(30, 4)).round(1)
    X[:, 2] += 0.8 * y
    splits = Bootstrap(7, estimator=estimator)
    methods = {"f": FTest(), "best": SelectKBest(k=2)}
    results = Study(methods, (X, y), splits, sizes=[1, 4], learner=learner).run()
    for method, size in (("f", 1), ("f", 4), ("best", 2)):
        left_out, apparent_pairs = {"error": [], "bcr": []}, None
        for split in [*splits.split(None, y), None]:
            train = np.arange(30) if split is None else split.train
            test = np.arange(30) if split is None else split.test
            chosen = methods[method].fit(X[train], y[train])
            best = chosen.order_[:size] if method == "f" else np.flatnonzero(chosen.get_support())
            model = learner.fit(X[train][:, best], y[train])
            pairs = list(zip(y[test].tolist(), model.predict(X[test][:, best]).tolist(),
                             strict=True))  # fmt: skip
            if split is None:
                apparent_pairs = pairs
            else:
                left_out["error"].append(1 - reference.accuracy(pairs))
                left_out["bcr"].append(1 - reference.bcr(pairs))
        shuffled = [(true, guess) for true, _ in apparent_pairs for _, guess in apparent_pairs]
        figures = {
            "error": (1 - reference.accuracy(apparent_pairs), 1 - reference.accuracy(shuffled)),
            "bcr": (1 - reference.bcr(apparent_pairs), 1 - reference.bcr(shuffled)),
        }
        assert figures["error"][1] == pytest.approx(reference.no_information_rate(apparent_pairs))
        for metric, (apparent, blind) in figures.items():
            mean = statistics.mean(left_out[metric])
            wanted = {
                ".632": reference.point632(apparent, mean),
                ".632+": reference.point632plus(apparent, mean, blind),
                "out-of-bag": mean,
            }[estimator]
            line = results.curves(metric).filter(
                (pl.col("method") == method) & (pl.col("size") == size)
            )
            corrected = line["mean"][0] if metric == "error" else 1 - line["mean"][0]
            assert corrected == pytest.approx(wanted)
            middle = (line["lower"][0] + line["upper"][0]) / 2
            assert middle == pytest.approx(line["mean"][0])
            assert line["n"][0] == 7
    assert (ALL_ROWS in results.rankings["split"]) == (estimator != "out-of-bag")
    assert len(results.orders(method="f")) == 7  # the fit on all rows is no split
    assert results.curve(method="f").values.shape == (7, 2)


# ---- shuffled labels -----------------------------------------------------------------------------
def test_a_strong_signal_beats_all_shuffles():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 15)
    X = rng.normal(size=(30, 5))
    X[:, 3] += 8 * (y == "b")
    for options in ({}, {"selection": "outside"}):
        results = Study(["f-test", "none"], (X, y), KFold(3), sizes=[1, 5],
                        learner=GaussianNB(), null=19, **options).run()  # fmt: skip
        for metric in ("bcr", "error"):
            null_table = results.null_test(metric)
            assert null_table["p_value"].to_list() == [1 / 20] * 2
            assert null_table["n_null"].to_list() == [19, 19]
            assert null_table["biased"].to_list() == [bool(options)] * 2
            assert null_table["observed"][0] == (1.0 if metric == "bcr" else 0.0)
            assert 0.3 < null_table["null_mean"][0] < 0.8
            assert 0 < null_table["null_best"][0] < 1
        assert results.summary()["bcr"][0] == 1.0  # shuffles stay out of everything else
        assert len(results.orders(method="f-test")) == 3


def test_noise_does_not_beat_all_shuffles():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 20)), np.repeat([0, 1], 15)
    results = Study("f-test", (X, y), KFold(3), sizes=[1, 4], learner=GaussianNB(), null=19).run()
    null_table = results.null_test()
    assert null_table["p_value"][0] > 0.1
    # the definition: the best mean over sizes, of the truth and of every shuffle
    best = {}
    for draw in range(20):
        rows = results.rows.filter(pl.col("null_draw") == draw)
        best[draw] = max(
            statistics.mean(rows.filter(pl.col("size") == size)["bcr"].to_list()) for size in (1, 4)
        )
    observed = best.pop(0)
    as_good = sum(value >= observed - 1e-12 for value in best.values())
    assert null_table["p_value"][0] == pytest.approx((1 + as_good) / 20)
    assert null_table["observed"][0] == pytest.approx(observed)
    assert null_table["null_best"][0] == pytest.approx(max(best.values()))
    assert null_table["null_mean"][0] == pytest.approx(statistics.mean(best.values()))
    with pytest.raises(ParameterError, match="no metric 'area'"):
        results.null_test("area")


def test_shuffles_are_split_by_their_own_labels():
    """Stratified on the shuffled labels, and the labels are really those."""
    y = np.repeat([0, 1], 12)
    X = y[:, None].astype(float)
    results = Study("none", (X, y), KFold(4), learner=First(), null=2).run()
    data = Dataset.of(X, y)
    for draw in (1, 2):
        shuffled = data.shuffled(draw, 0)
        rows = results.rows.filter(pl.col("null_draw") == draw)
        for split, confusion in zip(
            KFold(4).split(None, shuffled.codes), rows["confusion"].to_list(), strict=True
        ):
            pairs = list(zip(shuffled.y[split.test], y[split.test], strict=True))
            assert confusion == reference.confusion(pairs, [0, 1])
            assert sum(shuffled.y[split.test]) == 3


# ---- labelled as biased --------------------------------------------------------------------------
def test_selection_outside_is_labelled_everywhere(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 40)), np.arange(30) % 2
    options = {"sizes": [2, 8], "learner": GaussianNB(), "null": 2}
    inside = Study(["f-test", "none"], (X, y), KFold(5), **options).run()
    study = Study(["f-test", "none"], (X, y), KFold(5), selection="outside", **options)
    outside = study.run(tmp_path)
    for results in (outside, Results.open(tmp_path)):
        assert results.biased
        assert "BIASED" in repr(results)
        for frame in (
            results.summary(), results.curves(), results.null_test(), results.families()
        ):  # fmt: skip
            assert frame["biased"].all()
        assert "BIASED: columns were selected on all rows" in results.compare().summary()
        assert "BIASED" in repr(results.compare())
        assert results.compare().biased
    assert not inside.biased
    for frame in (inside.summary(), inside.curves(), inside.null_test(), inside.families()):
        assert not frame["biased"].any()
    assert "BIASED" not in repr(inside) + repr(inside.compare())
    # and biased it is: noise seems to predict
    means = [
        r.curves().filter(pl.col("method") == "f-test")["mean"].max() for r in (inside, outside)
    ]
    assert means[1] > means[0] + 0.1


# ---- families of draws ---------------------------------------------------------------------------
def test_families_of_draws():
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    datasets = {
        name: (rng.normal(size=(30, 5)) + y[:, None] * rng.random(), y)
        for name in ("led/0", "led/1", "led/2", "other")
    }
    methods = {"f": FTest(), "wavering": ColumnsAboveMean()}
    results = Study(methods, datasets, KFold(3), sizes=[1, 2], learner=GaussianNB()).run()
    families = results.families()
    curves = results.curves()
    line = families.filter(
        (pl.col("family") == "led") & (pl.col("method") == "f") & (pl.col("size") == 2)
    )
    means = curves.filter(
        pl.col("dataset").str.starts_with("led") & (pl.col("method") == "f") & (pl.col("size") == 2)
    )["mean"].to_list()
    assert line["mean"].to_list() == [pytest.approx(statistics.mean(means))]
    assert line["sd"].to_list() == [pytest.approx(statistics.stdev(means))]
    assert line["n_draws"].to_list() == [3]
    own = families.filter((pl.col("family") == "led") & (pl.col("method") == "wavering"))
    assert own["n_draws"].to_list() == [3]  # though it takes another number each time


# ---- opening -------------------------------------------------------------------------------------
def test_results_read_again_are_the_same(tmp_path, several):
    X, y = np.random.default_rng(0).normal(size=(24, 5)), np.array(["b", "a", "c"] * 8)
    methods = {"z": FTest(), "a": SelectKBest(k=2)}
    first = Study(methods, (X, y), KFold(3), sizes=[1, 2], null=1).run(tmp_path)
    again = Results.open(tmp_path)
    for before, after in (
        (first.curves(), again.curves()),
        (first.summary(), again.summary()),
        (first.null_test(), again.null_test()),
        (first.compare().pairs, again.compare().pairs),
        (first.failures, again.failures),
    ):
        assert before.equals(after)
    assert again.curves()["method"].unique(maintain_order=True).to_list() == ["z", "a"]
    assert again.values("sensitivity").equals(first.values("sensitivity"))
    assert again.verdicts().counts() == {"holds": 0, "does not hold": 0, "cannot be tested": 0}


def test_metrics_that_do_not_exist_for_a_row():
    """No positive row in a test part: no sensitivity, and the mean is over the others."""
    y = np.array([0] * 12 + [1] * 3)
    X = np.random.default_rng(0).normal(size=(15, 3)) + y[:, None]
    splits = [([0, 1, 2, 12, 13], [3, 4]), ([0, 1, 2, 12, 13], [5, 14]), ([0, 1, 12, 13], [9, 14])]
    results = Study("f-test", (X, y), splits, sizes=[1], learner=GaussianNB()).run()
    values = results.values("sensitivity").to_list()
    assert values[0] is None
    line = results.curves("sensitivity").row(0, named=True)
    assert line["n"] == 2
    assert line["mean"] == pytest.approx(statistics.mean(values[1:]))
    assert results.summary("sensitivity")["n_failed"].to_list() == [0]
    assert results.curve("sensitivity").n.tolist() == [2]


def test_reference_is_exact():
    """The arithmetic of the reference implementation, on simple numbers."""
    pairs = [(0, 0), (0, 1), (1, 1), (1, 1)]
    assert reference.bcr(pairs) == 0.75
    assert reference.confusion(pairs, [0, 1]) == [1, 1, 0, 2]
    assert reference.no_information_rate(pairs) == float(Fraction(8, 16))
    assert reference.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    with pytest.raises(DataError):
        Dataset.of([[1.0]], [0])
