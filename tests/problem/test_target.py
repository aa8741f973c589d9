"""Targets: how each kind is read, grouped, split and turned into residuals."""

import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featly.basics.errors import DataError, ParameterError
from featly.problem.target import (
    KIND_NAMES,
    Classes,
    Numbers,
    Survival,
    infer_kind,
    read_classes,
    read_target,
)
from tests.reference import targets as reference

ANY = ("classes", "numbers", "survival")
TIMES = np.array([(True, 2.0), (False, 5.0), (True, 3.0)], [("event", "?"), ("time", "f8")])


def read(y, kind=None, targets=ANY, **options):
    n_rows = options.pop("n_rows", 3 if y is None else len(y))
    return read_target(y, n_rows, "FTest", targets=targets, kind=kind, **options)


# ---- reading -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("y", "labels"),
    [
        (["b", "a", "b"], ["a", "b"]),
        ([True, False, True], [False, True]),
        ([3, 1, 3], [1, 3]),
        ([3.0, 1.0, 3.0], [1.0, 3.0]),
        (np.arange(20), list(range(20))),
        (pl.Series(["b", "a"]), ["a", "b"]),
        (pd.Series(["b", "a"], dtype="category"), ["a", "b"]),
        (pd.Series(range(30)).astype("category"), list(range(30))),
        (pd.Series([1.5, 2.5, 1.5]).astype("category"), [1.5, 2.5]),
        (pa.array(["b", "a"]), ["a", "b"]),
        (np.array([2, 1, 2], dtype=object), [1, 2]),
    ],
)
def test_classes(y, labels):
    target = read(y)
    assert isinstance(target, Classes)
    assert target.labels.tolist() == labels
    assert target.labels[target.codes].tolist() == (
        y.to_pylist() if isinstance(y, pa.Array) else list(y)
    )


@pytest.mark.parametrize(
    "y",
    [
        [1.5, 2.0, 4.0],
        np.array([1, 2.5, 3], dtype=object),
        np.float32([1.5, 2, 4]),
        [Decimal("1.5"), Decimal(2), Decimal(4)],
        pd.Series([1.5, 2, 4], dtype="Float64"),
        pl.Series([1.5, 2.0, 4.0]).cast(pl.Decimal(10, 2)),
        pa.array([1.5, 2.0, 4.0]),
    ],
)
def test_fractions_are_numbers(y):
    target = read(y)
    assert isinstance(target, Numbers)
    assert target.values.dtype == np.float64
    assert target.values[0] == float(next(iter(y.to_pylist() if isinstance(y, pa.Array) else y)))


@pytest.mark.parametrize("y", [[3, 1, 2], [True, False, True], ["3", "1.5", "-2e3"]])
def test_the_user_may_say_that_they_are_numbers(y):
    assert read(y, "numbers").values.tolist() == [float(v) for v in y]


@pytest.mark.parametrize("y", [np.arange(21), np.arange(21.0), pl.Series(range(21))])
def test_many_whole_numbers_may_be_either(y):
    with pytest.raises(DataError, match=r"21 different whole numbers, from 0 to 20") as caught:
        read(y)
    for kind in ("classes", "numbers"):
        assert f"Schema(target_kind='{kind}')" in str(caught.value)
        assert read(y, kind).kind == kind
    assert len(read_classes(y, 21, "C45")[1]) == 21  # a learner has classes only


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (TIMES, None),
        (TIMES, "survival"),
        (TIMES[["time", "event"]], None),
        ([(2, True), (5, False), (3, True)], "survival"),
        (np.array([[2.0, 1], [5, 0], [3, 1]]), "survival"),
        (np.array([[2.0, 2], [5, 1], [3, 2]]), "survival"),  # R's status: 1 censored, 2 dead
        (pd.DataFrame({"t": [2.0, 5, 3], "e": [True, False, True]}), "survival"),
        (pd.DataFrame({"t": [2.0, 5, 3], "e": ["yes", "no", "yes"]}), "survival"),
        (pl.DataFrame({"t": [2.0, 5.0, 3.0], "e": [True, False, True]}), "survival"),
        (pl.DataFrame({"t": ["2", "5", "3"], "e": ["1", "0", "1"]}), "survival"),
    ],
)
def test_survival(y, kind):
    target = read(y, kind)
    assert isinstance(target, Survival)
    assert target.time.tolist() == [2.0, 5.0, 3.0]
    assert target.event.tolist() == [True, False, True]


def test_every_row_may_have_the_event():
    for event in ([True] * 3, [1, 1, 1], np.array([True] * 3, object), ["yes"] * 3):
        target = read(pd.DataFrame({"t": [2.0, 5, 3], "e": event}), "survival")
        assert target.event.all()


# ---- mistakes ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("y", "kind", "message"),
    [
        ([], None, "y is empty"),
        ([], "numbers", "y is empty"),
        (["a", "a"], None, "y has one class only ('a')"),
        ([2.5, 2.5], None, "y is 2.5 in every row"),
        ([1, 1], "numbers", "y is 1 in every row"),
        ([1.5, np.nan], None, "y is missing (NaN) in row 1"),
        ([1.5, None], None, "y is missing (NaN) in row 1"),
        (pd.Series([1, None], dtype="Int64"), None, "y is missing (NaN) in row 1"),
        ([1.5, np.inf], None, "y is infinite (inf) in row 1"),
        (["1.5", "inf"], "numbers", "y is infinite in row 1"),
        ([0.5, 1e200], None, "y is 1e+200 in row 1, whose square overflows"),
        (["1.5", "old"], "numbers", "y holds 'old' in row 1, which is no number"),
        ([1.5, 2], "classes", "y holds real numbers such as 1.5"),
        (TIMES, "numbers", "y has the fields event, time, and target_kind='numbers' takes one"),
        ([[1.5, 1], [2, 0]], None, "Schema(target_kind='survival')"),
        ([1.5, 2], "survival", "y has the shape (2,)"),
        ([(True, 2), (False, 3)], "survival", "the time of y is 0 in row 1"),
        ([(0, 1), (3, 0)], "survival", "the time of y is 0 in row 0"),
        ([(np.inf, 1), (3, 0)], "survival", "the time of y is inf in row 0"),
        ([(np.nan, 1), (3, 0)], "survival", "the time of y is nan in row 0"),
        ([("soon", "1"), ("3", "0")], "survival", "the times of y are no numbers"),
        ([(2, None), (3, 0)], "survival", "the event of y is missing in row 0"),
        ([(2, 1), (3, 0), (4, 2)], "survival", "the event of y has 3 levels (0, 1, 2, ...)"),
        ([(2, 0), (3, 0)], "survival", "no row of y has the event"),
        ([("2", "died"), ("3", "lived")], "survival", "the event of y is 'died'"),
        (
            pd.DataFrame({"t": [2.0, 3], "e": ["yes", 0]}),
            "survival",
            "the event of y mixes types",
        ),
        (
            np.array([(1, 2.0), (0, 3.0)], [("e", "i8"), ("t", "f8")]),
            None,
            "y has the fields e, t: a survival target has two, a bool",
        ),
    ],
)
def test_mistakes(y, kind, message):
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        read(y, kind)
    assert "\n" not in str(caught.value)


def test_fractions_that_the_user_calls_classes():
    for targets, remedy in ((ANY, "'classes'"), (("classes",), r"'classes' and use FTest, .*")):
        with pytest.raises(DataError, match=f"or leave out target_kind={remedy}$"):
            read([1.5, 2, 3], "classes", targets=targets)


def test_no_target_and_a_target_of_another_length():
    with pytest.raises(ParameterError, match="the target y is None: give the outcome of every row"):
        read(None)
    for y in ([1.5, 2.5], TIMES[:2]):
        with pytest.raises(DataError, match="X has 3 rows but y has 2 entries"):
            read(y, n_rows=3)


@pytest.mark.parametrize(
    ("y", "kind", "able"),
    [([1.5, 2, 3], "numbers", "FTest"), (TIMES, "survival", "FTest"), ("aba", "classes", "FTest")],
)
def test_the_error_for_another_kind_names_methods_that_take_it(y, kind, able):
    others = tuple(k for k in ANY if k != kind)
    held = KIND_NAMES[kind]
    with pytest.raises(DataError, match=f"use a method that takes {held}: .*{able}") as caught:
        read(list(y) if isinstance(y, str) else y, targets=others)
    assert f"is for {' and '.join(KIND_NAMES[k] for k in others)}" in str(caught.value)
    if kind == "numbers":
        assert "cut y into classes, or" in str(caught.value)


# ---- groups and residuals ------------------------------------------------------------------------
numbers = st.lists(
    st.one_of(st.sampled_from([0.0, -0.0, 1.5, 7.0]), st.floats(-1e6, 1e6)),
    min_size=2,
    max_size=40,
).filter(lambda values: len(set(values)) > 1)


@given(numbers, st.sampled_from([None, 2, 3, 7]))
def test_groups_of_numbers(values, n_groups):
    target = Numbers(np.array(values), n_groups)
    codes, count = target.groups()
    expected = n_groups or min(max(2, round(len(values) ** (1 / 3))), 10)
    assert codes.tolist() == reference.equal_groups(values, expected)
    assert 2 <= count == len(set(codes.tolist())) <= expected
    assert sorted(codes.tolist()) == codes[np.argsort(values, kind="stable")].tolist()


@given(numbers)
def test_a_monotone_change_changes_no_group(values):
    _, ranks = np.unique(values, return_inverse=True)
    expected = Numbers(np.array(values)).groups().codes.tolist()
    for changed in (ranks * 1.0, np.exp(ranks / 9), ranks**3 - 1e5):
        assert Numbers(changed).groups().codes.tolist() == expected


@given(numbers)
def test_influence_of_numbers(values):
    influence = Numbers(np.array(values)).influence()
    assert influence.shape == (len(values), 1)
    size = max(map(abs, values)) + np.finfo(np.float64).tiny  # below it a half is 0
    assert influence.sum() == pytest.approx(0, abs=1e-13 * size * len(values))
    assert influence[:, 0] == pytest.approx(np.array(values) - np.mean(values), abs=1e-12 * size)


@pytest.mark.parametrize("value", [0.1, 1e9 / 3])
def test_equal_numbers_have_no_residual(value):
    """A part of a table may have the same number in every row."""
    target = Numbers(np.array([value, value, value, 7.0])).take(np.array([0, 1, 2, 1, 0, 0]))
    assert target.influence().tolist() == [[0.0]] * 6
    assert target.groups().n_groups == 1
    assert target.strata().tolist() == [0] * 6


def test_ranks_and_strata_of_numbers():
    target = Numbers(np.array([3.0, 1.0, 3.0, 10.0]))
    assert target.to_ranks().values.tolist() == [2.5, 1.0, 2.5, 4.0]
    assert Numbers(target.values, 2).to_ranks().n_groups == 2
    rng = np.random.default_rng(0)
    for n, tenths in ((19, 1), (20, 2), (57, 5), (99, 9), (100, 10), (1000, 10)):
        strata = Numbers(rng.normal(size=n)).strata()
        assert len(set(strata.tolist())) == tenths
        assert np.bincount(strata).min() >= n // tenths


def test_influence_and_strata_of_classes():
    target = Classes(np.array([0, 2, 1, 0]), np.array(["a", "b", "c"]))
    shares = [0.5, 0.25, 0.25]
    assert target.influence().tolist() == [
        [(k == c) - shares[c] for c in range(3)] for k in (0, 2, 1, 0)
    ]
    assert target.strata().tolist() == [0, 2, 1, 0]
    assert target.to_ranks() is target
    assert target.groups().n_groups == target.count == 3
    assert target.take(np.array([1, 1])).codes.tolist() == [2, 2]
    pair, rows = target.pair(0, 2)
    assert (pair.codes.tolist(), pair.labels.tolist(), rows.tolist()) == (
        [0, 1, 0],
        ["a", "c"],
        [0, 1, 3],
    )
    assert target.against_rest(2).codes.tolist() == [0, 1, 0, 0]
    assert pair.signs.tolist() == [-1.0, 1.0, -1.0]


@st.composite
def survivals(draw):
    n = draw(st.integers(2, 25))
    times = st.one_of(st.sampled_from([1.0, 2.0, 5.5]), st.floats(1e-3, 1e3))
    time = draw(st.lists(times, min_size=n, max_size=n))
    event = draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(any))
    return np.array(time), np.array(event)


@given(survivals())
def test_martingale_residuals(case):
    target = Survival(*case)
    residuals = target.influence()[:, 0]
    assert residuals == pytest.approx(reference.martingale_residuals(*case), abs=1e-12)
    assert residuals.sum() == pytest.approx(0, abs=1e-11)
    assert target.strata().tolist() == case[1].astype(int).tolist()
    assert target.to_ranks() is target


@given(survivals(), st.randoms())
def test_score_of_two_groups_is_that_of_the_log_rank_test(case, random):
    second = np.array([random.random() < 0.5 for _ in case[0]])
    score = float(second @ Survival(*case).influence()[:, 0])
    assert score == pytest.approx(reference.log_rank(*case, second), abs=1e-11)


@given(st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=30, unique=True))
def test_without_censoring_and_ties_the_residuals_are_savage_scores(time):
    target = Survival(np.array(time), np.ones(len(time), bool))
    assert target.influence()[:, 0] == pytest.approx(reference.savage_scores(time), abs=1e-12)


@given(survivals())
def test_survival_depends_on_the_order_of_the_times_alone(case):
    time, event = case
    _, ranks = np.unique(time, return_inverse=True)
    target, changed = Survival(time, event), Survival(np.exp(ranks / 3), event)
    assert changed.influence().tolist() == target.influence().tolist()
    assert changed.groups().codes.tolist() == target.groups().codes.tolist()
    rows = np.argsort(time)[::-1]
    assert target.take(rows).influence().tolist() == target.influence()[rows].tolist()


@given(survivals())
def test_groups_of_survival(case):
    target = Survival(*case)
    codes, count = target.groups()
    assert codes.tolist() == reference.equal_groups(target.influence()[:, 0].tolist(), 3)
    assert count == len(set(codes.tolist())) <= 3


def test_a_part_without_an_event_has_no_residual():
    target = Survival(np.array([2.0, 5.0, 3.0]), np.array([True, False, False]))
    part = target.take(np.array([1, 2, 2]))
    assert part.influence().tolist() == [[0.0]] * 3
    assert part.groups().codes.tolist() == [0, 0, 0]
    assert part.n_rows == 3


def test_a_learner_names_no_methods_to_be_used_instead():
    with pytest.raises(DataError, match=r"HEOMNeighbors is for classes: cut y into classes\. To"):
        read_classes([0.5, 1.5], 2, "HEOMNeighbors")


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (["a", "b"], "classes"),
        ([True, False], "classes"),
        (range(20), "classes"),
        (range(21), None),
        ([0.5, 1.0], "numbers"),
        (np.array([1, 0.5], object), "numbers"),
        (pd.Series(range(30)).astype("category"), "classes"),
        (TIMES, "survival"),
        (pl.Series(["a", "b"]), "classes"),
    ],
)
def test_kinds_are_inferred_as_they_are_read(y, kind):
    assert infer_kind(y) == kind
    if kind is not None:
        assert read(y).kind == kind


def test_the_kind_of_mixed_values_is_left_to_the_reader():
    assert infer_kind(np.array(["a", 1.5], object)) == "classes"
    with pytest.raises(DataError, match="y mixes types"):
        read(np.array(["a", 1.5], object))
