"""The study of the advice: its figures, and the committed results."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from studies import advice, advice_claims
from studies.advice_claims import (
    ADVICE,
    BY_CHANCE,
    SEEN,
    at_size_of_others,
    nearness,
    values_of,
    values_of_advice,
)

from featly.study import Dataset, Study, Subsampling
from featly.study.advise.rules import RULES

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "studies" / "results" / "advice.json"
PAGE = ROOT / "docs" / "guide" / "advise.md"


# ---- values --------------------------------------------------------------------------------------
def test_the_size_of_a_split_comes_from_the_other_splits():
    # the first split does best at the second size, all others at the first
    grid = np.array([[0.1, 1.0], [0.9, 0.2], [0.8, 0.3]])
    assert at_size_of_others(grid).tolist() == [0.1, 0.2, 0.3]
    # split 0: means of the others .85 and .25; split 1: .45 and .65; split 2: .5 and .6
    assert at_size_of_others(np.array([[0.5, 0.5], [0.5, 0.5]])).tolist() == [0.5, 0.5]


def make_data(n_rows=40, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n_rows, 6)), np.arange(n_rows) % n_classes
    X[:, 0] += 2 * y
    return Dataset.of(X, y, name=f"made {seed}")


@pytest.fixture(scope="module")
def results():
    names = ("none", "relieff", "cfs", "svm-rfe", "multiclass-svm-rfe")
    study = Study(
        {name: advice.methods()[name] for name in names},
        {"made 0": make_data(), "made 1": make_data(45, 1, 3)},
        Subsampling(4, test_size=0.2),
        sizes=[1, 2, 4],
        learner=["linear-svm", "5-nn"],
        metrics=("bcr",),
    )
    return study.run(n_jobs=1)


def test_values_are_means_of_the_learners_at_the_size_of_the_others(results):
    values = values_of(results)
    assert set(values) == {"made 0", "made 1"}
    assert set(values["made 0"]) == {"relieff", "cfs", "svm-rfe", "multiclass-svm-rfe"}
    by_hand = []
    for learner in ("linear-svm", "5-nn"):
        rows = results.rows.filter(dataset="made 0", method="relieff", learner=learner)
        grid = np.array([rows.filter(split=k).sort("size")["bcr"].to_list() for k in range(4)])
        sizes = [int(np.delete(grid, k, axis=0).mean(axis=0).round(12).argmax()) for k in range(4)]
        by_hand.append([grid[k, size] for k, size in enumerate(sizes)])
    assert values["made 0"]["relieff"] == pytest.approx(np.mean(by_hand, axis=0))
    own = results.rows.filter(dataset="made 0", method="cfs")
    means = [own.filter(split=k)["bcr"].mean() for k in range(4)]
    assert values["made 0"]["cfs"] == pytest.approx(means)
    assert "cfs" not in values_of(results, all_sizes=True)["made 0"]


def test_on_two_classes_both_eliminations_are_one(results):
    values = values_of(results)
    assert values["made 0"]["multiclass-svm-rfe"] is values["made 0"]["svm-rfe"]
    assert values["made 1"]["multiclass-svm-rfe"] is not values["made 1"]["svm-rfe"]
    failures = results.failures.filter(method="multiclass-svm-rfe")
    assert set(failures["dataset"]) == {"made 0"}


def test_the_advice_counts_split_by_split():
    values = {"t": {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])}}
    choices = {"t": [{"method": "a", "rule": ""}, {"method": "b", "rule": ""}]}
    assert values_of_advice(values, choices)["t"].tolist() == [1.0, 4.0]
    choices["t"][0] = {"method": "c", "rule": ""}
    assert values_of_advice(values, choices)["t"] is None


def test_nearness_by_hand():
    best = np.array([0.9, 0.8, 0.9, 0.8])
    values = {
        "one": {"a": best, "b": best - 0.02, "c": best - 0.3},
        "two": {"a": best - 0.021, "b": best},
    }
    ours = {"one": values["one"]["b"], "two": values["two"]["a"]}
    parts = {"one": (80, 20), "two": (80, 20)}
    results_by_method = nearness(values, parts, ours)
    # differences are constant, so there is no noise at all
    assert results_by_method[ADVICE]["close"] == 1
    assert results_by_method[ADVICE]["within"] == 0
    assert results_by_method[ADVICE]["loss"] == pytest.approx((0.02 + 0.021) / 2)
    assert (results_by_method["a"]["close"], results_by_method["a"]["within"]) == (1, 1)
    assert (results_by_method["b"]["close"], results_by_method["b"]["within"]) == (2, 1)
    assert (results_by_method["c"]["taken"], results_by_method["c"]["close"]) == (1, 0)
    assert results_by_method["c"]["tables"] == 2
    # one at random: 2 of 3 are close on the first table, 1 of 2 on the second
    assert results_by_method[BY_CHANCE]["close"] == pytest.approx(2 / 3 + 1 / 2)
    assert results_by_method[BY_CHANCE]["within"] == pytest.approx(1 / 3 + 1 / 2)


def test_noise_comes_from_the_splits():
    noisy = np.array([0.9, 0.5, 0.95, 0.55, 0.7])
    values = {"t": {"a": noisy, "b": noisy[::-1] - 0.01}}
    results_by_method = nearness(values, {"t": (80, 20)}, {"t": values["t"]["b"]})
    assert results_by_method[ADVICE]["within"] == 1
    assert results_by_method[ADVICE]["loss"] == pytest.approx(0.01)


def test_the_advice_is_made_from_training_rows_and_cached(tmp_path, monkeypatch):
    monkeypatch.setattr(advice_claims, "CACHE", tmp_path / "kept.json")
    seen = []
    advise = advice_claims.advise

    def record_rows(X, y, **options):
        seen.append(np.asarray(X))
        return advise(X, y, **options)

    monkeypatch.setattr(advice_claims, "advise", record_rows)
    data, splits = make_data(), Subsampling(3, test_size=0.25)
    choices = advice_claims.choices_of({"made": data}, splits)
    assert [choice["method"] for choice in choices["made"]] == ["relieff"] * 3
    for X, split in zip(seen, splits.split(data.X, data.codes), strict=True):
        assert np.array_equal(X, data.X[split.train])
    assert advice_claims.choices_of({"made": data}, splits) == choices
    assert len(seen) == 3  # the second time it is read
    advice_claims.choices_of({"made": make_data(seed=2)}, splits)
    assert len(seen) == 6


def test_every_method_that_can_be_advised_is_a_candidate():
    without_prior = {rule.method for rule in RULES if not rule.name.startswith("prior")}
    assert without_prior <= set(advice.methods())
    for rule in RULES:
        if rule.name.startswith("prior"):
            continue
        candidate = advice.methods()[rule.method].get_params()
        assert all(candidate[name] == value for name, value in rule.parameters.items())


# ---- the data ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "shape", "n_classes"),
    [("monk1", (556, 6), 2), ("mfeat", (1000, 649), 10), ("kddcup99", None, 5)],
)
def test_tables_are_as_described(data_folder, name, shape, n_classes):
    data = advice.read(data_folder / f"{name}.parquet")
    assert len(data.classes) == n_classes
    if shape is None:
        assert np.bincount(data.codes).max() == advice.A_CLASS
        assert data.n_features == 41
    else:
        assert (data.n_rows, data.n_features) == shape


# ---- committed results ---------------------------------------------------------------------------
@pytest.fixture(scope="module")
def committed_study():
    return json.loads(COMMITTED.read_text("utf-8"))


def test_the_committed_plan_is_this_one(committed_study):
    about = committed_study["about"]
    assert about["splits"] == repr(advice.SPLITS)
    assert list(about["methods"]) == list(advice.methods())
    assert about["sizes"] == str(advice.SIZES)
    assert about["fill"]
    assert not committed_study["biased"]
    assert all(len(data["hash"]) == 32 for data in about["datasets"].values())


def test_the_committed_figures_follow_from_the_committed_values(committed_study):
    stored_advice = committed_study["advice"]
    looks = stored_advice["looks"]["both learners"]
    tables = stored_advice["tables"]
    assert looks[ADVICE]["tables"] == len(tables) == len(committed_study["about"]["datasets"])
    assert looks[ADVICE]["close"] == sum(row["close"] for row in tables.values())
    assert looks[ADVICE]["within"] == sum(row["within"] for row in tables.values())
    for row in tables.values():
        best = max(row["values"].values())
        assert row["values"][row["best"]] == best
        assert row["loss"] == pytest.approx(best - row["value"], abs=2e-4)
        assert bool(row["close"]) == (row["loss"] <= 0.02 + 1e-9)
    for method in looks:
        if method in (ADVICE, BY_CHANCE):
            continue
        near = [max(r["values"].values()) - r["values"][method] <= 0.02 for r in tables.values()
                if method in r["values"]]  # fmt: skip
        assert looks[method]["close"] == pytest.approx(sum(near), abs=1)  # values are rounded
    assert {name for name, row in tables.items() if row["new"]} == set(tables) - SEEN


def test_verdicts_follow_from_the_figures(committed_study):
    verdicts = {row["claim"]: row["verdict"] for row in committed_study["verdicts"]}
    for claim, title in (("A{}", "both learners"), ("A5 {}", "tables of no earlier study")):
        look = committed_study["advice"]["looks"][title]
        ours, chance = look[ADVICE], look[BY_CHANCE]
        others = [row for name, row in look.items() if name not in (ADVICE, BY_CHANCE)]
        names = "1234" if title == "both learners" else ("within", "close", "chance", "mean")
        expected = (
            ours["within"] >= 0.9 * ours["tables"],
            ours["close"] > max(row["close"] for row in others),
            ours["close"] > chance["close"],
            ours["value"] > max(r["value"] for r in others if r["taken"] == ours["tables"]),
        )
        for name, holds in zip(names, expected, strict=True):
            assert verdicts[claim.format(name)] == ("holds" if holds else "does not hold")


def test_the_guide_has_the_committed_figures(committed_study):
    page = PAGE.read_text("utf-8")
    ours = committed_study["advice"]["looks"]["both learners"][ADVICE]
    new = committed_study["advice"]["looks"]["tables of no earlier study"][ADVICE]
    for row in (ours, new):
        assert f"{row['within']:.0f} of {row['tables']}" in page
        assert f"{row['close']:.0f} of {row['tables']}" in page
    chance = committed_study["advice"]["looks"]["both learners"][BY_CHANCE]
    assert f"{chance['close']:.1f}" in page


def test_the_guide_has_the_committed_times(committed_study):
    took = committed_study["advice"]["seconds"]
    page = " ".join(PAGE.read_text("utf-8").split())
    text = f"all its fits took {took[ADVICE]:.0f} s in this run, on a busy machine, SVM-RFE's "
    text += f"{took['svm-rfe']:.0f}, MKL-RFE's {took['mkl-rfe']:.0f}, the forest's "
    assert text + f"{took['forest']:.0f} with" in page


def test_the_table_of_the_guide_is_the_committed_one(committed_study):
    look = committed_study["advice"]["looks"]["both learners"]
    page = PAGE.read_text("utf-8")
    rows = re.findall(r"^\| always `([\w-]+)` \| (\d+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \|", page,
                      flags=re.MULTILINE)  # fmt: skip
    assert len(rows) == 7
    for method, *cells in rows:
        row = look[method]
        assert [f"{row['within']:.0f}", f"{row['close']:.0f}"] == cells[:2]
        assert [f"{row['loss']:.3f}", f"{row['value']:.3f}"] == cells[2:]


def test_the_guide_lists_every_rule():
    page = PAGE.read_text("utf-8")
    rows = re.findall(r"^\| (\d+) \| (.*?) \| `([\w.-]+)`", page, flags=re.MULTILINE)
    assert [int(number) for number, _, _ in rows] == list(range(1, len(RULES) + 1))
    assert [method for _, _, method in rows] == [rule.method for rule in RULES]
