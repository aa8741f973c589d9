"""The logical problems against their rules, row by row, and Monk against the public files."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from featly.basics.errors import ParameterError
from featly.datasets import (
    make_corral,
    make_corral_100,
    make_led,
    make_monk,
    make_parity,
    make_xor_100,
)
from tests.reference.logical import corral, is_lit, monk, parity

SEEDS = [0, 1, 2024]


def numbers(problem, *columns):
    """Rows of whole numbers, whether or not the table has text."""
    return problem.X.select(columns or problem.X.columns).cast(pl.Int64).rows()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("maker", [make_corral, make_corral_100])
def test_corral(maker, seed):
    problem = maker(random_state=seed)
    rows = numbers(problem, "f1", "f2", "f3", "f4", "f5")
    assert sorted(rows) == list(product((0, 1), repeat=5))
    assert problem.y.tolist() == [corral(*row[:4]) for row in rows]
    assert sum(problem.X["f6"].to_numpy() == problem.y) == 24
    assert problem.redundant == {"correlated": ("f6",)}
    assert problem.irrelevant[0] == "f5"


def test_corral_100_adds_to_corral():
    assert_frame_equal(make_corral_100(random_state=7).X[:, :6], make_corral(random_state=7).X)
    more = make_corral_100(n_irrelevant=200, random_state=7)
    assert_frame_equal(more.X[:, :99], make_corral_100(random_state=7).X)


def test_which_rows_of_corral_disagree_depends_on_the_seed():
    def disagreeing_rows(seed):
        problem = make_corral(random_state=seed)
        wrong = problem.X["f6"].to_numpy() != problem.y
        return {row[:5] for row, w in zip(problem.X.rows(), wrong, strict=True) if w}

    rows_by_seed = [disagreeing_rows(seed) for seed in range(60)]
    assert {len(rows) for rows in rows_by_seed} == {8}
    assert len(set(map(frozenset, rows_by_seed))) > 55
    assert len(set.union(*rows_by_seed)) == 32  # any row may disagree


@pytest.mark.parametrize("seed", SEEDS)
def test_xor(seed):
    problem = make_xor_100(random_state=seed)
    rows = numbers(problem, "f1", "f2")
    assert sorted(Counter(rows).values()) == [12, 12, 13, 13]
    assert problem.y.tolist() == [parity(*row) for row in rows]
    assert Counter(problem.y.tolist()) == {0: 25, 1: 25}
    assert set(np.unique(problem.X.to_numpy())) == {0, 1}


@pytest.mark.parametrize("seed", SEEDS)
def test_parity(seed):
    problem = make_parity(random_state=seed)
    rows = numbers(problem, "f1", "f2", "f3")
    assert Counter(rows) == dict.fromkeys(product((0, 1), repeat=3), 8)
    assert rows == numbers(problem, "f4", "f5", "f6")
    assert problem.y.tolist() == [parity(*row) for row in rows]
    assert problem.redundant == {"repeats": ("f4", "f5", "f6")}
    assert problem.irrelevant == tuple(f"f{j}" for j in range(7, 13))


def test_rows_are_shared_evenly_whatever_their_number():
    assert sorted(Counter(numbers(make_xor_100(n_rows=7), "f1", "f2")).values()) == [1, 2, 2, 2]
    counts = Counter(numbers(make_parity(n_rows=20), "f1", "f2", "f3")).values()
    assert sorted(counts) == [2] * 4 + [3] * 4
    assert sorted(Counter(make_led(n_rows=23).y.tolist()).values()) == [2] * 7 + [3] * 3


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_irrelevant", [17, 92])
def test_led(n_irrelevant, seed):
    problem = make_led(n_irrelevant=n_irrelevant, random_state=seed)
    assert Counter(problem.y.tolist()) == dict.fromkeys(range(10), 5)
    columns = [f"f{j}" for j in range(1, 8)]
    for digit, row in zip(problem.y, numbers(problem, *columns), strict=True):
        assert row == tuple(is_lit(digit, segment) for segment in "abefgcd")


def test_five_segments_tell_the_digits_and_the_third_tells_5_from_6():
    shapes = {digit: tuple(is_lit(digit, s) for s in "abefg") for digit in range(10)}
    assert len(set(shapes.values())) == 10
    without_e = [(a, b, f, g) for a, b, _, f, g in shapes.values()]
    assert without_e[5] == without_e[6]
    problem = make_led()
    table = problem.frame.group_by("f1", "f2", "f3", "f4", "f5").agg(pl.col("class").n_unique())
    assert table["class"].to_list() == [1] * 10


def wrong_cells(noise, **parameters):
    clean, noisy = (make_led(noise=level, **parameters) for level in (0, noise))
    assert (clean.y == noisy.y).all()
    assert_frame_equal(clean.X[:, 7:], noisy.X[:, 7:])
    return clean.X[:, :7].to_numpy() != noisy.X[:, :7].to_numpy()


@pytest.mark.parametrize(
    ("noise", "count"), [(0.02, 7), (0.06, 21), (0.1, 35), (0.15, 53), (0.2, 70), (1, 350)]
)
def test_led_noise_alters_that_many_relevant_cells(noise, count):
    assert wrong_cells(noise).sum() == count


def test_more_led_noise_alters_the_same_cells_and_others():
    few, more = wrong_cells(0.06, random_state=3), wrong_cells(0.2, random_state=3)
    assert more[few].all()
    assert wrong_cells(0.2, random_state=4).tolist() != more.tolist()
    assert (wrong_cells(0.2).sum(axis=0) > 0).all()  # no segment is spared
    led_25, led_100 = make_led(noise=0.1), make_led(noise=0.1, n_irrelevant=92)
    assert_frame_equal(led_25.X, led_100.X[:, :24])


def test_coins_are_fair_and_independent_of_the_class():
    problem = make_xor_100(n_rows=4000, n_irrelevant=50)
    X = problem.X.to_numpy().astype(float)
    assert np.abs(X.mean(axis=0) - 0.5).max() < 5 * 0.5 / np.sqrt(4000)
    correlations = np.corrcoef(X.T, problem.y)[np.triu_indices(53, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(4000)


@pytest.mark.parametrize("problem", [1, 2, 3])
def test_all_robots(problem):
    robots = make_monk(problem, part="all")
    rows = numbers(robots)
    assert rows == list(product(*(range(1, n + 1) for n in (3, 3, 2, 3, 4, 2))))
    assert robots.y.tolist() == [monk(problem, row) for row in rows]
    assert set(robots.X["f5"]) == {"1", "2", "3", "4"}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("problem", "n_rows", "n_wrong"), [(1, 124, 0), (2, 169, 0), (3, 122, 6)])
def test_training_robots(problem, n_rows, n_wrong, seed):
    robots = make_monk(problem, random_state=seed)
    rows = numbers(robots)
    assert len(rows) == len(set(rows)) == n_rows
    truth = [monk(problem, row) for row in rows]
    assert sum(robots.y != truth) == n_wrong


@pytest.mark.parametrize(("problem", "relevant"), [(1, "125"), (2, "123456"), (3, "245")])
def test_relevant_attributes_are_those_that_ever_change_the_class(problem, relevant):
    robots = make_monk(problem, part="all")
    assert "".join(c[1] for (c,) in robots.relevant) == relevant
    label = dict(zip(robots.X.rows(), robots.y, strict=True))
    for j in range(6):
        changes = any(
            first[:j] + first[j + 1 :] == second[:j] + second[j + 1 :]
            and label[first] != label[second]
            for first, second in combinations(label, 2)
        )
        assert changes == (str(j + 1) in relevant)


def test_without_noise_two_segments_are_spare():
    """Five segments tell the digits, each of them is needed; with all seven, six and seven not."""
    led = make_led(n_rows=10, spare="redundant")
    shapes = led.X.select("f1", "f2", "f3", "f4", "f5", "f6", "f7").to_numpy()

    def tells(columns):
        return len({tuple(row) for row in shapes[:, columns]}) == 10

    needed = [j for j in range(7) if not tells([k for k in range(7) if k != j])]
    assert needed == [0, 1, 2, 3, 4]
    assert tells(needed)
    assert led.relevant == tuple((f"f{j + 1}",) for j in needed)
    assert led.redundant == {"spare": ("f6", "f7")}
    assert len(make_led().relevant) == 7
    with pytest.raises(ParameterError, match="with noise all seven segments are relevant"):
        make_led(noise=0.1, spare="redundant")
    with pytest.raises(ParameterError, match="spare='weak': give 'relevant' or 'redundant'"):
        make_led(spare="weak")


@pytest.mark.parametrize("maker", [make_corral, make_xor_100, make_parity, make_led])
def test_symbols_are_numbers_or_text(maker):
    as_numbers, as_text = maker(), maker(coding="category")
    assert set(as_text.X.dtypes) == {pl.String}
    assert_frame_equal(as_text.X.cast(pl.Int64), as_numbers.X)
    assert (as_text.y == as_numbers.y).all()


def test_robots_as_numbers():
    assert_frame_equal(make_monk(1).X.cast(pl.Int64), make_monk(1, coding="number").X)


@pytest.mark.parametrize(("problem", "n_rows", "n_wrong"), [(1, 124, 0), (2, 169, 0), (3, 122, 6)])
def test_the_public_files(data_folder, problem, n_rows, n_wrong):
    public = pl.read_parquet(data_folder / f"monk{problem}.parquet").cast(pl.String)
    test, train = (
        public.filter(pl.col("split") == part).drop("split") for part in ("test", "train")
    )
    robots = make_monk(problem, part="all").frame.cast(pl.String)
    assert sorted(test.rows()) == sorted(robots.rows())
    rule = {row[:-1]: row[-1] for row in robots.rows()}
    assert train.height == n_rows
    assert sum(rule[row[:-1]] != row[-1] for row in train.rows()) == n_wrong
