import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featly.basics.errors import DataError, ParameterError
from featly.measures.recovery import (
    Roles,
    count_roles,
    cut_at_relevant,
    kinds_selected,
    position_statistics,
    success_index,
)
from tests.reference import measures as naive


def singles(*columns):
    return tuple((column,) for column in columns)


def groups(n_groups):
    return tuple(tuple(range(10 * g, 10 * g + 10)) for g in range(n_groups))


# the book's problems, columns counted from 0
CORRAL = Roles(6, singles(0, 1, 2, 3), {"correlated": (5,)})
CORRAL_100 = Roles(99, singles(0, 1, 2, 3), {"correlated": (5,)})
XOR_100 = Roles(99, singles(0, 1))
PARITY = Roles(12, singles(0, 1, 2), {"copies": (3, 4, 5)})
LED_25 = Roles(24, singles(*range(7)))
LED_100 = Roles(99, singles(*range(7)))
MONK3 = Roles(6, singles(1, 3, 4))
SD1, SD2, SD3 = (Roles(4000 + 10 * n, groups(n)) for n in (2, 4, 6))
MADELON = Roles(500, singles(*range(5)), {"combinations": tuple(range(5, 20))})

# each row: relevant, redundant and irrelevant columns selected, and the success index as printed
TABLES = {
    "3.1 CorrAL": (CORRAL, "0 1 0 -25, 4 1 0 75, 4 0 1 75, 4 0 0 100"),
    "3.2 CorrAL-100": (CORRAL_100, "3 1 6 75, 1 1 8 25"),
    "3.3 XOR-100": (XOR_100, "2 0 0 100, 1 0 9 50"),
    "3.4 Parity3+3": (
        PARITY,
        "3 2 0 93, 2 0 3 56, 0 0 5 -19, 1 0 4 19, 3 0 0 100, 0 0 1 -4",
    ),
    "3.5 Led-25": (
        LED_25,
        "6 0 0 86, 5 0 0 71, 7 0 0 100, 7 0 3 93, 6 0 4 76, 5 0 2 67, 5 0 5 59, 4 0 0 57,"
        "3 0 7 26, 2 0 0 29, 2 0 8 9, 4 0 6 43, 2 0 3 21, 1 0 0 14",
    ),
    "3.6 Led-100": (
        LED_100,
        "6 0 4 85, 5 0 5 71, 3 0 7 42, 7 0 15 99, 4 0 6 57, 3 0 9 42, 3 0 3 43, 2 0 8 28,"
        "3 0 5 42, 4 0 2 57, 0 0 10 -1, 2 0 4 28",
    ),
    "3.7 Monk3": (MONK3, "2 0 0 67, 2 0 3 17, 3 0 2 67, 3 0 1 83"),
    "3.8 SD1": (
        SD1,
        "2 1 25 100, 2 0 6 100, 2 0 21 100, 2 15 25 100, 1 1 0 50, 2 13 5 100, 1 0 19 50,"
        "0 0 2 0, 2 17 1 100, 0 0 10 0",
    ),
    "3.9 SD2": (
        SD2,
        "4 0 17 100, 3 0 17 75, 4 19 17 100, 1 9 10 25, 2 2 0 50, 0 0 20 0",
    ),
    "3.10 SD3": (SD3, "4 2 17 67, 3 0 6 50, 4 31 14 67, 1 5 0 17, 0 0 6 0"),
    "3.11 Madelon": (
        MADELON,
        "1 7 0 20, 2 10 0 40, 4 11 0 80, 0 1 14 0, 2 10 2 40, 4 4 7 80, 2 3 10 40, 1 0 16 20",
    ),
}
ROWS = [
    pytest.param(roles, *map(int, row.split()), id=f"{table}: {row.strip()}")
    for table, (roles, rows) in TABLES.items()
    for row in rows.split(",")
]


def selection(roles, n_relevant, n_redundant, n_irrelevant):
    """Some columns with these counts, in a mixed order."""
    chosen = [group[0] for group in roles.relevant[:n_relevant]]
    spare = [column for group in roles.relevant[:n_relevant] for column in group[1:]]
    spare += [column for columns in roles.redundant.values() for column in columns]
    chosen += spare[:n_redundant]
    chosen += roles.irrelevant[-n_irrelevant:] if n_irrelevant else ()
    return np.random.default_rng(0).permutation(np.array(chosen, dtype=int))


@pytest.mark.parametrize(("roles", "relevant", "redundant", "irrelevant", "printed"), ROWS)
def test_the_books_tables(roles, relevant, redundant, irrelevant, printed):
    selected = selection(roles, relevant, redundant, irrelevant)
    assert count_roles(selected, roles) == (relevant, redundant, irrelevant)
    index = success_index(selected, roles)
    assert round(index) == printed
    assert index == pytest.approx(
        naive.success(
            relevant,
            redundant + irrelevant,
            len(roles.relevant),
            roles.n_features - len(roles.relevant),
        )
    )


@pytest.mark.parametrize(
    ("roles", "relevant", "redundant", "irrelevant"),
    [(CORRAL_100, 4, 1, 5), (XOR_100, 2, 0, 2), (LED_100, 7, 0, 3), (MADELON, 5, 5, 15)],
)
def test_the_book_prints_99_where_it_is_almost_100(roles, relevant, redundant, irrelevant):
    assert 99.5 < success_index(selection(roles, relevant, redundant, irrelevant), roles) < 100


@pytest.mark.parametrize(
    ("roles", "redundant", "irrelevant", "printed"),
    [(CORRAL_100, 1, 9, -44), (CORRAL_100, 1, 2, -13), (XOR_100, 0, 10, -21), (XOR_100, 0, 1, -2)],
)
def test_negative_values_printed_100_times_too_large(roles, redundant, irrelevant, printed):
    assert round(100 * success_index(selection(roles, 0, redundant, irrelevant), roles)) == printed


def test_the_printed_value_that_the_formula_does_not_give():
    """Table 3.2 prints -2 for the correlated column alone."""
    assert success_index([5], CORRAL_100) == pytest.approx(-100 * 4 / 95**2)
    assert round(100 * success_index([5], CORRAL_100)) == -4


def test_success_of_a_ranking_does_not_depend_on_its_size():
    """Table 3.7: ReliefF ranks 2, 5, 4 first and scores 100; mRMR scores 17."""
    assert success_index([1, 4, 3, 0, 2], MONK3, ranked=True) == 100
    assert success_index([1, 4, 3, 0, 2], MONK3) == pytest.approx(100 * 2 / 3)
    assert round(success_index([1, 0, 2, 4, 5], MONK3, ranked=True)) == 17
    # any other column in between, and the plain index counts
    assert success_index([1, 4, 0, 3, 2], MONK3, ranked=True) == pytest.approx(100 * 2 / 3)
    assert success_index([1, 4], MONK3, ranked=True) == pytest.approx(100 * 2 / 3)
    assert success_index([3, 1, 4], MONK3, ranked=True) == 100
    # redundant columns are other columns too, also those of a group that was found
    assert success_index([0, 5, 1, 2, 3], CORRAL, ranked=True) == 75
    assert success_index([7, 15, 8, 100], SD1, ranked=True) == 100
    assert success_index([7, 8, 15, 100], SD1, ranked=True) < 100


def test_nothing_and_everything():
    assert success_index([], CORRAL) == success_index([], CORRAL, ranked=True) == 0
    assert success_index(range(6), CORRAL) == 50
    assert success_index(range(2, 99), XOR_100) == pytest.approx(-100 * 2 / 97)
    assert success_index([1, 2], Roles(3, singles(0))) == -50


def test_where_every_column_is_relevant():
    roles = Roles(3, singles(0, 1, 2))
    assert roles.irrelevant == ()
    assert success_index([2, 0], roles) == pytest.approx(200 / 3)
    assert success_index([2, 0, 1], roles) == success_index([2, 0, 1], roles, ranked=True) == 100


def test_where_nothing_is_relevant():
    roles = Roles(4, ())
    assert count_roles([1, 2], roles) == (0, 0, 2)
    for ranked in (False, True):
        with pytest.raises(ParameterError, match="no relevant column"):
            success_index([1], roles, ranked=ranked)


@st.composite
def problems(draw):
    n_features = draw(st.integers(2, 14))
    columns = draw(st.permutations(range(n_features)))
    ends = sorted(draw(st.lists(st.integers(1, n_features), min_size=1, max_size=4, unique=True)))
    parts = [tuple(columns[a:b]) for a, b in zip([0, *ends], ends, strict=False)]
    n_relevant = draw(st.integers(1, len(parts)))
    redundant = {f"copies {i}": part for i, part in enumerate(parts[n_relevant:])}
    selected = draw(st.permutations(range(n_features)))[: draw(st.integers(0, n_features))]
    return Roles(n_features, tuple(parts[:n_relevant]), redundant), selected


@given(problems())
def test_counts_are_the_definition(case):
    roles, selected = case
    expected = naive.roles(selected, roles.relevant, roles.redundant)
    assert count_roles(selected, roles) == expected
    assert sum(expected) == len(selected)
    index = success_index(selected, roles)
    assert -50 - 1e-9 <= index <= 100
    assert success_index(selected[::-1], roles) == index
    n_relevant = len(roles.relevant)
    right, wrong = expected[0], expected[1] + expected[2]
    if n_relevant < roles.n_features:
        other = roles.n_features - n_relevant
        assert index == pytest.approx(naive.success(right, wrong, n_relevant, other), abs=1e-9)
    first = naive.roles(selected[:n_relevant], roles.relevant, roles.redundant)
    complete = first == (n_relevant, 0, 0)
    assert success_index(selected, roles, ranked=True) == (100 if complete else index)
    with_role = [c for part in (*roles.relevant, *roles.redundant.values()) for c in part]
    assert roles.irrelevant == tuple(c for c in range(roles.n_features) if c not in with_role)


def test_roles_are_plain_and_can_be_pickled():
    roles = Roles(np.int64(5), [np.array([0, 1]), [2]], {"copies": np.array([3])})
    assert roles.relevant == ((0, 1), (2,))
    assert roles.redundant == {"copies": (3,)}
    assert count_roles([0], roles).relevant == 1
    again = pickle.loads(pickle.dumps(roles))
    assert again == roles
    assert hash(again) == hash(roles)
    assert again != Roles(5, ((0, 1), (2,)))


@pytest.mark.parametrize(
    ("n_features", "relevant", "redundant", "message"),
    [
        (0, (), {}, "n_features=0: give the number of columns"),
        (3, singles(3), {}, r"relevant\[0\] has column 3: columns go from 0 to 2"),
        (3, singles(0, -1), {}, r"relevant\[1\] has column -1"),
        (3, ((0, 0),), {}, r"relevant\[0\] has column 0 twice"),
        (3, (0, 1), {}, r"relevant\[0\]=0: give a group of columns, such as \(0,\)"),
        (3, ((),), {}, r"relevant\[0\] has no columns"),
        (3, singles(0, 1, 0), {}, "column 0 has two roles"),
        (3, singles(0), {"copies": (1, 0)}, "column 0 has two roles"),
        (3, singles(0), {"a": (1,), "b": (1,)}, "column 1 has two roles"),
        (3, singles(0), {"copies": (7,)}, r"redundant\['copies'\] has column 7"),
    ],
)
def test_wrong_roles_are_named(n_features, relevant, redundant, message):
    with pytest.raises(ParameterError, match=message):
        Roles(n_features, relevant, redundant)


def test_wrong_selections_are_named():
    for wrong, message in [
        ([0, 6], "selected has column 6: columns go from 0 to 5"),
        ([1, 1], "selected has column 1 twice"),
        ([True] * 6, "selected is a mask"),
        ([0.5], "selected is not a vector of whole numbers"),
    ]:
        for function in (count_roles, success_index):
            with pytest.raises(DataError, match=message):
                function(wrong, CORRAL)
        with pytest.raises(DataError, match=message):
            kinds_selected(wrong, np.zeros(6))


@given(st.integers(1, 9).flatmap(lambda p: st.lists(st.permutations(range(p)), min_size=1)))
def test_positions_are_pooled_over_rankings(orders):
    p = len(orders[0])
    members = {"first half": list(range((p + 1) // 2)), "last": [p - 1], "all": list(range(p))}
    statistics = position_statistics(orders, members)
    assert list(statistics) == list(members)
    for name, columns in members.items():
        positions = [order.index(column) + 1 for order in orders for column in columns]
        mean = sum(positions) / len(positions)
        expected = min(positions), naive.quantile(positions, 0.25), mean
        expected += naive.quantile(positions, 0.75), max(positions)
        assert statistics[name] == pytest.approx(expected)
    assert statistics["all"][::2] == (1, (p + 1) / 2, p)


def test_one_ranking_may_be_a_vector():
    order = np.array([3, 0, 2, 1], dtype=np.int32)
    assert position_statistics(order, {"two": (1, 3)}) == {"two": (1, 1.75, 2.5, 3.25, 4)}
    assert position_statistics(order[None], {"two": (1, 3)})["two"].worst == 4


def test_a_perfect_ranking_of_artificial_1():
    """Izetta et al., 8 classes: 40 relevant columns and 500 of noise; noise then has the rest."""
    groups = {"relevant": range(40), "noisy": range(40, 540)}
    statistics = position_statistics(range(540), groups)
    assert statistics["relevant"] == (1, 10.75, 20.5, 30.25, 40)
    assert statistics["noisy"] == (
        41,
        165.75,
        290.5,
        415.25,
        540,
    )  # table 6 prints 165, 290, 415, 540


@pytest.mark.parametrize(
    ("order", "columns", "wrong", "message"),
    [
        ([0, 1, 1], [0], DataError, "order has column 1 twice"),
        ([[0, 1], [0, 2]], [0], DataError, r"order\[1\] has column 2: columns go from 0 to 1"),
        ([], [0], DataError, "order has shape"),
        ([[[0]]], [0], DataError, "order has shape"),
        ([0, 1], [], ParameterError, r"groups\['g'\] has no columns"),
        ([0, 1], [2], ParameterError, r"groups\['g'\] has column 2"),
    ],
)
def test_wrong_positions_are_named(order, columns, wrong, message):
    with pytest.raises(wrong, match=message):
        position_statistics(order, {"g": columns})


def test_kinds_are_counted_with_those_not_selected():
    kinds = np.array([0, 2, 2, 0, 1], dtype=np.uint8)
    assert kinds_selected([1, 2, 3], kinds) == {0: 1, 1: 0, 2: 2}
    assert kinds_selected([], kinds) == {0: 0, 1: 0, 2: 0}
    assert kinds_selected(np.array([4]), ["a", "a", "b", "b", "c"]) == {"a": 0, "b": 0, "c": 1}


@given(st.permutations(range(6)), st.integers(1, 6), st.integers(0, 3))
def test_cut_at_relevant_equals_its_definition(order, size, n_groups):
    roles = Roles(6, ((4,), (0, 2), (1,))[:n_groups])
    relevant = [column for group in roles.relevant for column in group]
    leads = relevant and sorted(order[: len(relevant)]) == sorted(relevant)
    expected = min(size, len(relevant)) if leads else size
    assert cut_at_relevant(order, size, roles) == expected
