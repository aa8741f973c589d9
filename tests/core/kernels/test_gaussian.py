import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featly.core.kernels import gaussian
from featly.core.kernels.gaussian import margin_changes, squared_distances
from tests.reference.gaussian import margin_change


@given(st.integers(0, 10_000), st.integers(2, 8), st.sampled_from([1e-3, 0.3, 5.0]))
def test_changes_are_those_of_the_definition(seed, n, gamma):
    """Numbers, blocks of several atoms, constant columns, rows without a coefficient."""
    rng = np.random.default_rng(seed)
    blocks = [rng.integers(-2, 3, size=(n, w)) * rng.choice([0, 0.1, 1, 8]) for w in (1, 1, 3, 1)]
    v = rng.normal(size=n) * (rng.random(n) < 0.7)
    atoms = np.ascontiguousarray(np.hstack(blocks).T)
    starts = np.array([0, 1, 2, 5, 6])
    distances = ((atoms[:, :, None] - atoms[:, None, :]) ** 2).sum(0)
    changes = margin_changes(atoms, starts, v, distances, gamma)
    expected = [margin_change(blocks, v, gamma, f) for f in range(4)]
    assert changes == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_blocks_and_threads(monkeypatch):
    rng = np.random.default_rng(0)
    atoms, v = rng.normal(size=(40, 90)), rng.normal(size=90)
    distances = squared_distances(atoms.T @ atoms)
    starts = np.arange(41)
    one_thread = margin_changes(atoms, starts, v, distances, 0.02, n_jobs=1)
    assert (
        margin_changes(atoms, starts, v, distances, 0.02, n_jobs=2).tobytes()
        == one_thread.tobytes()
    )
    monkeypatch.setattr(gaussian, "PAIR_BLOCK", 50)
    assert margin_changes(atoms, starts, v, distances, 0.02) == pytest.approx(one_thread, rel=1e-12)


def test_rows_so_far_apart_that_the_kernel_underflows():
    atoms = np.array([[0.0, 100.0, 0.0], [0.0, 0.5, 1.0]])
    v = np.array([1.0, -1.0, 0.5])
    distances = squared_distances(atoms.T @ atoms)
    changes = margin_changes(atoms, np.arange(3), v, distances, 1.0)
    blocks = [atoms[:1].T, atoms[1:].T]
    assert changes == pytest.approx([margin_change(blocks, v, 1.0, f) for f in (0, 1)], rel=1e-10)
    assert np.isfinite(changes).all()


def test_distances_are_never_negative():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 3)) + 1e6
    X[7] = X[3]
    D = squared_distances(X @ X.T)
    assert (D >= 0).all()
    assert (np.diag(D) == 0).all()
