"""The machines are those of the core, vote as others do, and probabilities are calibrated."""

import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from featly import ConvergenceWarning, DataError
from featly.basics.errors import ParameterError
from featly.learners import mkl_classifier
from featly.learners.mkl_classifier import MKLClassifier
from featly.learners.platt import couple_pairs, platt
from tests.reference.mkl import clinical_gram


@parametrize_with_checks([MKLClassifier(), MKLClassifier(probability=True, norm=1.5)])
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


def make_mixed_table(n=60, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    levels = np.array(["low", "middle", "high", "none"])
    frame = pl.DataFrame(
        {
            "dose": rng.normal(size=n) + 1.5 * y,
            "noise": rng.normal(size=n),
            "grade": np.where(rng.random(n) < 0.7, levels[y], levels[rng.integers(0, 3, n)]),
            "site": rng.choice(list("abcd"), n),
        }
    )
    is_missing = pl.Series(rng.random(n) < 0.1)
    return frame.with_columns(pl.when(~is_missing).then(pl.col("dose")).alias("dose")), y


KINDS = ["continuous", "continuous", "categorical", "categorical"]


def grams_of(frame, rows):
    """Gram matrices of all rows of a frame whose ranges are those of some of them."""
    out = []
    for name, kind in zip(frame.columns, KINDS, strict=True):
        values = frame[name].to_list()
        if kind == "continuous":
            known = [values[i] for i in rows if values[i] is not None]
            values = [v if v is None else min(max(v, min(known)), max(known)) for v in values]
        out.append(clinical_gram(values, kind))
    return np.array(out)


# ---- machines ------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_classes", [2, 3])
def test_columns_are_their_gram_matrices(n_classes):
    frame, y = make_mixed_table(n=90, n_classes=n_classes)
    train, test = np.arange(60), np.arange(60, 90)
    columns = MKLClassifier().fit(frame[train], y[train])
    grams = grams_of(frame, train)
    matrices = MKLClassifier(kernels="precomputed").fit(grams[:, :60, :60], y[train])
    assert columns.weights_ == pytest.approx(matrices.weights_, abs=1e-4)
    expected = matrices.decision_function(list(grams[:, 60:, :60]))
    assert columns.decision_function(frame[test]) == pytest.approx(expected, abs=1e-3)
    assert columns.predict(frame[test]).tolist() == matrices.predict(grams[:, 60:, :60]).tolist()
    n_pairs = n_classes * (n_classes - 1) // 2
    for fitted in (columns, matrices):
        assert fitted.weights_.shape == (n_pairs, 4)
        assert (fitted.weights_**2).sum(axis=1) == pytest.approx(np.ones(n_pairs))
        assert fitted.mean_weights_ == pytest.approx(fitted.weights_.mean(axis=0))
        assert fitted.duality_gap_.shape == fitted.n_iter_.shape == (n_pairs,)
        assert fitted.duality_gap_.max() <= 1e-6
        assert fitted.n_features_in_ == 4
    assert columns.feature_names_in_.tolist() == frame.columns


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_one_kernel_is_libsvms_machine(C):
    frame, y = make_mixed_table()
    K = clinical_gram(frame["noise"].to_list(), "continuous")
    ours = MKLClassifier(kernels="precomputed", C=C, tolerance=1e-10).fit([K], y)
    peer = SVC(kernel="precomputed", C=C, tol=1e-8).fit(K, y)
    assert ours.weights_.tolist() == [[1.0]]
    b = np.zeros(60)
    b[peer.support_] = peer.dual_coef_[0]
    assert ours.decision_function([K]) - ours.decision_function([K])[0] == pytest.approx(
        K @ b - (K @ b)[0], abs=1e-4
    )


def test_the_machine_of_a_pair_has_learnt_from_that_pair_alone():
    frame, y = make_mixed_table(n=90, n_classes=3)
    whole = MKLClassifier().fit(frame, y)
    grams = grams_of(frame, np.arange(90))
    rows = np.flatnonzero(y != 1)
    pair = MKLClassifier(kernels="precomputed").fit(grams[:, rows][:, :, rows], y[rows])
    assert whole.weights_[1] == pytest.approx(pair.weights_[0], abs=1e-4)


def test_the_informative_kernels_weigh_most_and_the_norm_decides_how_much():
    frame, y = make_mixed_table(n=100)
    share = []
    for norm in (1.1, 2.0, 50.0):
        weights = MKLClassifier(norm=norm, C=0.1).fit(frame, y).weights_[0]
        share.append(weights.max() / weights.sum())
        assert weights[[0, 2]].min() > weights[[1, 3]].max()
    assert share == sorted(share, reverse=True)


def test_mixed_columns_are_learnt():
    frame, y = make_mixed_table(n=150)
    assert cross_val_score(MKLClassifier(C=1.0), frame, y, cv=5).mean() > 0.75


@given(st.integers(0, 1000), st.integers(2, 3), st.sampled_from([0.1, 10.0]))
@settings(max_examples=15)
def test_order_of_rows_and_columns_does_not_matter(seed, n_classes, C):
    frame, y = make_mixed_table(n=40, n_classes=n_classes, seed=seed)
    rng = np.random.default_rng(seed)
    rows, names = rng.permutation(30), rng.permutation(frame.columns).tolist()
    new = frame[30:]
    expected = MKLClassifier(C=C).fit(frame[:30], y[:30])
    other = MKLClassifier(C=C).fit(frame[:30][rows].select(names), y[:30][rows])
    assert other.predict(new.select(names)).tolist() == expected.predict(new).tolist()
    one_by_one = [expected.predict(new[i : i + 1])[0] for i in range(len(new))]
    assert one_by_one == expected.predict(new).tolist()


def test_threads_and_chunks_change_no_bit(monkeypatch):
    frame, y = make_mixed_table(n=100, n_classes=3)
    expected = MKLClassifier(n_jobs=1).fit(frame, y).decision_function(frame)
    assert MKLClassifier(n_jobs=2).fit(frame, y).decision_function(frame).tobytes() == (
        expected.tobytes()
    )
    from featly.learners import kernel_machines

    monkeypatch.setattr(kernel_machines, "CHUNK_BYTES", 3000)
    chunked = MKLClassifier().fit(frame, y).decision_function(frame)
    assert chunked == pytest.approx(expected, abs=1e-9)


def test_new_levels_missing_values_and_values_out_of_range():
    frame, y = make_mixed_table()
    machine = MKLClassifier().fit(frame, y)
    odd = pl.DataFrame(
        {
            "dose": [1e9, None, 1.0],
            "noise": [0.0, None, float("nan")],
            "grade": ["unheard of", None, "low"],
            "site": ["a", None, "zz"],
        }
    )
    values = machine.decision_function(odd)
    assert np.isfinite(values).all()
    # a row that is like no other has the bias as its margin
    assert values[1] == pytest.approx(machine._machines[0].bias)


def test_a_column_without_any_value_does_not_count():
    frame, y = make_mixed_table()
    empty = frame.with_columns(pl.lit(None, pl.Float64).alias("empty"))
    plain, wider = MKLClassifier().fit(frame, y), MKLClassifier().fit(empty, y)
    assert wider.weights_[0] == pytest.approx([*plain.weights_[0], 0.0], abs=1e-3)
    assert wider.weights_[0, -1] == 0
    assert wider.predict(empty).tolist() == plain.predict(frame).tolist()
    nothing = MKLClassifier().fit(empty.select("empty"), np.where(y == 0, "a", "b"))
    assert nothing.weights_.tolist() == [[0.0]]
    assert set(nothing.predict(empty.select("empty"))) == {"a"}


def test_constant_columns_and_two_rows():
    flat = MKLClassifier().fit(np.ones((5, 2)), [0, 1, 1, 1, 0])
    assert flat.weights_.tolist() == [[0.0, 0.0]]
    assert flat.predict(np.ones((2, 2))).tolist() == [1, 1]
    two = MKLClassifier().fit([[1.0, 3.0], [2.0, 3.0]], ["a", "b"])
    assert two.predict([[1.1, 3.0], [1.9, 3.0]]).tolist() == ["a", "b"]
    names = MKLClassifier().fit([["u"], ["v"]], ["a", "b"])
    assert names.predict([["v"], ["u"]]).tolist() == ["b", "a"]


def test_class_weights():
    frame, _ = make_mixed_table(n=60)
    rare = np.where(np.arange(60) < 12, "rare", "common")
    balanced = MKLClassifier(class_weight="balanced").fit(frame, rare)
    by_hand = MKLClassifier(class_weight={"rare": 2.5, "common": 0.625}).fit(frame, rare)
    assert balanced.weights_.tolist() == by_hand.weights_.tolist()
    assert not np.allclose(balanced.weights_, MKLClassifier().fit(frame, rare).weights_)


# ---- probabilities -------------------------------------------------------------------------------
@given(st.integers(0, 10_000), st.integers(2, 30), st.booleans())
def test_the_sigmoid_is_that_of_a_generic_solver(seed, n, apart):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    positive[:2] = True, False
    values = rng.normal(size=n) + (8.0 if apart else 1.0) * positive
    slope, offset = platt(values, positive)
    n_positive, n_negative = positive.sum(), (~positive).sum()
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    def loss(x):
        z = x[0] * values + x[1]
        return np.sum(np.logaddexp(0, z) - target * z)

    generic = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8}).fun
    assert loss([slope, offset]) <= generic + 1e-9
    p = expit(slope * values + offset)
    assert np.sum(p - target) == pytest.approx(0, abs=1e-6)  # the slopes of the loss are zero
    assert np.sum(values * (p - target)) == pytest.approx(0, abs=1e-5)


@given(st.integers(0, 10_000), st.integers(3, 6))
def test_coupling_gives_back_probabilities_that_agree(seed, k):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), size=5) + 1e-3
    p /= p.sum(axis=1, keepdims=True)
    pairs = [(a, b) for a in range(k) for b in range(a + 1, k)]
    second = np.column_stack([p[:, b] / (p[:, a] + p[:, b]) for a, b in pairs])
    assert couple_pairs(second, k) == pytest.approx(p, abs=1e-6)
    odd = couple_pairs(rng.random((5, len(pairs))).round(), k)  # nothing agrees
    assert odd.sum(axis=1) == pytest.approx(np.ones(5))
    assert odd.min() >= 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_follow_the_margins(n_classes):
    frame, y = make_mixed_table(n=240, n_classes=n_classes)
    machine = MKLClassifier(C=1.0, probability=True).fit(frame[:120], y[:120])
    p = machine.predict_proba(frame[120:])
    assert p.sum(axis=1) == pytest.approx(np.ones(120))
    assert p.min() >= 0
    right = p[np.arange(120), y[120:]]
    assert np.mean(-np.log(right)) < 0.75 * np.log(n_classes)  # better than knowing nothing
    if n_classes == 2:
        order = np.argsort(machine.decision_function(frame[120:]))
        assert (np.diff(p[order, 1]) >= 0).all()
    sure = p.max(axis=1) > 0.8
    assert (p.argmax(axis=1) == machine.predict(frame[120:]))[sure].mean() > 0.9


def test_probabilities_come_from_rows_held_out():
    """Names of rows tell the classes apart in training, and nothing at all otherwise."""
    names = [[f"row {i}"] for i in range(40)]
    y = np.arange(40) % 2
    machine = MKLClassifier(probability=True).fit(names, y)
    assert (machine.predict(names) == y).all()
    assert machine.predict_proba(names) == pytest.approx(np.full((40, 2), 0.5), abs=0.05)


def test_predict_proba_needs_probability():
    frame, y = make_mixed_table()
    machine = MKLClassifier().fit(frame, y)
    assert not hasattr(machine, "predict_proba")
    machine.set_params(probability=True)
    with pytest.raises(ParameterError, match="fit once more"):
        machine.predict_proba(frame)


# ---- as an estimator -----------------------------------------------------------------------------
def test_a_pickle_predicts_the_same_and_holds_no_gram_matrix():
    frame, y = make_mixed_table()
    grams = grams_of(frame, np.arange(60))
    machine = MKLClassifier(kernels="precomputed").fit(grams, y)
    blob = pickle.dumps(machine)
    assert len(blob) < grams.nbytes / 4
    assert pickle.loads(blob).predict(grams).tolist() == machine.predict(grams).tolist()
    with pytest.raises(NotFittedError):
        clone(machine).predict(grams)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"C": 0}, "C="),
        ({"C": -1.0}, "C="),
        ({"C": np.nan}, "C="),
        ({"norm": 1.0}, "norm="),
        ({"norm": "2"}, "norm="),
        ({"tolerance": -1e-3}, "tolerance"),
        ({"max_iter": 0}, "max_iter"),
        ({"kernels": "rows"}, "kernels='rows'"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"class_weight": "heavy"}, "class_weight"),
        ({"class_weight": {0: 0.0, 1: 1.0}}, "positive"),
    ],
)
def test_wrong_parameters_are_named(parameters, word):
    frame, y = make_mixed_table(n=20)
    with pytest.raises(ParameterError, match=word):
        MKLClassifier(**parameters).fit(frame, y)


def test_wrong_data_is_named(monkeypatch):
    frame, y = make_mixed_table(n=20)
    grams = grams_of(frame, np.arange(20))
    precomputed = MKLClassifier(kernels="precomputed")
    with pytest.raises(DataError, match="one class"):
        MKLClassifier().fit(frame, np.zeros(20))
    with pytest.raises(ParameterError, match="y is None"):
        MKLClassifier().fit(frame, None)
    with pytest.raises(DataError, match="20 rows but y has 19"):
        precomputed.fit(grams, y[:19])
    with pytest.raises(ParameterError, match="schema"):
        clone(precomputed).set_params(schema={"categorical": [0]}).fit(grams, y)
    bad = grams.copy()
    bad[2, 0, 1] += 1
    with pytest.raises(DataError, match="kernel 2 is not symmetric"):
        precomputed.fit(bad, y)
    precomputed.fit(grams, y)
    with pytest.raises(DataError, match="3 matrices, the training rows had 4"):
        precomputed.predict(grams[:3])
    with pytest.raises(DataError, match=r"matrix 0 .*\(20, 19\)"):
        precomputed.predict(grams[:, :, :19])
    with pytest.raises(DataError, match="matrix 1 "):
        precomputed.predict([grams[0], *grams[1:, :5]])
    new = grams.copy()
    new[3, 1, 2] = np.nan
    with pytest.raises(DataError, match=r"matrix 3 has nan at \(1, 2\)"):
        precomputed.predict(new)
    monkeypatch.setattr(mkl_classifier, "MOST_ROWS", 19)
    with pytest.raises(DataError, match=r"20 rows.*19"):
        MKLClassifier().fit(frame, y)


def test_an_early_end_warns():
    frame, y = make_mixed_table()
    with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
        MKLClassifier(max_iter=1).fit(frame, y)
    assert caught[0].filename == __file__
