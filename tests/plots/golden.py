"""Golden pictures of made numbers, and the distance between two drawings.

``python -m tests.make_golden_images`` draws them anew. Look at them before they are committed.
"""

import io
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
from PIL import Image, ImageFilter

from featly import plots
from featly.measures.statistics import nemenyi
from featly.study.prior_words import FIGURES, Compared, Interval, PriorReport
from tests.plots.shared import make_results

FOLDER = Path(__file__).parents[1] / "golden_images"
DPI = 50
SIDE = 64  # pixels of the ink maps that are compared


# ---- content -------------------------------------------------------------------------------------
def _table():
    rng = np.random.default_rng(0)
    y = np.repeat(["ill", "mild", "well"], [40, 50, 60])
    frame = pl.DataFrame(
        {
            "dose": rng.normal(size=150) + (y == "ill"),
            "age": np.where(rng.random(150) < 0.1, np.nan, rng.normal(50, 12, 150)),
            "ward": rng.choice(["north", "south", "west"], 150, p=[0.5, 0.3, 0.2]),
        }
    )
    return frame, y


def _ranker(n_features=18):
    scores = 9.0 * 0.8 ** np.arange(n_features)
    return SimpleNamespace(
        order_=np.arange(n_features),
        support_=np.arange(n_features) < 7,
        kinds_=["continuous", "categorical", "ordinal"] * n_features,
        scores_=scores,
        round_=np.arange(n_features)[::-1] // 2,
        criterion_=scores**2,
        _names=lambda: [f"gene {j}" for j in range(n_features)],
    )


def _path():
    ranker = _ranker(60)
    return plots.plot_path(ranker, n_features=8)


def _pairs():
    rng = np.random.default_rng(0)
    problems = [f"{a} vs {b}" for a, b in combinations("abcd", 2)]
    ranker = _ranker()
    ranker.positions_ = np.column_stack([rng.permutation(18) + 1.0 for _ in problems])
    ranker.problems_ = problems
    return plots.plot_pairs(ranker)


def _redundancy():
    rng = np.random.default_rng(0)
    hidden = np.repeat(rng.normal(size=(80, 4)), 6, axis=1)
    X = hidden + 0.4 * rng.normal(size=(80, 24))
    correlations, names = np.abs(np.corrcoef(X.T)), [f"gene {j}" for j in range(24)]
    return plots.plot_redundancy(correlations, names, threshold=0.6)


def _ranks():
    scores = np.random.default_rng(0).normal(size=(20, 8)) + 0.3 * np.arange(8)
    return plots.plot_critical_difference(nemenyi(scores))


def _overlap():
    rng = np.random.default_rng(0)
    weights = np.arange(30, 0, -1) / 465
    chosen = {f"method {k}": rng.choice(30, 12, replace=False, p=weights) for k in range(5)}
    return plots.plot_overlap(chosen)


def _prior():
    rng = np.random.default_rng(0)
    before = np.arange(1, 41)
    now = np.argsort(np.argsort(before + rng.normal(size=40) * 6)) + 1
    differences = [Interval(0.02, -0.03, 0.07), Interval(0.2, 0.1, 0.3), Interval(-0.1, -0.2, 0.0)]
    compared = [Compared(Interval(0, 0, 0), Interval(0, 0, 0), d) for d in differences]
    report = PriorReport(
        method="FTest",
        size=10,
        names=[f"gene {j}" for j in range(40)],
        prior=np.where(now + 4 < before, 10.0, 1.0),
        rank_with=now,
        rank_without=before,
        figures={10: dict(zip(FIGURES, compared, strict=True))},
        splits="",
        learner="svm",
        level=0.95,
        n_rows=100,
        n_splits=20,
        results=make_results(),
    )
    return plots.plot_prior(report, n_features=20)


PICTURES = {
    "column_box": lambda: plots.plot_column(*_table(), "dose"),
    "column_box_summary": lambda: plots.plot_column(*_table(), "dose", individuals=False),
    "column_mosaic": lambda: plots.plot_column(*_table(), "ward"),
    "cost_front": lambda: plots.plot_cost_front(make_results(), np.linspace(1, 9, 40)),
    "critical_difference": _ranks,
    "curves": lambda: plots.plot_curves(make_results()),
    "curves_stability": lambda: plots.plot_curves(make_results(), metric="stability"),
    "frequencies": lambda: plots.plot_frequencies(make_results(), method="mim", size=8),
    "overlap": _overlap,
    "pairs": _pairs,
    "path": _path,
    "prior": _prior,
    "ranking": lambda: plots.plot_ranking(_ranker()),
    "redundancy": _redundancy,
    "scatter": lambda: plots.plot_scatter(*_table(), ["dose", "age"]),
    "scatter_summary": lambda: plots.plot_scatter(*_table(), ["dose", "age"], individuals=False),
}


# ---- drawings and how they differ ----------------------------------------------------------------
def draw_png(ax):
    """Draw a picture as a small PNG."""
    with io.BytesIO() as file:
        ax.figure.savefig(file, dpi=DPI, format="png", metadata={"Software": None})
        plt.close(ax.figure)
        image = Image.open(io.BytesIO(file.getvalue())).convert("RGB")
    return image.quantize(128, dither=Image.Dither.NONE)


def remove_marks(ax):
    """Hide bars, lines, points and images: a broken plot looks like that."""
    for part in [*ax.patches, *ax.lines, *ax.collections, *ax.images]:
        part.set_visible(False)
    for child in ax.child_axes:
        remove_marks(child)
    return ax


def ink(image):
    """Return the darkness of a picture, coarsely: shapes count, letters and edges do not."""
    grey = image.convert("L").resize((SIDE, SIDE), Image.Resampling.BOX)
    soft = grey.filter(ImageFilter.GaussianBlur(1.0))
    return 1.0 - np.asarray(soft, dtype=np.float64) / 255.0


def distance(first, second):
    """Return the root mean square difference of the ink, over the first picture's ink."""
    a, b = ink(first), ink(second)
    return float(np.sqrt(((a - b) ** 2).mean() / (a**2).mean()))
