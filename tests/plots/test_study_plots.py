"""Pictures of a study: curves, frequencies, fronts, critical differences, priors."""

import dataclasses

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import same_color
from matplotlib.text import Annotation

from featly import SignalToNoise, Study
from featly.basics.errors import DataError, ParameterError, SchemaError
from featly.measures.multi_criteria import pareto_front
from featly.measures.stability import selection_frequency
from featly.measures.statistics import nemenyi
from featly.plots import (
    plot_cost_front,
    plot_critical_difference,
    plot_curves,
    plot_frequencies,
    plot_prior,
)
from featly.plots.canvas import INK, colour, marker
from featly.plots.frequencies import wilson_interval
from featly.study import prior_report
from featly.study.prior_words import FIGURES, Compared, Interval
from tests.plots.shared import (
    HOSTILE,
    check_legible,
    make_results,
    tick_texts,
)


@pytest.fixture(scope="module")
def results():
    return make_results()


def labels_beside(ax):
    """Return the labels at the ends of lines, from top to bottom."""
    annotations = [t for t in ax.texts if isinstance(t, Annotation) and t.arrowprops is not None]
    return [t.get_text() for t in sorted(annotations, key=lambda t: -t.xyann[1])]


def line_of(ax, method_index):
    """Return the line of the method at this position of the study."""
    return next(
        line
        for line in ax.lines
        if line.get_marker() == marker(method_index) and len(line.get_xdata()) > 1
    )


# ---- curves --------------------------------------------------------------------------------------
def test_curves_are_those_of_the_results(results):
    ax = plot_curves(results)
    frame = results.curves("bcr")
    for method_index, method in ((1, "mim"), (2, "mrmr")):
        rows = frame.filter(frame["method"] == method)
        line = line_of(ax, method_index)
        assert line.get_xdata().tolist() == rows["size"].to_list()
        assert line.get_ydata().tolist() == rows["mean"].to_list()
        assert same_color(line.get_color(), colour(method_index))
    bands = [collection for collection in ax.collections if isinstance(collection, PolyCollection)]
    band = bands[0].get_paths()[0].vertices
    rows = frame.filter(frame["method"] == "mim")
    assert set(rows["lower"].to_list()) <= set(band[:, 1].tolist())
    assert set(rows["upper"].to_list()) <= set(band[:, 1].tolist())
    assert ax.get_xscale() == "log"
    check_legible(ax)


def test_the_chosen_size_has_a_ring_and_a_number(results):
    ax = plot_curves(results, methods=["mim"])
    size = results.choose_size(method="mim")
    rings = [line for line in ax.lines if line.get_markersize() > 9]
    assert [line.get_xdata().tolist() for line in rings] == [[size]]
    at = results.curves().filter(results.curves()["method"] == "mim")
    assert rings[0].get_ydata()[0] == at.filter(at["size"] == size)["mean"][0]
    assert labels_beside(ax)[0] == f"mim ({size})"
    assert "chosen by within-interval" in ax.texts[-1].get_text()
    best = plot_curves(results, methods=["mim"], rule="best")
    ring = next(line for line in best.lines if line.get_markersize() > 9)
    assert ring.get_ydata()[0] == at["mean"].max()
    bare = plot_curves(results, methods=["mim"], rule=None)
    assert not [line for line in bare.lines if line.get_markersize() > 9]


def test_no_selection_is_a_level_and_own_numbers_are_points(results):
    ax = plot_curves(results)
    frame = results.curves("bcr")
    level = frame.filter(frame["method"] == "none")["mean"][0]
    levels = [line for line in ax.lines if set(line.get_ydata()) == {level}]
    assert any(list(line.get_xdata()) == [0, 1] for line in levels), "from edge to edge"
    own = frame.filter(frame["method"] == "cfs").row(0, named=True)
    bars = [c for c in ax.containers if c.lines[0].get_xdata()[0] == own["size"]]
    ends = bars[0].lines[2][0].get_segments()[0][:, 1]
    assert ends.tolist() == pytest.approx([own["lower"], own["upper"]])
    assert {"none (all 40)", f"cfs (≈{own['size']})"} <= set(labels_beside(ax))


def test_chance():
    ax = plot_curves(make_results(n_classes=3))
    dotted = [line for line in ax.lines if line.get_linestyle() == ":"]
    assert dotted[0].get_ydata()[0] == pytest.approx(1 / 3)
    assert "chance" in labels_beside(ax)
    assert "chance" not in labels_beside(plot_curves(make_results(), metric="error"))
    with_chance = plot_curves(make_results(), metric="error", chance=0.4)
    assert [line.get_ydata()[0] for line in with_chance.lines if line.get_linestyle() == ":"] == [
        0.4
    ]
    with pytest.raises(ParameterError, match="chance='half'"):
        plot_curves(make_results(), chance="half")


def test_stability(results):
    ax = plot_curves(results, metric="stability")
    frame = results.curves("bcr").filter(results.curves("bcr")["method"] == "mrmr")
    assert line_of(ax, 2).get_ydata().tolist() == frame["nogueira"].to_list()
    assert not any("none" in text for text in labels_beside(ax)), "all columns, every time"
    assert "none" not in ax.texts[-1].get_text()
    assert ax.get_ylabel() == "stability (Nogueira's index)"
    check_legible(ax)


@pytest.mark.parametrize("n_methods", [1, 7, 20])
@pytest.mark.parametrize("n_columns", [20, 500])
def test_curves_of_many_methods_are_legible(n_methods, n_columns):
    methods = [f"a method with a rather long name {k}" for k in range(n_methods)]
    study = make_results(methods, n_columns=n_columns, n_splits=3)
    ax = plot_curves(study)
    assert len(labels_beside(ax)) == n_methods + 1
    check_legible(ax)
    styles = {
        (line.get_color(), line.get_marker()) for line in ax.lines if len(line.get_xdata()) > 2
    }
    assert len(styles) == n_methods, "no two look the same"


def test_hostile_names_of_methods():
    check_legible(plot_curves(make_results(HOSTILE, n_splits=3)))


def test_methods_that_failed_are_named():
    ax = plot_curves(make_results(failing=["mrmr"]))
    assert "without a result: mrmr" in ax.texts[-1].get_text()
    with pytest.raises(DataError, match="no method has a bcr to draw: DataError: no luck"):
        plot_curves(make_results(["mrmr"], failing=["mrmr"]))


def test_biased_results_say_so():
    study = make_results(selection="outside")
    assert "BIASED" in plot_curves(study).texts[-1].get_text()
    assert "BIASED" in plot_frequencies(study, method="mim").texts[-1].get_text()
    assert "BIASED" in plot_cost_front(study, np.ones(40)).get_xlabel()


def test_rates_stay_between_0_and_1():
    study = make_results([f"m{k}" for k in range(20)], n_splits=3)
    curves = study.curves("bcr")
    assert curves["upper"].max() > 1.1, "intervals are not clipped, the axis is"
    low, high = plot_curves(study).get_ylim()
    assert low > -0.1
    assert 1.0 < high < 1.1


def test_one_split_has_no_interval():
    ax = plot_curves(make_results(n_splits=1))
    assert np.isfinite(ax.get_ylim()).all()
    check_legible(ax)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metric": "beauty"}, "no metric 'beauty'"),
        ({"methods": ["lasso"]}, "'lasso' is none of the methods: none, mim"),
        ({"methods": []}, "0 methods: give 1 to 20"),
        ({"dataset": "other"}, "'other' is none of the datasets"),
        ({"rule": 3}, "size 3 of 'mim' was not evaluated: 1, 2, 4"),
    ],
)
def test_curves_that_cannot_be(results, options, words):
    with pytest.raises(ParameterError, match=words):
        plot_curves(results, **options)


def test_curves_take_results_only(results):
    for function in (plot_curves, plot_frequencies):
        with pytest.raises(ParameterError, match="draws the Results of a study, not a dict"):
            function({})
    with pytest.raises(ParameterError, match="draws the Results of a study, not a dict"):
        plot_cost_front({}, {})


def test_a_study_that_was_run():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 12)), np.repeat(["ill", "well"], 20)
    X[:, 3] += 2 * (y == "ill")
    results = Study(["f-test", "none"], (X, y), 4).run(n_jobs=1)
    ax = plot_curves(results)
    assert line_of(ax, 0).get_xdata().tolist() == [1, 2, 4, 8]
    assert "none (all 12)" in labels_beside(ax)
    often = plot_frequencies(results, method="f-test", size=1)
    assert tick_texts(often.get_yticklabels())[0] == "x3"
    assert plot_cost_front(results, {"x3": 5}).get_xlim()[1] > 5


# ---- frequencies ---------------------------------------------------------------------------------
def test_frequencies_most_frequent_first(results):
    ax = plot_frequencies(results, method="mrmr", size=4, n_features=6)
    share = selection_frequency([order[:4] for order in results.orders("data", "mrmr")], 40)
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted(share, reverse=True)[:6]
    first = tick_texts(ax.get_yticklabels())[0]
    assert share[int(first.split()[1])] == share.max()
    dotted = next(line for line in ax.lines if line.get_linestyle() == ":")
    assert dotted.get_xdata()[0] == pytest.approx(4 / 40)
    lower, upper = wilson_interval(widths, 8)
    drawn = np.array(ax.collections[0].get_segments())[:, :, 0]
    assert drawn[:, 0] == pytest.approx(lower)
    assert drawn[:, 1] == pytest.approx(upper)
    assert ax.get_xlabel() == "share of 8 splits"
    check_legible(ax)


def test_columns_that_are_never_chosen_are_not_drawn(results):
    ax = plot_frequencies(results, method="mim", size=1, n_features=40)
    assert 0 < len(ax.patches) < 40
    assert min(bar.get_width() for bar in ax.patches) > 0


def test_frequencies_at_the_chosen_size_and_of_own_numbers(results):
    size = results.choose_size(method="mim")
    assert f"the best {size}," in plot_frequencies(results, method="mim").texts[-1].get_text()
    assert "columns on average" in plot_frequencies(results, method="cfs").texts[-1].get_text()
    with pytest.raises(ParameterError, match="'cfs' chooses the size itself"):
        plot_frequencies(results, method="cfs", size=3)


@pytest.mark.parametrize("n_columns", [20, 500])
def test_frequencies_are_legible(n_columns):
    study = make_results(["mim"], n_columns=n_columns, n_splits=40)
    ax = plot_frequencies(study, size=n_columns // 2, n_features=500)
    assert len(ax.get_yticklabels()) > n_columns // 2
    check_legible(ax)


def test_hostile_names_of_columns():
    study = make_results(["mim"], n_columns=12, names=HOSTILE)
    ax = plot_frequencies(study, size=8)
    assert len(set(tick_texts(ax.get_yticklabels()))) == len(ax.get_yticklabels())
    assert not any(text.get_parse_math() for text in ax.get_yticklabels())
    check_legible(ax)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "say which of the methods"),
        ({"method": "mim", "size": 0}, "size=0: give a whole number from 1"),
        ({"method": "mim", "size": 41}, "size=41: 'data' has 40 columns"),
        ({"method": "mim", "n_features": 0}, "n_features=0"),
        ({"method": "none"}, "'none' selects nothing"),
    ],
)
def test_frequencies_that_cannot_be(results, options, words):
    with pytest.raises(ParameterError, match=words):
        plot_frequencies(results, **options)


def test_wilson():
    from scipy.stats import binomtest

    for k in (0, 3, 10):
        expected = binomtest(k, 10).proportion_ci(method="wilson")
        assert [v.item() for v in wilson_interval(k / 10, 10)] == pytest.approx(list(expected))


# ---- the front of cost and error -----------------------------------------------------------------
def test_points_and_front(results):
    costs = {f"gene {j}": float(j) for j in range(40)}
    ax = plot_cost_front(results, costs)
    frame = results.curves("error")
    expected = []
    for row in frame.rows(named=True):
        if row["method"] == "none":
            expected.append((sum(range(40)), row["mean"]))
            continue
        chosen = results.orders("data", row["method"])
        if row["method"] != "cfs":
            chosen = [order[: row["size"]] for order in chosen]
        expected.append((np.mean([order.sum() for order in chosen]), row["mean"]))
    drawn = np.concatenate([line.get_xydata() for line in ax.lines if line.get_marker() != "None"])
    assert np.array(sorted(map(tuple, drawn.tolist()))) == pytest.approx(np.array(sorted(expected)))
    front = np.array(expected)[pareto_front(expected, [False, False])]
    steps = next(line for line in ax.lines if line.get_color() == INK)
    assert sorted(map(tuple, steps.get_xydata().tolist())) == sorted(map(tuple, front.tolist()))
    assert len(labels_beside(ax)) == len(front)
    check_legible(ax)


def test_costs_of_columns_that_are_not_named_are_those_of_a_schema(results):
    ax = plot_cost_front(results, {"gene 39": 7})
    right = max(line.get_xdata().max() for line in ax.lines if len(line.get_xdata()))
    assert right == 7, "all columns cost what one of them does"
    array = plot_cost_front(results, np.ones(40), metric="bcr")
    assert max(line.get_xdata().max() for line in array.lines if len(line.get_xdata())) == 40
    assert (
        plot_cost_front(results, {}).get_xlim()[0] < 0 < plot_cost_front(results, {}).get_xlim()[1]
    )


def test_a_front_of_many_methods_is_legible():
    methods = [f"a method with a long name {k}" for k in range(20)]
    study = make_results(methods, n_columns=500, n_splits=3)
    check_legible(plot_cost_front(study, np.linspace(0.1, 9, 500)))


@pytest.mark.parametrize(
    ("costs", "error", "words"),
    [
        (np.ones(3), ParameterError, "give 40 finite numbers of at least 0"),
        (-np.ones(40), ParameterError, "at least 0"),
        ({"gene 77": 1}, SchemaError, "costs names 'gene 77', which is no column"),
        ({"gene 7": -1}, SchemaError, "a cost is a finite number of at least 0"),
        ("free", ParameterError, "give a mapping"),
    ],
)
def test_costs_that_cannot_be(results, costs, error, words):
    with pytest.raises(error, match=words):
        plot_cost_front(results, costs)


def test_a_front_of_no_metric(results):
    with pytest.raises(ParameterError, match="no metric 'beauty'"):
        plot_cost_front(results, {}, metric="beauty")


# ---- critical differences ------------------------------------------------------------------------
def make_nemenyi(k, names=None, n_blocks=25, step=0.15):
    rng = np.random.default_rng(0)
    return nemenyi(rng.normal(size=(n_blocks, k)) + step * np.arange(k), names)


def test_ranks_groups_and_ruler():
    ranks = make_nemenyi(6)
    ax = plot_critical_difference(ranks)
    lines = {line.get_label(): line for line in ax.lines}
    bars = [line for name, line in lines.items() if name.startswith("group")]
    assert len(bars) == len(ranks.groups)
    scale = next(line for line in ax.lines if len(line.get_xdata()) == 2)
    left, right = scale.get_xdata()
    unit = (right - left) / 5
    ruler = lines["ruler"].get_xdata()
    assert ruler[1] - ruler[0] == pytest.approx(unit * ranks.critical_difference)
    for bar, group in zip(bars, ranks.groups, strict=True):
        ends = [left + unit * (ranks.mean_ranks[j] - 1) for j in (group[0], group[-1])]
        assert bar.get_xdata() == pytest.approx([ends[0] - 0.04, ends[1] + 0.04])
    for name, rank in zip(ranks.names, ranks.mean_ranks, strict=True):
        assert any(name in t.get_text() and f"{rank:.2f}" in t.get_text() for t in ax.texts)
    assert f"critical difference {ranks.critical_difference:.2f}" in tick_texts(ax.texts)


@pytest.mark.parametrize("k", [2, 3, 9, 20])
def test_critical_differences_are_legible(k):
    check_legible(plot_critical_difference(make_nemenyi(k)))
    long = [f"a method whose name is a long one {j}" for j in range(k)]
    check_legible(plot_critical_difference(make_nemenyi(k, long)))


def test_a_difference_wider_than_the_scale():
    ax = plot_critical_difference(make_nemenyi(3, n_blocks=2))
    assert any("wider than the scale" in text.get_text() for text in ax.texts)
    check_legible(ax)


def test_equal_ranks_and_hostile_names():
    ranks = nemenyi(np.ones((4, len(HOSTILE))), HOSTILE)
    check_legible(plot_critical_difference(ranks))


def test_a_comparison_of_results():
    comparison = make_results(["mim", "mrmr", "cfs"]).compare(size=None)
    ax = plot_critical_difference(comparison)
    assert any("mrmr" in text.get_text() for text in ax.texts)
    with pytest.raises(DataError, match="no mean ranks"):
        plot_critical_difference(dataclasses.replace(comparison, nemenyi=None))
    with pytest.raises(ParameterError, match="not a list"):
        plot_critical_difference([1, 2])
    with pytest.raises(ParameterError, match="21 methods: up to 20"):
        plot_critical_difference(make_nemenyi(21))


# ---- with and without a prior --------------------------------------------------------------------
@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 30)), np.repeat(["ill", "well"], 20)
    X[:, :4] += 0.8 * (y == "ill")[:, None]
    believing = SignalToNoise(schema={"prior": {"x20": 100, "x3": 5}})
    return prior_report(believing, X, y, size=5, splits=6, n_jobs=1)


def test_ranks_and_differences(report):
    ax = plot_prior(report, n_features=12)
    ranks, differences = ax.child_axes
    texts = [text.get_text() for text in ranks.texts]
    assert f"x20  {report.rank_without[20]}" in texts
    assert f"{report.rank_with[20]}  x20 * ▲" in texts
    went_out = report.went_out[0]
    assert any(text.endswith(f"{went_out} ▼") for text in texts)
    drawn = [line for line in differences.lines if line.get_marker() == "o"]
    intervals = [report.figures[5][name].difference for name in FIGURES]
    assert [line.get_xdata()[0] for line in drawn] == [interval.value for interval in intervals]
    spans = [line for line in differences.lines if len(line.get_xdata()) == 2][:3]
    assert [tuple(line.get_xdata()) for line in spans] == [(i.lower, i.upper) for i in intervals]
    check_legible(ax)


@pytest.mark.parametrize("n_columns", [20, 500])
def test_priors_of_many_columns_are_legible(report, n_columns):
    rng = np.random.default_rng(0)
    large = dataclasses.replace(
        report,
        names=[f"a gene whose name is long {j}" for j in range(n_columns)],
        prior=np.r_[9.0, np.ones(n_columns - 1)],
        rank_with=rng.permutation(n_columns) + 1,
        rank_without=rng.permutation(n_columns) + 1,
    )
    ax = plot_prior(large, n_features=n_columns)
    assert len(ax.child_axes[0].texts) == 2 * n_columns + 2
    check_legible(ax)


def test_priors_with_hostile_names_and_no_interval(report):
    nothing = Compared(*[Interval(np.nan, np.nan, np.nan)] * 3)
    odd = dataclasses.replace(
        report,
        names=[*HOSTILE, *map(str, range(18))],
        figures={5: dict.fromkeys(FIGURES, nothing)},
    )
    ax = plot_prior(odd)
    assert [t.get_text() for t in ax.child_axes[1].texts].count("cannot be told") == 3
    check_legible(ax)


def test_priors_take_reports_only(report):
    with pytest.raises(ParameterError, match="draws a PriorReport, not a dict"):
        plot_prior({})
    with pytest.raises(ParameterError, match="n_features=0"):
        plot_prior(report, n_features=0)


# ---- axes that are given -------------------------------------------------------------------------
def test_given_axes(results, report):
    _, axes = plt.subplots(2, 3, figsize=(16, 9), layout="constrained")
    flat = axes.ravel()
    drawn = [
        plot_curves(results, ax=flat[0]),
        plot_frequencies(results, method="mim", ax=flat[1]),
        plot_cost_front(results, np.ones(40), ax=flat[2]),
        plot_critical_difference(make_nemenyi(5), ax=flat[3]),
        plot_prior(report, n_features=10, ax=flat[4]),
    ]
    for ax, expected in zip(drawn, flat, strict=False):
        assert ax is expected
        assert ax.get_facecolor()[3] == 0, "the page shows through"
    assert not flat[5].lines
