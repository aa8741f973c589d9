"""SD, Madelon and Artificial: documented means and correlations, and which columns suffice."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from featly import FTest
from featly.datasets import artificial_means, make_artificial, make_madelon, make_sd, sd_means
from featly.datasets.madelon import VERTICES, _is_every_axis_relevant


def class_means(problem, columns):
    X = problem.X.select(columns).to_numpy()
    return np.array([X[problem.y == c].mean(axis=0) for c in np.unique(problem.y)])


def bayes_error(means, deviation, n=60_000):
    """Error of the best rule for equally likely spherical Gaussian classes, by Monte Carlo."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % len(means)
    X = means[y] + deviation * rng.normal(size=(n, means.shape[1]))
    log_density = X @ means.T - (means**2).sum(axis=1) / 2  # up to what classes share
    return np.mean(log_density.argmax(axis=1) != y)


def discriminant_accuracy(problem, columns):
    """Accuracy of linear discriminant analysis, on the half of the rows it has not seen."""
    X = problem.X.select(columns).to_numpy()
    half = len(X) // 2
    model = LinearDiscriminantAnalysis().fit(X[:half], problem.y[:half])
    return model.score(X[half:], problem.y[half:])


@pytest.mark.parametrize("problem", [1, 2, 3])
def test_sd_has_the_documented_means_and_correlations(problem):
    n = 30_000
    sd = make_sd(problem, n_rows=n, n_irrelevant=4)
    genes = [column for group in sd.relevant for column in group]
    expected = np.repeat(sd_means(problem), 10, axis=0).T
    assert class_means(sd, genes) == pytest.approx(expected, abs=5 / np.sqrt(n / 3))
    within = sd.X.select(genes).to_numpy() - expected[sd.y - 1]
    group = np.repeat(np.arange(len(sd.relevant)), 10)
    covariance = np.where(group[:, None] == group, 0.9, 0.0)
    np.fill_diagonal(covariance, 1.0)
    assert np.cov(within.T) == pytest.approx(covariance, abs=0.04)


def test_sd_full_groups_tell_all_classes_and_partial_ones_a_single_one():
    assert [len(set(np.round(row, 6))) for row in sd_means(1)] == [3, 3]
    assert [len(set(np.round(row, 6))) for row in sd_means(2)] == [3, 2, 2, 2]
    assert [len(set(row)) for row in sd_means(3)] == [2] * 6
    for means in (sd_means(1), sd_means(3)):  # every two classes equally far apart
        distances = [np.linalg.norm(means[:, a] - means[:, b]) for a, b in ((0, 1), (0, 2), (1, 2))]
        assert distances == pytest.approx([distances[0]] * 3)
    assert sd_means(1)[1] == pytest.approx(-sd_means(1)[0][::-1])  # neither group is worth more


@pytest.mark.parametrize(("problem", "best"), [(1, 0.70), (2, 0.71), (3, 0.745)])
def test_sd_needs_one_gene_of_each_group(problem, best):
    sd = make_sd(problem, n_rows=60_000, n_irrelevant=0)
    one_of_each = [group[3] for group in sd.relevant]
    reached = discriminant_accuracy(sd, one_of_each)
    assert reached == pytest.approx(best, abs=0.01)
    assert reached == pytest.approx(1 - bayes_error(sd_means(problem).T, 1.0), abs=0.01)
    another_of_each = [group[7] for group in sd.relevant]
    assert discriminant_accuracy(sd, another_of_each) == pytest.approx(reached, abs=0.01)
    everything = [column for group in sd.relevant for column in group]
    assert discriminant_accuracy(sd, everything) < reached + 0.03  # repeats hardly help
    for left_out in one_of_each:
        fewer = [column for column in one_of_each if column != left_out]
        assert discriminant_accuracy(sd, fewer) < reached - 0.02


@pytest.mark.parametrize("problem", [1, 2, 3])
def test_a_large_effect_makes_sd_easy_but_only_with_all_groups(problem):
    sd = make_sd(problem, n_rows=6000, n_irrelevant=0, effect_size=3)
    one_of_each = [group[0] for group in sd.relevant]
    assert discriminant_accuracy(sd, one_of_each) > 0.98
    if problem == 1:
        assert discriminant_accuracy(sd, one_of_each[:1]) < 0.85


def test_sd_irrelevant_genes():
    sd = make_sd(1)
    X = sd.X.select(sd.irrelevant).to_numpy()
    normal, uniform = X[:, :2000], X[:, 2000:]
    assert stats.kstest(normal.ravel(), stats.norm.cdf).pvalue > 1e-3
    assert stats.kstest(uniform.ravel(), stats.uniform(-1, 2).cdf).pvalue > 1e-3
    assert np.bincount(sd.y).tolist() == [0, 25, 25, 25]
    odd = make_sd(1, n_rows=900, n_irrelevant=3)  # two are normal, one is uniform
    assert (odd.X[:, 20:].max() > 1).row(0) == (True, True, False)


def test_parts_of_sd_have_streams_of_their_own():
    default, fewer = make_sd(2), make_sd(2, n_irrelevant=10)
    assert_frame_equal(default.X[:, :45], fewer.X[:, :45])
    stronger = make_sd(2, effect_size=2, n_irrelevant=10)
    assert_frame_equal(stronger.X[:, 40:], fewer.X[:, 40:])
    moved = stronger.X[:, :40].to_numpy() - fewer.X[:, :40].to_numpy()
    assert moved == pytest.approx(np.repeat(sd_means(2), 10, axis=0).T[fewer.y - 1])


@pytest.mark.parametrize("problem", [1, 2, 3])
def test_sd_genes_are_found_but_not_all(problem):
    """As in the book: relevant genes come first, and partial ones often go unnoticed."""
    sd = make_sd(problem)
    best = {sd.X.columns[j] for j in FTest().fit(sd.X, sd.y).order_[:20]}
    n_groups_hit = sum(bool(best & set(group)) for group in sd.relevant)
    assert n_groups_hit >= {1: 2, 2: 2, 3: 2}[problem]
    assert len(best - set(sd.irrelevant)) >= 10


@pytest.fixture(scope="module")
def madelon():
    return make_madelon()


def standardise(problem, columns):
    return stats.zscore(problem.X.select(columns).to_numpy())


def test_madelon_columns_have_their_roles(madelon):
    relevant = standardise(madelon, [column for (column,) in madelon.relevant])
    combined = standardise(madelon, madelon.redundant["combinations"])
    repeats = standardise(madelon, madelon.redundant["repeats"])
    probes = standardise(madelon, madelon.irrelevant)
    n = len(madelon.y)
    assert np.abs(np.corrcoef(relevant.T) - np.eye(5)).max() < 0.1
    # a repeat is a column it repeats up to the noise, 1 / (1 + 0.1^2)
    with_sources = np.corrcoef(repeats.T, np.hstack([relevant, combined]).T)[:10, 10:]
    assert with_sources.max(axis=1) == pytest.approx(np.full(10, 1 / 1.01), abs=0.003)
    # combinations follow from the relevant columns, up to the noise
    _, residual, _, _ = np.linalg.lstsq(relevant, combined, rcond=None)
    assert (residual / n < 0.08).all()
    # every vertex is there, and both halves of every axis
    assert (stats.kurtosis(relevant) < -0.7).all()
    assert np.abs(np.corrcoef(probes.T, relevant.T)[:480, 480:]).max() < 5.5 / np.sqrt(n)
    assert np.abs(stats.kurtosis(probes)).max() < 0.7
    units = madelon.X.select(madelon.irrelevant)
    assert 440 < units.mean().min_horizontal().item() < 460
    assert 540 < units.mean().max_horizontal().item() < 560
    assert 0.9 < units.std().min_horizontal().item() < 2
    assert 48 < units.std().max_horizontal().item() < 52


def test_madelon_needs_all_five_columns(madelon):
    relevant = [column for (column,) in madelon.relevant]
    five = KNeighborsClassifier(5)
    full = cross_val_score(five, standardise(madelon, relevant), madelon.y, cv=5).mean()
    assert full > 0.87
    for left_out in relevant:
        fewer = [column for column in relevant if column != left_out]
        assert (
            cross_val_score(five, standardise(madelon, fewer), madelon.y, cv=5).mean() < full - 0.05
        )
    single = KNeighborsClassifier(1)
    nearest = cross_val_score(single, standardise(madelon, relevant), madelon.y, cv=5).mean()
    assert 0.85 < nearest < 0.92


def test_madelon_labels():
    clean, noisy = make_madelon(n_irrelevant=0, label_noise=0.0), make_madelon(n_irrelevant=0)
    assert np.bincount(clean.y + 1).tolist() == [1200, 0, 1200]
    assert_frame_equal(clean.X, noisy.X)
    assert (clean.y != noisy.y).sum() == 24
    # the labels of vertices alone: a far point takes that of its corner
    corner = (standardise(clean, [f"f{j}" for j in range(1, 6)]) > 0) @ (2 ** np.arange(5))
    majority = np.array([np.sign(clean.y[corner == c].sum()) for c in range(32)])
    assert sorted(majority.tolist()) == [-1] * 16 + [1] * 16
    assert np.mean(majority[corner] == clean.y) > 0.85


def test_madelon_parts_have_streams_of_their_own():
    fewer, more = make_madelon(n_irrelevant=3), make_madelon(n_irrelevant=9)
    assert_frame_equal(fewer.X, more.X[:, :23])


def test_axes_of_the_hypercube_that_do_not_matter_are_noticed():
    assert _is_every_axis_relevant(VERTICES.prod(axis=1))
    for axis in range(5):
        without_axis = np.delete(VERTICES, axis, axis=1)
        assert not _is_every_axis_relevant(without_axis.prod(axis=1))


@pytest.mark.parametrize(("problem", "n_classes"), [(1, 3), (1, 8), (2, 8), (3, 3), (3, 8)])
def test_artificial_has_the_documented_means(problem, n_classes):
    n = 20_000
    made = make_artificial(problem, n_classes=n_classes, n_rows=n, n_noise=5)
    means = artificial_means(problem, n_classes)
    relevant = [column for (column,) in made.relevant]
    assert class_means(made, relevant) == pytest.approx(means, abs=5 * 0.5 / np.sqrt(n / n_classes))
    within = made.X.select(relevant).to_numpy() - means[made.y - 1]
    assert np.cov(within.T) == pytest.approx(0.25 * np.eye(len(relevant)), abs=0.015)
    noise = made.X.select(made.irrelevant)
    assert class_means(made, made.irrelevant) == pytest.approx(0, abs=5 / np.sqrt(n / n_classes))
    assert noise.std().row(0) == pytest.approx((1.0,) * 5, abs=0.03)
    counts = np.bincount(made.y)[1:]
    assert len(counts) == n_classes
    assert counts.max() - counts.min() <= 1


BAYES = [
    *((1, k, percent) for k, percent in ((3, 1.7), (4, 2.4), (5, 3.0), (8, 4.6), (16, 7.8))),
    (2, 8, 4.6),
    *((3, k, percent) for k, percent in ((3, 1.8), (8, 4.6), (16, 5.3))),
]


@pytest.mark.parametrize(("problem", "n_classes", "percent"), BAYES)
def test_the_bayes_error_is_small_but_not_zero(problem, n_classes, percent):
    error = 100 * bayes_error(artificial_means(problem, n_classes), 0.5)
    assert error == pytest.approx(percent, abs=0.35)
    assert 1 < error < 10
    assert f"{percent}" in make_artificial.__doc__


def test_artificial_1_gives_every_class_five_columns():
    means = artificial_means(1, 4)
    assert means.shape == (4, 20)
    assert ((means != 0).sum(axis=1) == 5).all()
    assert ((means != 0).sum(axis=0) == 1).all()
    assert [set(np.flatnonzero(row)) for row in means] == [
        set(range(5 * c, 5 * c + 5)) for c in range(4)
    ]


def test_artificial_2_has_three_tiers():
    means = artificial_means(2)
    assert means.shape == (8, 25)
    for first, last, classes in [(0, 5, 3), (5, 10, 2), (10, 15, 1), (15, 20, 1), (20, 25, 1)]:
        column = means[:, first]
        assert (means[:, first:last] == column[:, None]).all()
        assert (column != 0).sum() == classes
        assert len(set(column)) == classes + 1  # its classes differ from each other and the rest
    worth = means.var(axis=0)
    assert worth[:5].min() > 2 * worth[5:10].max()
    assert worth[5:10].min() > 2 * worth[10:].max()
    assert np.unique(means, axis=0).shape[0] == 8
    made = make_artificial(2, n_rows=1600)
    order = FTest().fit(made.X, made.y).order_.tolist()
    tiers = [made.positions(columns) for columns in made.tiers.values()]
    assert [set(order[:5]), set(order[5:10]), set(order[10:25])] == [set(t) for t in tiers[:3]]


@pytest.mark.parametrize("n_classes", [2, 3, 8, 16])
def test_artificial_3_columns_are_all_alike_and_tell_every_pair_of_classes(n_classes):
    means = artificial_means(3, n_classes)
    assert means.shape == (n_classes, 5 * n_classes)
    assert np.sort(means, axis=0) == pytest.approx(
        np.repeat(np.linspace(-0.425, 0.425, n_classes)[:, None], 5 * n_classes, axis=1)
    )
    assert np.sort(means, axis=1) == pytest.approx(
        np.repeat(np.linspace(-0.425, 0.425, n_classes), 5)[None].repeat(n_classes, axis=0)
    )


def test_artificial_noise_has_a_stream_of_its_own():
    fewer, more = (make_artificial(3, n_rows=90, n_noise=n) for n in (2, 7))
    assert_frame_equal(fewer.X, more.X[:, :42])
    assert isinstance(fewer.X, pl.DataFrame)


@pytest.mark.parametrize("make", [sd_means, artificial_means])
def test_means_can_be_changed_without_harm(make):
    first = make(2)
    first += 1
    assert (make(2) != first).all()


def test_the_public_madelon_is_alike(data_folder):
    """The public file has the properties that the notes state."""
    public = pl.read_parquet(data_folder / "madelon.parquet")
    X = stats.zscore(public.drop("split", "class").to_numpy().astype(float))
    correlations = np.abs(np.corrcoef(X.T)) - np.eye(500)
    useful = np.flatnonzero(correlations.max(axis=0) > 0.3)
    assert len(useful) == 20
    repeated = correlations[useful].max(axis=1)
    assert repeated[repeated > 0.8] == pytest.approx(1 / 1.01, abs=0.002)
    flat = useful[stats.kurtosis(X[:, useful]) < -0.7]
    assert stats.kurtosis(X[:, flat]).mean() == pytest.approx(-0.9, abs=0.03)
