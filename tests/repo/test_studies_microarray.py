"""The studies of microarrays, and of C4.5 in chapter 3: figures, criteria, committed results."""

import importlib
import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from studies import (
    book_chapter_3_c45,
    book_chapter_3_wrapper,
    book_chapter_3_wrapper_c45,
    microarray,
    microarray_bootstrap,
    microarray_claims,
    microarray_dobscv,
    microarray_holdout,
    microarray_tables,
    microarray_ties,
)
from studies.book_chapter_3_c45_tables import (
    C45,
    LED_C45,
    LED_WRAPPER,
    SD_C45,
    WRAPPER,
)
from studies.book_led_sd_tables import LED_ROWS
from studies.book_tables import PUT_RIGHT, ROWS, SUCCESS
from studies.microarray_claims import BRAIN, FOLDS, NAMES
from studies.microarray_tables import (
    AVERAGES,
    LEARNERS,
    RANKERS,
    SETS,
    SUBSETS,
    TABLES,
    read_printed,
    read_printed_breast,
)

from featly.study import Dataset, KFold, Results, Study

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "studies" / "results"
MODULES = {
    "microarray": microarray,
    "microarray-bootstrap": microarray_bootstrap,
    "microarray-dobscv": microarray_dobscv,
    "microarray-holdout": microarray_holdout,
    "book-chapter-3-c45": book_chapter_3_c45,
    "book-chapter-3-wrapper": book_chapter_3_wrapper,
    "book-chapter-3-wrapper-c45": book_chapter_3_wrapper_c45,
}
ROWS_OF = microarray_tables.ROWS
CHOOSING = (*SUBSETS, microarray_tables.TIES_KEPT)
POSITIVES = {"Brain": (7, 14), "CNS": (39, 21), "Colon": (22, 40), "DLBCL": (23, 24)}


# ---- printed figures -----------------------------------------------------------------------------
@pytest.mark.parametrize("table", TABLES)
def test_printed_accuracies_are_averages_of_both_classes(table):
    figures = read_printed(table)
    assert len(figures) == len(SETS) * 13
    for (name, row), (accuracy, sensitivity, specificity) in figures.items():
        positive, negative = POSITIVES[name]
        whole = (positive * sensitivity + negative * specificity) / (positive + negative)
        # means over folds: those of Brain have one or two positive rows
        assert whole == pytest.approx(accuracy, abs=0.06 if name == "Brain" else 0.03), row


def test_the_other_class_does_not_fit():
    """The accuracies identify the positive class, as far as class sizes differ."""
    for name in ("CNS", "Colon"):
        positive, negative = POSITIVES[name]
        apart = {True: 0.0, False: 0.0}
        for table in TABLES:
            for (where, _), (accuracy, sensitivity, specificity) in read_printed(table).items():
                if where == name:
                    for right in apart:
                        p, n = (positive, negative) if right else (negative, positive)
                        whole = (p * sensitivity + n * specificity) / (p + n)
                        apart[right] += abs(whole - accuracy)
        assert apart[True] < apart[False] / 5


@pytest.mark.parametrize("learner", LEARNERS)
def test_printed_figures_of_breast_are_shares_of_its_test_rows(learner):
    for figures in read_printed_breast(learner).values():
        counts = []
        for value, rows in zip(figures[1:], (7, 12), strict=True):
            count = min(range(rows + 1), key=lambda k: abs(k / rows - value))
            assert 0 <= count / rows - value < 0.01 or abs(count / rows - value) <= 0.005
            counts.append(count)
        assert sum(counts) / 19 == pytest.approx(figures[0], abs=0.006)


def test_printed_averages_of_the_sets_here_go_with_those_of_all():
    for table, averages in AVERAGES.items():
        figures = read_printed(table)
        ours = [np.mean([figures[name, row][0] for name in SETS]) for row in ROWS_OF]
        known = [(a, b) for a, b in zip(ours, averages, strict=True) if b is not None]
        assert np.corrcoef(np.array(known).T)[0, 1] > 0.6  # four of the seven sets


def test_printed_figures_of_c45_agree_with_table_3_12():
    assert set(LED_WRAPPER) == {family.partition(" ")[0] for family in LED_ROWS}
    sd = [WRAPPER[name][0] for name in ("sd1", "sd2", "sd3")]
    assert np.mean(sd) == PUT_RIGHT["wrapper C4.5"]["SD"]
    assert WRAPPER["xor-100"][0] == PUT_RIGHT["wrapper C4.5"]["XOR-100"]
    for at, family in ((0, "corral"), (3, "parity3+3"), (6, "monk3 real"), (8, "madelon")):
        assert WRAPPER[family][0] == SUCCESS["wrapper C4.5"][at]


def test_printed_methods_of_c45_are_those_of_the_study():
    known = set(book_chapter_3_c45.methods())
    for family, rows in C45.items():
        assert set(rows) <= known
        extra = set(ROWS[family]) - set(rows) - {"wrapper-svm"}
        assert not extra, family
    assert set(LED_C45) == known - {"none"}
    assert set(SD_C45) == known - {"none", "svm-rfe-g"}


# ---- made results --------------------------------------------------------------------------------
def results_of(accuracy, sets, repeats=4, tested=1000):
    """Results with given accuracies of (set, row, learner) in every repeat and fold."""
    rows, rankings = [], []
    for dataset in sets:
        for method in ("none", *CHOOSING, *RANKERS):
            for split in range(repeats * FOLDS):
                order = list(range(3 if method in CHOOSING else 60))
                rankings.append((dataset, method, split, 0, 80, 20, order, method == "none"
                                 or method in CHOOSING, None))  # fmt: skip
                for size in (10, 50) if method in RANKERS else (len(order),):
                    row = f"{method} {size}" if method in RANKERS else method
                    for learner in LEARNERS:
                        right = round(tested * accuracy(dataset, row, learner, split // FOLDS))
                        half = right // 2
                        flat = [half, tested // 2 - half, tested // 2 - (right - half),
                                right - half]  # fmt: skip
                        rows.append((dataset, method, split, 0, learner, size, flat, None))
    keys = {"dataset": pl.String, "method": pl.String, "split": pl.Int64, "null_draw": pl.Int64}
    about = {
        "metrics": [],
        "methods": dict.fromkeys(("none", *CHOOSING, *RANKERS)),
        "datasets": {name: {"columns": 60} for name in sets},
        "learners": dict.fromkeys(LEARNERS),
        "selection": "inside",
    }
    return Results(
        pl.DataFrame(
            rows,
            orient="row",
            schema={
                **keys, "learner": pl.String, "size": pl.Int64,
                "confusion": pl.List(pl.Int64), "failure": pl.String,
            },
        ),
        pl.DataFrame(
            rankings,
            orient="row",
            schema={
                **keys, "n_train": pl.Int64, "n_test": pl.Int64, "order": pl.List(pl.Int64),
                "subset": pl.Boolean, "failure": pl.String,
            },
        ),
        about,
    )  # fmt: skip


def wobble(*parts):
    return 0.002 * (sum(map(ord, "".join(map(str, parts)))) % 5 - 2)


def as_published(dataset, row, learner, repeat):
    """Results in which all of section 4.5 is true."""
    level = {BRAIN: 0.7, "CNS": 0.6, "Colon": 0.8, "DLBCL": 0.85}[dataset]
    learner_effects = {"C4.5": -0.08, "naive Bayes": 0.0, "SVM": 0.02}[learner]
    chosen = {"cfs": 0.05, "interact": 0.05, "fcbf": 0.04, "none": 0.06 * (learner == "SVM")}
    return level + learner_effects + chosen.get(row, -0.02) + wobble(dataset, repeat, row)


def against(dataset, row, learner, repeat):
    """Results in which none of it is."""
    level = {BRAIN: 0.7, "CNS": 0.5, "Colon": 0.6, "DLBCL": 0.6}[dataset]
    learner_effects = {"C4.5": 0.08, "naive Bayes": 0.0, "SVM": -0.02}[learner]
    chosen = {"cfs": -0.05, "interact": -0.06, "none": -0.1}
    best = 0.05 if row.startswith("svm-rfe") else 0.0
    return level + learner_effects + chosen.get(row, 0.0) + best + wobble(dataset, repeat, row)


def judge_claims(claims, results):
    return {claim.name: claim.check(results) for claim in claims}


def test_directions_that_hold_and_that_do_not():
    sets = list(NAMES.values())
    claims = microarray_claims.direction_claims("x")
    for accuracy, expected in ((as_published, True), (against, False)):
        findings = judge_claims(claims, results_of(accuracy, sets))
        assert {name: finding.holds for name, finding in findings.items()} == {
            f"{name} x": expected for name in ("E6a", "E6b", "E6c", "E6d", "E8")
        }
        assert all(
            finding.why and finding.lower <= finding.ours <= finding.upper
            for finding in findings.values()
        )


def test_a_tie_is_no_direction():
    """The sign may be right: without an interval above 0 a claim does not hold."""
    noisy = np.random.default_rng(0)
    results = results_of(lambda *_: 0.7 + 0.05 * noisy.normal(), list(NAMES.values()))
    findings = judge_claims(microarray_claims.direction_claims("x"), results)
    assert not any(findings[f"{name} x"].holds for name in ("E6b", "E6c", "E6d"))


def test_deals_are_compared_repeat_by_repeat(tmp_path, monkeypatch):
    sets = list(NAMES.values())
    plain = results_of(as_published, sets)
    monkeypatch.setattr(microarray_dobscv, "PLAIN", tmp_path / "plain.json")
    claims = [c for c in microarray_dobscv.claims() if c.name.startswith(("E5", "E7"))]
    better = results_of(
        lambda d, r, learner, k: (
            as_published(d, r, learner, k)
            + (0.0 if d == "CNS" else 0.03)
            + 0.05 * (learner == "SVM" and r in SUBSETS)
        ),
        sets,
    )
    before = judge_claims(claims, better)
    assert {finding.holds for finding in before.values()} == {None}
    (tmp_path / "plain.json").write_text(
        json.dumps({"repeats": microarray_claims.repeats_to_store(plain)})
    )
    findings = judge_claims(claims, better)
    assert all(finding.holds for finding in findings.values())
    assert findings["E5 CNS"].ours == pytest.approx(0.05 / 8, abs=0.001)  # 3 of 12 rows, one of two
    assert findings["E5 NB"].ours == pytest.approx(0.0225, abs=1e-3)
    for shift in (-0.03, 0.03):
        everywhere = results_of(lambda *key, by=shift: as_published(*key) + by, sets)
        assert not judge_claims(claims, everywhere)["E5 CNS"].holds
    same = judge_claims(claims, plain)
    assert same["E5 NB"].ours == same["E5 SVM"].ours == 0
    assert [name for name, finding in same.items() if finding.holds] == ["E5 CNS"]
    table = microarray_dobscv.extras(better)
    assert len(table["pairs"]["SVM"]["CNS"]) == 12
    assert table["pairs"]["SVM"]["CNS"][0][:2] == [0.67, 0.65]


def test_rows_of_the_tables_and_repeats():
    results = results_of(lambda d, row, learner, k: 0.5 + 0.1 * k, ["CNS"], repeats=3)
    values = microarray_claims.by_repeat(results)
    assert set(values) == {
        ("CNS", row, learner) for row in microarray_tables.SHOWN for learner in LEARNERS
    }
    assert values["CNS", "mrmr 50", "SVM"].tolist() == pytest.approx([0.5, 0.6, 0.7])
    assert len(microarray_claims.by_split(results)["CNS", "none", "C4.5"]) == 15
    assert microarray_claims.genes(results, "CNS", "cfs").tolist() == [3.0] * 15
    assert microarray_claims.parts(results, "CNS") == (80.0, 20.0)


# ---- criteria ------------------------------------------------------------------------------------
@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.floats(0, 1))
@settings(max_examples=40)
def test_near_is_the_interval_of_one_more(values, published):
    values = np.array(values)
    finding = microarray_claims.judge_nearness(values, published, 0.01)
    n = len(values)
    spread = np.sqrt(((values - values.mean()) ** 2).sum() / (n - 1))
    half = stats.t.ppf(0.975, n - 1) * spread * np.sqrt(1 + 1 / n)
    assert finding.ours == pytest.approx(values.mean())
    assert (finding.lower, finding.upper) == pytest.approx(
        (finding.ours - half, finding.ours + half)
    )
    if abs(abs(published - finding.ours) - half - 0.01) > 1e-9:
        assert finding.holds == (abs(published - finding.ours) <= half + 0.01)


def test_the_interval_of_one_more_deal_has_its_coverage():
    draws = np.random.default_rng(1).normal(size=(4000, 11))
    inside = [microarray_claims.judge_nearness(row[:10], row[10], 0.0).holds for row in draws]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.012)


def test_one_repeat_makes_no_interval():
    finding = microarray_claims.judge_nearness(np.array([0.7]), 0.705, 0.01)
    assert finding.holds
    assert finding.lower is None


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_largest_f1_is_its_definition(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (12, 6)).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 0] = rng.normal(size=12)
    y = np.repeat(["a", "b"], [5, 7])
    expected = []
    for column in X.T:
        if np.isnan(column).any():
            continue
        first, second = column[:5], column[5:]
        within = np.var(first, ddof=1) + np.var(second, ddof=1)
        if within > 0:
            expected.append((first.mean() - second.mean()) ** 2 / within)
    assert microarray_claims.largest_f1(X, y) == pytest.approx(max(expected))
    assert microarray_claims.imbalance(y) == 7 / 5


def test_a_printed_figure_of_two_decimals():
    assert microarray_claims.judge_rounding(1.8181, 1.82).holds
    assert not microarray_claims.judge_rounding(1.8149, 1.82).holds


# ---- ties ----------------------------------------------------------------------------------------
def table(seed, rows=30, genes=40):
    rng = np.random.default_rng(seed)
    y = np.repeat(["negative", "positive"], rows // 2)
    X = rng.normal(size=(rows, genes)) + (y == "positive")[:, None] * rng.random(genes) * 2
    X[:, 5:9] = X[:, :1].round(1)  # copies, and values that tie
    return X, y


def test_genes_that_separate_the_classes_all_stay_where_ties_are_kept():
    y = np.repeat(["negative", "positive"], 10)
    X = np.random.default_rng(0).normal(size=(20, 30))
    X[:, [3, 11, 20]] += 100 * (y == "positive")[:, None]
    ties = microarray_ties.table_of_ties({"perfect": (X, y)}, {"perfect": 3}, 5)
    counts = dict(zip(ties["head"], ties["rows"][0], strict=True))
    assert counts["FCBF"] == "1.0"
    assert float(counts[microarray_tables.TIES_KEPT]) >= 3


# ---- small plans ---------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def small():
    """The methods and learners of the study on a small table."""
    X, y = table(0, rows=30, genes=60)
    X[3, 4] = np.nan
    data = {"CNS": Dataset.of(X, y, name="CNS")}
    return Study(
        microarray.methods(),
        data,
        KFold(FOLDS, n_repeats=2),
        sizes=microarray.SIZES,
        learner=microarray.learners(),
        metrics=("accuracy", "bcr"),
        fill=True,
    ).run(n_jobs=1)


def test_a_small_study_has_all_rows_of_the_tables(small):
    assert small.failures.is_empty()
    values_by_key = microarray_claims.by_repeat(small)
    assert set(values_by_key) == {("CNS", row, learner) for row in ROWS_OF for learner in LEARNERS}
    assert all(len(values) == 2 for values in values_by_key.values())
    for metric in ("sensitivity", "specificity", "bcr"):
        assert set(microarray_claims.by_repeat(small, metric)) == set(values_by_key)
    checks = {claim.name: claim for claim in microarray_claims.direction_claims("x")}
    assert checks["E8 x"].check(small).ours == max(v.mean() for v in values_by_key.values())


def test_sensitivity_is_that_of_the_positive_class(small):
    counts = np.array(small.rows["confusion"].to_list()).reshape(-1, 2, 2)
    share = counts[:, 1, 1] / counts[:, 1].sum(axis=1)
    assert small.values("sensitivity").to_numpy() == pytest.approx(share)


# ---- data ----------------------------------------------------------------------------------------
def test_tables_are_the_books(data_folder, monkeypatch):
    monkeypatch.setattr(microarray, "FOLDER", data_folder)
    microarray.read.cache_clear()
    shapes = {name: microarray.read(name)[0].shape for name in microarray.FILES}
    assert shapes == {
        BRAIN: (21, 10367),
        "CNS": (60, 7128),
        "Colon": (62, 2000),
        "DLBCL": (47, 4026),
        "Breast": (97, 24481),
    }
    for name, (positive, negative) in POSITIVES.items():
        y = microarray.read(NAMES[name])[1]
        assert ((y == "positive").sum(), (y == "negative").sum()) == (positive, negative)
    _, y, part = microarray.read("Breast")
    assert (y[part == "test"] == "positive").sum() == 7
    assert (part == "train").sum() == 78


# ---- committed results ---------------------------------------------------------------------------
def load_stored(name):
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


@pytest.mark.parametrize("name", MODULES)
def test_committed_results(name):
    committed, claims = load_stored(name), MODULES[name].claims()
    assert [row["claim"] for row in committed["verdicts"]] == [claim.name for claim in claims]
    assert [row["text"] for row in committed["verdicts"]] == [claim.text for claim in claims]
    assert len({row["claim"] for row in committed["verdicts"]}) == len(claims)
    assert all(row["why"] for row in committed["verdicts"])
    assert not committed["failures"]
    assert committed["biased"] == name.startswith("book")
    for data in committed["about"]["datasets"].values():
        assert re.fullmatch("[0-9a-f]{32}", data["hash"])
    for shown in committed.get("tables", ()):
        assert all(len(row) == len(shown["head"]) for row in shown["rows"])


def test_every_claim_about_microarrays_has_a_verdict():
    names = [name for name in MODULES if name.startswith("microarray")]
    claimed = [row["claim"] for name in names for row in load_stored(name)["verdicts"]]
    assert len(set(claimed)) == len(claimed)
    numbers = {int(match[1]) for claim in claimed if (match := re.match(r"E(\d+)", claim))}
    assert numbers == set(range(1, 9))


def test_plans_are_those_that_were_committed(data_folder, monkeypatch):
    monkeypatch.setattr(microarray, "FOLDER", data_folder)
    microarray.read.cache_clear()
    for name in MODULES:
        if not name.startswith("microarray"):
            continue
        plan, committed = MODULES[name].study().describe(), load_stored(name)["about"]
        for part in ("methods", "splits", "sizes", "learners", "selection", "fill"):
            assert plan[part] == committed[part], part
        hashes = {dataset: data["hash"] for dataset, data in plan["datasets"].items()}
        assert hashes == {dataset: data["hash"] for dataset, data in committed["datasets"].items()}


def test_the_figure_is_drawn_from_what_was_committed(monkeypatch, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    drawn = {}

    def save(figure, folder, name):
        assert folder == tmp_path
        drawn[name] = len(figure.axes)
        plt.close(figure)
        return f"{name}.svg"

    draw = importlib.import_module("microarray_figures").draw_microarray
    assert draw(ROOT, tmp_path, save) == {"microarray-dobscv": ["microarray-dobscv-deals.svg"]}
    assert drawn == {"microarray-dobscv-deals": 6}
    assert draw(tmp_path, tmp_path, save) == {}
