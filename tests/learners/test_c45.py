"""Trees equal the reference; text, rules and probabilities agree with the tree."""

import pickle
import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from featly import DataError, Schema
from featly.basics.errors import ParameterError
from featly.core.trees import c45 as core
from featly.core.trees import c45_codes
from featly.learners.c45 import C45
from featly.learners.tree_text import Interval, Levels
from tests.reference import c45 as naive

LETTERS = "abcdef"


@st.composite
def problems(draw, most_rows=36):
    """Columns with ties and missing values, classes that depend on them a little, weights."""
    n = draw(st.integers(2, most_rows))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_classes = draw(st.integers(2, 4))
    signal = rng.integers(0, n_classes, n)
    columns, kinds = [], []
    missing_share = draw(st.sampled_from([0.0, 0.0, 0.1, 0.4]))
    for _ in range(draw(st.integers(1, 4))):
        spread = draw(st.sampled_from([1, 2, 6, 100]))
        values = rng.integers(0, spread, n) + signal * rng.integers(0, 3)
        kind = draw(st.sampled_from(["numbers", "levels"]))
        if kind == "levels":
            column = [LETTERS[v % len(LETTERS)] for v in values.tolist()]
        else:
            column = (values / 4).tolist()
        column = [
            None if r < missing_share else v for v, r in zip(column, rng.random(n), strict=True)
        ]
        if all(v is None for v in column):
            column[0] = "a" if kind == "levels" else 0.25
        columns.append(column)
        kinds.append(kind)
    y = np.where(rng.random(n) < 0.8, signal, rng.integers(0, n_classes, n))
    y = np.unique(y, return_inverse=True)[1]
    if y.max() == 0:
        y[0] = 1
        y = np.unique(y, return_inverse=True)[1]
    weights = draw(st.sampled_from([[1.0], [0.5, 1.0], [1.0, 2.0, 3.0], [0.3, 1.7]]))
    return columns, kinds, y.tolist(), rng.choice(weights, n).tolist()


def frame(columns, kinds):
    types = {"numbers": pl.Float64, "levels": pl.String}
    return pl.DataFrame(
        {f"x{k}": pl.Series(c, dtype=types[t]) for k, (c, t) in enumerate(zip(columns, kinds))}  # noqa: B905
    )


def assert_same(learner, node, at=0):
    """Assert that a fitted learner's tree is that of the reference, from a node on."""
    tree, words = learner._tree, learner._tree_words()
    assert tree.classes[at] == pytest.approx(node["classes"], abs=1e-9)
    assert (tree.feature[at] >= 0) == ("children" in node)
    if "children" not in node:
        return
    column = int(tree.feature[at])
    assert column == node["column"]
    if column not in words.levels:
        assert tree.threshold[at] == node["cut"]
    elif node["cut"] is None:
        assert tree.cut[at] == 0
    else:
        assert words.levels[column][tree.cut[at] - 1] == node["cut"]
    children = range(tree.child[at], tree.child[at] + tree.n_children[at])
    assert len(children) == len(node["children"])
    assert tree.share[children] == pytest.approx(node["share"], abs=1e-9)
    for child, expected in zip(children, node["children"], strict=True):
        assert_same(learner, expected, child)


RULES = st.fixed_dictionaries(
    {},
    optional={
        "confidence": st.sampled_from([0.05, 0.5]),
        "min_rows": st.sampled_from([1, 1.5, 4]),
        "pruned": st.just(False),
        "subtree_raising": st.just(False),
        "collapse": st.just(False),
        "mdl_correction": st.just(False),
        "binary_splits": st.just(True),
    },
)


@given(problems(), RULES, st.booleans(), st.sampled_from([1, 2]))
@settings(max_examples=60)
def test_agrees_with_the_reference(problem, rules, laplace, n_jobs):
    columns, kinds, y, weight = problem
    X = frame(columns, kinds)
    expected = naive.tree(columns, kinds, y, weight, **rules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "LARGE_NODE", 8)  # threads even here
        learner = C45(**rules, laplace=laplace, n_jobs=n_jobs).fit(X, y, sample_weight=weight)
    assert_same(learner, expected)
    levels = [
        sorted({v for v in c if v is not None}) if t == "levels" else None
        for c, t in zip(columns, kinds, strict=True)
    ]
    rows = [list(row) for row in zip(*columns, strict=True)]
    strange = [["zebra" if t == "levels" else None for t in kinds]]
    probabilities = learner.predict_proba(pl.concat([X, frame(zip(*strange, strict=True), kinds)]))
    for row, p in zip(rows + strange, probabilities, strict=True):
        assert p == pytest.approx(naive.probabilities(expected, row, levels, laplace=laplace))
    assert probabilities.sum(axis=1) == pytest.approx(1.0)


# in these two branches are equally heavy, and it matters which of them is raised ...
EQUALLY_HEAVY = [122, 155, 183]
# ... and in these a raised subtree has nodes that only parts of rows reach
PARTS_ONLY = [135, 145, 157]
# here the cost of a threshold decides, with missing values: it is per row of the node, known or not
THRESHOLD_COST = [9, 13, 15, 17]


def test_pruning_agrees_with_the_reference():
    """Noisy tables whose trees are large before they are pruned: leaves, raised branches."""
    changed = 0
    for seed in [*range(24), *EQUALLY_HEAVY, *PARTS_ONLY]:
        rng = np.random.default_rng(seed)
        n, missing_share = 30 + seed % 40, 0.25 * (seed % 2)
        signal = rng.integers(0, 2, n)
        columns = [
            (rng.integers(0, 5, n) + signal).astype(float).tolist(),
            [LETTERS[v] for v in (rng.integers(0, 3, n) + signal).tolist()],
            rng.integers(0, 9, n).astype(float).tolist(),
            [LETTERS[v] for v in rng.integers(0, 2, n).tolist()],
        ]
        columns = [
            [None if rng.random() < missing_share else v for v in column] for column in columns
        ]
        kinds = ["numbers", "levels"] * 2
        y = np.where(rng.random(n) < 0.75, signal, rng.integers(0, 3, n)).tolist()
        rules = {
            "min_rows": 1,
            "mdl_correction": seed in THRESHOLD_COST,
            "confidence": [0.5, 0.25][seed // 2 % 2],
        }
        learner = C45(**rules).fit(frame(columns, kinds), y)
        assert_same(learner, naive.tree(columns, kinds, y, [1.0] * n, **rules))
        unraised = C45(**rules, subtree_raising=False).fit(frame(columns, kinds), y)
        changed += unraised.export_text() != learner.export_text()
    assert changed >= 4, "branches were raised"


def test_the_smaller_the_confidence_the_more_is_pruned():
    """Also where 1 - CF is 1 to a computer."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = X[:, 0] + rng.normal(size=150) > 0
    sizes = [C45(confidence=c).fit(X, y).size_ for c in (0.5, 0.1, 1e-3, 1e-17, 1e-300)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1] == 1


@pytest.mark.parametrize(("n_levels", "split_by"), [(12, "good"), (10, "names")])
def test_columns_with_a_level_for_every_third_row(n_levels, split_by):
    """From 0.3 levels a row on, they do not count in the average gain."""
    n = 40
    y = np.arange(n) % 2
    names = [f"l{i % n_levels:02d}" for i in range(n)]  # determines the class, and has a low ratio
    good = [LETTERS[v] for v in np.where(np.arange(n) % 10 == 0, 1 - y, y)]
    columns, kinds = [names, good], ["levels", "levels"]
    learner = C45(pruned=False).fit(frame(columns, kinds), y)
    assert learner._tree.feature[0] == ["names", "good"].index(split_by)
    assert_same(learner, naive.tree(columns, kinds, y.tolist(), [1.0] * n, pruned=False))


@pytest.mark.parametrize(("n", "cut"), [(400, 19), (600, 24), (5000, 24)])
def test_a_threshold_leaves_a_tenth_a_class_or_25_rows(n, cut):
    x = np.arange(n)
    tree = C45(pruned=False, collapse=False).fit(x[:, None], x <= cut)
    assert tree.export_text().splitlines()[0].startswith(f"x0 <= {cut}: True ({cut + 1}.0)")
    fewer = C45(pruned=False, collapse=False).fit(x[:, None], x < cut)
    assert fewer.export_text().splitlines()[0].startswith(f"x0 <= {cut}: True ({cut + 1}.0/1.0)")


def test_neighbouring_floats_can_be_told_apart():
    low = 1.0 + np.finfo(float).eps  # the middle is rounded up to the other value
    x = np.array([low, np.nextafter(low, 2)] * 5)
    tree = C45().fit(x[:, None], x > low)
    assert tree._tree.threshold[0] == low
    assert (tree.predict(x[:, None]) == (x > low)).all()


def test_levels_without_rows_in_a_node():
    """Their branches are empty leaves: the class of the node counts, in text and predictions."""
    x = [0.0] * 60 + [1.0] * 180
    soil = [f"s{i // 20:02d}" for i in range(240)]
    noise = ["a", "b"] * 120  # which lowers the average gain, so that the ratio decides
    columns, kinds = [x, soil, noise], ["numbers", "levels", "levels"]
    y = [i // 20 if v == 0 else 3 for i, v in enumerate(x)]
    y[0] = 3
    tree = C45(pruned=False, laplace=True).fit(frame(columns, kinds), y)
    expected = naive.tree(columns, kinds, y, [1.0] * 240, pruned=False)
    assert_same(tree, expected)
    assert sum(rule.rows == 0 for rule in tree.rules()) == 9
    levels = [None, sorted(set(soil)), ["a", "b"]]
    rows = [[0.0, "s07", "a"], [None, "s07", "a"], [0.0, None, "b"], [0.0, "s00", "a"]]
    for laplace in (True, False):
        probabilities = tree.set_params(laplace=laplace).predict_proba(frame(zip(*rows), kinds))  # noqa: B905
        for row, p in zip(rows, probabilities, strict=True):
            assert p == pytest.approx(naive.probabilities(expected, row, levels, laplace=laplace))


# ---- what must not matter --------------------------------------------------------------------
@given(problems(), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_units_rows_and_names_do_not_matter(problem, random):
    columns, kinds, y, weight = problem
    plain = C45().fit(frame(columns, kinds), y, weight)
    expected = plain.predict_proba(frame(columns, kinds))
    # order of levels is kept: it decides ties between branches
    other = [
        [None if v is None else (f"<{v}>" if t == "levels" else 1e-12 * v - 5e-12) for v in c]
        for c, t in zip(columns, kinds, strict=True)
    ]
    order = random.sample(range(len(y)), len(y))
    shuffled = [[column[i] for i in order] for column in other]
    learner = C45().fit(frame(shuffled, kinds), [y[i] for i in order], [weight[i] for i in order])
    assert learner.predict_proba(frame(other, kinds)) == pytest.approx(expected)


def test_order_of_columns_decides_ties_only():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 3
    X = rng.normal(size=(200, 6)) + y[:, None] * rng.uniform(0, 1, 6)
    backwards = C45().fit(X[:, ::-1], y)
    assert (backwards.predict_proba(X[:, ::-1]) == C45().fit(X, y).predict_proba(X)).all()
    copies = np.column_stack([X[:, 0], X[:, 0]])
    assert C45().fit(copies, y).feature_importances_.tolist() == [1.0, 0.0]


@given(problems(), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_weights_are_repeated_rows(problem, seed):
    columns, kinds, y, _ = problem
    weight = np.random.default_rng(seed).integers(0, 3, len(y))
    weight[[y.index(0), y.index(1)]] = 2
    X = frame(columns, kinds)
    often = np.repeat(np.arange(len(y)), weight)
    repeated = C45().fit(X[often.tolist()], np.array(y)[often])
    weighted = C45().fit(X, y, sample_weight=weight)
    plain = [re.sub(r"\(.*?\)", "", tree.export_text()) for tree in (weighted, repeated)]
    assert plain[0] == plain[1]  # sums of parts of rows may round either way
    assert weighted.predict_proba(X) == pytest.approx(repeated.predict_proba(X))


def test_ordinal_columns_are_numbers_with_names():
    X = pl.DataFrame({"stage": ["I", "II", "III", "IV"] * 6})
    y = [0, 0, 1, 1] * 6
    tree = C45(schema=Schema(ordinal={"stage": ["I", "II", "III", "IV"]})).fit(X, y)
    assert tree.export_text() == "stage <= II: 0 (12.0)\nstage > II: 1 (12.0)"
    assert str(tree.rules()[1]) == "stage > II: 1 (12.0)"


# ---- size ------------------------------------------------------------------------------------
def test_chains_and_large_nodes():
    """A tree thousands of levels deep, in which no function may call itself."""
    n = 3000
    X = np.array([f"l{i % 300:03d}" for i in range(n)])[:, None]
    y = np.arange(n) % 300 % 150
    deep = C45(binary_splits=True, pruned=False, min_rows=1).fit(X, y)
    assert deep.depth_ > 200
    assert deep.n_leaves_ == deep.depth_ + 1
    assert (deep.predict(X) == y).all()
    assert len(deep.rules()) == deep.n_leaves_
    assert len(deep.export_text(max_depth=3).splitlines()) == 6
    pruned = C45(binary_splits=True).fit(X, y)
    assert (pruned.predict(X) == y).mean() > 0.9


def test_ways_of_sorting_agree():
    """Few codes, many and very many for the rows of a node: one and the same tree."""
    rng = np.random.default_rng(0)
    n = 3000
    y = np.arange(n) % 5
    values = rng.normal(size=(n, 4)) + 0.7 * y[:, None]
    values[rng.random(values.shape) < 0.02] = np.nan
    X = np.column_stack([values.round(0), values.round(2), values])
    tree = C45(n_jobs=1).fit(X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "LARGE_NODE", 100)
        threads = C45(n_jobs=2).fit(X, y)
    assert threads.export_text() == tree.export_text()
    assert tree.size_ > 100
    ranks = np.full(X.shape, np.nan)
    for j, column in enumerate(X.T):
        known = ~np.isnan(column)
        ranks[known, j] = np.unique(column[known], return_inverse=True)[1] - 50.0
    ranked = C45().fit(ranks, y)
    # ranks move the middles between values, but not what the nodes hold
    assert ranked._tree.classes == pytest.approx(tree._tree.classes)
    assert (ranked._tree.feature == tree._tree.feature).all()


@pytest.mark.parametrize(("n_rows", "n_columns"), [(1, 3), (40, 4), (700, 3)])
def test_ways_of_coding_agree(n_rows, n_columns):
    """A sort of all columns, a sort of each and a hash table: the same codes and values."""
    rng = np.random.default_rng(n_rows)
    numbers = rng.normal(size=(n_rows, n_columns))
    numbers[:, 0] = rng.choice([-np.inf, -2.0, -5e-324, -0.0, 0.0, 5e-324, 1e150, np.nan], n_rows)
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    numbers[:, 1] = np.nan
    columns = np.arange(n_columns)[::-1] * 2
    codings = []
    for cells in (0, numbers.size):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(c45_codes, "SMALL_TABLE", cells)
            codes = np.full((2 * n_columns, n_rows), -1, np.int32)
            values, counts = c45_codes.code_numbers(numbers, codes, columns, 1)
            codings.append((codes, values, counts))
    for first, second in zip(*codings, strict=True):
        assert first.dtype == second.dtype
        assert (first == second).all()
    ends = np.cumsum(counts)
    for k, column in enumerate(numbers.T):
        mine = np.append(np.nan, values[ends[k] - counts[k] : ends[k]])
        assert (np.diff(mine[1:]) > 0).all()
        assert np.array_equal(mine[codes[columns[k]]], column, equal_nan=True)
    assert (codes[1::2] == -1).all()


# ---- text and rules --------------------------------------------------------------------------
def is_met(condition, row):
    value = row[condition.column]
    if isinstance(condition, Levels):
        return value in condition.levels
    assert isinstance(condition, Interval)
    above = condition.above is None or value > condition.above
    return above and (condition.up_to is None or value <= condition.up_to)


@given(problems(), RULES, st.booleans())
@settings(max_examples=40)
def test_rules_are_the_tree(problem, rules, laplace):
    columns, kinds, y, weight = problem
    X = frame(columns, kinds)
    tree = C45(**rules, laplace=laplace).fit(X, y, weight)
    tree_rules = tree.rules()
    assert len(tree_rules) == tree.n_leaves_
    assert sum(rule.rows for rule in tree_rules) == pytest.approx(sum(weight))
    for rule in tree_rules:
        names = [condition.column for condition in rule.conditions]
        assert len(names) == len(set(names))
        assert str(rule).startswith(" and ".join(map(str, rule.conditions)) or "always")
    complete = X.drop_nulls()
    if len(complete) == 0:
        return
    labels, probabilities = tree.predict(complete), tree.predict_proba(complete)
    for row, label, p in zip(complete.to_dicts(), labels, probabilities, strict=True):
        matching = [r for r in tree_rules if all(is_met(c, row) for c in r.conditions)]
        assert len(matching) == 1
        assert matching[0].label == label
        assert matching[0].probability == pytest.approx(p.max())


def test_texts_of_conditions_and_leaves():
    assert str(Interval("age", 40.0, 52.5)) == "40 < age <= 52.5"
    assert str(Interval("age", None, 1e-7)) == "age <= 1e-07"
    assert str(Levels("job", ("a", "b"))) == "job in {a, b}"
    leaf = C45().fit(np.zeros((5, 1)), [0, 0, 0, 1, 1])
    assert leaf.export_text() == ": 0 (5.0/2.0)"
    assert str(leaf.rules()[0]) == "always: 0 (5.0/2.0)"
    assert (leaf.n_leaves_, leaf.size_, leaf.depth_) == (1, 1, 0)
    assert leaf.feature_importances_.tolist() == [0.0]
    text = C45(binary_splits=True).fit(np.array([list("aabbcc")]).T, [0, 0, 1, 1, 1, 1])
    assert text.export_text() == "x0 = a: 0 (2.0)\nx0 != a: 1 (4.0)"
    assert [str(r) for r in text.rules()] == ["x0 = a: 0 (2.0)", "x0 in {b, c}: 1 (4.0)"]


def test_importances_are_saved_bits():
    y = np.repeat([0, 1], 8)
    X = np.column_stack([np.repeat([0, 1, 2, 3], 4), np.zeros(16), np.tile([0, 1], 8)])
    X[0, 0] = 3
    tree = C45(pruned=False, min_rows=1).fit(X, y)
    shares = tree.feature_importances_
    assert shares.sum() == pytest.approx(1.0)
    assert shares[1] == 0.0
    root = tree._tree.classes[0]
    assert core.saved_bits(tree._tree).sum() <= 16 * np.log2(2) + 1e-9
    assert root.tolist() == [8, 8]


# ---- bad input -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"confidence": 0.6}, "confidence=0.6"),
        ({"confidence": 0}, "confidence=0"),
        ({"confidence": "low"}, "confidence='low'"),
        ({"min_rows": 0.5}, "min_rows=0.5"),
        ({"min_rows": True}, "min_rows=True"),
        ({"pruned": 1}, "pruned=1"),
        ({"laplace": "yes"}, "laplace='yes'"),
        ({"n_jobs": 0}, "n_jobs=0"),
    ],
)
def test_wrong_parameters_are_named(parameters, word):
    with pytest.raises(ParameterError, match=re.escape(word)):
        C45(**parameters).fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("weight", "word"),
    [
        ([1, 2], "shape"),
        ([1, -1, 1], "negative"),
        ([0, 0, 0], "zero everywhere"),
        ([1, np.inf, 1], "inf"),
        ([1, np.nan, 1], "missing"),
        ([1, None, 1], "missing"),
        (["a", "b", "c"], "not a list of numbers"),
        (np.array([1, 1j, 1]), "complex"),
        ([1e307, 1e307, 1e307], "too large"),
    ],
)
def test_wrong_weights_are_named(weight, word):
    with pytest.raises(DataError, match=word):
        C45().fit(np.eye(3), [0, 1, 1], sample_weight=weight)


def test_wrong_calls_are_named():
    with pytest.raises(NotFittedError):
        C45().export_text()
    tree = C45().fit(np.eye(3), [0, 1, 1])
    for depth in (0, True, 2.0):
        with pytest.raises(ParameterError, match=f"max_depth={depth}"):
            tree.export_text(max_depth=depth)
    assert tree.export_text(max_depth=np.int64(1)) == tree.export_text()
    with pytest.raises(ParameterError, match="requires y"):
        C45().fit(np.eye(3), None, sample_weight=[1, 0, 1])
    with pytest.raises(DataError, match="X has 2 rows but y has 3"):
        C45().fit(np.eye(3)[:2], [0, 1, 1], sample_weight=[1, 0, 1])


def test_weights_that_sum_to_one_are_no_rows():
    y = np.arange(20) % 2
    with pytest.warns(UserWarning, match="sample_weight sums to 1, less than .*min_rows=2"):
        tree = C45().fit(y[:, None], y, sample_weight=np.full(20, 0.05))
    assert tree.size_ == 1
    assert C45().fit(y[:, None], y, sample_weight=np.full(20, 0.5)).size_ == 3


def test_a_fit_that_fails_leaves_the_tree_as_it_was():
    y = np.array(["a", "b"] * 6)
    X = frame([y.tolist()], ["levels"])
    tree = C45()
    with pytest.raises(DataError, match="one class"):
        tree.fit(X, ["c"] * 12)
    with pytest.raises(NotFittedError):
        tree.predict(X)
    tree.fit(X, y)
    with pytest.raises(ParameterError, match="n_jobs=0"):
        tree.set_params(n_jobs=0).fit(X, np.array(["c", "d"] * 6))
    assert (tree.predict(X) == y).all()


def test_pickles_and_clones():
    X, y = np.arange(40.0)[:, None] % 7, np.arange(40) % 7 > 3
    tree = C45(min_rows=1).fit(X, y)
    again = pickle.loads(pickle.dumps(tree))
    assert again.export_text() == tree.export_text()
    assert clone(tree).fit(X, y).export_text() == tree.export_text()


@parametrize_with_checks([C45(), C45(binary_splits=True, laplace=True, n_jobs=1)])
def test_scikit_learn(estimator, check):
    check(estimator)
