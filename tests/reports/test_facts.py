"""Facts of a report: they are those that the study found."""

import re
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from sklearn.feature_selection import SelectKBest

import featly
from featly import DataError, LeakWarning, ParameterError, Schema, SchemaWarning
from featly.diagnostics import Findings
from featly.plots.table_columns import read_columns
from featly.reports import answers as page_answers
from featly.reports import signature, text
from featly.reports.columns import column_facts, number
from featly.study import Dataset, KFold, Subsampling, half_stability, nested, predictability
from tests.reports.quick import quick_report


def test_figures_are_those_of_nested_folds(cohort_report, cohort):
    study = cohort_report._evidence.study
    result = nested(study.methods, study.datasets["data"], repeats=1, rule=6, sizes=[1, 6, 20],
                    learner=study.learners, balanced=False, n_jobs=1)  # fmt: skip
    estimate = result.estimate(method="univariate-test")
    headline = cohort_report.facts["headline"]
    assert headline["size"] == estimate.size == 6 == len(cohort_report.signature)
    assert headline["value"] == estimate.value
    assert (headline["lower"], headline["upper"]) == (estimate.lower, estimate.upper)
    assert str(estimate) in cohort_report.facts["summary"]
    assert headline["chance"] == 0.5
    assert headline["n_splits"] == 5
    rows = {row["method"]: row for row in cohort_report.facts["comparison"]["rows"]}
    assert list(rows) == ["univariate-test", "jmi", "none"]
    assert rows["jmi"]["value"] == result.estimate(method="jmi").value
    assert rows["none"]["size"] == 51
    pairs = cohort_report.facts["comparison"]["pairs"]
    assert [(row["method_a"], row["method_b"]) for row in pairs] == [
        ("univariate-test", "jmi"),
        ("univariate-test", "none"),
    ]
    assert cohort_report.facts["protocol"]["repeats"] == 1
    assert "drawn once (quick mode" in cohort_report.html()


def test_the_test_and_the_halves_are_those_of_the_main_method(cohort_report):
    study, headline = cohort_report._evidence.study, cohort_report.facts["headline"]
    data, method = study.datasets["data"], {"m": study.methods["univariate-test"]}
    shared = {"sizes": [1, 6, 20], "n_jobs": 1}
    test = predictability(method, data, learner=study.learners, balanced=False, most=19, **shared)
    assert headline["test"]["p_value"] == test.p_value
    assert headline["test"]["sentence"] == str(test)
    value, null = half_stability(method, data, splits=10, **shared).at("m", 6)
    assert (headline["halves"], headline["halves_null"]) == (value, null)
    row = next(row for row in cohort_report.facts["halves"] if row["size"] == 6)
    assert (row["stability"], row["null"]) == (value, null)


def test_the_signature_is_made_from_all_rows(cohort_report, cohort):
    test = featly.UnivariateTest(schema=cohort.schema).fit(cohort.X, cohort.y)
    names = np.array(cohort.X.columns)
    assert cohort_report.signature == names[test.order_[:6]].tolist()
    shown = cohort_report.facts["features"]
    assert [row["name"] for row in shown] == names[test.order_[:15]].tolist()
    assert [row["q_value"] for row in shown] == test.q_value_[test.order_[:15]].tolist()
    assert [row["test_note"] for row in shown] == test.note_[test.order_[:15]].tolist()
    texts = [text.describe_test(row) for row in shown]
    assert all(word in line for line, word in zip(texts, test.test_[test.order_], strict=False))
    page, table = cohort_report.html(), cohort_report.markdown()
    assert all(line in page and line in table for line in texts)
    ranking = cohort_report.ranking()
    assert ranking["feature"].to_list() == names[test.order_].tolist()
    assert ranking["selected"].sum() == 6


def test_the_notes_of_p_values_are_told_without_counts_of_few_rows():
    rng = np.random.default_rng(0)
    X, y = np.round(np.exp(rng.normal(size=(60, 5)))), np.repeat([0, 1], [48, 12])
    test = featly.UnivariateTest().fit(X, y)
    shown = np.arange(5)
    evidence = SimpleNamespace(
        data=Dataset.of(X, y), kinds_of_data=lambda: None, n_jobs=1, individuals=True
    )
    notes = signature._single_tests(evidence, shown)["note"]
    assert notes == test.note_.tolist()
    assert "random permutations" in "".join(notes)
    for individuals, expected in ((True, "p approximate: 3 rows"), (False, "p approximate")):
        assert signature.tell_note("p approximate: 3 rows", individuals) == expected


def test_frequencies_and_ranks_by_hand(cohort_report, cohort):
    orders = cohort_report.results.orders(method="univariate-test")
    names = list(cohort.X.columns)
    for row in cohort_report.facts["features"]:
        ranks = [list(order).index(names.index(row["name"])) + 1 for order in orders]
        assert row["frequency"] == sum(rank <= 6 for rank in ranks) / 5
        assert row["ranks"][1] == sorted(ranks)[2]
    often = {
        name: sum(names.index(name) in order[:6] for order in orders) / 5
        for name in names
        if name not in cohort_report.signature
    }
    expected = {name: share for name, share in often.items() if share > 0.5}
    assert {m["name"]: m["frequency"] for m in cohort_report.facts["near_misses"]} == expected


def test_alternatives_say_the_same():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    x = rng.normal(size=80) + 2 * y
    noise = rng.normal(size=(80, 5))
    X = np.column_stack([x, np.exp(x), -x + 0.1 * rng.normal(size=80), noise])
    report = quick_report(X, y, methods=["f-test"], splits=3, sizes=[1], rule=1)
    (row,) = [row for row in report.facts["features"] if row["selected"]]
    assert {other["name"] for other in row["alternatives"]} == {"x0", "x1", "x2"} - {row["name"]}
    assert all(other["association"] > 0.9 for other in row["alternatives"])
    assert not any(other["selected"] for other in row["alternatives"])


def test_alternatives_of_large_tables_are_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    x = rng.normal(size=(60, 3)) + 2 * y[:, None]
    copies = np.hstack([x + 0.2 * rng.normal(size=x.shape) for _ in range(7)])
    X = np.hstack([x, copies, rng.normal(size=(60, 9))])

    def alternatives_of(table, method="f-test"):
        report = quick_report(table, y, methods=[method], splits=3, sizes=[4], rule=4)
        return [row["alternatives"] for row in report.facts["features"] if row["selected"]]

    expected = alternatives_of(X)
    mixed = {f"x{k}": column for k, column in enumerate(X.T)} | {"ward": ["a", "b", "c"] * 20}
    monkeypatch.setattr(signature, "MOST_CELLS", 10)
    by_blocks = alternatives_of(X)
    assert sum("more" in other for row in by_blocks for other in row) > 0
    for row, other in zip(by_blocks, expected, strict=True):
        assert [a.get("name", a.get("more")) for a in row] == [
            a.get("name", a.get("more")) for a in other
        ]
        assert [a.get("association") for a in row[:5]] == pytest.approx(
            [a.get("association") for a in other[:5]], abs=1e-9
        )
        assert [a.get("selected") for a in row] == [a.get("selected") for a in other]
    assert all(row == [] for row in alternatives_of(pl.DataFrame(mixed), "univariate-test"))


def test_the_size_is_that_of_the_rule_on_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 40)), np.arange(60) % 2
    X[:, 0] += y
    for rule in (None, "one-standard-error"):
        report = quick_report(X, y, methods=["f-test"], splits=3, rule=rule)
        result = nested(["f-test", "none"], (X, y), repeats=1, rule=rule or "best")
        assert len(report.signature) == result.estimate(method="f-test").size
        assert report.facts["protocol"]["rule"] == (rule or "best")


def test_thorough_mode_draws_the_folds_five_times():
    X, y = make_table(40, 4)
    report = quick_report(X, y, methods=["f-test"], splits=2, sizes=[1, 2], thorough=True)
    estimate = nested(["f-test", "none"], (X, y), sizes=[1, 2]).estimate(method="f-test")
    assert report.facts["headline"]["value"] == estimate.value
    assert report.facts["protocol"]["repeats"] == 5
    assert "five times (thorough mode" in report.html()
    assert "thorough=True," in report.facts["python"]


# ---- any table -----------------------------------------------------------------------------------
def make_table(n=40, p=6, n_classes=2):
    rng = np.random.default_rng(1)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, p))
    X[:, 0] += 2 * y
    return X, y


@pytest.mark.thorough
@pytest.mark.parametrize("n_classes", [3, 15])
def test_many_classes(n_classes):
    X, y = make_table(120, 8, n_classes)
    ranker = featly.PairwiseRanker(featly.FTest())
    report = quick_report(X, y, methods={"pairs": ranker}, splits=2, sizes=[2], rule=2)
    assert report.signature[0] == "x0"
    assert "pairs" in {figure.name for figure in report.figures}
    assert report.facts["headline"]["chance"] == pytest.approx(1 / n_classes)
    assert "Highest in" in report.html()


def test_sparse_tables_have_the_names_they_are_given():
    X, y = make_table()
    names = [f"word {k}" for k in range(6)]
    report = quick_report(
        scipy.sparse.csr_array(X), y, methods=["f-test"], splits=3, names=names, rule=2,
        sizes=[2],
    )  # fmt: skip
    assert report.signature[0] == "word 0"
    page = report.html()
    assert "word 0" in page
    assert not re.findall(r">x\d", page)  # no picture falls back to names of its own


def test_columns_that_a_selector_left_out_are_no_filler():
    X, y = make_table()
    report = quick_report(X, y, methods=["cfs"], splits=2)
    assert 0 < len(report.signature) < 6
    assert report.facts["filler"] == 0
    assert text.evidence_sentence(report.facts) == ""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(40, 6))
    report = quick_report(noise, np.arange(40) % 2, methods=["cfs"], splits=2)
    assert report.facts["filler"] == len(report.signature) == 1


def test_figures_by_what_there_is_to_draw():
    X, y = make_table()
    report = quick_report(X, y, methods=["svm-rfe"], splits=2, sizes=[2], rule=2)
    drawn = {figure.name: figure.svg.decode() for figure in report.figures}
    assert set(drawn) == {"performance", "halves", "frequencies", "ranking", "path", "scatter"}
    assert "not selected" in drawn["ranking"]  # two of six are the signature
    assert report._evidence.fitted_main.get_support().sum() == 2
    once = quick_report(X, y, methods=["f-test"], splits=1, sizes=[2], rule=2)
    assert {figure.name for figure in once.figures} == set(drawn) - {"path"}
    names = [f"gene {k}" for k in range(6)]
    named_report = quick_report(X, y, methods=["svm-rfe"], splits=2, names=names, sizes=[2], rule=2)
    assert all("gene 0" in figure.svg.decode() for figure in named_report.figures[2:])


def test_pandas_and_pyarrow():
    pandas = pytest.importorskip("pandas")
    X, y = make_table()
    frame = pandas.DataFrame(X, columns=list("abcdef")).assign(
        stage=pandas.Categorical(np.array(["I", "II"])[y], ordered=True), ill=y
    )
    report = quick_report(
        frame, "ill", methods=["univariate-test"], splits=3, sizes=[2], rule=2,
        schema={"known_before": ["stage"]},
    )  # fmt: skip
    assert set(report.signature) == {"a", "stage"}
    stage = next(row for row in report.facts["features"] if row["name"] == "stage")
    assert [cell["level"] for cell in stage["classes"][0]["levels"]] == ["I", "II"]
    assert "ill" not in [row["name"] for row in report.facts["features"]]


def test_methods_that_choose_themselves_and_methods_of_others():
    X, y = make_table(p=20)
    report = quick_report(X, y, methods=["fcbf", "f-test"], splits=4, sizes=[1, 2, 4])
    assert report.signature == [f"x{c}" for c in featly.FCBF().fit(X, y).order_]
    assert all(row["ranks"] is None for row in report.facts["features"])
    assert {"frequencies", "ranking", "halves"} <= {figure.name for figure in report.figures}
    report.html()
    foreign_report = quick_report(X, y, methods={"k best": SelectKBest(k=3)}, splits=3)
    assert len(foreign_report.signature) == 3
    assert "0" in {name[1:] for name in foreign_report.signature}
    foreign_report.html()


def test_one_split_one_row_per_class_constant_and_empty_columns():
    X, y = make_table()
    X[:, 3] = 5.0
    X[:, 4] = np.nan
    frame = pl.DataFrame(X, schema=list("abcdef")).with_columns(pl.lit(None, pl.String).alias("g"))
    report = quick_report(
        frame, y, methods=["univariate-test"], splits=1, sizes=[7], rule=7, individuals=False
    )
    page = report.html()
    assert "constant (one value)" in page, "a value of few rows would tell"
    assert "entirely missing" in page
    assert "no value" in page


def test_costs_and_a_prior_are_drawn():
    X, y = make_table(60, 12)
    schema = Schema(prior={"x7": 10.0}, costs={"x0": 5.0, "x1": 1.0})
    with pytest.warns(SchemaWarning, match="does not use costs"):
        report = quick_report(
            X, y, methods=["signal-to-noise"], schema=schema, splits=4, sizes=[1, 3], rule=3
        )
    assert any("does not use costs" in text for text in report.facts["data"]["warnings"])
    assert {"prior", "costs"} <= {figure.name for figure in report.figures}
    assert "What the prior changed" in report.html()
    assert any("x7" in line for line in report.facts["prior"])


def test_groups_stay_together():
    X, y = make_table(40)
    groups = np.arange(40) // 2 % 10
    report = quick_report(
        X, y, methods=["f-test"], splits=KFold(3), row_groups=groups, sizes=[1, 2]
    )
    assert report.facts["protocol"]["folds"] == 10
    assert "10 groups" in report.html()
    assert "KFold" in report.facts["python"]


@pytest.mark.parametrize("individuals", [True, False])
def test_three_rows_of_a_class_give_no_figure_and_the_class_is_named_unless_hidden(individuals):
    X, _ = make_table(40)
    y = np.array(["rare", "usual"])[(np.arange(40) >= 3).astype(int)]
    report = quick_report(X, y, methods=["f-test"], splits=3, sizes=[1, 2], individuals=individuals)
    headline = report.facts["headline"]
    assert (headline["value"], headline["lower"], headline["test"]) == (None, None, None)
    reason = "class 'rare' has 3 rows" if individuals else "a class has too few rows"
    assert f"cannot be told: {reason}" in report.facts["summary"]
    assert report.facts["answers"][0]["answer"] == "Cannot be told"
    assert report.facts["comparison"]["pairs"] == []
    assert ("class &#39;rare&#39; has 3 rows" in report.html()) == individuals
    assert ("rare" in report.markdown().replace("rarely", "")) == individuals


def test_groups_that_leave_a_class_out_of_a_half_are_named():
    X, y = make_table(40)
    groups = np.where(y == 1, 20, np.arange(40) // 2)  # one patient has all rows of a class
    report = quick_report(X, y, methods=["f-test"], splits=3, sizes=[1], row_groups=groups)
    answer = report.facts["answers"][1]
    assert answer["answer"] == "Cannot be told"
    assert "is absent from one half of the rows" in answer["text"]


def test_columns_that_tell_nothing_give_a_half_and_no_yes():
    y = np.arange(40) % 2
    report = quick_report(np.ones((40, 3)), y, methods=["f-test"], splits=3, sizes=[1])
    assert report.facts["headline"]["value"] == pytest.approx(0.5)
    assert report.facts["answers"][0]["answer"] == "Not shown"
    assert report.facts["comparison"]["pairs"][0]["answer"] == "the same predictions"


@pytest.mark.thorough
def test_noise_gets_no_yes_beyond_the_level():
    replies = []
    for seed in range(40):
        X = np.random.default_rng(seed).normal(size=(60, 20))
        report = featly.report(
            X, np.arange(60) % 2, methods=["f-test"], splits=5, random_state=seed, n_jobs=1
        )
        replies.append({row["question"]: row["answer"] for row in report.facts["answers"]})
    # 6 or more of 40 have a chance of 1.4% at a level of 5%
    predicts = [r["Does it predict rows that it has not seen?"].startswith("Yes") for r in replies]
    assert sum(predicts) <= 5
    same = [r["Would other rows have given the same columns?"] != "Hardly" for r in replies]
    assert sum(same) <= 5
    better = [r["Is it better than using all columns?"] == "Yes" for r in replies]
    assert sum(better) <= 5


def test_without_methods_it_is_advised():
    X, y = make_table(60, 10)
    report = quick_report(X, y, splits=3)
    advice = featly.advise(X, y)
    assert report.facts["method"]["name"] == advice.method
    assert report.facts["method"]["reasons"]
    assert "advised by featly" in report.html()


@pytest.mark.thorough
def test_reasons_are_of_what_was_done():
    X, y = make_table(60, 10)
    advice = featly.advise(X, y)
    reasons = quick_report(X, y, methods=advice, splits=3).facts["method"]["reasons"]
    assert reasons == [str(reason) for reason in advice.reasons[:2]]
    other_facts = quick_report(X, y, methods=advice, splits=3, learner="1-nn").facts
    assert other_facts["method"]["reasons"] == reasons[:1]
    assert "random splits" not in " ".join(reasons)  # the report has its own number


SAME = {
    "names": {
        "methods": ["f-test", "mim"],
        "splits": Subsampling(4, test_size=0.2, random_state=7),
        "rule": "best",
        "random_state": 7,
    },
    "parameters": {
        "methods": {
            "two machines": featly.MulticlassSVMRFE(formulation="ovo"),
            "pairs": featly.PairwiseRanker(featly.FTest(), combine="best"),
        },
        "splits": KFold(3, random_state=2),
        "sizes": [2, 5],
        "rule": 5,
        "individuals": False,
    },
    "sizes of a rule": {"methods": ["f-test"], "splits": 3, "rule": 3, "null": 19},
}


@pytest.mark.parametrize("options", SAME.values(), ids=SAME)
def test_the_python_of_the_page_makes_the_same_report(options):
    X, y = make_table(60, 8, 3)
    report = quick_report(X, y, **options)
    names = {"X": X, "y": y}
    exec(report.facts["python"].replace('report.save("report.html")', ""), names)
    again = names["report"].facts
    for part in ("signature", "headline", "features", "curves", "protocol", "individuals"):
        assert again[part] == report.facts[part], part
    assert again["python"] == report.facts["python"]


@pytest.mark.parametrize("words", [("train", "test"), ("Train", "TEST")])
def test_an_official_split_judges_and_its_test_rows_have_no_say_in_the_advice(words):
    X, y = make_table(60, 10)
    part = np.array(words)[(np.arange(60) >= 40).astype(int)]
    frame = pl.DataFrame(X).with_columns(pl.Series("part", part))
    report = quick_report(frame, y, official="part")
    assert report.facts["protocol"]["splitter"] == "Holdout"
    assert (report.facts["protocol"]["n_train"], report.facts["protocol"]["n_test"]) == (40, 20)
    assert "Holdout(column='part')" in report.facts["python"]
    assert report.facts["method"]["name"] == (
        featly.advise(X[:40], y[:40], findings=Findings()).method
    )
    assert "part" not in report.signature
    with pytest.raises(ParameterError, match="official goes with a Holdout"):
        quick_report(frame, y, official="part", splits=5)


def test_what_is_left_out_is_on_the_page_and_warned_of_once():
    X, y = make_table(40)
    frame = pl.DataFrame(X).with_columns(pl.Series("patient_id", np.arange(40) // 4))
    with pytest.warns(LeakWarning, match="patient_id") as caught:
        report = quick_report(frame, y, methods=["f-test"], splits=3, sizes=[1])
    assert len(caught) == 1
    assert "patient_id" not in [row["name"] for row in report.facts["features"]]
    assert [f["columns"] for f in report.facts["findings"]] == [["patient_id"]]


@pytest.fixture(scope="module")
def gaps():
    """Noise that is missing in one class more often, a column missing at random, a marker."""
    rng = np.random.default_rng(5)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 8))
    X[:, 1] += 2.0 * y
    X[rng.random(120) < np.where(y == 1, 0.65, 0.15), 0] = np.nan
    X[rng.random(120) < 0.3, 1] = np.nan
    return X, np.array(["died", "lived"])[y]


def test_a_column_that_is_chosen_for_its_missing_values_says_so(gaps):
    X, y = gaps
    options = {"methods": ["symmetric-uncertainty"], "splits": 2, "sizes": [2], "rule": 2}
    with pytest.warns(LeakWarning, match="'x0' is missing in"):
        report = quick_report(X, y, **options)
    by_name = {row["name"]: row["missing"] for row in report.facts["features"] if row["selected"]}
    assert set(by_name) == {"x0", "x1"}
    assert by_name["x0"]["share_of_rank"] == pytest.approx(1, abs=0.2)
    assert by_name["x0"]["share_without_refit"] > 0.6
    assert by_name["x0"]["text"].startswith("chosen at least partly for its missing values: absent")
    assert "of 'lived'" in by_name["x0"]["text"]
    assert by_name["x1"]["text"] == ""
    assert by_name["x1"]["p_value"] > 0.05
    assert "Chosen at least partly for its missing values" in report.html()
    assert "chosen at least partly for its missing values" in report.markdown()
    assert not any(answer["answer"].startswith("Yes") for answer in report.facts["answers"])
    with pytest.warns(LeakWarning):  # the table is what it is
        by_values = quick_report(X, y, fill="draw", **options)
    assert by_values.facts["findings"][0]["mended"]
    assert not any(row.get("missing", {}).get("text") for row in by_values.facts["features"])
    assert "drawn from the training rows" in by_values.markdown()


# ---- words ---------------------------------------------------------------------------------------
YES = {"answer": "yes", "by": "shuffles", "sentence": "Shuffles say so."}


def headline(**changes):
    start = {
        "metric": "bcr", "value": 0.9, "lower": 0.8, "upper": 0.97, "chance": 0.5, "n_rows": 300,
        "halves": 0.8, "halves_null": 0.0, "n_halves": 20, "halves_refusal": "", "overlap": 0.8,
        "n_splits": 20, "greater_is_better": True, "refusal": "", "test": YES,
    }  # fmt: skip
    return start | changes


ERROR = {"metric": "error", "chance": 0.4, "greater_is_better": False}


@pytest.mark.parametrize(
    ("changes", "answer", "level"),
    [
        ({}, "Yes, well", "good"),
        ({"value": 0.7, "lower": 0.6}, "Yes", "fair"),
        ({"value": 0.6, "lower": 0.55}, "Yes, with many errors", "fair"),
        ({"value": 0.45, "lower": 0.3}, "Yes, with many errors", "fair"),
        ({"test": YES | {"answer": "no"}}, "Not shown", "poor"),
        ({"test": YES | {"answer": "not tested"}}, "Not tested", "fair"),
        ({"test": YES | {"by": "interval"}}, "Yes, well", "good"),
        (
            {"test": None, "value": None, "refusal": "class 'b' has 3 rows"},
            "Cannot be told",
            "fair",
        ),
        ({"metric": "sensitivity", "chance": None}, "Yes", "fair"),
        (ERROR | {"value": 0.1, "lower": 0.05, "upper": 0.2}, "Yes, well", "good"),
        (ERROR | {"value": 0.35, "lower": 0.3, "upper": 0.4}, "Yes, with many errors", "fair"),
    ],
)
def test_does_it_predict(changes, answer, level):
    reply = page_answers._prediction_answer(headline(**changes))
    assert (reply["answer"], reply["level"]) == (answer, level)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "is 0.90 (95% interval 0.80 to 0.97; guessing gives 0.50). Shuffles say so."),
        ({"n_rows": 49}, "on new rows is 0.80 to 0.97 (95% interval; guessing gives 0.50)."),
        ({"lower": 0.5}, "How much better than guessing is open"),
        ({"lower": None, "upper": None}, "too many fits failed for an interval"),
        ({"refusal": "class 'b' has 3 rows", "test": None}, "Class 'b' has 3 rows."),
        (ERROR | {"upper": 0.45}, "How much better than guessing is open"),
        ({"metric": "auc"}, "area under the ROC curve"),
    ],
)
def test_what_is_said_of_the_prediction(changes, text):
    assert text in page_answers._prediction_answer(headline(**changes))["text"]


@pytest.mark.parametrize(
    ("value", "null", "answer"),
    [
        (1.0, 0.0, "Mostly"),
        (0.75, 0.0, "Mostly"),
        (0.4, 0.0, "In part"),
        (0.39, 0.0, "Hardly"),
        (0.75, 0.6, "Hardly"),  # shuffled labels agree nearly as much
        (0.76, 0.6, "In part"),
        (1.0, 1.0, "Hardly"),
        (None, None, "Cannot be told"),
    ],
)
def test_would_other_rows_give_the_same(value, null, answer):
    reply = page_answers._halves_answer(headline(halves=value, halves_null=null))
    assert reply["answer"] == answer
    assert (null is None) or f"with shuffled outcomes by {null:.2f}" in reply["text"]


def test_agreement_counts_only_where_the_columns_predict():
    reply = page_answers._halves_answer(headline(halves=0.9, test=YES | {"answer": "no"}))
    assert (reply["answer"], reply["level"]) == ("Hardly", "poor")
    assert "what agreement there is may be chance" in reply["text"]


def test_halves_that_could_not_be_made_are_named():
    reply = page_answers._halves_answer(
        headline(halves=None, halves_null=None, halves_refusal="class 'b' is absent from one half")
    )
    assert reply["text"] == "Class 'b' is absent from one half."


@pytest.mark.parametrize(("value", "answer"), [(0.75, "Hardly"), (0.4, "In part"), (0.39, "Yes")])
def test_overlapping_splits_tell_of_few_rows_alone(value, answer):
    reply = page_answers._few_rows_answer(headline(overlap=value), {"n_train": 270})
    assert reply["answer"] == answer
    assert "20 times the columns were chosen again from 270 of the rows" in reply["text"]
    assert "nothing about other rows" in reply["text"]
    assert "interval" not in reply["text"]


@pytest.mark.parametrize(
    ("changes", "answer", "level"),
    [
        ({}, "Yes", "good"),
        ({"answer": "worse", "difference": -0.1}, "No, worse", "poor"),
        (
            {"answer": "cannot be told apart with 300 rows", "p_adjusted": 0.3},
            "Cannot be told apart with 300 rows",
            "fair",
        ),
        ({"answer": "the same predictions", "p_adjusted": None}, "The same predictions", "fair"),
    ],
)
def test_against_all_columns(changes, answer, level):
    pair = {"method_a": "jmi", "method_b": "none", "difference": 0.1, "lower": 0.02, "upper": 0.18,
            "p_adjusted": 0.02, "answer": "better"} | changes  # fmt: skip
    facts = {
        "comparison": {"metric": "bcr", "pairs": [pair | {"method_b": "mim"}, pair]},
        "headline": headline(size=4),
        "data": {"columns": 2000},
    }
    reply = page_answers._all_columns_answer(facts)
    assert (reply["answer"], reply["level"]) == (answer, level)
    if pair["p_adjusted"] is not None:
        assert "interval +0.02 to +0.18, p = " in reply["text"]
        assert "both for 2 comparisons" in reply["text"]
    facts["comparison"]["pairs"] = []
    assert page_answers._all_columns_answer(facts) is None


def test_columns_in_words():
    y = np.array([0, 0, 0, 1, 1, 1])
    frame = pl.DataFrame({
        "x": [1.0, 2.0, 3.0, 11.0, 12.0, None], "c": ["a", "a", "b", "b", "b", None],
        "o": ["low", "low", "high", "high", "high", "high"], "k": [1.0] * 6,
        "n": [None] * 6,
    })  # fmt: skip
    schema = Schema(ordinal={"o": ["low", "high"]})
    columns = read_columns(frame, [0, 1, 2, 3, 4], schema, frame.columns)
    facts = [column_facts(c, ["well", "ill"], y, individuals=True) for c in columns]
    assert facts[0]["words"] == (
        "higher in ill (median 11.5) than in well (2); of two rows, one of each class, that of ill "
        "has the higher value in 100% of cases (50% is chance)"
    )
    assert facts[0]["classes"][1]["missing"] == 1
    assert facts[1]["words"] == "'a' is in 67% of well and in 0% of ill"
    assert columns[2].levels == ["low", "high"]
    assert [c["count"] for c in facts[2]["classes"][0]["levels"]] == ["2", "1"]
    assert facts[3]["words"].startswith("the median is 1 in every class")
    assert facts[4]["words"] == "too few values to compare the classes"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1234.5, "1,234"), (0.00001, "1.00e-05"), (3e9, "3.00e+09"), (-2.345, "-2.35"),
     (float("inf"), "inf")],
)  # fmt: skip
def test_numbers(value, text):
    assert number(value) == text


# ---- mistakes ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["none"]}, "'none' selects nothing"),
        ({"methods": ["none", "f-test"]}, "'none' selects nothing"),
        ({"methods": ["no-such"]}, "there is no method 'no-such'"),
        ({"n_shown": 0}, "n_shown=0"),
        ({"n_shown": True}, "n_shown=True"),
        ({"metric": "area"}, "metric='area': give 'bcr'"),
        ({"metric": "ppv"}, "metric='ppv': give 'bcr'"),
        ({"null": 5}, "null=5: give a whole number from 19"),
        ({"thorough": 1}, "thorough=1: give"),
        ({"names": ["a"]}, "names: give 6 of them"),
        ({"names": "abcdef"}, "give a list with a name for each column"),
        ({"splits": 0}, "n_splits"),
        ({"rule": "luck"}, "rule='luck': give a whole number from 1, 'best'"),
        ({"rule": 0}, "rule=0"),
        ({"rule": "largest-gap"}, "rule='largest-gap'"),
        ({"rule": 3, "sizes": [1, 2]}, r"rule=3: that size is not tried, there are \[1, 2\]"),
    ],
)
def test_mistakes(options, message):
    X, y = make_table()
    with pytest.raises(ParameterError, match=message):
        quick_report(X, y, **({"methods": ["f-test"], "splits": 3} | options))


def test_parameters_are_checked_before_the_work(monkeypatch):
    X, y = make_table()
    monkeypatch.setattr(featly.Study, "run", None)  # whoever gets there fails
    for options in ({"names": ["a"]}, {"rule": "luck"}, {"rule": 3, "sizes": [1, 2]}):
        with pytest.raises(ParameterError):
            quick_report(X, y, methods=["f-test"], **options)


def test_a_method_that_always_fails_is_an_error():
    X, y = make_table()
    frame = pl.DataFrame(X, schema=list("abcdef")).with_columns(
        pl.Series("g", ["u", "v", "v"] * 13 + ["u"])
    )
    with pytest.raises(DataError, match=r"f-test failed on every split: .*categorical"):
        quick_report(frame, y, methods=["f-test"], splits=3)
