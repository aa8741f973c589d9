"""Every rule of advice decides on its table, and the advised methods take the table."""

import json
import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from featly.basics.errors import DataError, LeakWarning, ParameterError
from featly.datasets import make_cohort, make_problem
from featly.diagnostics import Findings
from featly.learners import LEARNERS
from featly.measures.sizes import SIZE_RULES
from featly.registry import METHODS, method_class
from featly.study import Dataset, KFold, Study, Subsampling, advise
from featly.study.advise.advice import advise_on_training_rows
from featly.study.advise.facts import MOST_COLUMNS, MOST_ROWS, Facts
from featly.study.advise.rules import RULES, first_rule, is_applicable, protocol_for


def classes(n_rows, n_classes=2):
    return np.arange(n_rows) % n_classes


def numbers(n_rows, n_columns, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n_rows, n_columns)), classes(n_rows, n_classes)
    X[:, 0] += 1.5 * y
    return X, y


def categories(n_rows, n_columns, n_classes=2, n_levels=3, seed=0):
    rng = np.random.default_rng(seed)
    y = classes(n_rows, n_classes)
    levels = np.array(list("abcdefgh"))[rng.integers(0, n_levels, (n_rows, n_columns))]
    levels[:, 0] = np.where(rng.random(n_rows) < 0.8, levels[:, 0], np.array(["a", "b"])[y % 2])
    return pl.DataFrame({f"c{j}": levels[:, j] for j in range(n_columns)}), y


def mixed_table(n_rows, n_numbers, n_categories, n_classes=2):
    X, y = numbers(n_rows, n_numbers, n_classes)
    frame, _ = categories(n_rows, n_categories, n_classes)
    return pl.DataFrame(X, schema=[f"n{j}" for j in range(n_numbers)]).hstack(frame), y


# ---- rules ---------------------------------------------------------------------------------------
def curved_table(n_rows=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 6))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def few_nonzero(n_rows=60, n_columns=300):
    rng = np.random.default_rng(0)
    X = (rng.random((n_rows, n_columns)) < 0.04).astype(float)
    return X, classes(n_rows)


PRIOR = {"prior": {0: 10.0}}
# the rule; a table on which it decides; a table on which it does not, and the rule that does
CASES = {
    "prior on numbers": (
        lambda: (*numbers(60, 20), PRIOR),
        lambda: (*numbers(60, 20), {"prior": {}}),
        "nothing special",
    ),
    "many rows": (
        lambda: (*numbers(5001, 4), None),
        lambda: (*numbers(5000, 4), None),
        "nothing special",
    ),
    "prior on mixed columns": (
        lambda: (*mixed_table(60, 4, 3), {"prior": {"n0": 5.0}}),
        lambda: (*mixed_table(60, 4, 3), None),
        "mixed columns, two classes",
    ),
    "columns that tell only together": (
        lambda: (*curved_table(), None),
        lambda: (curved_table()[0], (curved_table()[0][:, 0] > 0).astype(int), None),
        "nothing special",
    ),
    "many more categories than rows": (
        lambda: (*categories(30, 30), None),
        lambda: (*categories(31, 30), None),
        "categories",
    ),
    "categories": (
        lambda: (*categories(200, 5), None),
        lambda: (*mixed_table(200, 1, 5), None),
        "mixed columns, two classes",
    ),
    "mixed columns, two classes": (
        lambda: (*mixed_table(100, 4, 3), None),
        lambda: (*mixed_table(100, 4, 3, n_classes=3), None),
        "mixed columns, many classes",
    ),
    "mixed columns, many classes": (
        lambda: (*mixed_table(90, 4, 3, n_classes=3), None),
        lambda: (*numbers(90, 7, n_classes=3), None),
        "many classes",
    ),
    "many classes": (
        lambda: (*numbers(90, 7, n_classes=3), None),
        lambda: (*numbers(90, 7, n_classes=2), None),
        "nothing special",
    ),
    "mostly zeros": (
        lambda: (*few_nonzero(), None),
        lambda: (few_nonzero()[0] + 1, few_nonzero()[1], None),
        "more columns than rows",
    ),
    "more columns than rows": (
        lambda: (*numbers(40, 40), None),
        lambda: (*numbers(41, 40), None),
        "nothing special",
    ),
    "nothing special": (
        lambda: (*numbers(100, 10), None),
        lambda: (*numbers(100, 100), None),
        "more columns than rows",
    ),
}


def test_every_rule_has_a_case():
    assert [rule.name for rule in RULES] == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_rule_fires_on_its_table_and_not_on_the_opposite(name):
    fires, opposite, instead = CASES[name]
    for make, expected in ((fires, name), (opposite, instead)):
        X, y, schema = make()
        findings = Findings()  # a column that separates the classes is asked about elsewhere
        advice = advise(X, y, schema=schema, training_rows_only=True, findings=findings)
        assert advice.rule == expected
        rule = next(rule for rule in RULES if rule.name == expected)
        assert (advice.method, advice.learner) == (rule.method, rule.learner)
        assert advice.reasons[0].source == rule.source


# ---- labels of rows that are tested --------------------------------------------------------------
MEASURED_WITH_LABELS = {"best_fisher_ratio", "neighbour_error", "linear_error"}


def choices(advice):
    """Return the advice without warnings, and without facts that no rule used."""
    document = advice.document()
    facts = {k: v for k, v in document.pop("facts").items() if k not in MEASURED_WITH_LABELS}
    del document["warnings"], document["findings"]
    return document | facts


@pytest.mark.parametrize("name", CASES)
def test_no_choice_rests_on_the_label_of_a_row(name):
    X, y, schema = CASES[name][0]()
    advice = advise(X, y, schema=schema)
    assert not next(rule for rule in RULES if rule.name == advice.rule).reads_labels
    shuffled = np.random.default_rng(0).permutation(y)
    assert choices(advise(X, shuffled, schema=schema)) == choices(advice)


def test_zeros_are_counted_without_a_look_at_labels():
    rng = np.random.default_rng(0)
    X = (rng.random((1200, 1300)) < 0.1).astype(float)
    y = np.repeat([0, 1], 600)
    assert choices(advise(X, rng.permutation(y))) == choices(advise(X, y))


def test_with_an_official_split_test_rows_are_not_looked_at():
    X, y = curved_table()
    official = np.where(np.arange(len(y)) % 3 == 0, "test", "train")
    relabelled = np.where(official == "test", 1 - y, y)
    relabelled[0] = relabelled[3] = relabelled[6] = 1
    one, other = (
        advise_on_training_rows(Dataset.of(X, labels, official=official), 0)
        for labels in (y, relabelled)
    )
    assert one.rule == "columns that tell only together"  # training rows may be looked at
    assert one.document() == other.document()
    whole = advise_on_training_rows(Dataset.of(X, y), 0)
    assert whole.rule == "nothing special"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_names_what_exists(rule):
    assert rule.learner in LEARNERS
    for choice in (rule, *rule.alternatives):
        known = method_class(choice.method)().get_params()
        assert set(choice.parameters) <= set(known)
    assert rule.method not in [choice.method for choice in rule.alternatives]
    assert len({choice.method for choice in rule.alternatives}) == len(rule.alternatives) >= 2


def test_the_reason_has_the_facts_of_this_table():
    X, y = mixed_table(100, 4, 3)
    assert "4 columns of numbers and 3 of categories" in advise(X, y).reasons[0].text
    X, y = curved_table()
    advice = advise(X, y, training_rows_only=True)
    assert f"{advice.facts.neighbour_error:.0%}" in advice.reasons[0].text
    assert f"{advice.facts.linear_error:.0%}" in advice.reasons[0].text
    assert advice.facts.neighbour_error + 0.05 <= advice.facts.linear_error


def test_alternatives_that_do_not_take_the_table_are_left_out():
    two, many = curved_table(), numbers(90, 7, n_classes=3)
    advice = advise(*two, training_rows_only=True)
    assert [c.method for c in advice.alternatives] == ["svm-rfe", "forest", "multisurf"]
    assert advice.alternatives[0].parameters == {"kernel": "rbf"}
    X = two[0][:, :2]
    third = np.digitize((X**2).sum(axis=1), [0.8, 2.2])  # three rings
    advice = advise(X, third, training_rows_only=True)
    assert advice.rule == "columns that tell only together"
    assert [c.method for c in advice.alternatives] == ["forest", "multisurf"]
    assert [c.method for c in advise(*many).alternatives] == ["pairwise", "relieff", "jmi"]


def test_arom_is_an_alternative_only_where_classes_can_be_separated():
    wide = advise(*numbers(30, 40), schema=PRIOR)
    tall = advise(*numbers(80, 40), schema=PRIOR)
    assert "arom" in [c.method for c in wide.alternatives]
    assert "arom" not in [c.method for c in tall.alternatives]


def test_a_prior_that_favours_all_columns_alike_counts_as_no_prior():
    X, y = numbers(60, 4)
    alike = advise(X, y, schema={"prior": dict.fromkeys(range(4), 10.0)})
    assert not alike.facts.prior
    assert alike.rule == "nothing special"
    assert advise(X, y, schema={"prior": dict.fromkeys(range(3), 10.0)}).facts.prior


def test_missing_values_are_filled_only_for_methods_that_take_none():
    X, y = numbers(90, 7, n_classes=3)
    assert not advise(X, y).fill
    X[0, 1] = np.nan
    advice = advise(X, y)
    assert advice.method == "multiclass-svm-rfe"
    assert advice.fill
    assert "1 column has missing values" in advice.reasons[1].text
    fitted = advice.estimator().fit(X, y)
    assert fitted[-1].order_.shape == (7,)
    two = advise(X, classes(90))
    assert two.facts.columns_with_gaps == 1
    assert not two.fill
    assert two.estimator().fit(X, classes(90)).order_.shape == (7,)


def test_sparse_tables_with_missing_values_and_many_classes_are_not_filled():
    X, y = numbers(30, 60, n_classes=3)
    X[np.abs(X) < 1] = 0
    X[0, 0] = np.nan
    advice = advise(scipy.sparse.csc_array(X), y)
    assert (advice.method, advice.fill, advice.facts.sparse) == ("relieff", False, True)
    assert advice.estimator().fit(scipy.sparse.csc_array(X), y).order_.shape == (60,)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, np.asarray, list])
def test_missing_values_are_filled_in_frames_and_arrays(library):
    X, y = numbers(90, 3, n_classes=3)
    X[0, 1] = np.nan
    table = (
        library(X, **_names_option(library)) if "Frame" in library.__name__ else library(X.tolist())
    )
    advice = advise(table, y, schema={"keep": [2]})
    assert advice.fill
    fitted = advice.estimator().fit(table, y)
    assert fitted[-1].order_[0] == 2
    if "Frame" in library.__name__:
        assert set(fitted.transform(table).columns) < set("abc")
        assert type(fitted.transform(table)) is library


def test_tables_that_cannot_be_filled_get_another_method():
    X, y = numbers(90, 3, n_classes=3)
    X = X.round()
    X[0, 1] = np.nan
    advice = advise(X, y, schema={"ordinal": [1]})
    assert (advice.rule, advice.fill) == ("nothing special", False)
    assert advise(X, y).rule == "many classes"


# ---- splits and sizes ----------------------------------------------------------------------------
def facts(**parts):
    defaults = {
        "rows": 200,
        "columns": 50,
        "classes": 2,
        "smallest_class": 90,
        "largest_class": 110,
    }
    return Facts(**(defaults | {"continuous": 50} | parts))


@pytest.mark.parametrize(
    ("parts", "splits", "sizes", "rule"),
    [
        ({}, Subsampling(200, test_size=0.1), "powers", "within-interval"),
        ({"rows": 1001}, Subsampling(50, test_size=0.1), "powers", "within-interval"),
        ({"rows": 5001}, KFold(5), "powers", "one-standard-error"),
        ({"smallest_class": 9}, Subsampling(100, test_size=0.25), "powers", "within-interval"),
        ({"smallest_class": 10}, Subsampling(200, test_size=0.1), "powers", "within-interval"),
        ({"row_groups": 9}, KFold(5), "powers", "one-standard-error"),
        ({"row_groups": 3}, KFold(3), "powers", "one-standard-error"),
        ({"row_groups": 10}, Subsampling(200, test_size=0.1), "powers", "within-interval"),
        ({"columns": 32}, Subsampling(200, test_size=0.1), "all", "within-interval"),
        ({"columns": 33}, Subsampling(200, test_size=0.1), "powers", "within-interval"),
    ],
)
def test_splits_sizes_and_rule(parts, splits, sizes, rule):
    protocol = protocol_for(facts(**parts), 0)
    assert (protocol.splits, protocol.sizes, protocol.rule) == (splits, sizes, rule)
    assert protocol.rule in SIZE_RULES
    assert ("stay together" in protocol.reasons[0].text) == ("row_groups" in parts)


@pytest.mark.parametrize(
    ("parts", "rule"),
    [
        ({"neighbour_error": 0.20, "linear_error": 0.25}, "columns that tell only together"),
        ({"neighbour_error": 0.21, "linear_error": 0.25}, "nothing special"),
        ({"neighbour_error": 0.0, "linear_error": None}, "nothing special"),
        ({"rows": 50, "zeros": 0.9}, "mostly zeros"),
        ({"rows": 50, "zeros": 0.899}, "more columns than rows"),
        ({"rows": 51, "zeros": 0.9}, "nothing special"),
        ({"rows": 5001, "prior": True}, "prior on numbers"),
        ({"rows": 5001, "prior": True, "categorical": 1}, "many rows"),
        ({"classes": 3, "prior": True}, "prior on numbers"),
        ({"classes": 3, "columns_with_gaps": 1}, "many classes"),
        ({"classes": 3, "columns_with_gaps": 1, "sparse": True}, "nothing special"),
        ({"classes": 3, "columns_with_gaps": 1, "ordinal": 1, "continuous": 49}, "nothing special"),
        ({"categorical": 50, "continuous": 0, "rows": 50}, "many more categories than rows"),
        ({"categorical": 50, "continuous": 0, "rows": 51}, "categories"),
    ],
)
def test_thresholds(parts, rule):
    assert first_rule(facts(**parts), training_rows_only=True).name == rule


def test_a_study_compares_the_method_its_alternatives_and_none():
    X, y = mixed_table(40, 3, 2)
    advice = advise(X, y)
    study = advice.study(X, y)
    assert isinstance(study, Study)
    assert list(study.methods) == ["mkl-rfe", "forest", "relieff", "univariate-test", "none"]
    assert study.splits == advice.splits
    assert list(study.learners) == ["clinical-svm"]
    assert study.sizes == "all"
    advice = advise(*curved_table(), training_rows_only=True)
    assert advice.study(*curved_table()).methods["svm-rfe"].kernel == "rbf"


def test_an_advised_study_runs_and_keeps_groups_together():
    X, y = numbers(24, 3)
    groups = np.arange(24) // 4
    advice = advise(X, y, row_groups=groups)
    assert advice.facts.row_groups == 6
    study = advice.study(X, y)
    study.methods = {name: study.methods[name] for name in ("relieff", "none")}
    results = study.run(n_jobs=1)
    assert results.failures.height == 0
    assert study.datasets["data"].row_groups.max() == 5


# ---- invariance ----------------------------------------------------------------------------------
def decision(advice):
    measured = {
        k: round(v, 9) if isinstance(v, float) else v for k, v in advice.facts.document().items()
    }
    return (advice.method, advice.parameters, advice.fill, advice.learner, advice.splits,
            advice.sizes, advice.size_rule, advice.rule, [c.method for c in advice.alternatives],
            measured)  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_advice_does_not_depend_on_order_or_names(name):
    X, y, schema = CASES[name][0]()
    if name == "many rows":
        pytest.skip("only some rows are looked at")
    first = decision(advise(X, y, schema=schema))
    order = np.random.default_rng(1).permutation(len(y))
    assert decision(advise(X[order], y[order], schema=schema)) == first
    labels = np.array(["zebra", "ape", "cat"])[y]
    assert decision(advise(X, labels, schema=schema)) == first
    if isinstance(X, pl.DataFrame):
        new = {old: f"site {k}" for k, old in enumerate(X.columns)}
        prior = {new[k]: v for k, v in ((schema or {}).get("prior") or {}).items()}
        assert decision(advise(X.rename(new), y, schema={"prior": prior})) == first
        assert decision(advise(X.to_pandas(), y, schema=schema)) == first


def test_advice_does_not_depend_on_threads_and_can_be_repeated():
    cohort = make_cohort(n_patients=80, n_genes=100)
    documents = [
        advise(cohort.X, cohort.y, schema=cohort.schema, n_jobs=n).document() for n in (1, 2)
    ]
    assert documents[0] == documents[1]


def test_the_seed_is_that_of_the_splits_and_of_the_method():
    X, y = mixed_table(90, 4, 3, n_classes=3)
    advice = advise(X, y, random_state=7)
    assert advice.splits.random_state == 7
    assert advice.estimator().random_state == 7


def test_dense_and_sparse_are_advised_alike():
    X, y = few_nonzero()
    dense, sparse = advise(X, y), advise(scipy.sparse.csr_array(X), y)
    assert dense.method == sparse.method == "jmi"
    assert dense.facts.zeros == sparse.facts.zeros


# ---- kinds of tables -----------------------------------------------------------------------------
@st.composite
def tables(draw):
    """Small tables with all kinds, missing values, sparse, many classes, constant columns."""
    n_rows = draw(st.integers(6, 30))
    n_classes = draw(st.integers(2, min(4, n_rows // 2)))
    n_numbers, n_categories = draw(
        st.tuples(st.integers(0, 40), st.integers(0, 4)).filter(lambda both: sum(both) > 0)
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    other_labels = rng.integers(0, n_classes, n_rows - 2 * n_classes)
    y = rng.permutation(np.concatenate([np.arange(n_classes).repeat(2), other_labels]))
    values = rng.normal(size=(n_rows, n_numbers)).round(draw(st.sampled_from([0, 1, 6])))
    if draw(st.booleans()) and n_numbers:
        values[:, rng.integers(n_numbers)] = 1.0
    has_missing = draw(st.booleans())
    if has_missing:
        values[rng.random(values.shape) < 0.1] = np.nan
    schema = {}
    if draw(st.booleans()) and n_numbers + n_categories > 1:
        schema = {"prior": {0: 10.0}}
    if not n_categories:
        if draw(st.booleans()):
            values[np.abs(values) < 0.7] = 0
            return scipy.sparse.csc_array(values), y, schema
        return values, y, schema
    columns = {f"n{j}": values[:, j] for j in range(n_numbers)}
    for j in range(n_categories):
        levels = [f"level {k}" for k in rng.integers(0, 1 + rng.integers(4), n_rows)]
        if has_missing:
            levels[0] = None
        columns[f"c{j}"] = levels
    return pl.DataFrame(columns), y, schema


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables())
def test_advised_methods_take_the_table(table):
    X, y, schema = table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        advice = advise(X, y, schema=schema, n_jobs=1)
    made = advice.estimator()
    if "n_trees" in made.get_params():
        made.set_params(n_trees=20)
    fitted = made.fit(X, y)
    last = fitted[-1] if advice.fill else fitted
    assert sorted(last.order_) == list(range(X.shape[1]))
    for choice in advice.alternatives:
        assert is_applicable(
            METHODS[choice.method], advice.facts, choice.parameters, fill=advice.fill
        )
    assert len(advice.alternatives) + 1 >= 2
    json.dumps(advice.document())
    assert advice.method in str(advice)
    assert first_rule(advice.facts, training_rows_only=False).name == advice.rule


@pytest.mark.parametrize("name", CASES)
def test_alternatives_take_the_table_too(name):
    X, y, schema = CASES[name][0]()
    rows = slice(0, 120)
    X, y = X[rows], y[rows]
    advice = advise(X, y, schema=schema)
    for method in advice.methods().values():
        if method == "none":
            continue
        if schema:
            method.set_params(schema=schema)
        if "n_trees" in method.get_params():
            method.set_params(n_trees=20)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some do not use a prior
            assert len(method.fit(X, y).order_) >= 1


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, list])
def test_frames_and_lists(library):
    X, y = numbers(30, 3)
    table = library(X.tolist()) if library is list else library(X, **_names_option(library))
    assert advise(table, y.tolist()).facts.rows == 30


def _names_option(library):
    return {"columns": list("abc")} if library is pd.DataFrame else {"schema": list("abc")}


def test_the_target_may_be_a_column_of_the_frame():
    X, y = numbers(30, 3)
    frame = pl.DataFrame(X, schema=list("abc")).with_columns(ill=pl.Series(y))
    assert advise(frame, "ill").facts.columns == 3


def test_one_column_and_two_rows_a_class():
    X, y = numbers(4, 1)
    advice = advise(X, y)
    assert advice.estimator().fit(X, y).order_.tolist() == [0]


def test_the_linear_error_is_none_with_many_columns():
    assert advise(*numbers(40, 20)).facts.linear_error is not None
    assert advise(*numbers(40, 21)).facts.linear_error is None


def test_a_class_of_one_row_is_a_warning():
    X, _ = numbers(30, 3)
    y = np.array(["lone"] + ["a", "b"] * 14 + ["a"])
    advice = advise(X, y)
    assert advice.facts.smallest_class == 1
    assert "'lone' (1)" in "\n".join(advice.warnings)
    assert advice.estimator().fit(X, y).order_.shape == (3,)


def test_large_tables_are_sampled():
    X, y = numbers(MOST_ROWS + 200, 30)
    assert advise(X, y).facts.rows_looked_at == MOST_ROWS
    X, y = numbers(20, MOST_COLUMNS + 500)
    frame = pl.DataFrame(X, schema=[f"g{j}" for j in range(X.shape[1])])
    frame = frame.with_columns(plate=pl.Series(["a", "b", "c", "d"] * 5))
    advice = advise(frame, y)
    assert advice.facts.columns_looked_at == MOST_COLUMNS
    assert advice.facts.columns == MOST_COLUMNS + 501
    # the column of text is in the sample at any position
    assert any("'plate'" in text for text in advice.warnings)


# ---- warnings ------------------------------------------------------------------------------------
def warnings_text(X, y, **options):
    return "\n".join(advise(X, y, **options).warnings)


def test_small_classes_and_imbalance_are_warnings():
    X, _ = numbers(40, 3)
    small = np.array(["many"] * 37 + ["few"] * 3)
    assert "'few' (3)" in warnings_text(X, small)
    uneven = np.array(["many"] * 32 + ["few"] * 8)
    assert "4.0 rows for one" in warnings_text(X, uneven)
    assert warnings_text(*numbers(40, 3)) == ""


def test_identifiers_unusable_and_repeated_columns_are_warnings():
    X, y = numbers(30, 3)
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(X, schema=list("abc")).with_columns(
        who=pl.Series([f"P{k}" for k in rng.permutation(30)]),
        count=pl.Series(rng.permutation(30).astype(float) + 100),
        same=pl.lit("x"),
        again=2.54 * pl.col("b") + 1,
    )
    with pytest.warns(LeakWarning, match="'who' names the rows"):
        advice = advise(frame, y)
    assert [f.columns for f in advice.findings.alarms] == [("count",), ("who",)]
    assert advice.facts.columns == 5
    assert "alarm: 'count' numbers the rows" in advice.summary()
    text = "\n".join(advice.warnings)
    assert "1 column has one value or none: 'same'" in text
    assert "1 column says what another one says already: 'again'" in text
    assert warnings_text(frame.select("a", "b", "c"), y) == ""


def test_an_identifier_does_not_hide_joint_effects():
    X, y = curved_table()
    frame = pl.DataFrame(X, schema=list("abcdef"))
    named = frame.with_columns(who=pl.Series([f"P{k}" for k in range(len(y))]))
    advice = advise(frame, y, training_rows_only=True)
    with pytest.warns(LeakWarning, match="'who' names the rows"):
        of_named = advise(named, y, training_rows_only=True)
    assert of_named.rule == advice.rule == "columns that tell only together"
    assert of_named.facts.linear_error == advice.facts.linear_error


def test_what_the_table_is_asked_about_is_not_said_twice():
    X, y = numbers(40, 3)
    X[:, 2] = y + 0.01 * np.random.default_rng(0).random(40)
    with pytest.warns(LeakWarning, match="question: 'x2' alone orders"):
        advice = advise(X, y)
    assert advice.warnings == ()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it was said once
        assert advise(X, y, findings=advice.findings).findings == advice.findings
        advice.study(X, y)
    known = advise(X, y, schema={"known_before": ["x2"]})
    assert known.findings.questions == ()
    assert known.warnings == ()


def test_unused_parts_of_the_schema_are_warnings():
    X, y = numbers(40, 3)
    assert "as if all were free" in warnings_text(X, y, schema={"costs": {0: 2.0}})
    assert "column groups" in warnings_text(X, y, schema={"column_groups": {"g": [0, 1]}})


def test_a_target_with_too_many_classes_is_a_warning():
    X, _ = numbers(60, 3)
    assert "is the target a measurement" in warnings_text(X, np.arange(60) // 2)


# ---- errors --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (np.ones((4, 2)), [1, 1, 1, 1], {}, "one class only"),
        (np.ones((4, 2)), ["a", "b", "c", "d"], {}, "4 classes in 4 rows, one row each"),
        (np.ones((4, 2)), [0.5, 1.2, 3.1, 4.0], {}, "real numbers"),
        (np.ones((4, 2)), [0, 1], {}, "rows but y has 2"),
        (np.ones((4, 0)), [0, 1, 0, 1], {}, "no column"),
        (np.ones((4, 2)), [0, 1, 0, 1], {"row_groups": [1, 2]}, "row_groups"),
        (np.ones((4, 2)), [0, 1, 0, 1], {"schema": {"prior": {9: 2.0}}}, "9"),
    ],
)
def test_errors_are_one_line_and_name_the_column(X, y, options, message):
    with pytest.raises(DataError, match=message) as caught:
        advise(X, y, **options)
    assert "\n" not in str(caught.value)


def test_wrong_seeds_are_refused():
    with pytest.raises(ParameterError, match="random_state=-1"):
        advise(*numbers(10, 2), random_state=-1)


# ---- words and time ------------------------------------------------------------------------------
def test_the_advice_as_text():
    X, y = mixed_table(100, 4, 3)
    text = str(advise(X, y))
    assert text == repr(advise(X, y)) == advise(X, y).summary()
    assert text.startswith("use mkl-rfe\n  because 4 columns of numbers and 3 of categories")
    assert "or forest if you can wait" in text
    assert "judge it by Subsampling(200, test_size=0.1), clinical-svm, sizes 'all'" in text
    assert advise(*numbers(90, 7, n_classes=3)).call() == "multiclass-svm-rfe (formulation='ovo')"


def test_parity_is_nonlinear():
    problem = make_problem("parity3+3", random_state=0)
    advice = advise(problem.X, problem.y, training_rows_only=True)
    assert advice.rule == "columns that tell only together"
    assert advice.learner == "linear-or-neighbours"


def test_advice_takes_two_seconds_at_most():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 5000)), classes(500)
    advise(X[:20, :5], y[:20])  # compiled
    began = time.process_time()
    advise(X, y, n_jobs=1)
    assert time.process_time() - began < 6  # some two on a quiet machine
