"""The studies of many classes: when claims hold, and the committed results."""

import importlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from studies import (
    multiclass,
    multiclass_few_rows,
    multiclass_ova,
    multiclass_real,
    multiclass_time,
)
from studies.multiclass_lists import (
    ALL_SHARES,
    RULES,
    Told,
    against_all,
    smaller_first,
    with_share,
)
from studies.multiclass_measures import (
    MADE,
    NOISE,
    ONE,
    THREE,
    TIERS,
    TWO,
    made_sizes,
    make_tables,
    relevant_of,
    runs,
    seed_of,
)

from featly.study import Results

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "studies" / "results"
MODULES = {
    "multiclass": multiclass,
    "multiclass-few-rows": multiclass_few_rows,
    "multiclass-ova": multiclass_ova,
    "multiclass-real": multiclass_real,
    "multiclass-time": multiclass_time,
}
TESTED = 10_000  # rows of made confusion matrices


# ---- made results --------------------------------------------------------------------------------
def results_of(fits, columns, drawn=True):
    """Results from (dataset, method, split, order, {size: error}, notes)."""
    keys = {"dataset": pl.String, "method": pl.String, "split": pl.Int64, "null_draw": pl.Int64}
    texts = {"failure": pl.String, "notes": pl.String}
    rankings = pl.DataFrame(
        [(d, m, s, 0, 75, 25, None, notes) for d, m, s, _, _, notes in fits],
        orient="row",
        schema={**keys, "n_train": pl.Int64, "n_test": pl.Int64, **texts},
    ).with_columns(pl.Series("order", [f[3] for f in fits]).cast(pl.List(pl.UInt32)))
    rows = pl.DataFrame(
        [
            (d, m, s, 0, "svm", size, [TESTED - round(e * TESTED), round(e * TESTED), 0, 0], None)
            for d, m, s, _, errors, _ in fits
            for size, e in errors.items()
        ],
        orient="row",
        schema={
            **keys, "learner": pl.String, "size": pl.Int64, "confusion": pl.List(pl.Int64),
            "failure": pl.String,
        },
    )  # fmt: skip
    datasets = {}
    for dataset in dict.fromkeys(f[0] for f in fits):
        p = columns[dataset]
        datasets[dataset] = {"columns": p, "names": [f"f{j + 1}" for j in range(p)]}
    about = {
        "metrics": [],
        "methods": dict.fromkeys(f[1] for f in fits),
        "datasets": datasets,
        "learners": {"svm": ""},
        "selection": "inside",
    }
    return Results(rows, rankings, about)


def note(**figures):
    return json.dumps([f"{Told.__name__}: {json.dumps(figures)}"])


def place_columns(table, targets):
    """A ranking in which groups of relevant columns have about the ranks of `targets`."""
    relevant = relevant_of(table)
    scores = np.concatenate([np.zeros(relevant), np.arange(1, NOISE + 1.0)])
    for columns, target in targets:
        scores[list(columns)] = target + 0.001 * np.arange(len(columns))
    return np.argsort(scores, kind="stable")


POSITIONS = {  # as printed, in the order of the rules; of Artificial-2 by tier
    ONE: [(70, 65, 33, 22, 79, 48)],
    TWO: [(22, 5, 9, 3, 15, 4), (80, 24, 13, 8, 50, 9), (161, 87, 22, 18, 101, 65)],
    THREE: [(27, 29, 41, 26, 28, 29)],
}
WRONG = {
    ONE: [(20, 22, 85, 90, 21, 79)],
    TWO: [(3, 9, 5, 22, 15, 40), (8, 24, 13, 80, 50, 90), (18, 87, 101, 161, 22, 65)],
    THREE: [(27, 60, 20, 90, 28, 29)],
}
ABOVE = {"K-First": 0.0, "Best": 0.01, "Schulze": 0.04, "3Q-SD": 0.10, "Av-SD": 0.11,
         "Condorcet": 0.105}  # fmt: skip
BELOW = {"K-First": 0.2, "Best": 0.15, "Schulze": 0.3, "3Q-SD": 0.0, "Av-SD": 0.11,
         "Condorcet": 0.2}  # fmt: skip


def artificial(names, *, as_published, draws=4):
    """All claims about made tables true, or all of them false."""
    fits, columns = [], {}
    for name in names:
        problem, n_classes = MADE[name]
        for draw in range(draws):
            dataset = f"{name}/{draw}"
            columns[dataset] = relevant_of(name) + NOISE
            for method, error, shift in methods_of(problem, n_classes, as_published):
                rule = method.split(",", maxsplit=1)[0]
                order = order_of(name, rule, as_published, shift if draw < 3 else 0)
                wobble = 0.0001 * ((draw * 7 + len(method)) % 3)
                errors = {2: 0.6 + wobble, 5: min(0.99, 0.2 + 2 * error + wobble)}
                ties = (300 if as_published else 20) if rule == "Condorcet" else 30
                fits.append((dataset, method, 0, order, errors, note(ties=ties)))
    return results_of(fits, columns)


def methods_of(problem, n_classes, as_published):
    """Method, what its error is above the least, and a wobble of its positions."""
    if as_published:
        scale = 0.02 if problem == 3 else 1.0 if problem == 2 else n_classes / 8
        each = {name: scale * value for name, value in ABOVE.items()}
    else:
        scale = 1.5 if problem == 3 else 3 / n_classes if problem == 1 else 1.0
        each = {name: scale * value for name, value in BELOW.items()}
    gains = {"K-First": 0.05, "Best": 0.04}
    for at, (name, error) in enumerate(each.items()):
        yield name, error, 0
        ova = gains.get(name, 0.005) if as_published else -0.01 - 0.01 * at
        yield against_all(name), max(0.0, error + ova), 0
        if name in ("3Q-SD", "Av-SD"):
            yield smaller_first(name), error + (0.01 if as_published else -0.02), 0
    first = each["K-First"]
    for share in ALL_SHARES:
        if share == 0.1:
            continue
        if as_published:
            away = abs(np.log10(share * 10)) * (0.001 if problem == 3 else 0.08)
            whole = each["Av-SD"] if share == 1 else first + away
        else:
            away = 0.05 * share if problem == 3 else 0.0
            whole = max(0.0, first + away - (0.015 if share == 0.01 else 0.0))
        yield with_share(share), whole, 0


def order_of(table, rule, as_published, shift):
    targets = (POSITIONS if as_published else WRONG).get(table)
    if targets is None:
        return place_columns(table, [(range(relevant_of(table)), 3)])
    at = list(RULES).index(rule)
    groups = list(TIERS.values()) if table == TWO else [range(relevant_of(table))]
    return place_columns(
        table,
        [(group, max(0, tier[at] - len(group) / 2 - 2) + shift)
         for group, tier in zip(groups, targets, strict=True)],
    )  # fmt: skip


def verdicts_of(results, claims):
    results.claims = claims
    return {verdict.claim.name: verdict.verdict for verdict in results.verdicts()}


def test_claims_of_made_tables():
    every = multiclass_few_rows.claims()
    right = verdicts_of(artificial(list(MADE), as_published=True), every)
    assert {name for name, word in right.items() if word != "holds"} == set()
    wrong = verdicts_of(artificial(list(MADE), as_published=False), every)
    assert {name for name, word in wrong.items() if word != "does not hold"} == set()


def test_claims_differ_in_name_only_where_rows_are_few():
    few = [claim.name.removesuffix("-few") for claim in multiclass_few_rows.claims()]
    assert sorted(few) == sorted(
        claim.name for claim in [*multiclass.claims(), *multiclass_ova.claims()]
    )


def real(errors_of, n_splits=6):
    """Real tables; `errors_of` gives an error by domain, size and method."""
    fits, columns = [], {}
    for domain, tables in multiclass_real.DOMAINS.items():
        for table in tables:
            columns[table] = 60
            for method in multiclass_real.METHODS:
                for split in range(n_splits):
                    wobble = 0.001 * ((split * 3 + len(method)) % 4)
                    errors = {
                        size: errors_of(domain, size, method) + wobble
                        for size in multiclass_real.SIZES
                    }
                    notes = note(C=1.0, listing=0.5, combining=0.1)
                    fits.append((table, method, split, np.arange(60), errors, notes))
    return results_of(fits, columns)


def by_score(domain, size, method):
    """Errors that make the printed scores, or their opposite."""
    printed = multiclass_real.PRINTED.get((domain, size), range(9))
    return 0.5 - 0.02 * printed[list(multiclass_real.METHODS).index(method)]


def test_claims_of_real_tables():
    every = multiclass_real.claims()
    right = real(by_score)
    assert set(verdicts_of(right, every).values()) == {"holds", "cannot be tested"}
    wrong = real(lambda *key: 1 - by_score(*key))
    words = verdicts_of(wrong, every)
    untestable = {name for name, word in words.items() if word == "cannot be tested"}
    assert untestable == {"T8g", "T8h"}
    assert {word for name, word in words.items() if name not in untestable} == {"does not hold"}
    scores = multiclass_real.scores(right, "GE", 20)
    assert list(scores.values()) == list(multiclass_real.PRINTED["GE", 20])
    assert multiclass_real.sure_scores(right, "GE", 20) == scores
    shown = multiclass_real.extras(right)
    assert shown["seconds"]["lung"]["K-First"] == 0.6
    assert shown["prices"]["CNS"] == {"1": 6}
    assert shown["table8"][0]["printed"][3] == 8
    assert all(len(row) == len(t["head"]) for t in shown["tables"] for row in t["rows"])


def time_results(*, as_published):
    """Times by power laws."""
    combine = dict(zip(RULES, (0.002, 0.001, 0.001, 0.001, 0.003, 1.0), strict=True))
    if not as_published:
        combine |= {"Best": 0.01, "K-First": 0.02}
    fits, columns = [], {}
    for table in multiclass_time.datasets():
        size, unit = table.split()
        p = int(size) if unit == "columns" else multiclass_time.MANY_COLUMNS
        n = int(size) if unit == "rows" else multiclass_time.MANY_ROWS
        columns[table] = p
        for method in multiclass_time.METHODS:
            for split in range(2):
                slow = 1 + 0.5 * split  # the shorter run counts
                power = {True: (1.1, 2.0), False: (1.6, 1.1)}[as_published]
                cubic = 3 if as_published else 2
                if method in RULES:
                    spent = (p / 100) ** power[0] * (n / 250) ** power[0]
                    joined = combine[method] * (p / 1600) ** (cubic if method == "Schulze" else 1)
                else:
                    spent, joined = p * (n / 250) ** power[1], 0.0
                notes = note(listing=spent * slow, combining=joined * slow)
                fits.append((table, method, split, np.arange(p), {2: 0.5}, notes))
    return results_of(fits, columns)


def test_claims_of_time():
    every = multiclass_time.claims()
    assert set(verdicts_of(time_results(as_published=True), every).values()) == {"holds"}
    assert set(verdicts_of(time_results(as_published=False), every).values()) == {"does not hold"}
    shown = multiclass_time.extras(time_results(as_published=True))
    assert shown["columns"]["seconds"]["Zhou OVO"][0] == pytest.approx(100 * 4)
    assert all(len(row) == len(t["head"]) for t in shown["tables"] for row in t["rows"])


# ---- tables --------------------------------------------------------------------------------------
def test_made_tables():
    tables = make_tables([ONE, TWO], 2, lambda n_classes: 2 * n_classes)
    assert list(tables) == [f"{ONE}/0", f"{TWO}/0", f"{ONE}/1", f"{TWO}/1"]
    assert [data.n_features for data in tables.values()] == [540, 525] * 2
    assert len({data.fingerprint for data in tables.values()}) == 4
    assert tables[f"{ONE}/0"].names[:3] != ["f1", "f2", "f3"]  # shuffled
    seeds = [seed_of(name, draw) for name in MADE for draw in range(50)]
    assert len(set(seeds)) == len(seeds)
    fewer = make_tables([ONE, TWO], 3, lambda n_classes: n_classes, {TWO: 1})
    assert list(fewer) == [f"{ONE}/0", f"{TWO}/0", f"{ONE}/1", f"{ONE}/2"]
    assert made_sizes(540) == [2, 5, 10, 20, 40, 80]
    assert made_sizes(515) == [2, 5, 10, 15, 20, 30]
    assert made_sizes(580) == [2, 5, 10, 20, 40, 80]


def test_runs_of_draws_are_by_the_names_of_columns():
    fits = [
        ("Artificial-1-3C/0", "K-First", 0, [2, 0, 1], {2: 0.1}, note(ties=3)),
        ("Artificial-1-3C/1", "K-First", 0, [0, 1, 2], {2: 0.3}, note(ties=1)),
    ]
    results = results_of(fits, {"Artificial-1-3C/0": 3, "Artificial-1-3C/1": 3})
    results.about["datasets"]["Artificial-1-3C/0"]["names"] = ["f3", "f1", "f2"]
    method_runs = runs(results, "Artificial-1-3C", "K-First")
    assert method_runs.orders.tolist() == [[1, 2, 0], [0, 1, 2]]
    assert method_runs.errors.ravel().tolist() == pytest.approx([0.1, 0.3])
    assert method_runs.figure("ties").tolist() == [3, 1]
    assert method_runs.parts is None


def test_real_tables(data_folder, monkeypatch):
    monkeypatch.setattr(multiclass_real, "FOLDER", data_folder)
    tables = multiclass_real.datasets()
    shapes = {name: (d.n_features, d.n_rows, len(d.classes)) for name, d in tables.items()}
    assert shapes == {
        "mfeat": (649, 2000, 10),
        "libras": (90, 360, 15),
        "robot LP1": (90, 88, 4),
        "robot LP3": (90, 47, 4),
        "robot LP4": (90, 117, 3),
        "robot LP5": (90, 164, 5),
        "leukemia": (985, 248, 6),
        "lung": (1543, 197, 4),
        "CNS": (1379, 42, 5),
        "Novartis": (500, 103, 4),
    }


# ---- committed results ---------------------------------------------------------------------------
def load_stored(name):
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


@pytest.mark.parametrize("name", MODULES)
def test_committed_results(name):
    committed, claims = load_stored(name), MODULES[name].claims()
    assert [row["claim"] for row in committed["verdicts"]] == [claim.name for claim in claims]
    assert [row["text"] for row in committed["verdicts"]] == [claim.text for claim in claims]
    assert all(row["why"] for row in committed["verdicts"])
    assert {"featly", "python", "numpy", "numba"} <= set(committed["about"]["versions"])
    assert committed["seeds"]
    assert not committed["failures"]
    assert not committed["biased"]
    for data in committed["about"]["datasets"].values():
        assert re.fullmatch("[0-9a-f]{32}", data["hash"])
    assert (RESULTS / f"{name}.json").stat().st_size < 300_000
    for table in committed["tables"]:
        assert all(len(row) == len(table["head"]) for row in table["rows"])


def test_every_claim_of_the_paper_has_a_verdict():
    claimed = [row["claim"] for name in MODULES for row in load_stored(name)["verdicts"]]
    assert len(set(claimed)) == len(claimed)
    numbers = {int(match[1]) for claim in claimed if (match := re.match(r"C(\d+)", claim))}
    assert numbers == set(range(1, 10))
    assert {claim for claim in claimed if claim.startswith("T8")} == {f"T8{x}" for x in "abcdefghi"}


def test_plans_are_those_that_were_committed(data_folder, monkeypatch):
    monkeypatch.setattr(sys.modules["studies.multiclass_real"], "FOLDER", data_folder)
    for name in ("multiclass-real", "multiclass-time", "multiclass-ova"):
        plan, committed = MODULES[name].study().describe(), load_stored(name)["about"]
        for part in ("methods", "splits", "sizes", "learners", "selection", "random_state"):
            assert plan[part] == committed[part], part
        hashes = {table: data["hash"] for table, data in plan["datasets"].items()}
        assert hashes == {table: data["hash"] for table, data in committed["datasets"].items()}


def test_scores_add_up():
    for row in load_stored("multiclass-real")["table8"]:
        assert len(row["printed"]) == len(row["methods"]) == 9
        if "ours" in row:
            assert sum(row["ours"]) <= 36
            assert all(s <= o for s, o in zip(row["sure"], row["ours"], strict=True))


def test_figures_are_drawn_from_what_was_committed(monkeypatch, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    drawn = {}

    def save(figure, folder, name):
        assert folder == tmp_path
        drawn[name] = len([axis for axis in figure.axes if axis.get_visible()])
        plt.close(figure)
        return f"{name}.svg"

    files = importlib.import_module("multiclass_figures").draw_multiclass(ROOT, tmp_path, save)
    assert list(files) == list(MODULES)
    assert drawn == {
        "multiclass-k": 4,
        "multiclass-ties": 2,
        "multiclass-rules": 6,
        "multiclass-few-rows-k": 4,
        "multiclass-few-rows-ties": 2,
        "multiclass-few-rows-ova": 4,
        "multiclass-few-rows-rules": 9,
        "multiclass-ova-ova": 4,
        "multiclass-real-table-8": 4,
        "multiclass-real-errors": 10,
        "multiclass-time-7": 3,
    }
