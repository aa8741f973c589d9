"""The filters that count columns one by one, against Weka, scikit-learn, SciPy and references."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import mutual_info_score
from sklearn.tree import DecisionTreeClassifier

from featly import (
    ChiSquared,
    GainRatio,
    GiniIndex,
    InformationGain,
    SymmetricUncertainty,
    UnivariateTest,
)
from featly.basics.errors import DataError, ParameterError
from featly.preprocessing import MDLP
from tests.reference import counting

FILTERS = (ChiSquared, InformationGain, GainRatio, SymmetricUncertainty, GiniIndex)


def read_golden(data_folder, name):
    """A table as Weka saw it, and the values of Weka."""
    folder = data_folder.parent / "golden"
    if not folder.is_dir():
        pytest.skip("no golden outputs")

    def read(kind):
        path = folder / f"{name}.{kind}.csv"
        return pl.read_csv(path if path.exists() else f"{path}.gz")

    table = pl.read_parquet(data_folder / f"{name}.parquet").drop("split", strict=False)
    return table.drop("class"), table["class"].to_numpy(), read("attr"), read("chi2_weka36")


@pytest.mark.parametrize(
    "name", ["heart_cleveland", "hepatitis", "monk1", "monk2", "monk3", "leukemia_golub"]
)
def test_equals_weka(data_folder, name):
    X, y, attributes, chi2 = read_golden(data_folder, name)
    expected = {
        InformationGain: attributes["info_gain"],
        GainRatio: attributes["gain_ratio"],
        SymmetricUncertainty: attributes["symmetrical_uncertainty"],
    }
    for method, column in expected.items():
        scores = method(missing="spread").fit(X, y).scores_
        assert scores == pytest.approx(column.to_numpy(), rel=1e-9, abs=1e-13)
    # the older Weka of the chi-squared file
    scores = ChiSquared(missing="spread").fit(X, y).scores_
    assert scores == pytest.approx(chi2["chi_squared"].to_numpy(), rel=1e-9, abs=1e-12)


@given(data=st.data())
def test_equals_reference(data):
    n = data.draw(st.integers(4, 25))
    p = data.draw(st.integers(1, 4))
    cell = st.sampled_from([0, 1, 2, 7, None])
    columns = [data.draw(st.lists(cell, min_size=n, max_size=n)) for _ in range(p)]
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    y[:2] = [0, 1]
    missing = data.draw(st.sampled_from(["level", "spread"]))
    X = np.array([[np.nan if v is None else v for v in column] for column in columns]).T
    for method in FILTERS:
        scores = method(discretizer=None, missing=missing).fit(X, y).scores_
        for j, column in enumerate(columns):
            codes = [0 if v is None else v + 1 for v in column]
            if missing == "spread":
                counts = counting.spread(codes, y.tolist())
            else:
                counts = counting.Counter(zip(codes, y.tolist(), strict=True))
            if method is ChiSquared:
                expected = counting.chi_squared(counts) if counts else 0.0
            elif method is GiniIndex:
                expected = counting.gini_gain(counts)
            else:
                hx, hy, information = counting.table_information(counts)
                information = information if information > 1e-11 else 0.0
                below = {InformationGain: 1.0, GainRatio: hx}.get(method, (hx + hy) / 2)
                expected = information / below if information else 0.0
            assert scores[j] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_scikit_learn_and_scipy_on_many_classes():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (200, 30)), rng.integers(0, 5, 200)
    X[:, 7] = 3
    gain = InformationGain(discretizer=None).fit(X, y).scores_
    expected = [mutual_info_score(x, y) / np.log(2) for x in X.T]
    assert gain == pytest.approx(expected, abs=1e-12)
    fitted = ChiSquared(discretizer=None).fit(X, y)
    for j in range(30):
        if j == 7:
            assert (fitted.scores_[j], fitted.p_value_[j]) == (0.0, 1.0)
            continue
        scipy_test = stats.chi2_contingency(
            stats.contingency.crosstab(X[:, j], y)[1], correction=False
        )
        assert fitted.scores_[j] == pytest.approx(scipy_test.statistic)
        assert fitted.p_value_[j] == pytest.approx(scipy_test.pvalue)
        assert fitted.freedom_[j] == scipy_test.dof
    expected_q = stats.false_discovery_control(fitted.p_value_)
    assert fitted.q_value_ == pytest.approx(expected_q)


@pytest.mark.parametrize("name", ["heart_cleveland", "hepatitis"])
def test_gini_of_two_levels_is_the_first_split_of_a_tree(data_folder, name):
    """Columns of a real table, cut into two levels: what scikit-learn's tree gains by each."""
    table = pl.read_parquet(data_folder / f"{name}.parquet").drop("split", strict=False)
    numbers = table.drop("class").select(pl.selectors.numeric()).drop_nulls()
    complete = table.drop_nulls(numbers.columns)
    X = (numbers.to_numpy() > numbers.median().to_numpy()).astype(float)
    y = complete["class"].cast(pl.String).to_numpy()
    scores = GiniIndex(discretizer=None).fit(X, y).scores_
    for x, score in zip(X.T, scores, strict=True):
        tree = DecisionTreeClassifier(max_depth=1).fit(x[:, None], y).tree_
        gain = tree.impurity[0]
        if tree.node_count == 3:
            left, right = tree.n_node_samples[1:] / len(y)
            gain -= left * tree.impurity[1] + right * tree.impurity[2]
        else:
            gain = 0.0
        assert score == pytest.approx(gain, abs=1e-11)
    assert scores.max() > 0.01


def test_no_p_values_for_cuts_chosen_by_the_classes():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"x": rng.normal(size=50), "g": rng.choice(["a", "b"], 50)})
    y = rng.integers(0, 2, 50)
    assert np.isnan(ChiSquared().fit(frame, y).p_value_).tolist() == [True, False]
    assert not np.isnan(ChiSquared(discretizer="equal-width").fit(frame, y).p_value_).any()


@pytest.mark.parametrize("method", FILTERS)
def test_integers_need_no_floats(method):
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 3, (80, 40)), rng.integers(0, 2, 80)
    fitted = [
        method(discretizer=None).fit(form, y)
        for form in (
            X.astype(np.uint8),
            np.asfortranarray(X.astype(np.int8)),
            X,
            X.astype(np.float32),
            scipy.sparse.csr_array(X),
            pl.DataFrame(X).select(pl.all().cast(pl.String)),
            X.astype(np.uint8)[:, ::2].repeat(1, axis=1),
        )
    ]
    for other in fitted[1:6]:
        assert np.array_equal(other.scores_, fitted[0].scores_)
    assert np.array_equal(fitted[6].scores_, fitted[0].scores_[::2])
    binary = X.astype(bool)
    assert np.array_equal(
        method(discretizer=None).fit(binary, y).scores_,
        method(discretizer=None).fit(binary.astype(float), y).scores_,
    )


@pytest.mark.parametrize("method", FILTERS)
def test_discretisers(method):
    from featly.preprocessing import EqualWidth

    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 120)
    X = rng.normal(size=(120, 6)) + y[:, None] * [1.5, 1, 0, 0, 0, 0]
    for discretizer in ("mdlp", "pkid", "equal-width", "equal-frequency", EqualWidth(n_bins=3)):
        fitted = method(discretizer=discretizer).fit(X, y)
        assert set(fitted.order_[:2]) == {0, 1} or method is GainRatio or discretizer == "pkid"
    ten = method(discretizer="equal-width").fit(X, y).scores_
    assert np.array_equal(method(discretizer=EqualWidth(n_bins=10)).fit(X, y).scores_, ten)
    assert not np.array_equal(method(discretizer=EqualWidth(n_bins=3)).fit(X, y).scores_, ten)
    cut = EqualWidth(n_bins=3).fit(X).transform(X)
    assert np.array_equal(
        method(discretizer=None).fit(cut, y).scores_,
        method(discretizer=EqualWidth(n_bins=3)).fit(X, y).scores_,
    )


@pytest.mark.parametrize("method", FILTERS)
def test_bad_input(method):
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 40)
    X = np.column_stack([rng.integers(0, 3, 40), rng.normal(size=40)])
    with pytest.raises(DataError, match=r"'x1' is continuous \(row 0: .*discretizer='mdlp'"):
        method(discretizer=None).fit(X, y)
    with pytest.raises(DataError, match="'x1' is continuous"):
        method(discretizer=None).fit(scipy.sparse.csc_array(X), y)
    X[:, 1] = 1.0
    X[3, 1] = np.inf
    for discretizer in (None, "mdlp", "equal-width"):
        with pytest.raises(DataError, match=r"'x1' has an infinite value \(inf\) in row 3"):
            method(discretizer=discretizer).fit(X, y)
    for bad in ("kmeans", 10, type, "MDLP"):
        with pytest.raises(ParameterError, match=r"discretizer=.*give 'mdlp', 'pkid'"):
            method(discretizer=bad).fit(X, y)
    for bad in ("drop", None, True):
        with pytest.raises(ParameterError, match=r"missing=.*'level'.*'spread'"):
            method(missing=bad).fit(X, y)


@pytest.mark.parametrize("method", FILTERS)
def test_the_name_mdlp_is_the_encoding_distinct_and_not_the_default_of_the_class(method):
    flag = np.repeat([0.0, 1.0], 6)[:, None]
    y = ["no"] * 5 + ["yes", "no"] + ["yes"] * 5
    by_name, distinct, rows = (
        method(discretizer=discretizer).fit(flag, y)
        for discretizer in ("mdlp", MDLP(encoding="distinct"), MDLP())
    )
    assert by_name.scores_[0] == distinct.scores_[0] > 0 == rows.scores_[0]
    assert by_name.evidence_.all()
    assert not rows.evidence_.any()
    assert (repr(MDLP()), repr(MDLP(n_jobs=2))) == (
        "MDLP(encoding='rows')",
        "MDLP(encoding='rows', n_jobs=2)",
    )
    assert repr(distinct.discretizer) == "MDLP(encoding='distinct')"
    with pytest.raises(ParameterError, match=r"'mdlp' is MDLP\(encoding='distinct'\)"):
        method(discretizer="MDLP").fit(flag, y)


def test_more_levels_than_a_byte_and_than_two():
    n = 70_000
    y = np.arange(n) % 2
    X = np.column_stack([np.arange(n) % 60_000, np.arange(n) % 300, y])
    fitted = InformationGain(discretizer=None).fit(X, y)
    assert fitted.scores_ == pytest.approx([1.0, 1.0, 1.0])
    assert GainRatio(discretizer=None).fit(X, y).order_.tolist() == [2, 1, 0]
    X[:, 0] = np.arange(n)
    with pytest.raises(DataError, match="'x0' has 70000 different values, more than the 65534"):
        InformationGain(discretizer=None).fit(X, y)


def test_a_class_of_one_row():
    X, y = np.array([[0, 1], [0, 1], [1, 0], [0, 1]]), ["a", "a", "b", "a"]
    for method in FILTERS:
        fitted = method(discretizer=None).fit(X, y)
        assert fitted.scores_[0] == fitted.scores_[1] > 0
        assert fitted.order_.tolist() == [0, 1]


def test_missing_values_that_depend_on_the_class_are_a_level():
    X = np.array([[1.0], [np.nan], [1.0], [np.nan]])
    y = [0, 1, 0, 1]
    assert InformationGain(discretizer=None).fit(X, y).scores_.tolist() == [1.0]
    assert InformationGain(discretizer=None, missing="spread").fit(X, y).scores_.tolist() == [0.0]


def test_chi_squared_of_few_expected_rows_is_that_of_all_permutations():
    """A level of three rows: the tail of chi-squared is off, the share of permutations is not."""
    y = np.repeat([0, 1], [9, 3])
    levels = np.array(list("aaaaaaaaabbb"))
    columns = {"rare": levels, "none": levels[[0, 9, *range(1, 9), 10, 11]]}
    ranked = ChiSquared(n_jobs=1).fit(pl.DataFrame(columns), y)
    # 1 of C(12, 3) ways has all three rows of b in the class, as observed
    assert ranked.p_value_[0] == pytest.approx(1 / 220, abs=0.003)
    tail = stats.chi2.sf(ranked.scores_[0], ranked.freedom_[0])
    assert tail < 0.001
    assert ranked.note_[0].endswith("random tables")
    same = UnivariateTest(categorical="chi2", n_jobs=1).fit(pl.DataFrame(columns), y)
    assert ranked.p_value_.tolist() == same.p_value_.tolist()


def test_chi_squared_of_many_expected_rows_is_the_tail():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (300, 4)), np.tile([0, 1], 150)
    ranked = ChiSquared(discretizer=None, n_jobs=1).fit(X, y)
    assert ranked.p_value_ == pytest.approx(stats.chi2.sf(ranked.scores_, ranked.freedom_))
    assert set(ranked.note_) == {""}


def test_chi_squared_does_not_depend_on_batches_or_copies_of_columns():
    rng = np.random.default_rng(1)
    X, y = (rng.random((60, 6)) < 0.06).astype(int), np.repeat([0, 1], [48, 12])
    X[:, 5] = X[:, 2]
    order = rng.permutation(60)
    X, y = X[order], y[order]
    ranked = ChiSquared(discretizer=None, n_jobs=1).fit(X, y)
    batches = ChiSquared(discretizer=None, n_jobs=1)
    for low in (0, 30):
        batches.partial_fit(X[low : low + 30], y[low : low + 30])
    assert ranked.p_value_.tolist() == batches.p_value_.tolist()
    assert ranked.p_value_[5] == ranked.p_value_[2]
    spread = ChiSquared(discretizer=None, missing="spread", n_jobs=1)
    X = X.astype(float)
    X[::7, 1] = np.nan
    assert spread.fit(X, y).note_[1] == ""  # parts of rows cannot be drawn
    assert spread.note_[0] != ""


@pytest.mark.thorough
def test_one_true_category_among_five_thousand_is_found():
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], [180, 20])
    X = rng.choice(4, p=[0.6, 0.25, 0.1, 0.05], size=(200, 5000))
    X[y == 1, 17] = rng.choice(4, p=[0.05, 0.05, 0.2, 0.7], size=20)
    ranked = ChiSquared(discretizer=None).fit(X, y)
    assert ranked.q_value_[17] <= 0.05
    assert (ranked.q_value_ <= 0.05).sum() <= 3
