"""Columns without evidence are marked, come last, and are never selected without a warning."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import featly
from featly import (
    CFS,
    CMIM,
    FCBF,
    JMI,
    MIM,
    MRMR,
    SVMRFE,
    Consistency,
    FTest,
    InformationGain,
    Interact,
    NoEvidenceWarning,
    PairwiseRanker,
    RedundancyFilter,
    ReliefF,
    Wrapper,
)
from featly.base import Ranker
from featly.registry import METHODS, method_class
from featly.study import Study
from featly.study.splits import Subsampling

PARAMETERS = {"arom": {"C": 1000.0}, "forest": {"n_trees": 100}}


def make_noise(n_rows=60, n_columns=40, seed=3):
    """Make a table in which MDLP cuts no column."""
    y = np.arange(n_rows) % 2
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2 * n_columns))
    uncut = InformationGain().fit(X, y).scores_ == 0
    return X[:, uncut][:, :n_columns], y


def texts_of(caught):
    return [str(warning.message) for warning in caught if warning.category is NoEvidenceWarning]


def fit_recording(method, X, y):
    """Return the fitted method and the texts of its warnings about evidence."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = method.fit(X, y)
    return fitted, texts_of(caught)


@settings(max_examples=4)
@pytest.mark.filterwarnings("ignore::featly.ConvergenceWarning")
@pytest.mark.parametrize("name", METHODS)
@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(12, 40),
    constant=st.sets(st.integers(0, 9), min_size=1, max_size=6),
    n_values=st.sampled_from([2, 3, 50]),
)
def test_constants_never_have_evidence_and_the_class_always_has(
    name, seed, n_rows, constant, n_values
):
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    X = rng.integers(0, n_values, size=(n_rows, 11)) / 8
    constant = sorted(constant)
    X[:, constant] = rng.normal(size=len(constant))
    X[:, 10] = 3.0 * y + 0.7
    fitted, texts = fit_recording(method_class(name)(**PARAMETERS.get(name, {})), X, y)
    assert not fitted.evidence_[constant].any()
    assert fitted.evidence_[10]
    assert texts == []
    if isinstance(fitted, Ranker):
        assert fitted.evidence_[fitted.support_].all()
        if not fitted._is_greedy():
            assert (np.diff(fitted.evidence_[fitted.order_].astype(int)) <= 0).all()


def test_mrmr_on_noise_says_that_nothing_has_evidence():
    X, y = make_noise()
    for wanted in (5, 0.5, None):
        fitted, texts = fit_recording(MRMR(n_features_to_select=wanted), X, y)
        assert not fitted.evidence_.any()
        assert not fitted.table()["evidence"].any()
        (text,) = texts
        n_selected = fitted.support_.sum()
        count = "one" if n_selected == 1 else n_selected
        assert text.startswith(f"no column has any evidence: the {count} that MRMR selected")
    assert n_selected == 1


def test_the_default_stops_before_filler_and_the_warning_says_where():
    X, y = make_noise()
    X[:, [7, 30]] += 3 * y[:, None]
    for method in (MRMR, JMI, CMIM, MIM, InformationGain):
        fitted, texts = fit_recording(method(), X, y)
        assert texts == []
        assert np.flatnonzero(fitted.support_).tolist() == [7, 30]
        fitted, texts = fit_recording(method(n_features_to_select=5), X, y)
        assert texts == [
            f"3 of the 5 selected columns are filler: {method.__name__} has no evidence that they "
            "tell anything about the target; select at most 2"
        ]
        assert fitted.order_[2:5].tolist() == [0, 1, 2]  # the ranking itself is what it was
        fitted, texts = fit_recording(
            method(n_features_to_select=5, schema={"keep": [12, 30]}), X, y
        )
        assert texts[0].startswith("2 of the 5 selected columns are filler")
        assert texts[0].endswith("select at most 3")
        assert np.flatnonzero(fitted.evidence_).tolist() == [7, 30]
        fitted, texts = fit_recording(method(schema={"keep": [12]}), X, y)
        assert texts == []
        assert np.flatnonzero(fitted.support_).tolist() == [7, 12, 30]


@pytest.mark.parametrize("method", [CFS, FCBF, Interact, Consistency])
def test_subset_selectors_mark_the_column_that_they_had_to_choose(method):
    X, y = make_noise()
    fitted, texts = fit_recording(method(), X, y)
    assert fitted.order_.tolist() == [0]
    assert not fitted.evidence_.any()
    assert texts == [
        f"no column has any evidence: the one that {method.__name__} selected is filler; select "
        "none, or try another method"
    ]


def test_columns_that_tell_something_together_have_evidence():
    bits = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 3)
    y = bits[:, 0] ^ bits[:, 2]
    X = np.column_stack([bits, np.zeros(len(bits))])
    for method in (JMI, Consistency, Interact):
        fitted = method(discretizer=None).fit(X, y)
        assert fitted.evidence_.tolist() == [True, False, True, False], method.__name__
    # these look at no pair of columns together with the class
    for method in (MRMR(discretizer=None), MIM(discretizer=None), FTest()):
        assert not method.fit(X, y).evidence_.any()
    wrapper = Wrapper(estimator="tree", search="backward").fit(X, y)
    assert wrapper.evidence_[wrapper.support_].all()
    assert ReliefF(n_neighbors=2).fit(X, y).evidence_.tolist() == [True, False, True, False]


def test_an_elimination_sees_no_evidence_beside_a_column_that_is_the_class():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = np.column_stack([rng.normal(size=(60, 12)), 2.0 * y])
    assert SVMRFE().fit(X[:, :12], y).evidence_.all()
    assert np.flatnonzero(SVMRFE().fit(X, y).evidence_).tolist() == [12]


def test_pairs_of_classes_have_the_evidence_of_any():
    X, _ = make_noise(90)
    y = np.repeat(["a", "b", "c"], 30)
    X[:, 4] = X[:, 4] + 4 * (y == "c")
    parts = [y != label for label in "abc"]
    expected = np.any([MRMR().fit(X[rows], y[rows]).evidence_ for rows in parts], axis=0)
    ranker = PairwiseRanker(MRMR(), n_features_to_select=len(X.T))
    fitted, texts = fit_recording(ranker, X, y)
    assert fitted.evidence_[4]
    assert fitted.evidence_.tolist() == expected.tolist()
    assert len(texts) == 1  # and none of the pairs
    assert texts[0].startswith(f"{(~expected).sum()} of the {len(expected)} selected columns are")


def test_a_redundancy_filter_claims_no_evidence():
    X, y = make_noise(n_columns=5)
    X[:, 2] = 7.0
    fitted, texts = fit_recording(RedundancyFilter(), X, y)
    assert fitted.evidence_.tolist() == [True, True, False, True, True]
    assert fitted.support_.all()
    assert texts == []
    fitted, texts = fit_recording(RedundancyFilter(rule="groups"), X, y)
    assert len(texts) == 1


def test_studies_and_reports_do_not_warn_for_every_split():
    X, y = make_noise()
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoEvidenceWarning)
        study = Study({"mrmr": MRMR(n_features_to_select=5)}, (X, y), Subsampling(3), sizes=[2])
        results = study.run()
    assert results.notes == []


def test_a_warning_names_the_line_that_called_fit():
    X, y = make_noise()
    with pytest.warns(NoEvidenceWarning) as caught:
        MRMR().fit(X, y)
    assert caught[0].filename == __file__


def test_the_mask_does_not_depend_on_the_preference():
    X, y = make_noise()
    X[:, 9] += 3 * y
    prior = {"prior": {0: 1000.0}}
    assert MRMR(schema=prior).fit(X, y).evidence_.tolist() == MRMR().fit(X, y).evidence_.tolist()
    assert "NoEvidenceWarning" in featly.__all__
