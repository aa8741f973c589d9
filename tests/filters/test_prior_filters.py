"""Filters with a prior against their references, and properties of every prior."""

import functools
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import featly
from featly.basics.errors import SchemaError, SchemaWarning
from featly.core.greedy.search import Criterion, forward_search
from featly.core.ranking.ordering import apply_prior, best_first, round_scores
from featly.core.ranking.preference import Preference
from featly.filters.cmi import CMI
from featly.filters.cmim import CMIM
from featly.filters.disr import DISR
from featly.filters.gain_ratio import GainRatio
from featly.filters.icap import ICAP
from featly.filters.information_criterion import InformationCriterion
from featly.filters.information_gain import InformationGain
from featly.filters.jmi import JMI
from featly.filters.mifs import MIFS
from featly.filters.mim import MIM
from featly.filters.monotone_dependence import MonotoneDependence
from featly.filters.mrmr import MRMR
from featly.filters.multisurf import MultiSURF
from featly.filters.relief import Relief
from featly.filters.relieff import ReliefF
from featly.filters.signal_to_noise import SignalToNoise
from featly.filters.symmetric_uncertainty import SymmetricUncertainty
from tests.reference import counting, information, relief
from tests.reference import prior_filters as reference
from tests.reference import signal_to_noise as ratio
from tests.reference.columns import order
from tests.reference.prior_filters import has_one_known_value as flat

LEVELS = {"discretizer": None}
HALVES = {"beta": 0.5, "gamma": 0.25}
ONE_BY_ONE = {
    "signal to noise": SignalToNoise(),
    "gain": InformationGain(**LEVELS),
    "gain ratio": GainRatio(**LEVELS),
    "uncertainty": SymmetricUncertainty(**LEVELS),
    "mim": MIM(**LEVELS),
    "relief": Relief(),
    "relieff": ReliefF(n_neighbors=2),
    "multisurf": MultiSURF(),
    "dependence": MonotoneDependence(trade_off=0),
}
GREEDY = {
    "mrmr": (MRMR(**LEVELS), information.mrmr),
    "mrmr quotient": (MRMR(form="quotient", **LEVELS), information.mrmr_quotient),
    "mifs": (MIFS(**LEVELS), information.mifs),
    "jmi": (JMI(**LEVELS), information.jmi),
    "cmi": (CMI(**LEVELS), information.cmi),
    "cmim": (CMIM(**LEVELS), information.cmim),
    "informative fragments": (
        CMIM(include_relevance=False, **LEVELS),
        information.informative_fragments,
    ),
    "icap": (ICAP(**LEVELS), information.icap),
    "disr": (DISR(**LEVELS), information.disr),
    "weighted": (
        InformationCriterion(**HALVES, **LEVELS),
        functools.partial(information.weighted_criterion, **HALVES),
    ),
}
SEARCHES = {
    **{name: method for name, (method, _) in GREEDY.items()},
    "mifs in floats": MIFS(beta=100, **LEVELS),
    "mrmr f": MRMR(measure="f"),
    "mrmr f difference": MRMR(measure="f", form="difference"),
    "mrmr rank": MRMR(measure="rank"),
    "jmi spread": JMI(missing="spread", **LEVELS),
    "dependence search": MonotoneDependence(),
    "dependence light": MonotoneDependence(trade_off=0.3),
}
EVERY = ONE_BY_ONE | SEARCHES
PRIORS = st.sampled_from([1.0, 1.0, 1.5, 2.0, 3.0, 10.0, 1000.0])


@st.composite
def tables(draw, with_missing=True):
    """Whole numbers, ties, missing values, constant and equal columns, two to four classes."""
    n_classes = draw(st.integers(2, 4))
    n = draw(st.integers(max(4, n_classes), 11))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    p = draw(st.integers(2, 6))
    X = rng.integers(0, draw(st.sampled_from([2, 3, 4, 11])), (n, p)).astype(float)
    if with_missing and draw(st.booleans()):
        X[rng.random((n, p)) < 0.2] = np.nan
    if draw(st.booleans()):
        X = np.column_stack([X, X[:, 0]])
    if draw(st.booleans()):
        X[:, draw(st.integers(0, p - 1))] = 3.0
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n)])[:n]
    return X, y


@st.composite
def tables_with_priors(draw, with_missing=True):
    """A table and a prior for every column."""
    X, y = draw(tables(with_missing))
    p = X.shape[1]
    return X, y, draw(st.lists(PRIORS, min_size=p, max_size=p))


def fit(method, X, y, prior=None, keep=(), **parameters):
    """Fit with a prior for every column; the warning about equal ones is ignored."""
    schema = {"keep": list(keep)} | ({} if prior is None else {"prior": dict(enumerate(prior))})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "prior is .* for every column", SchemaWarning)
        return type(method)(**(method.get_params() | parameters | {"schema": schema})).fit(X, y)


def lists(X):
    return [[None if v != v else int(v) for v in column] for column in X.T]


def make_table(n=80, p=30, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.integers(0, 4, (n, p)).astype(float)
    for f in range(0, p, 3):
        X[:, f] = np.where(rng.random(n) < 0.2 + f / p / 2, y, X[:, f])
    X[:, 5] = X[:, 3]
    return X, y


def has_falling_scores(fitted, keep=()):
    scores = round_scores(fitted.scores_[fitted.order_[len(keep) :]])
    return (scores[1:] <= scores[:-1]).all()


def relevance_of(fitted):
    """The relevance of every column, without the prior."""
    return np.abs(fitted.statistic_) if isinstance(fitted, SignalToNoise) else fitted.relevance_


def naive_relevance(name, X, y):
    columns, y = lists(X), y.tolist()
    if name == "signal to noise":
        return [abs(ratio.signal_to_noise(column, y)) for column in X.T.tolist()]
    if name == "dependence":
        return [reference.copula.sigma_of_levels(y, column) for column in columns]
    if name in ("relief", "relieff", "multisurf"):
        pairs = {
            "relief": relief.relief_pairs,
            "relieff": functools.partial(relief.relieff_pairs, k=2, ties="share"),
            "multisurf": relief.multisurf_pairs,
        }[name]
        table = relief.Table(columns, [False] * len(columns), y)
        return relief.weights(table, pairs)
    scores = []
    for column in columns:
        hx, hy, information = counting.table_information(
            counting.Counter(zip(column, y, strict=True))
        )
        below = {"gain ratio": hx, "uncertainty": (hx + hy) / 2}.get(name, 1.0)
        scores.append(information / below if information > 1e-11 else 0.0)
    return scores


# ---- the reference implementation ----------------------------------------------------------------
@pytest.mark.parametrize("name", ONE_BY_ONE)
@given(tables_with_priors(), st.booleans())
@settings(max_examples=15, deadline=None)
def test_one_score_a_column(name, favour, has_keep):
    X, y, prior = favour
    keep = [X.shape[1] - 1] if has_keep else []
    fitted = fit(ONE_BY_ONE[name], X, y, prior, keep)
    relevance = relevance_of(fitted)
    assert relevance == pytest.approx(naive_relevance(name, X, y), rel=1e-6, abs=1e-9)
    relative = [beta / min(prior) for beta in prior]
    expected = [
        reference.apply_prior(s, b) for s, b in zip(relevance.tolist(), relative, strict=True)
    ]
    assert fitted.scores_.tolist() == expected
    other_columns = [f for f in order(expected) if f not in keep]
    assert fitted.order_.tolist() == keep + other_columns


def check_search(fitted, expected_order, worth, prior, keep, **near):
    assert fitted.order_.tolist() == expected_order
    assert fitted.criterion_ == pytest.approx(worth, **near)
    relative = np.array(prior) / min(prior)
    weighted = [
        reference.apply_prior(*pair) for pair in zip(fitted.criterion_, relative, strict=True)
    ]
    lowest = np.inf
    for f in fitted.order_:
        lowest = lowest if f in keep else min(lowest, weighted[f])
        assert fitted.scores_[f] == (weighted[f] if f in keep else lowest)


@pytest.mark.parametrize("name", GREEDY)
@given(tables_with_priors(), st.sampled_from([1, 2, 100]), st.booleans())
@settings(max_examples=20, deadline=None)
def test_greedy_informations(name, favour, max_steps, has_keep):
    (X, y, prior), (method, criterion) = favour, GREEDY[name]
    keep = [X.shape[1] - 1] if has_keep else []
    fitted = fit(method, X, y, prior, keep, max_steps=max_steps)
    relative = [beta / min(prior) for beta in prior]
    expected_order, worth = reference.greedy(
        lists(X), y.tolist(), criterion, max_steps, relative, keep
    )
    check_search(fitted, expected_order, worth, prior, keep, abs=1e-6)
    expected = [information.mutual(column, y.tolist()) for column in lists(X)]
    assert fitted.relevance_ == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("form", ["quotient", "difference"])
@given(tables_with_priors(), st.sampled_from([1, 2, 100]), st.booleans())
@settings(max_examples=20, deadline=None)
def test_greedy_correlations(form, favour, max_steps, has_keep):
    X, y, prior = favour
    # the F of equal means is 0 but for rounding, of which a prior makes a difference
    assume(all(flat(c) or reference.f_statistic(c, y.tolist()) for c in lists(X)))
    keep = [X.shape[1] - 1] if has_keep else []
    fitted = fit(MRMR(measure="f", form=form), X, y, prior, keep, max_steps=max_steps)
    criterion = functools.partial(reference.correlation_criterion, quotient=form == "quotient")
    relative = [beta / min(prior) for beta in prior]
    expected_order, worth = reference.greedy(
        lists(X),
        y.tolist(),
        criterion,
        max_steps,
        relative,
        keep,
        compared=reference.round_digits,
        constant=flat,
    )
    check_search(fitted, expected_order, worth, prior, keep, rel=1e-7, abs=1e-9)


@given(tables_with_priors(), st.sampled_from([0.3, 1.0, 3.0]), st.sampled_from([1, 2, 100]))
@settings(max_examples=20, deadline=None)
def test_monotone_dependence(favour, trade_off, max_steps):
    X, y, prior = favour
    fitted = fit(MonotoneDependence(), X, y, prior, trade_off=trade_off, max_steps=max_steps)
    relative = [beta / min(prior) for beta in prior]
    expected = reference.rank_by_dependence(lists(X), y.tolist(), trade_off, max_steps, relative)
    assert fitted.order_.tolist() == expected
    # the weighted criterion as a share of the largest possible, and the steps that were left
    beta = np.where([flat(column) for column in lists(X)], 1.0, relative)
    criterion = fitted.relevance_ - trade_off * fitted.redundancy_
    weighted = np.array(
        [reference.apply_prior(*pair) for pair in zip(criterion, beta, strict=True)]
    )
    scores = (weighted + trade_off) / (beta.max() + trade_off)
    steps = min(max_steps, len(prior))
    scores[fitted.order_[:steps]] += np.arange(steps, 0, -1)
    assert fitted.scores_ == pytest.approx(scores, abs=1e-9)
    assert has_falling_scores(fitted)


# ---- properties that are proved ------------------------------------------------------------------
@pytest.mark.parametrize("name", EVERY)
@given(tables_with_priors(), st.data())
@settings(max_examples=15, deadline=None)
def test_a_prior_never_harms_its_column(name, favour, data):
    """A larger prior moves the column forward and leaves the columns before it unchanged."""
    X, y, prior = favour
    p = X.shape[1]
    f, other = data.draw(st.permutations(range(p)))[:2]
    keep = [g for g in range(p) if g not in (f, other)][: data.draw(st.integers(0, 1))]
    prior[other] = 1.0  # so that the others have the same prior relative to the least
    steps = data.draw(st.sampled_from([1, 2, 100])) if name in SEARCHES else None
    parameters = {} if steps is None else {"max_steps": steps}
    beta = data.draw(st.floats(1, 1e4))
    before = None
    for weight in (1.0, min(beta, 1.0 + 1e-9), beta, 1e12):
        prior[f] = weight
        fitted = fit(EVERY[name], X, y, prior, keep, **parameters)
        ranked = fitted.order_.tolist()
        if before is not None:
            assert ranked.index(f) <= before.index(f)
            assert ranked[: ranked.index(f)] == before[: ranked.index(f)]
        assert has_falling_scores(fitted, keep)
        before = ranked


@pytest.mark.parametrize("name", EVERY)
def test_a_prior_never_harms_its_column_among_many(name):
    X, y = make_table()
    parameters = {"max_steps": 10} if name in SEARCHES else {}
    alone = fit(EVERY[name], X, y, **parameters)
    for f in alone.order_[[29, 20, 12, 9, 4]]:
        prior = np.ones(30)
        prior[f] = 5.0
        ranked = fit(EVERY[name], X, y, prior, **parameters).order_.tolist()
        position = ranked.index(f)
        assert position < alone.ranking_[f]
        assert ranked[:position] == alone.order_[:position].tolist()


@pytest.mark.parametrize("name", EVERY)
def test_equal_priors_change_no_bit(name):
    X, y = make_table(60, 20)
    X[::7, 2] = np.nan
    for keep in ([], [4, 1]):
        alone = fit(EVERY[name], X, y, keep=keep)
        for prior in (np.ones(20), np.full(20, 7.0)):
            fitted = fit(EVERY[name], X, y, prior, keep)
            assert fitted.order_.tobytes() == alone.order_.tobytes()
            assert fitted.scores_.tobytes() == alone.scores_.tobytes()
            assert fitted.table().equals(alone.table())


@pytest.mark.parametrize("name", EVERY)
def test_only_the_ratio_of_priors_counts(name):
    X, y = make_table(60, 20)
    prior = 2.0 ** (np.arange(20) % 3)
    first, second = fit(EVERY[name], X, y, prior), fit(EVERY[name], X, y, 8 * prior)
    assert first.order_.tobytes() == second.order_.tobytes()
    assert first.scores_.tobytes() == second.scores_.tobytes()


# ---- details -------------------------------------------------------------------------------------
def test_apply_prior():
    scores = np.array([3.0, 0.0, -3.0, np.inf, -np.inf, 1e303, 1.5e308, -5e-324])
    prior = np.full(8, 1e9)
    expected = [3e9, 0.0, -3e-9, np.inf, -np.inf, 1e308, 1.5e308, 0.0]
    assert apply_prior(scores, prior).tolist() == expected
    assert apply_prior(scores, None) is scores
    assert apply_prior(np.array([3, -3]), np.array([1.0, 2.0])).tolist() == [3.0, -1.5]
    # a finite score stays behind an infinite one
    assert best_first(apply_prior(np.array([1e303, np.inf]), np.full(2, 1e12))).tolist() == [1, 0]


@pytest.mark.parametrize("name", EVERY)
def test_table_has_relevance_and_score(name):
    X, y = make_table(60, 20)
    prior = np.ones(20)
    prior[[2, 7]] = 10.0
    alone, fitted = fit(EVERY[name], X, y), fit(EVERY[name], X, y, prior)
    assert relevance_of(fitted).tobytes() == relevance_of(alone).tobytes()
    columns = set(fitted.table().columns)
    if name in ONE_BY_ONE:
        assert relevance_of(alone).tobytes() == alone.scores_.tobytes()
        assert {"statistic", "relevance"} & columns
    else:
        assert {"criterion", "redundancy"} & columns
    own = {"signal to noise", "dependence"}  # that show it anyway
    repeated = {"relevance"} if name in ONE_BY_ONE and name not in own else set()
    assert set(alone.table().columns) == columns - repeated


@pytest.mark.parametrize("name", EVERY)
def test_huge_priors(name):
    X, y = make_table(60, 20)
    X[:, 3] = 2.0 * y  # tells all: the ratio and F are infinite
    X[:, 8] = 1.0
    most = np.ones(20)
    most[[3, 8, 11]] = 1e12
    for keep in ([], [3, 5]):
        fitted = fit(EVERY[name], X, y, most, keep)
        infinite = name == "signal to noise"
        assert np.isfinite(np.delete(fitted.scores_, 3 if infinite else [])).all()
        assert not np.isnan(fitted.scores_).any()
        assert has_falling_scores(fitted, keep)
    for prior in (1.1e12, 1e300):
        most[11] = prior
        with pytest.raises(SchemaError, match=r"prior of 'x11' .* takes up to 1e\+12"):
            fit(EVERY[name], X, y, most)


@pytest.mark.parametrize("rule", ["rule-of-thumb", "largest-gap", "two-variances"])
def test_rules_use_the_ranking_with_the_prior(rule):
    X, y = make_table(60, 20)
    prior = np.ones(20)
    prior[[2, 7]] = 1e12
    for name in ("relieff", "jmi", "gain"):
        fitted = fit(EVERY[name], X, y, prior, n_features_to_select=rule)
        count = fitted.support_.sum()
        assert 1 <= count <= 20
        assert fitted.support_[fitted.order_[:count]].all()


@pytest.mark.parametrize("method", [MIM, JMI, MIFS, MRMR])
@pytest.mark.parametrize("shown", [2, 3, 5])
def test_columns_of_different_priors_tie(method, shown):
    """A column that shows one in so many rows what another shows in all, with that prior."""
    rng = np.random.default_rng(shown)
    pattern, labels = rng.integers(0, 3, 11), rng.integers(0, 2, 11)
    whole, y = np.tile(pattern, shown), np.tile(labels, shown)
    part = np.where(np.arange(len(y)) < 11, whole, 9)
    for first, second, priors in ((whole, part, (1, shown)), (part, whole, (shown, 1))):
        X = np.column_stack([np.ones(len(y)), first, second])
        first_prior, second_prior = priors
        assert fit(method(**LEVELS), X, y, [1, first_prior, second_prior]).order_[0] == 1
        assert fit(method(**LEVELS), X, y, [1, first_prior, second_prior * 1.0001]).order_[0] == 2


class FixedCriterion(Criterion):
    """A criterion that does not change with what is chosen."""

    def __init__(self, values, digits):
        terms = SimpleNamespace(relevance=np.array(values), scale=1.0, digits=digits)
        terms.conditional = np.zeros(0, np.int64)
        terms.varies, terms.condition_on = np.ones(len(values), bool), lambda column: None
        super().__init__(terms)

    def add(self, column):
        pass

    def value(self):
        return self.relevance.copy()


@given(
    st.lists(st.integers(-40, 40) | st.integers(2**50, 2**50 + 3), min_size=1, max_size=9),
    st.sampled_from([0, 1, 4]),
    st.sampled_from([1, 100]),
    st.floats(1.1, 1e12),
)
@example([7, 8], 4, 100, 2.0)  # whose last digits are rounded to different numbers, ...
@example([6, 7], 4, 100, 2.0)  # ... to the same one, ...
@example([2**50, 2**50 + 1], 0, 1, 2.0)  # ... or not at all
def test_columns_without_a_prior_keep_their_criterion(values, digits, steps, beta):
    """Whole numbers stay whole: only where the favoured column, the last one, stands may change."""
    values = [*values, 3]
    prior = np.ones(len(values))
    prior[-1] = beta
    alone, with_prior = (
        forward_search(FixedCriterion(values, digits), steps, Preference(prior=b))
        for b in (None, prior)
    )
    last = len(values) - 1
    assert [f for f in with_prior.order if f != last] == [f for f in alone.order if f != last]
    assert with_prior.order.tolist().index(last) <= alone.order.tolist().index(last)


def test_a_negative_weight_is_divided():
    X, y = make_table(60, 20)
    alone = ReliefF().fit(X, y)
    worst = alone.order_[-1]
    assert alone.scores_[worst] < 0
    fitted = ReliefF(schema={"prior": {int(worst): 4}}).fit(X, y)
    assert fitted.scores_[worst] == alone.scores_[worst] / 4
    assert fitted.ranking_[worst] < 20
    # however large, it does not pass a column that is seen to matter
    fitted = ReliefF(schema={"prior": {int(worst): 1e12}}).fit(X, y)
    assert fitted.ranking_[worst] == (alone.scores_ >= 0).sum() + 1


def test_a_constant_column_stays_last():
    X, y = make_table(60, 20)
    X[:, [0, 4]] = 1.0
    prior = np.ones(20)
    prior[[0, 4]] = 1e6
    for name in SEARCHES:
        fitted = fit(EVERY[name], X, y, prior)
        assert fitted.order_[-2:].tolist() == [0, 4], name


def test_columns_to_keep_may_have_a_prior():
    X, y = make_table(60, 20)
    prior = np.ones(20)
    prior[[9, 11, 14]] = 10.0
    for name, method in EVERY.items():
        fitted = fit(method, X, y, prior, [14, 1])
        assert sorted(fitted.order_[:2].tolist()) == [1, 14], name
        if name in SEARCHES and "dependence" not in name:
            assert fitted.order_[:2].tolist() == [14, 1]
            criterion = fitted.criterion_[14]
            assert fitted.scores_[14] == reference.apply_prior(criterion, 10.0)


def test_an_interrupted_search_is_a_prefix_of_a_full_one():
    X, y = make_table()
    prior = np.where(np.arange(30) % 4 == 1, 6.0, 1.0)

    def stop(done, total):
        if done == 7:
            raise KeyboardInterrupt

    schema = {"prior": dict(enumerate(prior))}
    for method in (JMI(**LEVELS), MonotoneDependence()):
        stopped = type(method)(**(method.get_params() | {"verbose": stop, "schema": schema}))
        with pytest.raises(KeyboardInterrupt):
            stopped.fit(X, y)
        whole = fit(method, X, y, prior, max_steps=7)
        assert stopped.interrupted_
        assert stopped.order_.tolist() == whole.order_.tolist()
        assert has_falling_scores(stopped)


TESTS = ("FTest", "ChiSquared", "UnivariateTest")
SUBSETS = ("CFS", "FCBF", "Interact", "Consistency")


@pytest.mark.parametrize("name", [*TESTS, *SUBSETS])
def test_tests_and_subset_selectors_warn_that_they_ignore_a_prior(name):
    X, y = make_table(40, 8)
    method = getattr(featly, name)
    alone = method().fit(X, y)
    with pytest.warns(SchemaWarning, match=f"{name} does not use prior of the schema"):
        fitted = method(schema={"prior": {0: 10}}).fit(X, y)
    assert fitted.order_.tolist() == alone.order_.tolist()


@pytest.mark.parametrize("name", EVERY)
def test_the_prior_is_used_without_a_warning(name):
    X, y = make_table(40, 8)
    assert EVERY[name]._uses == ("keep", "prior", "costs")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(EVERY[name], X, y, [10.0] + [1.0] * 7)
