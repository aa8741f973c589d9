"""Facts of a report: they are those that the study found."""

import re

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from sklearn.feature_selection import SelectKBest

import featly
from featly import DataError, LeakWarning, ParameterError, Schema, SchemaWarning
from featly.plots.table_columns import read_columns
from featly.reports import signature
from featly.reports import text as words
from featly.reports.columns import column_facts, number
from featly.study import KFold, Subsampling


def test_figures_are_those_of_the_study(cohort_report):
    row = cohort_report.results.summary("bcr", rule=6).filter(pl.col("method") == "univariate-test")
    headline = cohort_report.facts["headline"]
    assert headline["size"] == row["size"][0] == 6 == len(cohort_report.signature)
    assert headline["value"] == row["bcr"][0]
    assert (headline["lower"], headline["upper"]) == (row["lower"][0], row["upper"][0])
    assert headline["chance"] == 0.5
    assert headline["n_splits"] == 5
    methods = [row["method"] for row in cohort_report.facts["comparison"]["rows"]]
    assert methods == ["univariate-test", "jmi", "none"]
    assert len(cohort_report.facts["comparison"]["pairs"]) == 3


def test_the_signature_is_made_from_all_rows(cohort_report, cohort):
    test = featly.UnivariateTest(schema=cohort.schema).fit(cohort.X, cohort.y)
    names = np.array(cohort.X.columns)
    assert cohort_report.signature == names[test.order_[:6]].tolist()
    shown = cohort_report.facts["features"]
    assert [row["name"] for row in shown] == names[test.order_[:15]].tolist()
    assert [row["q_value"] for row in shown] == test.q_value_[test.order_[:15]].tolist()
    ranking = cohort_report.ranking()
    assert ranking["feature"].to_list() == names[test.order_].tolist()
    assert ranking["selected"].sum() == 6


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
    report = featly.report(X, y, methods=["f-test"], splits=3, sizes=[1], rule=1)
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
        report = featly.report(table, y, methods=[method], splits=3, sizes=[4], rule=4)
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


def test_the_size_is_judged_on_splits_that_did_not_choose_it():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 40)), np.arange(60) % 2
    X[:, 0] += y
    report = featly.report(X, y, methods=["f-test"], splits=8, rule="best")
    curve = report.results.curve("bcr", method="f-test")
    left_out_values = []
    for k in range(8):
        other_means = np.delete(curve.values, k, axis=0).mean(axis=0)
        best = np.flatnonzero(other_means >= other_means.max() - 1e-12)[0]
        left_out_values.append(curve.values[k, best])
    assert report.facts["headline"]["nested"] == pytest.approx(np.mean(left_out_values))
    assert f"the figure is {words.rate(np.mean(left_out_values))}" in report.html()


# ---- any table -----------------------------------------------------------------------------------
def make_table(n=40, p=6, n_classes=2):
    rng = np.random.default_rng(1)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, p))
    X[:, 0] += 2 * y
    return X, y


@pytest.mark.parametrize("n_classes", [3, 15])
def test_many_classes(n_classes):
    X, y = make_table(120, 8, n_classes)
    ranker = featly.PairwiseRanker(featly.FTest())
    report = featly.report(X, y, methods={"pairs": ranker}, splits=2, sizes=[2], rule=2)
    assert report.signature[0] == "x0"
    assert "pairs" in {figure.name for figure in report.figures}
    assert report.facts["headline"]["chance"] == pytest.approx(1 / n_classes)
    assert "Highest in" in report.html()


def test_sparse_tables_have_the_names_they_are_given():
    X, y = make_table()
    names = [f"word {k}" for k in range(6)]
    report = featly.report(
        scipy.sparse.csr_array(X), y, methods=["f-test"], splits=3, names=names, rule=2,
        sizes=[2],
    )  # fmt: skip
    assert report.signature[0] == "word 0"
    page = report.html()
    assert "word 0" in page
    assert not re.findall(r">x\d", page)  # no picture falls back to names of its own


def test_figures_by_what_there_is_to_draw():
    X, y = make_table()
    report = featly.report(X, y, methods=["svm-rfe"], splits=2, sizes=[2], rule=2)
    drawn = {figure.name: figure.svg.decode() for figure in report.figures}
    assert set(drawn) == {"performance", "stability", "frequencies", "ranking", "path", "scatter"}
    assert "not selected" in drawn["ranking"]  # two of six are the signature
    assert report._evidence.fitted_main.get_support().sum() == 2
    once = featly.report(X, y, methods=["f-test"], splits=1, sizes=[2], rule=2)
    assert {figure.name for figure in once.figures} == set(drawn) - {"stability", "path"}
    names = [f"gene {k}" for k in range(6)]
    named_report = featly.report(
        X, y, methods=["svm-rfe"], splits=2, names=names, sizes=[2], rule=2
    )
    assert all("gene 0" in figure.svg.decode() for figure in named_report.figures[2:])


def test_pandas_and_pyarrow():
    pandas = pytest.importorskip("pandas")
    X, y = make_table()
    frame = pandas.DataFrame(X, columns=list("abcdef")).assign(
        stage=pandas.Categorical(np.array(["I", "II"])[y], ordered=True), ill=y
    )
    report = featly.report(frame, "ill", methods=["univariate-test"], splits=3, sizes=[2], rule=2)
    assert set(report.signature) == {"a", "stage"}
    stage = next(row for row in report.facts["features"] if row["name"] == "stage")
    assert [cell["level"] for cell in stage["classes"][0]["levels"]] == ["I", "II"]
    assert "ill" not in [row["name"] for row in report.facts["features"]]


def test_methods_that_choose_themselves_and_methods_of_others():
    X, y = make_table(p=20)
    report = featly.report(X, y, methods=["fcbf", "f-test"], splits=4, sizes=[1, 2, 4])
    assert report.signature == [f"x{c}" for c in featly.FCBF().fit(X, y).order_]
    assert all(row["ranks"] is None for row in report.facts["features"])
    assert {"frequencies", "ranking", "stability"} <= {figure.name for figure in report.figures}
    report.html()
    foreign_report = featly.report(X, y, methods={"k best": SelectKBest(k=3)}, splits=3)
    assert len(foreign_report.signature) == 3
    assert "0" in {name[1:] for name in foreign_report.signature}
    foreign_report.html()


def test_one_split_one_row_per_class_constant_and_empty_columns():
    X, y = make_table()
    X[:, 3] = 5.0
    X[:, 4] = np.nan
    frame = pl.DataFrame(X, schema=list("abcdef")).with_columns(pl.lit(None, pl.String).alias("g"))
    report = featly.report(
        frame, y, methods=["univariate-test"], splits=1, sizes=[7], rule=7, individuals=False
    )
    page = report.html()
    assert "too little for an interval" in page
    assert "constant (5.0)" in page
    assert "entirely missing" in page
    assert "no value" in page


def test_costs_and_a_prior_are_drawn():
    X, y = make_table(60, 12)
    schema = Schema(prior={"x7": 10.0}, costs={"x0": 5.0, "x1": 1.0})
    with pytest.warns(SchemaWarning, match="does not use costs"):
        report = featly.report(
            X, y, methods=["signal-to-noise"], schema=schema, splits=4, sizes=[1, 3], rule=3
        )
    assert any("does not use costs" in text for text in report.facts["data"]["warnings"])
    assert {"prior", "costs"} <= {figure.name for figure in report.figures}
    assert "What the prior changed" in report.html()
    assert any("x7" in line for line in report.facts["prior"])


def test_shuffled_labels_and_groups():
    X, y = make_table(40)
    groups = np.arange(40) // 2 % 10
    report = featly.report(
        X, y, methods=["f-test"], splits=KFold(3), null=3, row_groups=groups, sizes=[1, 2]
    )
    questions = [answer["question"] for answer in report.facts["answers"]]
    assert "Could it be chance?" in questions
    assert "10 groups" in report.html()
    assert "KFold" in report.facts["python"]


def test_without_methods_it_is_advised():
    X, y = make_table(60, 10)
    report = featly.report(X, y, splits=3)
    advice = featly.advise(X, y)
    assert report.facts["method"]["name"] == advice.method
    assert report.facts["method"]["reasons"]
    assert "advised by featly" in report.html()


def test_reasons_are_of_what_was_done():
    X, y = make_table(60, 10)
    advice = featly.advise(X, y)
    reasons = featly.report(X, y, methods=advice, splits=3).facts["method"]["reasons"]
    assert reasons == [str(reason) for reason in advice.reasons[:2]]
    other_facts = featly.report(X, y, methods=advice, splits=3, learner="1-nn").facts
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
    "sizes of a rule": {"methods": ["f-test"], "splits": 3, "rule": 3, "null": 2},
}


@pytest.mark.parametrize("options", SAME.values(), ids=SAME)
def test_the_python_of_the_page_makes_the_same_report(options):
    X, y = make_table(60, 8, 3)
    report = featly.report(X, y, **options)
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
    report = featly.report(frame, y, official="part")
    assert report.facts["protocol"]["splitter"] == "Holdout"
    assert (report.facts["protocol"]["n_train"], report.facts["protocol"]["n_test"]) == (40, 20)
    assert "Holdout(column='part')" in report.facts["python"]
    assert report.facts["method"]["name"] == featly.advise(X[:40], y[:40]).method
    assert "part" not in report.signature
    with pytest.raises(ParameterError, match="official goes with a Holdout"):
        featly.report(frame, y, official="part", splits=5)


def test_warnings_are_on_the_page_and_passed_on():
    X, y = make_table(40)
    frame = pl.DataFrame(X).with_columns(pl.Series("patient_id", np.arange(40) // 4))
    with pytest.warns(LeakWarning, match="patient_id"):
        report = featly.report(frame, y, methods=["f-test"], splits=3, sizes=[1])
    assert any("patient_id" in text for text in report.facts["data"]["warnings"])


# ---- words ---------------------------------------------------------------------------------------
def headline(**changes):
    start = {
        "metric": "bcr", "value": 0.9, "lower": 0.8, "upper": 0.97, "chance": 0.5,
        "stability": 0.8, "stability_lower": 0.7, "stability_upper": 1.04, "n_splits": 50,
        "greater_is_better": True,
    }  # fmt: skip
    return start | changes


@pytest.mark.parametrize(
    ("changes", "answer", "level"),
    [
        ({}, "Yes, well", "good"),
        ({"value": 0.7, "lower": 0.6}, "Yes", "fair"),
        ({"value": 0.6, "lower": 0.55}, "Yes, with many errors", "fair"),
        ({"value": 0.6, "lower": 0.5}, "Not shown", "poor"),
        ({"lower": None, "upper": None}, "Cannot be told", "fair"),
        (
            {"metric": "error", "value": 0.1, "lower": 0.05, "upper": 0.2, "chance": 0.4,
             "greater_is_better": False},
            "Yes, well", "good",
        ),
        (
            {"metric": "error", "value": 0.35, "lower": 0.3, "upper": 0.4, "chance": 0.4,
             "greater_is_better": False},
            "Not shown", "poor",
        ),
    ],
)  # fmt: skip
def test_does_it_predict(changes, answer, level):
    reply = words._prediction_answer(headline(**changes))
    assert (reply["answer"], reply["level"]) == (answer, level)


@pytest.mark.parametrize(
    ("value", "answer"),
    [(1.0, "Yes"), (0.75, "Mostly"), (0.4, "In part"), (0.39, "Hardly"), (None, "Cannot be told")],
)
def test_is_it_stable(value, answer):
    reply = words._stability_answer(headline(stability=value))
    assert reply["answer"] == answer
    assert "1.04" not in reply["text"]


@pytest.mark.parametrize(
    ("n_null", "p_value", "answer"),
    [(5, 1 / 6, "Too few shuffles to tell"), (5, 2 / 6, "Yes"), (19, 0.05, "Unlikely"),
     (99, 0.06, "Yes")],
)  # fmt: skip
def test_could_it_be_chance(n_null, p_value, answer):
    row = {
        "n_null": n_null,
        "p_value": p_value,
        "null_mean": 0.5,
        "null_best": 0.6,
        "observed": 0.8,
    }
    assert words._chance_answer(row)["answer"] == answer


def test_against_all_columns_one_question_was_settled_before():
    pair = {"method_a": "none", "method_b": "jmi", "learner": "linear-svm", "difference": -0.1,
            "lower": -0.18, "upper": -0.02, "p_value": 0.02, "p_adjusted": 0.06}  # fmt: skip
    facts = {
        "method": {"name": "jmi"},
        "protocol": {"learner": "linear-svm", "methods": ["jmi", "none"]},
        "comparison": {"pairs": [pair, pair]},
        "headline": headline(size=4),
        "data": {"columns": 2000},
    }
    reply = words._all_columns_answer(facts)
    assert (reply["answer"], reply["level"]) == ("Yes", "good")
    assert "differs by +0.100 from that of all 2,000 columns" in reply["text"]
    assert "interval +0.020 to +0.180, p = 0.02; 0.06 if all 2 comparisons" in reply["text"]
    pair |= {"p_value": 0.3}
    assert words._all_columns_answer(facts)["level"] == "fair"
    pair |= {"p_value": 0.01, "difference": 0.1, "lower": 0.02, "upper": 0.18}
    assert words._all_columns_answer(facts)["answer"] == "No, worse"


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
        ({"metric": "auc"}, "there is no metric 'auc'"),
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
        featly.report(X, y, **({"methods": ["f-test"], "splits": 3} | options))


def test_parameters_are_checked_before_the_work(monkeypatch):
    X, y = make_table()
    monkeypatch.setattr(featly.Study, "run", None)  # whoever gets there fails
    for options in ({"names": ["a"]}, {"rule": "luck"}, {"rule": 3, "sizes": [1, 2]}):
        with pytest.raises(ParameterError):
            featly.report(X, y, methods=["f-test"], **options)


def test_a_method_that_always_fails_is_an_error():
    X, y = make_table()
    frame = pl.DataFrame(X, schema=list("abcdef")).with_columns(pl.Series("g", ["u", "v"] * 20))
    with pytest.raises(DataError, match=r"f-test failed on every split: .*categorical"):
        featly.report(frame, y, methods=["f-test"], splits=3)
