import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from featly.core.stats.tails import f_tail, false_discovery_rates


def tail(statistic, d1, d2):
    p, evidence = f_tail(*(np.array([float(v)]) for v in (statistic, d1, d2)))
    return p[0], evidence[0]


@given(st.floats(1e-4, 1e4), st.integers(1, 20), st.integers(1, 5000))
def test_agrees_with_scipy(statistic, d1, d2):
    p, evidence = tail(statistic, d1, d2)
    assert p == pytest.approx(stats.f.sf(statistic, d1, d2), rel=1e-9, abs=1e-300)
    if 1e-270 < p < 0.99:
        assert evidence == pytest.approx(-np.log10(p), rel=1e-9)


@pytest.mark.parametrize(
    ("statistic", "d1", "d2", "evidence"),
    [  # fifty-digit arithmetic
        (9000.0, 1, 998, 500.96545980744695704),
        (50000.0, 3, 100000, 19894.70941176280714304),
        (1e40, 2, 20, 390.0),
        (1e-9, 1, 50, 1.0903313430373594e-05),
        (1e-15, 1, 1, 8.743079726213286e-09),  # here scipy keeps eight digits of p
    ],
)
def test_far_tails(statistic, d1, d2, evidence):
    assert tail(statistic, d1, d2)[1] == pytest.approx(evidence, rel=1e-12, abs=0)


@given(st.integers(1, 6), st.integers(1, 3000), st.floats(0.01, 1e5), st.floats(1e-6, 1.0))
def test_evidence_rises_with_the_statistic(d1, d2, statistic, more):
    assert tail(statistic * (1 + more), d1, d2)[1] > tail(statistic, d1, d2)[1]


def test_limits():
    assert tail(np.inf, 2, 10) == (0.0, np.inf)
    assert tail(0.0, 2, 10) == (1.0, 0.0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_false_discovery_rates_are_scipys(p):
    p = np.array(p)
    rates = false_discovery_rates(p, np.argsort(p, kind="stable"))
    assert rates == pytest.approx(stats.false_discovery_control(p), rel=1e-12, abs=1e-300)
