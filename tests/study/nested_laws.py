"""Made tables with a known truth, and how true a nested cross-validation of them is.

``python -m tests.study.nested_laws [tables] [seed] [law ...]`` prints a line a law.
"""

import sys
from dataclasses import dataclass

import numpy as np

from featly.measures.nested_auc import mean_area
from featly.study import nested, predictability
from tests.study.quick_pipeline import NearestMean, QuickF

NEW_ROWS = 3000


@dataclass(frozen=True)
class Law:
    """A law of tables: class shares, and columns whose means differ between classes."""

    n: int
    p: int
    shares: tuple[float, ...] = (0.5, 0.5)
    n_true: int = 0
    shift: float = 0.0

    def draw(self, n, rng):
        """Return a table of n rows with the class shares of the law."""
        counts = np.rint(np.cumsum([0, *self.shares]) * n).astype(int)
        y = np.repeat(np.arange(len(self.shares)), np.diff(counts))
        X = rng.normal(size=(n, self.p))
        for code in range(1, len(self.shares)):
            # every class but the first has its own columns, shared by two classes if there are two
            own = slice((code - 1) * self.n_true, code * self.n_true)
            X[:, own] += self.shift * (y == code)[:, None]
        return X, y


LAWS = {
    "noise 60 x 50": Law(60, 50),
    "3 columns of .7 in 60 x 50": Law(60, 50, n_true=3, shift=0.7),
    "10% class 200 x 100": Law(200, 100, (0.9, 0.1), 5, 0.8),
    "three classes": Law(90, 60, (1 / 3, 1 / 3, 1 / 3), 3, 0.9),
}


def true_rate(law, X, y, size, rng, metric="bcr"):
    """Return the balanced rate, or the AUC, of the final model on new rows."""
    order = QuickF().fit(X, y).order_
    X_new, y_new = law.draw(NEW_ROWS, rng)
    path = NearestMean().predict_path_values(X[:, order], y, X_new[:, order], [size])
    if metric == "auc":
        return mean_area(path.values[0], y_new)
    return float(np.mean([(path.labels[0][y_new == c] == c).mean() for c in np.unique(y_new)]))


def judge(law, seed, *, repeats=5, metric="bcr", rule="best"):
    """Return value, lower, upper and truth of one table."""
    rng = np.random.default_rng([seed, 77])
    X, y = law.draw(law.n, rng)
    result = nested(
        {"f": QuickF()},
        (X, y),
        learner={"mean": NearestMean()},
        repeats=repeats,
        random_state=seed,
        n_jobs=1,
    )
    estimate = result.estimate(metric, rule=rule)
    truth = true_rate(law, X, y, estimate.size, rng, metric)
    return estimate.value, estimate.lower, estimate.upper, truth


def summarise(law, n_tables, seed=0, **options):
    """Return told minus true, coverage and mean width over many tables."""
    rows = np.array([judge(law, 100_000 * seed + k, **options) for k in range(n_tables)])
    value, lower, upper, truth = rows.T
    return {
        "told": value.mean(),
        "true": truth.mean(),
        "told - true": (value - truth).mean(),
        "covers": ((lower <= truth) & (truth <= upper)).mean(),
        "width": (upper - lower).mean(),
    }


def compare_equals(n_tables, seed=0, n=60, p=50):
    """Return the p-values of two pipelines that are equal by construction, of one table each."""
    p_values = []
    for k in range(n_tables):
        rng = np.random.default_rng([seed, k, 78])
        X, y = rng.normal(size=(n, p)), np.arange(n) % 2
        X[:, [0, 1, p // 2, p // 2 + 1]] += 0.7 * y[:, None]
        methods = {"first": QuickF(0, p // 2), "second": QuickF(p // 2, p)}
        result = nested(
            methods, (X, y), learner={"mean": NearestMean()}, sizes=[1, 2, 4, 8, 16],
            random_state=k, n_jobs=1,
        )  # fmt: skip
        comparison = result.compare("first", "second")
        p_values.append(1.0 if comparison.p_value is None else comparison.p_value)
    return np.array(p_values)


def share_of_yes(law, n_tables, seed=0):
    """Return in how many tables of a law the columns are said to predict."""
    answers = []
    for k in range(n_tables):
        X, y = law.draw(law.n, np.random.default_rng([seed, k, 79]))
        result = predictability(
            {"f": QuickF()}, (X, y), learner={"mean": NearestMean()}, random_state=k, n_jobs=1
        )
        answers.append(result.answer == "yes")
    return float(np.mean(answers))


def main(n_tables=200, seed=0, *names):
    """Print how true the figures are; names are laws, with "quick" or "auc", "equals", "yes"."""
    n_tables, seed = int(n_tables), int(seed)
    for name in names or [*LAWS, "equals", "yes"]:
        law, _, mode = name.partition(", ")
        if name == "equals":
            share = (compare_equals(n_tables, seed) <= 0.05).mean()
            print(f"equal pipelines: p <= .05 in {share:.3f}", flush=True)
        elif name == "yes":
            shares = (f"{law} {share_of_yes(LAWS[law], n_tables, seed):.3f}" for law in LAWS)
            print(f"columns predict: {', '.join(shares)}", flush=True)
        else:
            options = {"quick": {"repeats": 1}, "auc": {"metric": "auc"}, "": {}}[mode]
            figures = summarise(LAWS[law], n_tables, seed, **options)
            print(f"{name}: " + ", ".join(f"{k} {v:.3f}" for k, v in figures.items()), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
