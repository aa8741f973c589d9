"""Effects of a prior on signatures, predictions and stability, with intervals."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin

from featly import CFS, Schema, SignalToNoise
from featly.base import Ranker, rank_by_merit
from featly.basics.errors import DataError, ParameterError, SchemaError
from featly.measures.stability import nogueira_stability
from featly.measures.statistics import corrected_resampled_t
from featly.registry import METHODS
from featly.study import Dataset, PriorReport, Study, Subsampling, prior_report
from featly.study.prior_report import _compare_stability, stability_without_each
from featly.study.prior_words import Compared, Interval


class PriorRanker(Ranker):
    """A ranker by the squared distance of class means from the mean, times the prior."""

    _uses = ("keep", "prior")

    def __init__(self, *, n_features_to_select=None, warn=False, fail=0, schema=None, n_jobs=None):
        self.n_features_to_select = n_features_to_select
        self.warn = warn
        self.fail = fail
        self.schema = schema
        self.n_jobs = n_jobs

    def _rank(self, problem):
        import warnings

        if self.warn:
            warnings.warn("it is late", UserWarning, stacklevel=2)
        y, n_classes = problem.classes.groups()
        if self.fail and len(y) < self.fail:
            raise DataError("too few rows")
        values = np.asarray(problem.source.values, dtype=float)
        values = values.T if values.shape[0] == len(y) else values
        groups = [values[:, y == c].mean(axis=1) for c in range(n_classes)]
        scores = np.square(np.array(groups) - values.mean(axis=1)).sum(axis=0)
        return rank_by_merit(problem.preference, scores)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = np.repeat(["ill", "well"], 30)
    X = rng.normal(size=(60, 20))
    X[:, :6] += 0.8 * (y == "ill")[:, None]
    return X, y


PRIOR = {"x5": 20, "x19": 900}


@pytest.fixture(scope="module")
def report(table):
    return prior_report(PriorRanker(schema={"prior": PRIOR}), *table, size=4, sizes=[2], splits=12)


# ---- signatures ----------------------------------------------------------------------------------
def test_signatures_on_all_rows_are_those_of_two_fits(report, table):
    with_prior = PriorRanker(schema={"prior": PRIOR}).fit(*table)
    without = PriorRanker().fit(*table)
    assert report.rank_with.tolist() == with_prior.ranking_.tolist()
    assert report.rank_without.tolist() == without.ranking_.tolist()
    now = [f"x{j}" for j in with_prior.order_[:4]]
    before = [f"x{j}" for j in without.order_[:4]]
    assert report.common == [name for name in now if name in before]
    assert report.came_in == [name for name in now if name not in before]
    assert report.went_out == [name for name in before if name not in now]
    assert len(report.common) + len(report.came_in) == 4
    assert report.came_in
    assert report.favoured == sorted(PRIOR, key=lambda name: report.rank_with[int(name[1:])])


def test_columns_come_in_the_order_of_the_ranking_that_holds_them(report):
    now = np.array([6, 5, 4, 1, 2, 3])
    before = np.array([1, 3, 2, 4, 6, 5])
    hand = dataclasses.replace(
        report, names=list("abcdef"), prior=np.array([1, 1, 1, 2, 1, 3]), size=3,
        rank_with=now, rank_without=before,
    )  # fmt: skip
    assert (hand.common, hand.came_in, hand.went_out) == ([], ["d", "e", "f"], ["a", "c", "b"])
    assert hand.favoured == ["d", "f"]
    assert dataclasses.replace(hand, size=4).common == ["d", "c"]


def test_the_table_has_a_row_a_column(report):
    table = report.table()
    assert isinstance(table, pl.DataFrame)
    columns = ["feature", "prior", "rank_without", "rank_with", "in_without", "in_with"]
    assert table.columns == columns
    assert table["rank_with"].to_list() == list(range(1, 21))
    for name, prior, before, now, was, is_in in table.rows():
        j = int(name[1:])
        assert prior == PRIOR.get(name, 1)
        assert (before, now) == (report.rank_without[j], report.rank_with[j])
        assert (was, is_in) == (before <= 4, now <= 4)


# ---- figures -------------------------------------------------------------------------------------
def test_rates_are_those_of_a_study_on_the_same_splits(report, table):
    both = {"a": PriorRanker(schema={"prior": PRIOR}), "b": PriorRanker()}
    study = Study(both, table, Subsampling(12, test_size=0.1), sizes=[2, 4]).run()
    for size in (2, 4):
        pairs = study.compare("bcr", size=size, rule=size).pairs.row(0, named=True)
        comparison = report.figures[size]["bcr"]
        assert comparison.difference == pytest.approx(
            (pairs["difference"], pairs["lower"], pairs["upper"])
        )
        rows = study.curves().filter(pl.col("size") == size)
        for part, row in zip(
            (comparison.with_prior, comparison.without), rows.rows(named=True), strict=True
        ):
            assert part == pytest.approx((row["mean"], row["lower"], row["upper"]))
        assert comparison.difference.value == pytest.approx(
            comparison.with_prior.value - comparison.without.value
        )


def test_stabilities_are_those_of_a_study(report, table):
    both = {"a": PriorRanker(schema={"prior": PRIOR}), "b": PriorRanker()}
    study = Study(both, table, Subsampling(12, test_size=0.1), sizes=[2, 4]).run()
    for size in (2, 4):
        rows = study.curves().filter(pl.col("size") == size)
        comparison = report.figures[size]["stability"]
        for part, row in zip(
            (comparison.with_prior, comparison.without), rows.rows(named=True), strict=True
        ):
            ends = row["nogueira_lower"], row["nogueira_upper"]
            assert part == pytest.approx((row["kuncheva"], *ends))
    favoured = {5, 19}
    for method, part in (("a", "with_prior"), ("b", "without")):
        sets = [set(order[:4].tolist()) - favoured for order in study.orders(method=method)]
        position = {j: k for k, j in enumerate(j for j in range(20) if j not in favoured)}
        alone = nogueira_stability(
            [sorted(position[j] for j in selection) for selection in sets], 18
        )
        assert getattr(report.stability_of_others, part) == pytest.approx(alone[:3])


def test_figures_at_the_size_and_all_of_them(report):
    assert list(report.figures) == [2, 4]
    assert report.bcr is report.figures[4]["bcr"]
    assert report.stability is report.figures[4]["stability"]
    assert report.stability_of_others is report.figures[4]["stability of the others"]
    curves = report.curves()
    assert curves.height == 6
    assert curves.filter(figure="bcr", size=4)["difference"][0] == report.bcr.difference.value
    assert curves.filter(figure="bcr", size=4)["with"][0] == report.bcr.with_prior.value
    assert curves.filter(figure="bcr", size=4)["without_upper"][0] == report.bcr.without.upper
    assert report.n_splits == 12


# ---- the jackknife -------------------------------------------------------------------------------
sets_of = st.lists(
    st.lists(st.integers(0, 6), max_size=7, unique=True).map(lambda s: np.array(s, np.int64)),
    min_size=3,
    max_size=7,
)


@given(selections=sets_of)
def test_leaving_out_each_is_the_stability_of_the_others(selections):
    stabilities = stability_without_each(selections, 7)
    for i, value in enumerate(stabilities):
        others = selections[:i] + selections[i + 1 :]
        assert value == pytest.approx(nogueira_stability(others, 7).value, nan_ok=True)


@given(
    pairs=st.lists(
        st.tuples(st.permutations(range(6)), st.permutations(range(6))), min_size=3, max_size=6
    ),
    size=st.integers(1, 5),
)
@settings(max_examples=30)
def test_the_interval_of_the_difference_is_the_jackknife(pairs, size):
    sets = {
        name: [np.array(pair[k][:size]) for pair in pairs]
        for k, name in enumerate(("with", "without"))
    }
    difference = _compare_stability(sets, 6, 0.9).difference
    each = [
        nogueira_stability(sets["with"][:i] + sets["with"][i + 1 :], 6).value
        - nogueira_stability(sets["without"][:i] + sets["without"][i + 1 :], 6).value
        for i in range(len(pairs))
    ]
    n = len(each)
    error = np.sqrt((n - 1) / n * sum((e - sum(each) / n) ** 2 for e in each))
    half = stats.t.ppf(0.95, n - 1) * error
    whole = nogueira_stability(sets["with"], 6).value - nogueira_stability(sets["without"], 6).value
    assert difference == pytest.approx((whole, whole - half, whole + half), abs=1e-12)


def test_the_interval_has_its_coverage():
    """Sets from the same noise with and without a shift: 95% intervals of 300 draws."""
    rng = np.random.default_rng(1)
    base, push = np.linspace(2, 0, 30), np.zeros(30)
    push[[8, 12]] = 1.2

    def draw(n_splits):
        noise = rng.normal(size=(n_splits, 30))
        orders = (np.argsort(-(base + p + noise), axis=1)[:, :5] for p in (push, 0))
        return dict(zip(("with", "without"), map(list, orders), strict=True))

    truth = _compare_stability(draw(20_000), 30, 0.95).difference.value
    differences = [_compare_stability(draw(25), 30, 0.95).difference for _ in range(300)]
    covered = np.mean([d.lower <= truth <= d.upper for d in differences])
    assert 0.91 < covered < 0.985


# ---- text ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("difference", "verdict"),
    [
        ((0.1, -0.1, 0.3), "no difference can be told"),
        ((0.1, 0.0, 0.2), "no difference can be told"),
        ((0.1, 0.01, 0.2), "higher with the prior"),
        ((-0.1, -0.2, -0.01), "lower with the prior"),
        ((0.0, 0.0, 0.0), "the same in every split"),
        ((np.nan, np.nan, np.nan), "it cannot be told"),
        ((0.2, 0.2, 0.2), "higher with the prior"),
    ],
)
def test_a_difference_in_words(difference, verdict):
    interval = Interval(0.5, 0.4, 0.6)
    assert Compared(interval, interval, Interval(*difference)).verdict() == verdict


def test_the_report_as_text(report):
    text = str(report)
    lines = text.split("\n")
    assert lines[0] == "PriorRanker: what the prior changed (60 rows, 20 columns, 2 favoured)"
    same = f"on all rows, {len(report.common)} of the 4 best columns are the same as without it"
    assert lines[1] == same
    assert f"  came in:  {', '.join(report.came_in)}" in lines
    assert f"  went out: {', '.join(report.went_out)}" in lines
    assert "(12 random splits, linear-svm on 4 columns)" in text
    words = [line.split() for line in lines]
    for name, prior in PRIOR.items():
        j = int(name[1:])
        assert [name, str(prior), str(report.rank_without[j]), str(report.rank_with[j])] in words
    value, lower, upper = report.bcr.difference
    assert f"{value:+.3f} ({lower:+.3f} to {upper:+.3f})" in text
    for figure in report.figures[4].values():
        assert figure.verdict() in text
    assert "at 2: bcr" in text
    assert (
        "If the favoured columns were chosen by looking at this table, bcr with the prior is"
        in text
    )
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 100
    assert repr(report) == "PriorReport(PriorRanker, 4 columns, 12 splits)"


def test_a_long_report_stays_short(table):
    X, y = table
    columns = [f"a rather long name of a column {j}" for j in range(20)]
    frame = pl.DataFrame(X, schema=columns, orient="row")
    prior = dict.fromkeys(columns[10:18], 30)
    report = prior_report(PriorRanker(schema={"prior": prior}, warn=True), frame, y, size=8,
                          sizes=range(1, 8), splits=4)  # fmt: skip
    lines = str(report).split("\n")
    assert len(lines) <= 25
    assert "  and 4 more" in lines
    assert (
        any(line.endswith(" and 2 more") for line in lines if "came in" in line)
        or len(report.came_in) <= 6
    )
    assert "note: UserWarning: it is late" in lines
    assert report._repr_html_() == f"<pre>{report!s}</pre>"


def test_the_stability_of_others_is_unknown_if_only_favoured_columns_are_chosen(table):
    prior = {"x18": 900, "x19": 900, "x17": 900}
    result = prior_report(PriorRanker(schema={"prior": prior}), *table, size=2, splits=6)
    assert np.isnan(result.stability_of_others.with_prior.value)
    assert result.stability_of_others.without.value > 0
    assert result.stability_of_others.verdict() == "it cannot be told"
    assert "stability of the others: it cannot be told" in str(result)
    assert "nan" not in str(result)
    assert np.isnan(result.stability_of_others.difference).all()


def test_html_is_escaped(table):
    X, y = table
    frame = pl.DataFrame(X, schema=[f"<g{j}>" for j in range(20)], orient="row")
    result = prior_report(PriorRanker(schema={"prior": {"<g19>": 50}}), frame, y, size=3, splits=3)
    assert "&lt;g19&gt;" in result._repr_html_()
    assert "<g19>" not in result._repr_html_()


# ---- input ---------------------------------------------------------------------------------------
def assert_same(a, b):
    assert a.rank_with.tolist() == b.rank_with.tolist()
    assert a.rank_without.tolist() == b.rank_without.tolist()
    assert repr(a.figures) == repr(b.figures)  # where nan is nan


def test_frames_and_names(report, table):
    X, y = table
    names = [f"x{j}" for j in range(20)]
    options = {"size": 4, "sizes": [2], "splits": 12}
    pandas = pd.DataFrame(X, columns=names)
    result = prior_report(PriorRanker(schema={"prior": PRIOR}), pandas, y, **options)
    assert_same(result, report)
    assert isinstance(result.table(), pd.DataFrame)
    assert isinstance(result.curves(), pd.DataFrame)
    frame = pl.DataFrame(X, schema=names, orient="row").with_columns(pl.Series("y", y))
    by_name = prior_report(PriorRanker(), frame, "y", schema=Schema(prior=PRIOR), **options)
    assert_same(by_name, report)
    sparse = prior_report(SignalToNoise(schema={"prior": PRIOR}), scipy.sparse.csr_array(X), y,
                          **options)  # fmt: skip
    assert_same(sparse, prior_report(SignalToNoise(schema={"prior": PRIOR}), X, y, **options))


def test_the_schema_argument_goes_before_the_schema_of_the_method(report, table):
    method = PriorRanker(schema={"prior": {"x0": 5}})
    result = prior_report(method, *table, schema={"prior": PRIOR}, size=4, sizes=[2], splits=12)
    assert_same(result, report)
    assert method.schema == {"prior": {"x0": 5}}
    assert not hasattr(method, "order_")


def test_a_dataset_with_groups_and_a_schema_of_its_own(table):
    X, y = table
    groups = np.arange(60) // 2
    own = Dataset.of(X, y, schema={"prior": PRIOR}, row_groups=groups, name="visits")
    from_dataset = prior_report(PriorRanker(), own, size=4, splits=5)
    from_table = prior_report(
        PriorRanker(), X, y, schema={"prior": PRIOR}, row_groups=groups, size=4, splits=5
    )
    assert_same(from_dataset, from_table)
    bare = Dataset.of(X, y, row_groups=groups)
    assert_same(
        prior_report(PriorRanker(schema={"prior": PRIOR}), bare, size=4, splits=5), from_dataset
    )
    ungrouped = prior_report(PriorRanker(), X, y, schema={"prior": PRIOR}, size=4, splits=5)
    assert from_dataset.figures != ungrouped.figures
    with pytest.raises(ParameterError, match="X is a Dataset, which has its target"):
        prior_report(PriorRanker(), own, y, size=4)
    with pytest.raises(SchemaError, match="X is a Dataset, which has its kinds"):
        prior_report(PriorRanker(), own, schema={"prior": PRIOR, "categorical": ["x0"]}, size=4)


def test_other_parts_of_the_schema_stay(table):
    schema = {"prior": PRIOR, "keep": ["x12"]}
    result = prior_report(PriorRanker(schema=schema), *table, size=3, splits=4)
    assert result.rank_with[12] == result.rank_without[12] == 1


def test_many_classes(table):
    X = table[0]
    y = np.arange(60) % 3
    X = X + (y == 1)[:, None] * np.eye(20)[3] * 3
    result = prior_report(PriorRanker(schema={"prior": PRIOR}), X, y, size=3, splits=5)
    assert result.bcr.with_prior.value > 1 / 3 - 0.2
    assert result.results.about["datasets"]["data"]["classes"].keys() == {"0", "1", "2"}


def test_missing_values_are_filled_split_by_split(table):
    X, y = table
    X = X.copy()
    X[3:9, 7] = X[9, 5] = np.nan
    named = pl.DataFrame(X, schema=[f"g{j}" for j in range(20)], orient="row")
    result = prior_report(
        PriorRanker(), named, y, schema={"prior": {"g5": 9}}, size=4, splits=4, fill=True
    )
    X[3:9, 7], X[9, 5] = np.nanmedian(X[:, 7]), np.nanmedian(X[:, 5])
    filled = PriorRanker(schema={"prior": {"x5": 9}}).fit(X, y)
    assert result.rank_with.tolist() == filled.ranking_.tolist()
    assert result.rank_without.tolist() == PriorRanker().fit(X, y).ranking_.tolist()
    assert result.results.about["fill"]


def test_errors_of_a_method_name_the_columns_of_the_table(table):
    from featly import AROM

    X, y = table
    X = X.copy()
    X[3, 7] = np.nan
    named = pl.DataFrame(X, schema=[f"g{j}" for j in range(20)], orient="row")
    with pytest.raises(DataError, match="'g7'"):
        prior_report(AROM(schema={"prior": {"g5": 9}}), named, y, size=4, splits=4)


def test_a_prior_against_another_one(table, report):
    options = {"size": 4, "sizes": [2], "splits": 12}
    believer = PriorRanker(schema={"prior": PRIOR})
    result = prior_report(believer, *table, without={"x11": 20, 12: 20}, **options)
    other = prior_report(PriorRanker(schema={"prior": {"x11": 20, "x12": 20}}), *table, **options)
    assert result.rank_without.tolist() == other.rank_with.tolist()
    assert result.rank_with.tolist() == report.rank_with.tolist()
    assert result.stability.without == other.stability.with_prior
    assert result.other == {"x11": 20, "x12": 20}
    assert "against another" in str(result)
    assert "the same as with the other prior" in str(result)
    with pytest.raises(SchemaError, match="prior names 'zz'"):
        prior_report(believer, *table, without={"zz": 3}, **options)


def test_other_splits_learners_and_seeds(table, report):
    believer = PriorRanker(schema={"prior": PRIOR})
    result = prior_report(believer, *table, size=4, splits=Subsampling(5, test_size=0.3),
                        learner="naive-bayes")  # fmt: skip
    assert result.learner == "naive-bayes"
    assert result.n_splits == 5
    folds = prior_report(believer, *table, size=4, splits=Study("none", table, 4).splits)
    assert "(4 splits, KFold(4), linear-svm on 4 columns)" in str(folds)
    again = prior_report(believer, *table, size=4, sizes=[2], splits=12, random_state=1)
    assert repr(again.figures) != repr(report.figures)
    assert again.rank_with.tolist() == report.rank_with.tolist()


def test_the_level_widens_intervals(table, report):
    wide = prior_report(PriorRanker(schema={"prior": PRIOR}), *table, size=4, splits=12, level=0.99)
    assert wide.level == 0.99
    for name in ("bcr", "stability", "stability_of_others"):
        for part in ("with_prior", "without", "difference"):
            a, b = getattr(getattr(wide, name), part), getattr(getattr(report, name), part)
            assert a.value == b.value
            assert a.upper - a.lower >= b.upper - b.lower
    assert wide.bcr.difference.upper > report.bcr.difference.upper
    assert wide.stability.difference.upper > report.stability.difference.upper
    assert "(99% intervals" in str(wide)


def test_progress_is_reported(table):
    seen = []
    prior_report(PriorRanker(schema={"prior": PRIOR}), *table, size=4, splits=4,
                 verbose=lambda done, total, left: seen.append((done, total)))  # fmt: skip
    assert seen[-1] == (8, 8)


def test_a_name_is_a_method(table):
    result = prior_report("signal-to-noise", *table, schema={"prior": PRIOR}, size=4, splits=3)
    assert result.method == "SignalToNoise"


def test_every_method_registered_for_a_prior_takes_it(table):
    from featly.registry import method_class

    for name, method in METHODS.items():
        if "prior" in method.uses and issubclass(method_class(name), Ranker):
            assert "prior" in method_class(name)()._uses


# ---- splits that fail ----------------------------------------------------------------------------
def test_splits_that_fail_are_left_out_and_counted(table):
    X, y = table
    splits = [(np.arange(54), np.arange(54, 60)), *(
        (np.delete(np.arange(60), np.arange(k, 60, 10)), np.arange(k, 60, 10)) for k in range(3)
    ), (np.arange(10, 40), np.arange(40, 60))]  # fmt: skip
    result = prior_report(
        PriorRanker(schema={"prior": PRIOR}, fail=40), X, y, size=4, splits=splits
    )
    assert result.n_splits == 4
    assert "2 fits failed, the first: DataError: too few rows" in str(result)
    differences = result.results.curve("bcr", method="with").values[:, 0]
    assert len(differences) == 4


class NeedsRows(ClassifierMixin, BaseEstimator):
    """Predicts the first class, if there are enough rows to learn from."""

    def fit(self, X, y):
        if len(y) < 40:
            raise ValueError("too few rows to learn from")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_a_learner_that_fails_leaves_the_split_out_of_the_rates(table):
    X, y = table
    folds = [np.arange(k, 60, 10) for k in range(3)]
    splits = [(np.delete(np.arange(60), fold), fold) for fold in folds]
    splits.append((np.arange(10, 40), np.arange(40, 60)))
    result = prior_report(
        PriorRanker(schema={"prior": PRIOR}), X, y, size=4, splits=splits, learner=NeedsRows()
    )
    assert result.n_splits == 3
    assert result.bcr.difference == (0, 0, 0)
    assert result.bcr.verdict() == "the same in every split"
    assert result.learner == "NeedsRows"
    assert "2 fits failed, the first: ValueError: too few rows to learn from" in str(result)
    orders = result.results.orders(method="with")
    assert len(orders) == 4
    assert result.stability.with_prior.value == pytest.approx(
        nogueira_stability([order[:4] for order in orders], 20).value
    )


def test_too_few_splits_without_failure(table):
    X, y = table
    splits = [(np.arange(10, 40), np.arange(40, 60)), (np.arange(54), np.arange(54, 60))] * 2
    with pytest.raises(DataError, match="2 splits can be compared, where 3 are needed: DataError: "
                       "too few rows"):  # fmt: skip
        prior_report(PriorRanker(schema={"prior": PRIOR}, fail=40), X, y, size=4, splits=splits)


# ---- wrong parameters ----------------------------------------------------------------------------
def test_a_method_that_does_not_use_the_prior(table):
    class Doubter(PriorRanker):
        _uses = ("keep",)

    for method in (Doubter(schema={"prior": PRIOR}), CFS(schema={"prior": PRIOR}), "none"):
        with pytest.raises(ParameterError, match="does not rank by a prior: use one of ") as caught:
            prior_report(method, *table)
        for known in METHODS.values():
            assert (known.class_name in str(caught.value)) == (
                "prior" in known.uses or known.class_name in type(method).__name__
            )


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (None, "the schema favours no column: say which, such as schema={'prior': {'x0': 10}}"),
        ({"prior": {"x1": 1}}, "its prior is 1 for all, give more"),
        ({"prior": dict.fromkeys(range(20), 10)}, "prior is 10 for every column, so it favours"),
        (
            {"prior": {"x91": 10}},
            "prior names 'x91', which is no column of the table; did you mean",
        ),
        ({"prior": {"x1": 0.5}}, "prior of 'x1' is 0.5: a prior is a finite number of at least 1"),
    ],
)
def test_a_schema_that_favours_none(table, schema, message):
    with pytest.raises(SchemaError) as caught:
        prior_report(PriorRanker(), *table, schema=schema, size=4)
    assert message in str(caught.value)


@pytest.mark.parametrize("size", [0, 20, 21, 2.0, True, "4", None])
def test_wrong_sizes_are_refused(table, size):
    with pytest.raises(ParameterError, match=r"size=.* below the 20 columns of the table"):
        prior_report(PriorRanker(schema={"prior": PRIOR}), *table, size=size)
    with pytest.raises(ParameterError, match=r"size=.* below the 20 columns of the table"):
        prior_report(PriorRanker(schema={"prior": PRIOR}), *table, size=2, sizes=[size])


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("sizes", 4, "sizes=4: give a list"),
        ("splits", 2, "splits=2: give at least 3"),
        ("splits", "many", "splits='many'"),
        ("splits", True, "splits=True"),
        ("learner", ["linear-svm", "tree"], "give one"),
        ("learner", "liner-svm", "did you mean 'linear-svm'?"),
        ("level", 1.5, "level=1.5"),
    ],
)
def test_wrong_options_are_refused(table, option, value, message):
    with pytest.raises(ParameterError, match=message.replace("?", r"\?")):
        prior_report(PriorRanker(schema={"prior": PRIOR}), *table, **{"size": 4, option: value})


def test_a_report_is_frozen(report):
    assert isinstance(report, PriorReport)
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.size = 3


def test_the_difference_is_that_of_splits_that_are_paired(report):
    """The corrected t of differences, by hand."""
    with_prior, without = (
        report.results.curve("bcr", method=m).values[:, 1] for m in ("with", "without")
    )
    expected = corrected_resampled_t(with_prior - without, 54, 6)
    assert report.bcr.difference == pytest.approx((expected.mean, expected.lower, expected.upper))
