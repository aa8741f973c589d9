"""The search equals its reference, which trains a public learner for every trial."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from featly.basics.errors import ParameterError
from featly.filters.univariate_test import UnivariateTest
from featly.learners.heom import HEOMNeighbors
from featly.learners.mixed_naive_bayes import MixedNaiveBayes
from featly.measures.classification import bcr, confusion_matrix
from featly.testing import method_checks
from featly.wrappers import hybrid_forward
from featly.wrappers.hybrid_forward import HybridForward, deal
from tests.reference.hybrid_forward import merge_lists, rate

LEARNERS = {"nb": MixedNaiveBayes(), "5nn": HEOMNeighbors()}


@st.composite
def tables(draw):
    """A mixed frame and classes: ties, missing values, constant columns, rare levels."""
    rng = np.random.default_rng(draw(st.integers(0, 100_000)))
    n = draw(st.integers(4, 30))
    n_classes = draw(st.integers(2, 3))
    y = rng.integers(0, n_classes, n)
    y[:2] = 0, 1
    missing_share = draw(st.sampled_from([0.0, 0.15]))
    columns = {}
    for j in range(draw(st.integers(1, 4))):
        noise = rng.integers(-2, 3, n) if rng.random() < 0.5 else rng.normal(size=n)
        columns[f"number {j}"] = noise + rng.choice([0.0, 1.0, 2.0]) * y
    for j in range(draw(st.integers(1, 4))):
        level = np.where(rng.random(n) < rng.choice([0.0, 0.6]), y, rng.integers(0, 4, n))
        columns[f"level {j}"] = np.array(list("abcd"))[level].tolist()
    if rng.random() < 0.2:
        columns["constant"] = np.full(n, 0.1)
    if rng.random() < 0.2:
        columns["level 9"] = [None] * n
    types = {name: pl.String for name in columns if name.startswith("level")}
    frame = pl.DataFrame(columns, schema_overrides=types)
    frame = frame.with_columns(
        pl.when(pl.Series(rng.random(n) < missing_share))
        .then(None)
        .otherwise(pl.col(name))
        .alias(name)
        for name in columns
    )
    return frame.select(rng.permutation(frame.columns).tolist()), np.array(list("abc"))[y]


def lists(frame, y, fitted, names=None):
    """The two ranked lists of names, by the tests alone."""
    tests = UnivariateTest(continuous="welch", ordinal="welch").fit(frame, y)
    assert fitted.p_value_ == pytest.approx(tests.p_value_, nan_ok=True)
    ranked = [frame.columns[f] for f in tests.order_ if names is None or frame.columns[f] in names]
    return [
        [name for name in ranked if (frame[name].dtype == pl.String) == text]
        for text in (False, True)
    ]


def assert_equals_reference(frame, y, learner, **parameters):
    fitted = HybridForward(learner=learner, **parameters).fit(frame, y)
    expected, rates = merge_lists(
        LEARNERS[learner], frame, y, fitted.fold_, *lists(frame, y, fitted)
    )
    assert [frame.columns[f] for f in fitted.order_] == expected
    tried = [np.nan if value is None else value for value in rates]
    assert fitted.bcr_[fitted.order_] == pytest.approx(tried, abs=1e-12, nan_ok=True)
    return fitted


# ---- the reference implementation ----------------------------------------------------------------
@pytest.mark.parametrize("learner", LEARNERS)
@given(table=tables(), n_folds=st.integers(2, 5), random_state=st.integers(0, 3))
@settings(max_examples=25)
def test_equals_reference(learner, table, n_folds, random_state):
    assert_equals_reference(*table, learner, n_folds=n_folds, random_state=random_state)


@pytest.mark.parametrize("learner", LEARNERS)
@given(table=tables(), picked=st.sets(st.integers(0, 9), min_size=1))
@settings(max_examples=15)
def test_columns_to_keep_are_merged_first_and_seed_the_rest(learner, table, picked):
    frame, y = table
    keep = [name for j, name in enumerate(frame.columns) if j in picked]
    fitted = HybridForward(learner=learner, n_features_to_select=1.0, schema={"keep": keep})
    fitted.fit(frame, y)
    other_names = [name for name in frame.columns if name not in keep]
    first, rates = merge_lists(
        LEARNERS[learner], frame, y, fitted.fold_, *lists(frame, y, fitted, keep)
    )
    then, more = merge_lists(
        LEARNERS[learner],
        frame,
        y,
        fitted.fold_,
        *lists(frame, y, fitted, other_names),
        chosen=first,
    )
    assert [frame.columns[f] for f in fitted.order_] == first + then
    tried = [np.nan if value is None else value for value in rates + more]
    assert fitted.bcr_[fitted.order_] == pytest.approx(tried, abs=1e-12, nan_ok=True)


@given(table=tables())
@settings(max_examples=40)
def test_likelihoods_and_distances_equal_those_of_the_learners(table):
    """Logarithms and distances of every fold, to the last digits: rates show only some of them."""
    frame, y = table
    classes, codes = np.unique(y, return_inverse=True)
    fold = deal(codes, 4, 0)
    if (fold < 0).all():
        return
    bayes = hybrid_forward._BayesTrial(codes, len(classes), fold)
    neighbours = hybrid_forward._NeighbourTrial(codes, len(classes), fold)
    for name in frame.columns:
        numeric = frame[name].dtype != pl.String
        values = frame[name] if numeric else frame[name].rank("dense").fill_null(0)
        column = values.cast(pl.Float64).fill_null(np.nan).to_numpy().copy()
        column = column if numeric else column.astype(np.int64)
        bayes.join(column, numeric)
        neighbours.join(column, numeric)
    rows = neighbours._rows
    for f in range(fold.max() + 1):
        test = fold == f
        train, other = frame.filter(~test), frame.filter(test)
        total = bayes._total[test]
        expected = MixedNaiveBayes().fit(train, y[~test]).predict_log_proba(other)
        log_probabilities = total - total.max(axis=1, keepdims=True)
        log_probabilities -= np.log(np.exp(log_probabilities).sum(axis=1, keepdims=True))
        assert log_probabilities == pytest.approx(expected, rel=1e-9, abs=1e-9)
        squared = neighbours._squared[np.ix_(test[rows], ~test[rows])]
        everyone = HEOMNeighbors(n_neighbors=len(y)).fit(train, y[~test]).kneighbors(other)[0]
        ordered = np.sort(squared, axis=1)[np.argsort(rows[test[rows]])]
        assert ordered == pytest.approx(everyone**2, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("learner", LEARNERS)
def test_equals_reference_on_real_tables(learner, data_folder):
    for name, most in (("heart_cleveland", None), ("bands", 5), ("arrhythmia_binary", 5)):
        frame = pl.read_parquet(data_folder / f"{name}.parquet")
        y = frame["class"].cast(pl.String).to_numpy()
        frame = frame.drop("class").with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
        if most is not None:
            tests = UnivariateTest(continuous="welch", ordinal="welch").fit(frame, y)
            order = tests.order_.tolist()
            numbers = [f for f in order if frame.dtypes[f] != pl.String][:most]
            levels = [f for f in order if frame.dtypes[f] == pl.String][:most]
            frame = frame[:, [*numbers, *levels]]
        fitted = assert_equals_reference(frame, y, learner)
        assert np.nanmax(fitted.bcr_) > 0.6


@pytest.mark.parametrize("learner", LEARNERS)
def test_searching_in_pieces_changes_nothing(learner, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    frame = pl.DataFrame(
        {f"number {j}": rng.normal(size=40) + 0.5 * y for j in range(12)}
        | {f"level {j}": rng.choice(["u", "v", "w"], 40) for j in range(7)}
    )
    expected = HybridForward(learner=learner).fit(frame, y)
    for size in (1, 3):
        monkeypatch.setattr(hybrid_forward, "MOST_COLUMNS", size)
        by_pieces = HybridForward(learner=learner).fit(frame, y)
        assert by_pieces.order_.tolist() == expected.order_.tolist()
        assert by_pieces.bcr_.tobytes() == expected.bcr_.tobytes()
    monkeypatch.setattr(hybrid_forward, "MOST_OPERATIONS", 1)
    assert HybridForward(learner=learner).fit(frame, y).order_.tolist() == by_pieces.order_.tolist()


# ---- lists and ties ------------------------------------------------------------------------------
def test_lists_are_ordered_by_scipys_p_values():
    rng = np.random.default_rng(3)
    y = np.arange(50) % 2
    frame = pl.DataFrame(
        {f"number {j}": rng.normal(size=50) * (1 + y) + 0.3 * j * y for j in range(5)}
        | {
            f"level {j}": np.where(rng.random(50) < 0.2 * j, y, rng.integers(0, 2, 50)).astype(str)
            for j in range(5)
        }
    )
    fitted = HybridForward().fit(frame, y)
    for j, name in enumerate(frame.columns):
        x = frame[name].to_numpy()
        if name.startswith("number"):
            expected = stats.ttest_ind(x[y == 0], x[y == 1], equal_var=False).pvalue
        else:
            expected = stats.fisher_exact(stats.contingency.crosstab(x, y).count).pvalue
        assert fitted.p_value_[j] == pytest.approx(expected, rel=1e-9)
    for kind in ("number", "level"):
        columns = [f for f in fitted.order_ if frame.columns[f].startswith(kind)]
        assert (np.diff(fitted.p_value_[columns]) >= 0).all()


@pytest.mark.parametrize("learner", LEARNERS)
def test_ties_go_to_the_continuous_column(learner):
    y = np.arange(20) % 2
    frame = pl.DataFrame({"level": y.astype(str), "number": y + 0.0, "other": y.astype(str)})
    fitted = HybridForward(learner=learner).fit(frame, y)
    assert fitted.order_.tolist() == [1, 0, 2]
    assert fitted.bcr_[1] == 1
    assert np.isnan(fitted.bcr_[[0, 2]]).all()
    assert fitted.scores_.tolist() == [2, 3, 1]


def test_the_rate_is_the_balanced_classification_rate():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b"])[(np.arange(70) < 20).astype(int)]
    frame = pl.DataFrame(
        {"number": rng.normal(size=70) + 2 * (y == "b"), "level": rng.choice(["u", "v"], 70)}
    )
    fitted = HybridForward().fit(frame, y)
    predicted = np.empty(70, dtype=object)
    for f in range(5):
        test = fitted.fold_ == f
        learner = MixedNaiveBayes().fit(frame.filter(~test).select("number"), y[~test])
        predicted[test] = learner.predict(frame.filter(test).select("number"))
    confusion = confusion_matrix((y == "b") * 1, (predicted == "b") * 1, 2)
    assert fitted.bcr_[0] == pytest.approx(bcr(confusion))
    assert rate(MixedNaiveBayes(), frame, y, fitted.fold_, ["number"]) == pytest.approx(
        bcr(confusion)
    )


@pytest.mark.parametrize("learner", LEARNERS)
def test_one_kind_of_column_is_a_list_of_tests(learner):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 3
    numbers = pl.DataFrame({f"n{j}": rng.normal(size=40) + 0.1 * j * y for j in range(6)})
    levels = pl.DataFrame({f"l{j}": rng.choice(["u", "v", "w"], 40) for j in range(6)})
    for frame in (numbers, levels):
        fitted = HybridForward(learner=learner).fit(frame, y)
        assert (
            fitted.order_.tolist()
            == UnivariateTest(continuous="welch").fit(frame, y).order_.tolist()
        )
        assert np.isnan(fitted.bcr_).all()


def test_ordinal_columns_are_among_the_continuous_ones():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    frame = pl.DataFrame(
        {
            "grade": np.array(["low", "mid", "high"])[np.minimum(rng.integers(0, 2, 60) + y, 2)],
            "level": rng.choice(["u", "v"], 60),
            "number": rng.normal(size=60),
        }
    )
    schema = {"ordinal": {"grade": ["low", "mid", "high"]}}
    fitted = HybridForward(schema=schema).fit(frame, y)
    ranks = frame["grade"].replace_strict({"low": 0.0, "mid": 1.0, "high": 2.0})
    other = HybridForward().fit(frame.with_columns(ranks), y)
    assert fitted.order_.tolist() == other.order_.tolist()
    assert fitted.bcr_ == pytest.approx(other.bcr_, nan_ok=True)
    assert fitted.p_value_ == pytest.approx(other.p_value_)


# ---- folds ---------------------------------------------------------------------------------------
@given(st.lists(st.integers(0, 3), min_size=2, max_size=40), st.integers(2, 6), st.integers(0, 9))
def test_folds_are_even(labels, n_folds, seed):
    y = np.unique(labels, return_inverse=True)[1]
    fold = deal(y, n_folds, seed)
    sizes = np.bincount(y)
    used = max(2, min(n_folds, sizes.max()))
    assert ((fold == -1) == (sizes[y] == 1)).all()
    dealt = np.bincount(fold[fold >= 0], minlength=used)
    assert len(dealt) == used
    assert dealt.max() - dealt.min() <= 1
    for c in np.flatnonzero(sizes > 1):
        class_counts = np.bincount(fold[y == c], minlength=used)
        assert class_counts.max() - class_counts.min() <= 1
        assert class_counts.max() < sizes[c], "every class is left to train on"
    assert (deal(y, n_folds, seed) == fold).all()
    assert (deal(y.max() - y, n_folds, seed) == fold).all(), "names of classes do not matter"


def test_other_seeds_give_other_folds():
    y = np.arange(30) % 2
    assert len({deal(y, 5, seed).tobytes() for seed in range(8)}) == 8


@pytest.mark.parametrize("learner", LEARNERS)
def test_tables_too_small_for_folds(learner):
    frame = pl.DataFrame({"level": ["u", "v"], "number": [1.0, 2.0], "other": ["u", "u"]})
    fitted = HybridForward(learner=learner).fit(frame, [0, 1])
    assert fitted.order_.tolist() == [1, 0, 2]
    assert fitted.fold_.tolist() == [-1, -1]
    assert np.isnan(fitted.bcr_).all()
    three = pl.DataFrame({"level": ["u", "v", "u"], "number": [1.0, 2.0, 1.5]})
    fitted = HybridForward(learner=learner).fit(three, [0, 1, 0])
    assert sorted(fitted.fold_.tolist()) == [-1, 0, 1]
    assert np.isfinite(fitted.bcr_[fitted.order_[0]])


# ---- the contract --------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "check"), list(method_checks(HybridForward(learner="5nn"))))
def test_check(name, check):
    check(HybridForward(learner="5nn"))


@pytest.mark.parametrize("learner", LEARNERS)
def test_progress_and_control_c(learner, monkeypatch):
    monkeypatch.setattr(hybrid_forward, "MOST_COLUMNS", 2)
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    frame = pl.DataFrame(
        {f"number {j}": rng.normal(size=40) + 0.2 * y for j in range(8)}
        | {f"level {j}": rng.choice(["u", "v"], 40) for j in range(8)}
    )
    seen = []
    whole = HybridForward(learner=learner, verbose=lambda done, total: seen.append((done, total)))
    whole.fit(frame, y)
    assert not whole.interrupted_
    assert seen[-1] == (16, 16)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)

    def stop(done, total):
        if done >= 4:
            raise KeyboardInterrupt

    schema = {"keep": ["level 7"]}
    part = HybridForward(learner=learner, verbose=stop, schema=schema)
    with pytest.raises(KeyboardInterrupt):
        part.fit(frame, y)
    assert part.interrupted_
    assert sorted(part.order_.tolist()) == list(range(16))
    assert frame.columns[part.order_[0]] == "level 7"
    untried = part.order_[np.isnan(part.bcr_[part.order_])][1:]
    assert (np.diff(part.p_value_[untried]) >= 0).all()


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"learner": "svm"}, "learner='svm': give 'nb' or '5nn'"),
        ({"learner": None}, "learner=None"),
        ({"n_folds": 1}, "n_folds=1: give a whole number from 2"),
        ({"n_folds": 2.0}, "n_folds=2.0"),
        ({"n_folds": True}, "n_folds=True"),
        ({"random_state": -1}, "random_state=-1: give a whole number from 0"),
        ({"random_state": None}, "random_state=None"),
    ],
)
def test_wrong_parameters(parameters, word):
    with pytest.raises(ParameterError, match=word):
        HybridForward(**parameters).fit(np.eye(4), [0, 1, 0, 1])
