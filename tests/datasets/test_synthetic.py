"""Properties of every made problem: roles, shapes, seeds, refusals."""

import pickle
import re
from dataclasses import FrozenInstanceError

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from featly import DataError, ParameterError
from featly.datasets import (
    PROBLEMS,
    Synthetic,
    artificial_means,
    make_artificial,
    make_corral,
    make_corral_100,
    make_led,
    make_madelon,
    make_monk,
    make_parity,
    make_problem,
    make_sd,
    make_xor_100,
    sd_means,
)
from featly.measures.recovery import Roles, position_statistics, success_index

SIZES = {  # columns, rows, classes, pieces of information, relevant, redundant columns
    "corral": (6, 32, 2, 4, 4, 1),
    "corral-100": (99, 32, 2, 4, 4, 1),
    "xor-100": (99, 50, 2, 2, 2, 0),
    "parity3+3": (12, 64, 2, 3, 3, 3),
    "led-25": (24, 50, 10, 7, 7, 0),
    "led-100": (99, 50, 10, 7, 7, 0),
    "monk1": (6, 124, 2, 3, 3, 0),
    "monk2": (6, 169, 2, 6, 6, 0),
    "monk3": (6, 122, 2, 3, 3, 0),
    "sd1": (4020, 75, 3, 2, 20, 0),
    "sd2": (4040, 75, 3, 4, 40, 0),
    "sd3": (4060, 75, 3, 6, 60, 0),
    "madelon": (500, 2400, 2, 5, 5, 15),
    "artificial-1": (540, 3000, 8, 40, 40, 0),
    "artificial-2": (525, 3000, 8, 25, 25, 0),
    "artificial-3": (540, 3000, 8, 40, 40, 0),
}
SMALL = {"sd": {"n_irrelevant": 40}, "madelon": {"n_rows": 320}, "artificial": {"n_rows": 160}}


def make_small_problem(name, **parameters):
    """Make the problem, with fewer rows or columns where it is large."""
    fewer = SMALL.get(re.match(r"[a-z]+", name).group(), {})
    return make_problem(name, **{**fewer, **parameters})


def flatten(groups):
    return [column for group in groups for column in group]


@pytest.mark.parametrize("name", SIZES)
def test_sizes_are_the_published_ones(name):
    n_columns, n_rows, n_classes, n_pieces, n_relevant, n_redundant = SIZES[name]
    problem = make_problem(name)
    assert problem.name == name
    assert problem.X.shape == (n_rows, n_columns)
    assert problem.y.shape == (n_rows,)
    assert len(np.unique(problem.y)) == n_classes
    assert len(problem.relevant) == n_pieces
    assert len(flatten(problem.relevant)) == n_relevant
    assert len(flatten(problem.redundant.values())) == n_redundant


def test_every_problem_of_the_texts_is_there():
    assert list(PROBLEMS) == list(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_roles_partition_the_columns(name):
    problem = make_small_problem(name)
    groups = [*problem.relevant, *problem.redundant.values(), problem.irrelevant]
    assert sorted(flatten(groups)) == sorted(problem.X.columns)
    assert problem.X.columns == [f"f{j}" for j in range(1, problem.X.width + 1)]
    if not name.startswith("monk"):
        assert flatten(problem.relevant) == problem.X.columns[: len(flatten(problem.relevant))]
    assert sorted(flatten(problem.tiers.values())) == sorted(problem.X.columns)
    roles = problem.roles
    assert isinstance(roles, Roles)
    names = np.array(problem.X.columns)
    assert [tuple(names[list(g)]) for g in roles.relevant] == list(problem.relevant)
    assert tuple(names[list(roles.irrelevant)]) == problem.irrelevant
    assert {k: tuple(names[list(g)]) for k, g in roles.redundant.items()} == problem.redundant


@pytest.mark.parametrize("name", SIZES)
def test_the_relevant_columns_score_100(name):
    problem = make_small_problem(name)
    best = [group[-1] for group in problem.relevant]
    assert success_index(problem.positions(best), problem.roles) == 100
    assert success_index(problem.positions(best[1:]), problem.roles) < 100


@pytest.mark.parametrize("name", SIZES)
def test_a_seed_makes_one_table(name):
    first, same, other = (make_small_problem(name, random_state=seed) for seed in (3, 3, 4))
    assert_frame_equal(first.frame, same.frame)
    assert not first.frame.equals(other.frame)
    assert first.y.tolist() != other.y.tolist()  # rows are in random order
    assert first.frame.columns == other.frame.columns
    assert (first.relevant, first.redundant) == (other.relevant, other.redundant)
    assert make_small_problem(name).frame.equals(make_small_problem(name, random_state=0).frame)


@pytest.mark.parametrize("name", SIZES)
def test_columns_are_numbers_but_for_the_robots(name):
    dtypes = set(make_small_problem(name).X.dtypes)
    whole = re.match("corral|xor|parity|led", name)
    assert dtypes == {pl.String if name.startswith("monk") else pl.Int64 if whole else pl.Float64}
    assert make_small_problem(name).y.dtype.kind == "i"


@pytest.mark.parametrize("name", ["sd3", "madelon", "artificial-2"])
def test_no_two_made_columns_are_equal(name):
    """Streams of different parts are different streams."""
    X = make_small_problem(name).X.to_numpy()
    assert len(np.unique(X, axis=1).T) == X.shape[1]


def test_frame_repr_and_description():
    corral = make_corral()
    assert corral.frame.columns == ["f1", "f2", "f3", "f4", "f5", "f6", "class"]
    assert corral.frame["class"].to_list() == corral.y.tolist()
    assert repr(make_sd(1, n_rows=9, n_irrelevant=3)) == (
        "Synthetic(sd1: 9 rows, 3 classes, 23 columns: 20 relevant in 2 groups, 0 redundant, "
        "3 irrelevant)"
    )
    for name in PROBLEMS:
        assert len(make_small_problem(name).description) > 20
    assert "10%" in make_led(noise=0.1).description
    with pytest.raises(FrozenInstanceError):
        corral.name = "other"


def test_a_problem_can_be_sent_to_a_worker():
    led = make_led()
    copy = pickle.loads(pickle.dumps(led))
    assert_frame_equal(copy.frame, led.frame)
    assert copy.roles == led.roles


def test_shuffled_columns_keep_their_roles():
    parity = make_parity()
    shuffled = parity.shuffle_columns(random_state=1)
    assert shuffled.X.columns != parity.X.columns
    assert_frame_equal(shuffled.X.select(parity.X.columns), parity.X)
    assert shuffled.relevant == parity.relevant
    assert shuffled.roles.relevant == tuple(
        (shuffled.X.columns.index(column),) for column in ("f1", "f2", "f3")
    )
    assert shuffled.shuffle_columns(5).X.columns != shuffled.X.columns
    assert parity.shuffle_columns(1).X.columns == shuffled.X.columns


def test_tiers_serve_the_position_statistics():
    problem = make_artificial(2, n_rows=40)
    tiers = {name: problem.positions(columns) for name, columns in problem.tiers.items()}
    statistics = position_statistics(np.arange(525), tiers)
    assert {name: (s.best, s.worst) for name, s in statistics.items()} == {
        "1 to 5": (1, 5),
        "6 to 10": (6, 10),
        "11 to 25": (11, 25),
        "irrelevant": (26, 525),
    }
    assert list(make_artificial(3, n_rows=40).tiers) == ["relevant", "irrelevant"]
    assert list(make_parity().tiers) == ["relevant", "repeats", "irrelevant"]
    assert list(make_monk(2).tiers) == ["relevant"]
    assert make_sd(3, n_irrelevant=0).tiers["G2"] == tuple(f"f{j}" for j in range(11, 21))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.arange(2)}, "X has 3 rows and y 2"),
        ({"relevant": (("f9",),)}, "X has no column 'f9'"),
        ({"redundant": {"copies": ("f1",)}}, "column 0 has two roles"),
        ({"X": pl.DataFrame({"f1": [1, 2, 3], "class": [0, 0, 0]})}, "rename it"),
        ({"relevant_tiers": {"best": ("f2",)}}, "give every relevant column one tier"),
    ],
)
def test_contradictions_are_refused(change, message):
    parts = {
        "name": "mine",
        "X": pl.DataFrame({"f1": [1, 2, 3], "f2": [3, 1, 2]}),
        "y": np.array([0, 1, 0]),
        "relevant": (("f1",),),
        "redundant": {},
        "description": "class 1 where f1 = 2",
    }
    assert Synthetic(**parts).irrelevant == ("f2",)
    with pytest.raises((DataError, ParameterError), match=message):
        Synthetic(**{**parts, **change})


SOME = "give a whole number from "
REFUSED = [
    (make_corral, {"random_state": -1}, "random_state=-1: " + SOME + "0"),
    (make_corral, {"random_state": None}, "random_state=None: " + SOME + "0"),
    (make_corral, {"random_state": True}, "random_state=True: " + SOME + "0"),
    (make_corral, {"coding": "text"}, "coding='text': give 'number' or 'category'"),
    (make_monk, {"problem": 1, "coding": True}, "coding=True: give 'number' or 'category'"),
    (make_corral_100, {"n_irrelevant": 0}, "n_irrelevant=0: " + SOME + "1"),
    (make_xor_100, {"n_irrelevant": -1}, "n_irrelevant=-1: " + SOME + "0"),
    (make_xor_100, {"n_rows": 3}, "n_rows=3: " + SOME + "4"),
    (make_parity, {"n_rows": 7}, "n_rows=7: " + SOME + "8"),
    (make_parity, {"n_irrelevant": 1.0}, "n_irrelevant=1.0: " + SOME + "0"),
    (make_led, {"n_rows": 9}, "n_rows=9: " + SOME + "10"),
    (make_led, {"n_irrelevant": "92"}, "n_irrelevant='92': " + SOME + "0"),
    (make_led, {"noise": 20}, "noise=20: give a number from 0 to 1"),
    (make_led, {"noise": -0.1}, "noise=-0.1: give a number from 0 to 1"),
    (make_led, {"noise": np.nan}, "noise=nan: give a number from 0 to 1"),
    (make_led, {"noise": True}, "noise=True: give a number from 0 to 1"),
    (make_monk, {"problem": 4}, "problem=4: give 1, 2 or 3"),
    (make_monk, {"problem": True}, "problem=True: give 1, 2 or 3"),
    (make_monk, {"problem": 1.0}, "problem=1.0: give 1, 2 or 3"),
    (make_monk, {"problem": 1, "part": "test"}, "part='test': give 'train' or 'all'"),
    (make_sd, {"problem": 0}, "problem=0: give 1, 2 or 3"),
    (make_sd, {"problem": 1, "n_rows": 2}, "n_rows=2: " + SOME + "3"),
    (make_sd, {"problem": 1, "effect_size": 0}, "effect_size=0: give a finite number above 0"),
    (make_sd, {"problem": 1, "effect_size": np.inf}, "effect_size=inf: give a finite number above"),
    (make_sd, {"problem": 1, "n_irrelevant": -2}, "n_irrelevant=-2: " + SOME + "0"),
    (sd_means, {"problem": "sd1"}, "problem='sd1': give 1, 2 or 3"),
    (make_madelon, {"n_rows": 31}, "n_rows=31: " + SOME + "32"),
    (make_madelon, {"n_irrelevant": -1}, "n_irrelevant=-1: " + SOME + "0"),
    (make_madelon, {"label_noise": 1.5}, "label_noise=1.5: give a number from 0 to 1"),
    (make_artificial, {"problem": 4}, "problem=4: give 1, 2 or 3"),
    (make_artificial, {"problem": 1, "n_classes": 1}, "n_classes=1: " + SOME + "2"),
    (make_artificial, {"problem": 2, "n_classes": 3}, "n_classes=3: problem 2 has 8 classes"),
    (make_artificial, {"problem": 1, "n_rows": 7}, "n_rows=7: " + SOME + "8"),
    (make_artificial, {"problem": 1, "n_noise": -1}, "n_noise=-1: " + SOME + "0"),
    (artificial_means, {"problem": np.array([1, 2])}, "give 1, 2 or 3"),
]


@pytest.mark.parametrize(("maker", "parameters", "message"), REFUSED)
def test_a_bad_parameter_is_named(maker, parameters, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        maker(**parameters)


def test_numpy_numbers_are_numbers():
    problem = make_monk(np.int64(3), random_state=np.int32(2))
    assert problem.frame.equals(make_monk(3, random_state=2).frame)
    assert make_led(noise=np.float32(0.5), n_rows=np.int64(20)).X.height == 20


def test_problems_by_name():
    assert make_problem("monk3", part="all").X.height == 432
    assert make_problem("led-100", noise=0.2).frame.equals(
        make_led(n_irrelevant=92, noise=0.2).frame
    )
    with pytest.raises(ParameterError, match=r"no problem 'Monk_3': did you mean 'monk3'\?"):
        make_problem("Monk_3")
    with pytest.raises(ParameterError, match=r"no problem 'MADELON': did you mean 'madelon'\?"):
        make_problem("MADELON")
    with pytest.raises(ParameterError, match=r"no problem 'zzz': there are corral, corral-100,"):
        make_problem("zzz")
    with pytest.raises(ParameterError, match=r"'led-25' has no parameter 'noize': did you mean"):
        make_problem("led-25", noize=0.1)
    with pytest.raises(ParameterError, match=r"'corral' has no parameter 'k': there are coding"):
        make_problem("corral", k=1)
    with pytest.raises(ParameterError, match="'sd1' has no parameter 'problem'"):
        make_problem("sd1", problem=2)
