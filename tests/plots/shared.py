"""Made results to draw, and checks of legibility: no two texts overlap, none is cut."""

from itertools import combinations

import matplotlib
import numpy as np
import polars as pl
from matplotlib.text import Text

from featly.study.results import Results

matplotlib.use("Agg")

HOSTILE = [
    "<script>alert('x')</script>",
    "$x^2$ and $\\frac{",
    "emoji \U0001f9ec gene",
    "emoji \U0001fac0 gene",
    "a" * 150 + "b" + "a" * 149,
    "a" * 150 + "c" + "a" * 149,
    "שלום עולם",
    "‮reversed",
    "tab\tand\nline",
    '"quotes" & =cmd()',
    "日本語の名前",
    "_hidden",
]


def texts_of(ax):
    """Return every text that is drawn in axes and in the axes within them."""
    texts = [text for text in [*ax.texts, ax.title] if text.get_text()]
    if ax.get_legend() is not None:
        texts += ax.get_legend().get_texts()
    if ax.axison:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=False)
            tolerance = 1e-9 * (high - low)
            texts += [
                t for at, t in ticks if low - tolerance <= at <= high + tolerance and t.get_text()
            ]
            texts.append(axis.label)
    for child in ax.child_axes:
        texts += texts_of(child)
    return [text for text in texts if text.get_text() and text.get_visible()]


def text_boxes(ax):
    """Return the box of every text in pixels; of a label with a line, of the words alone."""
    ax.figure.canvas.draw()
    return [(text.get_text(), Text.get_window_extent(text)) for text in texts_of(ax)]


def find_overlaps(boxes, slack=1.0):
    """Return pairs of texts that share more than a pixel both ways."""
    pairs = []
    for (first, a), (second, b) in combinations(boxes, 2):
        wide = min(a.x1, b.x1) - max(a.x0, b.x0)
        high = min(a.y1, b.y1) - max(a.y0, b.y0)
        if wide > slack and high > slack:
            pairs.append((first, second))
    return pairs


def check_legible(ax, *, cut=True):
    """Check that no two texts overlap and that none is cut in a figure of its own."""
    boxes = text_boxes(ax)
    assert boxes
    assert find_overlaps(boxes) == []
    if cut:
        width, height = ax.figure.canvas.get_width_height()
        for text, box in boxes:
            assert box.x0 >= -1, text
            assert box.y0 >= -1, text
            assert box.x1 <= width + 1, text
            assert box.y1 <= height + 1, text


def tick_texts(labels):
    """Return the texts of tick labels."""
    return [label.get_text() for label in labels]


def make_results(
    methods=("none", "mim", "mrmr", "cfs"),
    *,
    n_columns=40,
    n_splits=8,
    names=None,
    n_classes=2,
    failing=(),
    selection="inside",
):
    """Make results of a study that was never run; "cfs" chooses about 6 columns."""
    rng = np.random.default_rng(0)
    names = [f"gene {j}" for j in range(n_columns)] if names is None else list(names)
    sizes = [size for size in (1, 2, 4, 8, 16, 32, 64, 128, 256) if size < n_columns]
    rows, fits = [], []
    for method_index, method in enumerate(methods):
        for split in range(n_splits):
            own_size = int(rng.integers(4, 9)) if method == "cfs" else None
            noise = rng.exponential(size=n_columns)
            order = np.argsort(np.arange(n_columns) * 0.3 + noise * (1 + method_index)).astype(
                np.uint32
            )
            order = order if own_size is None else order[:own_size]
            failure = "DataError: no luck" if method in failing else None
            whole = method == "none"
            fits.append(
                ("data", method, split, 0, 90, 30, own_size is not None, 0.1, failure, None,
                 None if failure or whole else order.tolist())
            )  # fmt: skip
            at = [n_columns] if whole else [own_size] if own_size else sizes
            for size in [] if failure else at:
                right = 1 - 0.45 * np.exp(-size / 6) - 0.02 * np.log2(size) - 0.02 * method_index
                each = 60 // n_classes
                hits = int(np.clip(round(each * right + rng.normal() * 2), 0, each))
                confusion = np.zeros((n_classes, n_classes), int)
                np.fill_diagonal(confusion, hits)
                confusion[np.arange(n_classes), (np.arange(n_classes) + 1) % n_classes] += (
                    each - hits
                )
                rows.append(("data", method, split, 0, "svm", size, confusion.ravel().tolist(),
                             0.1, None))  # fmt: skip
    facts = {
        "title": "",
        "methods": {m: "none" if m == "none" else f"{m}()" for m in methods},
        "datasets": {
            "data": {
                "rows": 120,
                "columns": n_columns,
                "classes": {f"class {k}": 120 // n_classes for k in range(n_classes)},
                "kinds": {},
                "names": names,
            }
        },
        "splits": "",
        "splitter": "Subsampling",
        "estimator": None,
        "sizes": "powers",
        "learners": {"svm": "LinearSVM()"},
        "metrics": ["bcr"],
        "selection": selection,
        "null": 0,
    }
    texts = dict.fromkeys(("dataset", "method"), pl.String)
    whole = dict.fromkeys(("split", "null_draw"), pl.Int64)
    return Results(
        pl.DataFrame(
            rows,
            orient="row",
            schema={**texts, **whole, "learner": pl.String, "size": pl.Int64,
                    "confusion": pl.List(pl.Int64), "seconds": pl.Float64, "failure": pl.String},
        ),
        pl.DataFrame(
            fits,
            orient="row",
            schema={**texts, **whole, "n_train": pl.Int64, "n_test": pl.Int64, "subset": pl.Boolean,
                    "select_seconds": pl.Float64, "failure": pl.String, "notes": pl.String,
                    "order": pl.List(pl.UInt32)},
        ),
        facts,
    )  # fmt: skip
