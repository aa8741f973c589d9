"""``python -m studies.p_values [--quick] [--seed N]``: how true the p-values of tests a column are.

Null columns of many laws are drawn beside classes that do not know of them, and the share of small
p-values is counted; then tables in which 20 of 1,000 columns do differ are tested, and the false
ones among those with a small q-value are counted. The figures go to
``studies/results/p-values.json``, and from there to the guide to UnivariateTest.

Tests: ``default`` is UnivariateTest as it comes; ``before`` is what its default was before: Welch's
test for all columns of numbers, also where one of two classes is constant; ``f-test`` is FTest;
``ranks`` is Kruskal and Wallis by the tail of chi-squared. For categories ``chi2`` is ChiSquared,
and ``chi2 tail`` is its statistic by the tail of that law alone.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

import featly
from featly import ChiSquared, FTest, UnivariateTest
from featly.core.counts.contingency import chi2_tail
from featly.core.sources import DenseSource
from featly.core.stats.rank_tests import kruskal_wallis

RESULTS = Path(__file__).parent / "results" / "p-values.json"
LEVELS = (0.05, 0.01, 0.001, 0.0001)
WIDTH = 1000  # columns drawn at a time
FDR_TRUE = 20  # columns that differ, of 1,000

Draw = Callable[[np.random.Generator, tuple[int, int], np.ndarray], np.ndarray]


def spread(factor: float, law: str = "normal") -> Draw:
    """Return a law whose smallest class has so many times the standard deviation."""

    def draw(rng: np.random.Generator, shape: tuple[int, int], y: np.ndarray) -> np.ndarray:
        values = rng.normal(size=shape) if law == "normal" else rng.laplace(size=shape)
        return values * np.where(y == y.max(), factor, 1.0)[:, None]

    return draw


def zeros(rng: np.random.Generator, shape: tuple[int, int], y: np.ndarray) -> np.ndarray:
    """Draw numbers of which four fifths are zero and the others lognormal."""
    return np.where(rng.random(shape) < 0.8, 0.0, np.exp(rng.normal(size=shape)))


def with_missing(law: Draw, share: float) -> Draw:
    """Return a law with values missing at random."""

    def draw(rng: np.random.Generator, shape: tuple[int, int], y: np.ndarray) -> np.ndarray:
        values = law(rng, shape, y).astype(float)
        values[rng.random(shape) < share] = np.nan
        return values

    return draw


LAWS: dict[str, Draw] = {
    "normal": lambda rng, shape, y: rng.normal(size=shape),
    "lognormal, sd 1.5": lambda rng, shape, y: np.exp(1.5 * rng.normal(size=shape)),
    "exponential": lambda rng, shape, y: rng.exponential(size=shape),
    "gamma, shape 4": lambda rng, shape, y: rng.gamma(4.0, size=shape),
    "t, 3 degrees": lambda rng, shape, y: rng.standard_t(3, size=shape),
    "80% zeros": zeros,
    "Poisson counts, mean 0.3": lambda rng, shape, y: rng.poisson(0.3, size=shape).astype(float),
    "Poisson counts, mean 5": lambda rng, shape, y: rng.poisson(5.0, size=shape).astype(float),
    "three values, 5% and 1%": lambda rng, shape, y: rng.choice(
        [0.0, 1.0, 2.0], p=[0.94, 0.05, 0.01], size=shape
    ),
    "0/1 numbers, 3% ones": lambda rng, shape, y: (rng.random(shape) < 0.03).astype(float),
    "normal, small class sd x 3": spread(3.0),
    "normal, small class sd / 3": spread(1 / 3),
    # kept aside: no rule was chosen by these
    "negative binomial counts": lambda rng, shape, y: rng.negative_binomial(
        1, 1 / 6, size=shape
    ).astype(float),
    "Laplace, small class sd x 2": spread(2.0, "laplace"),
}
LAWS["normal, half missing"] = with_missing(LAWS["normal"], 0.5)
LAWS["lognormal, 30% missing"] = with_missing(LAWS["lognormal, sd 1.5"], 0.3)
LAWS["80% zeros, 30% missing"] = with_missing(zeros, 0.3)
KEPT_ASIDE = ("negative binomial counts", "Laplace, small class sd x 2")

# (law, rows, rows of each class but the first)
CELLS: list[tuple[str, int, tuple[int, ...]]] = [
    *(("normal", n, small) for n, small in
      [(40, (20,)), (40, (4,)), (100, (50,)), (100, (10,)), (500, (25,)), (1000, (300,)),
       (40, (5,) * 7), (120, (40, 40)), (90, (10, 20))]),
    *(("lognormal, sd 1.5", n, small) for n, small in
      [(40, (20,)), (40, (4,)), (100, (10,)), (500, (25,)), (500, (100,)), (2000, (60,)),
       (40, (5,) * 7)]),
    *(("exponential", n, small) for n, small in [(60, (8,)), (300, (40,)), (1000, (100,))]),
    *(("gamma, shape 4", n, small) for n, small in [(60, (8,)), (300, (40,)), (1000, (100,))]),
    *(("t, 3 degrees", n, small) for n, small in [(60, (8,)), (300, (40,))]),
    *(("80% zeros", n, small) for n, small in
      [(40, (20,)), (200, (20,)), (500, (25,)), (500, (200,)), (1000, (300,)), (40, (5,) * 7)]),
    *(("Poisson counts, mean 0.3", n, small) for n, small in
      [(40, (4,)), (200, (20,)), (1000, (300,)), (40, (5,) * 7)]),
    *(("Poisson counts, mean 5", n, small) for n, small in
      [(40, (4,)), (200, (20,)), (300, (60,))]),
    *(("three values, 5% and 1%", n, small) for n, small in [(500, (25,)), (500, (250,))]),
    *(("0/1 numbers, 3% ones", n, small) for n, small in
      [(500, (25,)), (200, (100,)), (300, (50, 50))]),
    *(("normal, small class sd x 3", n, small) for n, small in
      [(60, (12,)), (60, (6,)), (200, (20,)), (200, (60,)), (90, (20, 10))]),
    *(("normal, small class sd / 3", n, small) for n, small in [(60, (12,)), (200, (60,))]),
    ("normal, half missing", 100, (20,)),
    ("lognormal, 30% missing", 100, (20,)),
    ("80% zeros, 30% missing", 200, (30,)),
    ("negative binomial counts", 200, (20,)),
    ("negative binomial counts", 60, (30,)),
    ("Laplace, small class sd x 2", 80, (16,)),
    ("Laplace, small class sd x 2", 300, (60,)),
]  # fmt: skip

# (law, rows, small class, correlation, columns that differ)
TABLES: list[tuple[str, int, int, float, int]] = [
    ("normal", 100, 50, 0.0, FDR_TRUE),
    ("normal", 100, 50, 0.8, FDR_TRUE),
    ("normal", 100, 50, 0.8, 0),
    ("normal", 100, 10, 0.0, FDR_TRUE),
    ("lognormal, sd 1.5", 200, 20, 0.0, FDR_TRUE),
    ("lognormal, sd 1.5", 200, 20, 0.8, FDR_TRUE),
    ("80% zeros", 200, 20, 0.0, FDR_TRUE),
    ("80% zeros", 200, 20, 0.8, FDR_TRUE),
    ("0/1 numbers, 3% ones", 500, 25, 0.0, 0),
    ("mixture", 200, 40, 0.0, FDR_TRUE),
    ("Poisson counts, mean 5", 200, 20, 0.0, FDR_TRUE),
    ("negative binomial counts", 200, 20, 0.0, FDR_TRUE),
]


def classes(n_rows: int, others: tuple[int, ...]) -> np.ndarray:
    """Return class 0 for the first rows, then those of the other classes."""
    first = n_rows - sum(others)
    return np.repeat(np.arange(len(others) + 1), [first, *others])


# ---- the tests ------------------------------------------------------------------------------
def p_default(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the p-values of UnivariateTest as it comes."""
    return np.asarray(UnivariateTest(n_jobs=1).fit(X, y).p_value_)


def p_before(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the p-values of what was the default: Welch, also where a class is constant."""
    p = np.array(UnivariateTest(continuous="welch", n_jobs=1).fit(X, y).p_value_)
    if y.max() == 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parts = [X[y == c] for c in (0, 1)]
            is_constant = [np.nanmin(part, axis=0) == np.nanmax(part, axis=0) for part in parts]
            one = np.flatnonzero(is_constant[0] ^ is_constant[1])
            if len(one):
                first, second = (part[:, one] for part in parts)
                test = stats.ttest_ind(first, second, equal_var=False, nan_policy="omit")
                p[one] = np.where(np.isnan(test.pvalue), p[one], test.pvalue)
    return p


def p_f(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the p-values of FTest."""
    return np.asarray(FTest(n_jobs=1).fit(X, y).p_value_)


def p_ranks(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the p-values of Kruskal and Wallis by the tail of chi-squared."""
    ranks = kruskal_wallis(DenseSource(X), y, int(y.max()) + 1, 1)
    return chi2_tail(ranks.statistic, ranks.freedom)[0]


def draw_categories(rng: np.random.Generator, n_rows: int, width: int) -> pl.DataFrame:
    """Draw categories of four levels, one of them rare."""
    codes = rng.choice(4, p=[0.6, 0.25, 0.1, 0.05], size=(n_rows, width))
    names = np.array(list("abcd"))
    return pl.DataFrame({f"c{j}": names[codes[:, j]] for j in range(width)})


TESTS = {"default": p_default, "before": p_before, "f-test": p_f, "ranks": p_ranks}
CATEGORIES = ((60, 12), (200, 60))  # rows, and rows of the smaller class
TESTS_OF_CATEGORIES: dict[str, Callable[[pl.DataFrame, np.ndarray], np.ndarray]] = {
    "default": lambda X, y: UnivariateTest(n_jobs=1).fit(X, y).p_value_,
    "chi2": lambda X, y: ChiSquared(n_jobs=1).fit(X, y).p_value_,
    "chi2 tail": lambda X, y: _chi2_tail(ChiSquared(n_jobs=1).fit(X, y)),
}


def _chi2_tail(ranked: ChiSquared) -> np.ndarray:
    return chi2_tail(ranked.scores_, ranked.freedom_)[0]


# ---- what is measured -----------------------------------------------------------------------
def measure_null(seed: int, n_columns: int, cells: range) -> list[dict[str, Any]]:
    """Return the shares of small p-values of null columns, for some cells and every test."""
    out = []
    for k in cells:
        law, n_rows, others = CELLS[k]
        y = classes(n_rows, others)
        rng = np.random.default_rng([seed, 1, k])
        counts = {name: np.zeros(len(LEVELS)) for name in TESTS}
        for _ in range(n_columns // WIDTH):
            X = LAWS[law](rng, (n_rows, WIDTH), y)
            for name, test in TESTS.items():
                counts[name] += [(test(X, y) <= level).sum() for level in LEVELS]
        out += [_row(law, n_rows, others, name, n_columns, count)
                for name, count in counts.items()]  # fmt: skip
    return out


def measure_null_categories(seed: int, n_columns: int) -> list[dict[str, Any]]:
    """Return the shares of small p-values of null columns of categories, for every test."""
    out = []
    for n_rows, small in CATEGORIES:
        y = classes(n_rows, (small,))
        rng = np.random.default_rng([seed, 2, n_rows])
        counts = {name: np.zeros(len(LEVELS)) for name in TESTS_OF_CATEGORIES}
        n_drawn = max(WIDTH, n_columns // 4)
        for _ in range(n_drawn // WIDTH):
            frame = draw_categories(rng, n_rows, WIDTH)
            for name, test_categories in TESTS_OF_CATEGORIES.items():
                p = test_categories(frame, y)
                counts[name] += [(p <= level).sum() for level in LEVELS]
        out += [_row("categories, one level of 5%", n_rows, (small,), name, n_drawn, count)
                for name, count in counts.items()]  # fmt: skip
    return out


def _row(
    law: str, n_rows: int, others: tuple[int, ...], test: str, n_columns: int, counts: np.ndarray
) -> dict[str, Any]:
    shares = dict(zip(("P05", "P01", "P001", "P0001"), counts / n_columns, strict=True))
    return {
        "law": law,
        "rows": n_rows,
        "small_class": min(*others, n_rows - sum(others)),
        "classes": len(others) + 1,
        "test": test,
        "columns": n_columns,
        "kept_aside": law in KEPT_ASIDE,
        **{name: round(float(share), 6) for name, share in shares.items()},
    }


def draw_table(
    law: str, n_rows: int, small: int, correlation: float, n_true: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw 1,000 columns, in blocks of 20 that are correlated; the first ones differ."""
    y = classes(n_rows, (small,))
    z = rng.normal(size=(n_rows, 1000))
    if correlation:
        shared = np.repeat(rng.normal(size=(n_rows, 50)), 20, axis=1)
        z = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * z
        # columns that differ, one of each block, beside its null ones
        z = z[:, np.argsort(np.tile(np.arange(20), 50), kind="stable")]
    z[:, :n_true] += np.where(y == 1, 1.1 if small >= 40 else 1.4, 0.0)[:, None]
    return _by_law(z, law), y


def _by_law(z: np.ndarray, law: str) -> np.ndarray:
    """Return normal deviates as values of a law, in the same order."""
    if law == "mixture":
        kinds = ("normal", "lognormal, sd 1.5", "80% zeros")
        parts = np.arange(z.shape[1]) % 3
        out = np.empty_like(z)
        for k, kind in enumerate(kinds):
            out[:, parts == k] = _by_law(z[:, parts == k], kind)
        return out
    share = stats.norm.cdf(z)
    if law == "lognormal, sd 1.5":
        return np.exp(1.5 * z)
    if law == "80% zeros":
        return np.where(share < 0.8, 0.0, np.exp(z))
    if law == "0/1 numbers, 3% ones":
        return (share > 0.97).astype(float)
    if law == "Poisson counts, mean 5":
        return stats.poisson.ppf(share, 5.0)
    if law == "negative binomial counts":
        return stats.nbinom.ppf(share, 1, 1 / 6)
    return z


def measure_fdr(seed: int, n_tables: int, kinds: range) -> list[dict[str, Any]]:
    """Return the false discovery rates of selecting by q-value, and the share of truth found."""
    out = []
    for k in kinds:
        law, n_rows, small, correlation, n_true = TABLES[k]
        rng = np.random.default_rng([seed, 3, k])
        false: dict[tuple[str, float], list[float]] = {}
        true: dict[tuple[str, float], list[float]] = {}
        for _ in range(n_tables):
            X, y = draw_table(law, n_rows, small, correlation, n_true, rng)
            for name, test in TESTS.items():
                q = stats.false_discovery_control(test(X, y))
                for level in (0.05, 0.1):
                    chosen = q <= level
                    n_false = chosen[n_true:].sum()
                    false.setdefault((name, level), []).append(n_false / max(1, chosen.sum()))
                    share = chosen[:n_true].mean() if n_true else 0.0
                    true.setdefault((name, level), []).append(share)
        for (name, level), rates in false.items():
            out.append({
                "law": law, "rows": n_rows, "small_class": small, "correlation": correlation,
                "columns_that_differ": n_true, "test": name, "tables": n_tables, "q": level,
                "fdr": round(float(np.mean(rates)), 4),
                "standard_error": round(float(np.std(rates, ddof=1) / n_tables**0.5), 4),
                "power": round(float(np.mean(true[name, level])), 4),
            })  # fmt: skip
    return out


def measure_one_true(seed: int, n_tables: int) -> dict[str, Any]:
    """Return how often one true column among 5,000 has q <= 0.05, where p must be drawn."""
    y = classes(200, (20,))
    n_hits = 0
    for table in range(n_tables):
        rng = np.random.default_rng([seed, 4, table])
        X = rng.poisson(1.0, size=(200, 5000)).astype(float)
        X[y == 1, 17] += 3
        test = UnivariateTest(n_jobs=1).fit(X, y)
        n_hits += bool(test.q_value_[17] <= 0.05)
    return {
        "tables": n_tables,
        "columns": 5000,
        "with_q_up_to_05": n_hits,
        "note": str(test.note_[17]),
    }


def measure(*, seed: int = 0, n_columns: int = 20_000, n_tables: int = 60) -> dict[str, Any]:
    """Measure everything."""
    start = time.process_time()
    document = {
        "featly": featly.__version__, "numpy": np.__version__, "seed": seed,
        "null": [*measure_null(seed, n_columns, range(len(CELLS))),
                 *measure_null_categories(seed, n_columns)],
        "fdr": measure_fdr(seed, n_tables, range(len(TABLES))),
        "one_true_column": measure_one_true(seed, max(1, n_tables // 6)),
    }  # fmt: skip
    return {**document, "cpu_minutes": round((time.process_time() - start) / 60, 1)}


# ---- the guides -----------------------------------------------------------------------------
SHOWN = [
    ("normal", 100, 50, 2), ("normal", 40, 4, 2), ("normal", 40, 5, 8),
    ("lognormal, sd 1.5", 100, 10, 2), ("lognormal, sd 1.5", 500, 25, 2),
    ("80% zeros", 500, 25, 2), ("Poisson counts, mean 0.3", 40, 4, 2),
    ("three values, 5% and 1%", 500, 25, 2), ("0/1 numbers, 3% ones", 500, 25, 2),
    ("normal, small class sd x 3", 60, 12, 2), ("80% zeros, 30% missing", 200, 30, 2),
    ("negative binomial counts", 200, 20, 2), ("Laplace, small class sd x 2", 80, 16, 2),
]  # fmt: skip


def null_lines(document: dict[str, Any], tests: tuple[str, ...]) -> list[str]:
    """Return rows of a table: percentages of null columns with p up to 0.01 and to 0.0001."""
    shares = {
        (row["law"], row["rows"], row["small_class"], row["classes"], row["test"]): row
        for row in document["null"]
    }
    lines = []
    for law, n_rows, small, n_classes in SHOWN:
        cells = [f"{100 * shares[law, n_rows, small, n_classes, test][level]:.2f}"
                 for test in tests for level in ("P01", "P0001")]  # fmt: skip
        which = f"{n_rows}, {small}" if n_classes == 2 else f"{n_rows}, {n_classes} of {small}"
        lines.append(f"| {law} | {which} | " + " | ".join(cells) + " |")
    return lines


def fdr_lines(document: dict[str, Any], tests: tuple[str, ...]) -> list[str]:
    """Return rows of a table: false discovery rate and share of the truth at q up to 0.05."""
    rows: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for row in document["fdr"]:
        if row["q"] == 0.05:
            key = (row["law"], row["rows"], row["small_class"], row["correlation"],
                   row["columns_that_differ"])  # fmt: skip
            rows.setdefault(key, {})[row["test"]] = row
    lines = []
    for (law, n_rows, small, correlation, n_true), by_test in rows.items():
        cells = []
        for test in tests:
            cells.append(f"{by_test[test]['fdr']:.2f}")
            cells.append(f"{by_test[test]['power']:.2f}" if n_true else "")
        name = f"{law}, blocks r {correlation}" if correlation else law
        lines.append(f"| {name} | {n_rows}, {small} | {n_true} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    """Measure, and store the shares; with --quick, print some of them."""
    parser = argparse.ArgumentParser(prog="python -m studies.p_values", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a twentieth, to the screen")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.quick:
        document = measure(seed=options.seed, n_columns=1000, n_tables=3)
        print(json.dumps(document, indent=1))
        return
    text = json.dumps(measure(seed=options.seed), indent=1)
    RESULTS.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
