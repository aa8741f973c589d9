"""The studies of prior knowledge: when claims hold, and the committed results."""

import functools
import importlib
import json
import re
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats
from studies import prior, prior_all_rows, prior_claims, prior_norms, prior_partition
from studies.prior_measures import (
    MARKERS,
    PLAIN,
    POWERS,
    PS,
    RFE,
    SIZES,
    SMALL,
    SN,
    WEIGHTS,
    Gain,
    Runs,
    both_gain,
    jackknife,
    mean_rate_gain,
    of_shares,
    random_names,
    rate_gain,
    runs,
    stability_drop,
    stability_gain,
    weight_name,
)

from featly import AROM, SVMRFE, Schema, SignalToNoise
from featly.measures.stability import kuncheva_index, nogueira_stability
from featly.measures.statistics import corrected_resampled_t
from featly.study import Dataset, Results, Study
from featly.study.store import ALL_ROWS

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "studies" / "results"
COMMITTED = ("prior", "prior-all-rows", "prior-norms", "prior-partition")
P = 1500  # columns of made tables
DEPTH = 512


# ---- made results --------------------------------------------------------------------------------
def make_results(tables, n_splits, sizes=tuple(SIZES)):
    """Results in which each method is as stable and as good as `tables` has it.

    `tables` maps dataset and method to (share of the ranks that are the same in every split, one
    or one a rank; balanced rate; seed of what differs).
    """
    rows, rankings, orders = [], [], []
    for (dataset, method), (steady, rate, seed) in tables.items():
        rng = np.random.default_rng(seed)
        for split in range(n_splits):
            same = rng.random(DEPTH) < steady
            others = 600 + rng.permutation(P - 600)[:DEPTH]
            order = np.where(same, np.arange(DEPTH), others)
            rankings.append((dataset, method, split, 0, 69, 8, False, 0.1, None, None))
            orders.append(order)
            wiggle = 0.001 * np.sin(split * (seed + 2))
            values = np.broadcast_to(rate, len(sizes)) + wiggle
            rows += [
                (dataset, method, split, 0, "linear SVM", size, None, 0.01, None, float(value))
                for size, value in zip(sizes, values, strict=True)
            ]
    keys = {"dataset": pl.String, "method": pl.String, "split": pl.Int64, "null_draw": pl.Int64}
    text_columns = {"failure": pl.String, "notes": pl.String}
    fits = pl.DataFrame(
        rankings,
        orient="row",
        schema={
            **keys, "n_train": pl.Int64, "n_test": pl.Int64, "subset": pl.Boolean,
            "select_seconds": pl.Float64, **text_columns,
        },
    ).with_columns(pl.Series("order", orders).cast(pl.List(pl.UInt32)))  # fmt: skip
    outcomes = pl.DataFrame(
        rows,
        orient="row",
        schema={
            **keys, "learner": pl.String, "size": pl.Int64, "confusion": pl.List(pl.Int64),
            "seconds": pl.Float64, "failure": pl.String, "bcr": pl.Float64,
        },
    )  # fmt: skip
    names = {}
    for dataset, _ in tables:
        names[dataset] = [f"g{k}" for k in range(P)]
        names[dataset][P - 3 :] = [*MARKERS.get(dataset, {"": ""}).values(), "", ""][:3]
    about = {
        "metrics": ["bcr"],
        "methods": dict.fromkeys(method for _, method in tables),
        "datasets": {d: {"columns": P, "kinds": {}, "names": n} for d, n in names.items()},
        "learners": {"linear SVM": ""},
        "selection": "inside",
        "splitter": "Subsampling",
        "estimator": None,
        "null": 0,
    }
    return Results(outcomes, fits, about)


def dropping(few, many):
    """Stable from rank 64 on, unstable before: signatures of few genes differ."""
    return np.where(np.arange(DEPTH) < 50, few, many)


def protocol_a(*, as_published):
    """All methods of the first protocol; each claim of the paper true, or each of them false."""
    if as_published:
        level = {
            "DLBCL": {PS: (0.9, 0.90), PLAIN: (0.4, 0.85), RFE: (0.3, 0.87), SN: (0.3, 0.90)},
            "leukemia": {PS: (0.99, 0.95), PLAIN: (0.2, 0.80), RFE: (0.1, 0.78), SN: (0.6, 0.95)},
        }
        chance = {"DLBCL": (0.6, 0.85), "leukemia": (0.15, 0.80)}
        weighed = {"DLBCL": (0.9, 0.90), "leukemia": (0.99, 0.95)}
        level["DLBCL"][SN] = (dropping(0.3, 0.98), 0.90)
    else:
        level = {
            "DLBCL": {PS: (0.4, 0.85), PLAIN: (0.5, 0.86), RFE: (0.8, 0.95), SN: (0.5, 0.80)},
            "leukemia": {PS: (0.2, 0.80), PLAIN: (0.6, 0.90), RFE: (0.8, 0.95), SN: (0.9, 0.95)},
        }
        chance = {"DLBCL": (0.2, 0.94), "leukemia": (0.9, 0.95)}
        weighed = {"DLBCL": (0.8, 0.90), "leukemia": (0.9, 0.95)}
        level["DLBCL"][SN] = (dropping(0.95, 0.3), 0.80)
    tables = {}
    for dataset, methods in level.items():
        for seed, (method, level_of_method) in enumerate(methods.items()):
            tables[dataset, method] = (*level_of_method, seed)
        for seed, name in enumerate(random_names(), 10):
            tables[dataset, name] = (*chance[dataset], seed)
        for weight in WEIGHTS:  # with the seed of PS: only the given values differ
            tables[dataset, weight_name(weight)] = (*weighed[dataset], 0)
    return make_results(tables, 20)


def protocol_b(*, as_published):
    """The second protocol, four tables and ten outer splits of each."""
    tables = {}
    for number, dataset in enumerate(("DLBCL", "leukemia", "prostate", "colon")):
        if as_published:
            level = {PS: (0.8, 0.90), PLAIN: (0.3, 0.80), RFE: (0.2, 0.82), SN: (0.6, 0.90)}
        else:
            level = {PS: (0.3, 0.80), PLAIN: (0.8, 0.90), RFE: (0.7, 0.85), SN: (0.5, 0.90)}
        for outer in range(1, 11):
            for seed, (method, level_of_method) in enumerate(level.items()):
                key = f"{dataset}/{outer}", method
                tables[key] = (*level_of_method, 100 * number + 4 * outer + seed)
    return make_results(tables, 4)


@functools.lru_cache
def verdicts(module, *, as_published):
    results = {prior: protocol_a, prior_partition: protocol_b}[module](as_published=as_published)
    results.claims = module.claims()
    return {verdict.claim.name: verdict for verdict in results.verdicts()}


A_CLAIMS = [claim.name for claim in prior.claims()]
B_CLAIMS = [claim.name for claim in prior_partition.claims()]


@pytest.mark.parametrize(
    ("module", "name"),
    [(prior, name) for name in A_CLAIMS] + [(prior_partition, name) for name in B_CLAIMS],
    ids=[*A_CLAIMS, *B_CLAIMS],
)
def test_a_claim_holds_where_it_is_true_and_nowhere_else(module, name):
    assert verdicts(module, as_published=True)[name].verdict == "holds"
    assert verdicts(module, as_published=False)[name].verdict == "does not hold"


def test_a_gain_at_all_sizes_but_one_is_not_at_every_size():
    first_varies = np.r_[0.0, np.full(DEPTH - 1, 0.99)]
    tables = {("DLBCL", PS): (first_varies, 0.9, 0), ("DLBCL", PLAIN): (0.2, 0.9, 1)}
    results = make_results(tables, 20)
    results.claims = [claim for claim in prior.claims() if claim.name == "B6"]
    (verdict,) = results.verdicts()
    assert verdict.verdict == "does not hold"
    assert verdict.finding.why.endswith("; not above 0 at 1")


def test_a_gain_that_is_not_drastic():
    tables = {("DLBCL", PS): (0.84, 0.9, 0), ("DLBCL", PLAIN): (0.8, 0.9, 0)}
    results = make_results(tables, 200)
    results.claims = [claim for claim in prior.claims() if claim.name == "B6"]
    (verdict,) = results.verdicts()
    assert 0 < verdict.finding.ours < 0.1
    assert verdict.finding.why.endswith("; above 0 at every size")
    assert verdict.verdict == "does not hold"


def norms(*, as_published):
    """Both norms alike, or all different."""
    level = {PS: (0.8, 0.90, 0), PLAIN: (0.4, 0.85, 1)}
    if as_published:
        level |= {prior_norms.PS1: (0.8, 0.90, 0), prior_norms.PLAIN1: (0.4, 0.85, 3)}
    else:
        level |= {prior_norms.PS1: (0.3, 0.80, 2), prior_norms.PLAIN1: (0.6, 0.80, 3)}
    tables = {(dataset, m): verdict for dataset in MARKERS for m, verdict in level.items()}
    results = make_results(tables, 8, tuple(size for size in SIZES if size <= 64))
    slow = pl.col("method").is_in([prior_norms.PS1, prior_norms.PLAIN1]) == as_published
    results.rankings = results.rankings.with_columns(
        pl.when(slow).then(0.3).otherwise(0.1).alias("select_seconds")
    )
    results.claims = prior_norms.claims()
    return {verdict.claim.name: verdict.verdict for verdict in results.verdicts()}


def test_norms():
    assert set(norms(as_published=True).values()) == {"holds"}
    assert set(norms(as_published=False).values()) == {"does not hold"}


@pytest.mark.parametrize("as_published", [True, False])
def test_two_signatures(as_published):
    genes = [f"g{k}" for k in range(100)]
    tr, ldha = MARKERS["DLBCL"].values()
    names = [*genes, tr, ldha]
    if as_published:
        plain = [*range(60), 100, *range(60, 100), 101]
        favoured = [101, 100, *range(6), *range(40, 98), *range(6, 40), 98, 99]
    else:
        plain = [*range(20), 100, *range(20, 100), 101]
        favoured = [0, 101, *range(1, 20), 100, *range(20, 100)]
    rankings = pl.DataFrame(
        {
            "dataset": ["DLBCL"] * 2,
            "method": [PLAIN, PS],
            "split": [ALL_ROWS] * 2,
            "order": [plain, favoured],
        }
    )
    about = {"metrics": [], "datasets": {"DLBCL": {"names": names}}, "selection": "outside"}
    results = Results(pl.DataFrame({"dataset": []}), rankings, about)
    checks = {claim.name: claim.check(results) for claim in prior_all_rows.claims()[:4]}
    assert {name: finding.holds for name, finding in checks.items()} == dict.fromkeys(
        ("B1", "B2", "B3a", "B3b"), as_published
    )
    assert checks["B3a"].ours == (6 if as_published else 30 - 1)
    assert checks["B2"].why == f"TR has rank {favoured.index(100) + 1}, LDHA has rank " + str(
        favoured.index(101) + 1
    )


# ---- measures ------------------------------------------------------------------------------------
def some_runs(seed, n_splits=7, p=40):
    rng = np.random.default_rng(seed)
    orders = np.array([rng.permutation(p)[:16] for _ in range(n_splits)])
    orders[:, :3] = np.argsort(rng.random((n_splits, 5)))[:, :3] + p - 5
    orders[:, 3:] %= p - 5
    orders = np.array([[*o[:3], *list(dict.fromkeys(o[3:].tolist()))[:9]] for o in orders])
    return Runs(orders, rng.uniform(0.5, 1, (n_splits, 4)), (1, 2, 4, 8), p, (63.0, 7.0))


def naive_ki(method_runs, at, rows):
    sets = [method_runs.orders[row, : method_runs.sizes[at]] for row in rows]
    return np.mean(
        [kuncheva_index([a, b], method_runs.n_features) for a, b in combinations(sets, 2)]
    )


def naive_gain(figure, n_splits):
    """A figure of the rows that are given: with all, and the jackknife."""
    rows = range(n_splits)
    value = figure(rows)
    left = np.array([figure([r for r in rows if r != gone]) for gone in rows])
    half = stats.t.ppf(0.975, n_splits - 1) * np.sqrt(
        (n_splits - 1) ** 2 / n_splits * left.var(ddof=1)
    )
    return value, value - half, value + half


def close(gain, expected):
    assert (gain.mean, gain.lower, gain.upper) == pytest.approx(expected)


def test_differences_of_stability_are_those_of_pairs_of_sets():
    first, second = some_runs(1), some_runs(2)
    sizes = [2, 4, 8]

    def difference(rows):
        return np.mean([naive_ki(first, a, rows) - naive_ki(second, a, rows) for a in (1, 2, 3)])

    close(stability_gain(first, second, sizes), naive_gain(difference, 7))


def test_differences_of_geometric_means():
    first, second = some_runs(3), some_runs(4)

    def level(run, rows):
        rows = list(rows)
        return np.mean(
            [
                np.sqrt(max(0, naive_ki(run, a, rows)) * run.rates[rows, a].mean())
                for a in (0, 2)
            ]
        )  # fmt: skip

    close(
        both_gain(first, second, [1, 4]),
        naive_gain(lambda r: level(first, r) - level(second, r), 7),
    )


def test_a_drop_of_stability_within_a_method():
    method_runs = some_runs(5)

    def drop(rows):
        return naive_ki(method_runs, 3, rows) - np.mean(
            [naive_ki(method_runs, a, rows) for a in (0, 1)]
        )

    close(stability_drop(method_runs, [8], [1, 2]), naive_gain(drop, 7))


def test_differences_of_rates_have_the_corrected_interval():
    first, second, third = some_runs(6), some_runs(7), some_runs(8)
    apart = first.rates[:, [1, 2]].mean(axis=1) - second.rates[:, [1, 2]].mean(axis=1)
    test = corrected_resampled_t(apart, 63, 7)
    close(rate_gain(first, second, [2, 4]), (test.mean, test.lower, test.upper))
    means = (first.rates[:, 3] + third.rates[:, 3]) / 2 - second.rates[:, 3]
    test = corrected_resampled_t(means, 63, 7)
    close(mean_rate_gain([first, third], second, [8]), (test.mean, test.lower, test.upper))


def test_outer_splits_share_rows():
    values = [0.1, 0.3, 0.2]
    spread = np.sqrt((1 / 3 + 0.2 / 0.8) * np.var(values, ddof=1)) * stats.t.ppf(0.975, 2)
    close(of_shares(values, 0.2), (0.2, 0.2 - spread, 0.2 + spread))


def test_stability_of_columns_that_are_not_favoured(monkeypatch):
    runs_by_method = {PS: some_runs(9), PLAIN: some_runs(10)}
    monkeypatch.setattr(
        prior_claims, "runs", lambda results, dataset, method: runs_by_method[method]
    )
    favoured = [36, 38]  # two of the five columns that most signatures hold
    with_, without, gain = prior_claims.compare_others(None, "DLBCL", 8, favoured)

    def naive(run, rows):
        left = [column for column in range(40) if column not in favoured]
        sets = [[left.index(c) for c in run.orders[row, :8] if c in left] for row in rows]
        return nogueira_stability(sets, 38).value

    assert with_ == pytest.approx(naive(runs_by_method[PS], range(7)))
    assert without == pytest.approx(naive(runs_by_method[PLAIN], range(7)))
    close(
        gain,
        naive_gain(
            lambda rows: naive(runs_by_method[PS], rows) - naive(runs_by_method[PLAIN], rows), 7
        ),
    )


def test_gains_of_two_tables():
    more = Gain(0.5, 0.2, 0.8).less(Gain(0.1, -0.3, 0.5))
    close(more, (0.4, -0.1, 0.9))
    assert more.is_null
    assert not more.is_positive
    assert not more.is_negative
    assert Gain(-0.2, -0.3, -0.1).is_negative
    assert jackknife(0.25, np.full(5, 0.25)).is_positive


# ---- methods and plans ---------------------------------------------------------------------------
def test_random_genes_are_no_markers():
    markers = [3, 7, 11]
    draws = [prior.draw_genes(30, markers, draw) for draw in range(1, 40)]
    assert all(len(set(genes)) == 3 and not set(genes) & set(markers) for genes in draws)
    assert draws[0] == prior.draw_genes(30, markers, 1)
    assert len({tuple(genes) for genes in draws}) > 35


def test_other_weights_and_random_genes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 60)), np.repeat(["ill", "well"], 15)
    schema = Schema(prior={4: 10.0, 9: 10.0})
    heavy = prior.Favouring(weight=50, schema=schema).fit(X, y)
    expected = AROM(schema={"prior": {4: 50.0, 9: 50.0}}).fit(X, y)
    assert np.array_equal(heavy.order_, expected.order_)
    chance = prior.Favouring(draw=2, schema=schema).fit(X, y)
    genes = prior.draw_genes(60, [4, 9], 2)
    expected = AROM(schema={"prior": dict.fromkeys(genes, 10.0)}).fit(X, y)
    assert np.array_equal(chance.ranking_, expected.ranking_)
    assert not np.array_equal(chance.order_, AROM(schema=schema).fit(X, y).order_)


def test_each_method_of_a_study_has_its_prior():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 60)), np.repeat(["ill", "well"], 20)
    X[:, :3] += 1.5 * (y == "ill")[:, None]
    data = Dataset.of(X, y, name="DLBCL", schema={"prior": {"x20": 10, "x21": 10}})
    study = Study(prior.methods(), data, 2, sizes=[2])
    results = study.run(n_jobs=1)
    assert not results.failures.height
    train = next(study.splits.split(None, data.codes)).train
    chance = dict.fromkeys(prior.draw_genes(60, [20, 21], 1), 10)
    expected = {
        PS: AROM(schema={"prior": {20: 10, 21: 10}}),
        weight_name(100): AROM(schema={"prior": {20: 100, 21: 100}}),
        "RANDOM 1": AROM(schema={"prior": chance}),
        PLAIN: AROM(),
        RFE: SVMRFE(),
        SN: SignalToNoise(),
    }
    for method, ranker in expected.items():
        order = ranker.fit(X[train], y[train]).order_
        assert np.array_equal(results.orders(method=method)[0], order), method
    assert not np.array_equal(results.orders(method=PS)[0], results.orders(method=PLAIN)[0])
    assert runs(results, "DLBCL", PS).stability.shape == (1,)


def test_plans_are_those_that_were_committed(data_folder, monkeypatch):
    for module in (prior, prior_partition):
        monkeypatch.setattr(sys.modules["studies.prior_measures"], "FOLDER", data_folder)
        plan, committed = module.study().describe(), load_stored(name_of(module))["about"]
        # a parameter that is newer than the results, at its default
        old = {
            name: text.replace("multiclass=none, ", "") for name, text in plan["methods"].items()
        }
        assert old == committed["methods"]
        for part in ("splits", "sizes", "learners", "selection", "random_state"):
            assert plan[part] == committed[part], part
        hashes = {name: data["hash"] for name, data in plan["datasets"].items()}
        assert hashes == {name: data["hash"] for name, data in committed["datasets"].items()}


def test_the_prior_of_an_outer_split_is_of_other_rows(data_folder, monkeypatch):
    monkeypatch.setattr(sys.modules["studies.prior_measures"], "FOLDER", data_folder)
    monkeypatch.setattr(prior_partition, "FILES", {"colon": "colon_alon"})
    datasets = prior_partition.datasets()
    assert list(datasets) == [f"colon/{k}" for k in range(1, 11)]
    for data in datasets.values():
        assert data.n_rows == 50
        assert list(data.schema.prior.values()) == [10.0] * 50
    assert len({data.fingerprint for data in datasets.values()}) == 10


# ---- committed results ---------------------------------------------------------------------------
def name_of(module):
    return module.__name__.rpartition(".")[2].replace("_", "-")


def load_stored(name):
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


@pytest.mark.parametrize("name", COMMITTED)
def test_committed_results(name):
    committed = load_stored(name)
    module = importlib.import_module(f"studies.{name.replace('-', '_')}")
    claims = module.claims()
    assert [row["claim"] for row in committed["verdicts"]] == [claim.name for claim in claims]
    assert [row["text"] for row in committed["verdicts"]] == [claim.text for claim in claims]
    assert all(row["why"] for row in committed["verdicts"])
    assert sum(committed["counts"].values()) == len(claims)
    assert {"featly", "python", "numpy", "numba"} <= set(committed["about"]["versions"])
    assert committed["seeds"]
    assert not committed["failures"]
    assert committed["biased"] == (name == "prior-all-rows")
    for data in committed["about"]["datasets"].values():
        assert re.fullmatch("[0-9a-f]{32}", data["hash"])
    assert (RESULTS / f"{name}.json").stat().st_size < 300_000
    for table in committed["tables"]:
        assert all(len(row) == len(table["head"]) for row in table["rows"])


def test_every_claim_of_the_paper_has_a_verdict():
    claimed = [row["claim"] for name in COMMITTED for row in load_stored(name)["verdicts"]]
    assert len(set(claimed)) == len(claimed)
    numbers = {int(match[1]) for claim in claimed if (match := re.match(r"B(\d+)", claim))}
    assert numbers == set(range(1, 16))


def test_lines_go_with_the_verdicts():
    committed = load_stored("prior")
    gain = {row["claim"]: row["ours"] for row in committed["verdicts"]}
    lines = committed["lines"]["DLBCL"]
    assert lines[PS]["size"] == SIZES
    at = [SIZES.index(size) for size in SMALL]
    apart = [lines[PS]["kuncheva"][k] - lines[PLAIN]["kuncheva"][k] for k in at]
    assert np.mean(apart) == pytest.approx(gain["B6"], abs=1e-4)
    everywhere = {
        name: np.mean(
            [
                lines[PS]["geometric_mean"][SIZES.index(s)]
                - lines[PLAIN]["geometric_mean"][SIZES.index(s)]
                for s in POWERS
            ]
        )
        for name, lines in committed["lines"].items()
    }
    shown = next(row for row in committed["verdicts"] if row["claim"] == "B15a")
    assert min(abs(value - shown["ours"]) for value in everywhere.values()) < 1e-4
    assert committed["weights"]["DLBCL"]["10"] == lines[PS]


def test_figures_are_drawn_from_what_was_committed(monkeypatch, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    drawn = {}

    def save(figure, folder, name):
        assert folder == tmp_path
        drawn[name] = [len(axis.lines) for axis in figure.axes]
        plt.close(figure)
        return f"{name}.svg"

    files = importlib.import_module("prior_figures").draw_prior(ROOT, tmp_path, save)
    assert [len(pages) for pages in files.values()] == [4, 2, 4]
    assert [f"{name}.svg" for name in drawn] == [page for pages in files.values() for page in pages]
    assert drawn["prior-dlbcl"] == [5, 5, 5]
    assert drawn["prior-weights-leukemia"] == [6, 6, 6]
    assert drawn["prior-partition-colon"] == [4, 4, 4]
