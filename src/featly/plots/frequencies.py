r"""Frequencies with which columns are chosen when rows change.

.. math::

    \frac{\hat p + z^2 / 2K}{1 + z^2 / K} \pm
    \frac{z}{1 + z^2 / K} \sqrt{\frac{\hat p (1 - \hat p)}{K} + \frac{z^2}{4 K^2}}

Wilson, E. B. (1927), Probable inference, the law of succession, and statistical inference,
*Journal of the American Statistical Association* 22, 209-212.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from featly.basics.errors import DataError, ParameterError
from featly.basics.typing import FloatArray
from featly.measures.stability import selection_frequency
from featly.plots.canvas import (
    INK,
    check_whole_number,
    colour,
    dress,
    import_matplotlib,
    inches,
    label_rows,
    new_axes,
    note,
    note_height,
    print_size,
    row_height,
    shown_names,
    text_width,
)
from featly.study.results import Results
from featly.study.split_values import own_sizes

__all__ = ["column_names", "plot_frequencies", "wilson_interval"]

WIDTH = 3.6
BAR = 0.68  # of the height of a row


def plot_frequencies(
    results: Results,
    *,
    size: int | None = None,
    dataset: str | None = None,
    method: str | None = None,
    learner: str | None = None,
    n_features: int = 30,
    ax: Any = None,
) -> Any:
    """Draw in how many splits a column is among the best, most frequent first.

    The dotted line is the frequency of columns drawn at random. A column that is chosen in nearly
    every split does not depend on a few rows; one that is chosen in some has much in common with
    others, or little to do with the classes.

    The bars have Wilson's 95% interval, which takes the splits for independent draws. They share
    rows, so the interval is about more splits of this table, and not about another table.

    Parameters
    ----------
    results : Results
    size : int or None, default=None
        How many columns of every ranking count as chosen; None takes the size of
        :meth:`featly.study.Results.choose_size`. A method that chooses its own number has None.
    dataset, method, learner : str
        May be left out if there is one only.
    n_features : int, default=30
        How many columns to show.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    See Also
    --------
    featly.measures.stability.selection_frequency : The numbers.

    Examples
    --------
    >>> from featly import Study
    >>> from featly.datasets import make_cohort
    >>> from featly.plots import plot_frequencies
    >>> cohort = make_cohort(n_patients=60, n_genes=40)
    >>> results = Study("mim", (cohort.X, cohort.y), 5).run()  # doctest: +SKIP
    >>> ax = plot_frequencies(results, size=8)  # doctest: +SKIP
    >>> ax.get_xlabel()  # doctest: +SKIP
    'share of 5 splits'
    """
    import_matplotlib("plot_frequencies")
    if not isinstance(results, Results):
        raise ParameterError(
            f"plot_frequencies draws the Results of a study, not a {type(results).__name__}"
        )
    count = check_whole_number("n_features", n_features)
    dataset, method = (
        results._require_name("datasets", dataset),
        results._require_name("methods", method),
    )
    sets, size_text = _sets(results, size, dataset, method, learner)
    total = results.about["datasets"][dataset]["columns"]
    share = selection_frequency(sets, total)
    best = np.argsort(-share, kind="stable")[:count]
    best = best[share[best] > 0]
    names = shown_names([column_names(results, dataset)[f] for f in best.tolist()])
    chance = float(np.mean([len(chosen) for chosen in sets])) / total
    note_text = "BIASED: columns were selected on all rows; " if results.biased else ""
    note_text += (
        f"{shown_names([method])[0]}: {size_text}, in at least one split; lines: 95% intervals; "
    )
    note_text += f"dotted: chance, {chance:.2g}"
    height = row_height(len(names))
    if ax is None:
        left = max(text_width(names, print_size(height)) + 0.12, 0.4)
        total_height = max(len(names) * height, 0.8)
        top = note_height(note_text, WIDTH)
        ax = new_axes(WIDTH, total_height, left=left, right=0.2, top=top, bottom=0.45)
    else:
        height = inches(ax)[1] / len(names)
    _draw_bars(ax, share[best], len(sets))
    ax.axvline(chance, color=INK, linewidth=1.0, linestyle=":", zorder=4)
    dress(ax, x=f"share of {len(sets)} splits", grid="x")
    label_rows(ax, names, height)
    ax.spines["left"].set_visible(False)
    note(ax, note_text)
    return ax


# ---- content -------------------------------------------------------------------------------------
def _sets(
    results: Results, size: int | None, dataset: str, method: str, learner: str | None
) -> tuple[list[Any], str]:
    """Return the columns chosen in every split, and a text on their number."""
    if results.about["methods"][method] == "none":
        raise ParameterError(f"method {method!r} selects nothing: it takes all columns every time")
    orders = results.orders(dataset, method)
    if not orders:
        raise DataError(f"method {method!r} has no ranking of {dataset!r}: see failures")
    if (dataset, method) in own_sizes(results).select("dataset", "method").rows():
        if size is not None:
            raise ParameterError(f"size={size!r}: {method!r} chooses the size itself, leave it out")
        return orders, f"{np.mean([len(order) for order in orders]):.0f} columns on average"
    total = results.about["datasets"][dataset]["columns"]
    if size is None:
        size = results.choose_size(dataset=dataset, method=method, learner=learner)
    elif check_whole_number("size", size) > total:
        raise ParameterError(f"size={size}: {dataset!r} has {total} columns")
    return [order[:size] for order in orders], f"the best {size}"


def column_names(results: Results, dataset: str) -> list[str]:
    """Return the names of the columns of a dataset; numbers if it has too many names."""
    facts = results.about["datasets"][dataset]
    return facts.get("names") or [f"x{column}" for column in range(facts["columns"])]


def wilson_interval(
    share: npt.ArrayLike, n_draws: int, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of Wilson's interval of a share of so many draws.

    Examples
    --------
    >>> from featly.plots.frequencies import wilson_interval
    >>> lower, upper = wilson_interval([0.0, 0.5, 1.0], 10)
    >>> lower.round(3).tolist(), upper.round(3).tolist()
    ([0.0, 0.237, 0.722], [0.278, 0.763, 1.0])
    """
    p, square = np.asarray(share, np.float64), float(ndtri(0.5 + level / 2)) ** 2
    middle = (p + square / (2 * n_draws)) / (1 + square / n_draws)
    half = np.sqrt(square * (p * (1 - p) / n_draws + square / (4 * n_draws**2)))
    half = half / (1 + square / n_draws)
    return np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0)


# ---- drawing -------------------------------------------------------------------------------------
def _draw_bars(ax: Any, share: FloatArray, n_splits: int) -> None:
    rows = np.arange(len(share))
    ax.barh(rows, share, height=BAR, color=colour(5), zorder=2)
    lower, upper = wilson_interval(share, n_splits)
    ax.hlines(rows, lower, upper, color=INK, linewidth=0.9, zorder=3)
    ax.set_xlim(0.0, 1.02)
