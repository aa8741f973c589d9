"""SVM-RFE against loops around scikit-learn's SVC.

A peer with a loose tolerance runs twice: as shipped, and at tol=1e-10. "Same ranking" is against
the latter.
"""

from collections.abc import Iterator

import numpy as np
from sklearn.feature_selection import RFE
from sklearn.svm import SVC

from benchmarks.harness import Row, best_of, peak_over, two_classes
from featly import SVMRFE
from featly.elimination.rfe import schedule


def loop(X, y, step, **parameters):
    """Run Guyon's loop with a fraction of the remaining columns, as one writes it by hand."""
    left, order = np.arange(X.shape[1]), []
    while len(left):
        machine = SVC(kernel="linear", **parameters).fit(X[:, left], y)
        ranked = np.argsort(-(machine.coef_[0] ** 2), kind="stable")
        count = schedule(len(left), step)
        order = [*left[ranked[len(left) - count :]], *order]
        left = np.sort(left[ranked[: len(left) - count]])
    return np.array(order)


def describe_agreement(order, other):
    return f"{int((order == other).sum()):,} of {len(order):,} positions as at tol=1e-10"


def wide() -> Iterator[Row]:
    problem = "SVM-RFE, 100 x 10,000, 20% of the remaining a step"
    X, y = two_classes(100, 10_000)
    SVMRFE().fit(X, y)  # compile
    seconds, ours = best_of(lambda: SVMRFE().fit(X, y))
    exact_seconds, exact = best_of(lambda: loop(X, y, 0.2, tol=1e-10), 2)
    yield Row(problem, "featly", seconds, describe_agreement(ours.order_, exact), ours=True)
    shipped_seconds, shipped = best_of(lambda: loop(X, y, 0.2), 3)
    yield Row(
        problem, "loop around SVC, as shipped", shipped_seconds, describe_agreement(shipped, exact)
    )
    yield Row(problem, "loop around SVC, tol=1e-10", exact_seconds)


def one_by_one() -> Iterator[Row]:
    problem = "SVM-RFE, 100 x 2,000, one by one"
    X, y = two_classes(100, 2000)
    SVMRFE(step=1).fit(X, y)
    seconds, ours = best_of(lambda: SVMRFE(step=1).fit(X, y))
    peers = {}
    for name, parameters in (("as shipped", {}), ("tol=1e-10", {"tol": 1e-10})):
        rfe = RFE(SVC(kernel="linear", **parameters), n_features_to_select=1, step=1)
        peers[name] = best_of(lambda rfe=rfe: rfe.fit(X, y).ranking_.copy(), 1)
    exact = peers["tol=1e-10"][1]
    yield Row(problem, "featly", seconds, describe_agreement(ours.ranking_, exact), ours=True)
    shipped = peers["as shipped"]
    yield Row(
        problem, "RFE(SVC, step=1), as shipped", shipped[0], describe_agreement(shipped[1], exact)
    )
    yield Row(problem, "RFE(SVC, step=1), tol=1e-10", peers["tol=1e-10"][0])


def million() -> Iterator[Row]:
    small, y = two_classes(100, 3000, np.float32)
    SVMRFE().fit(small, y)
    SVMRFE().fit(np.asfortranarray(small), y)
    X, y = two_classes(100, 1_000_000, np.float32)
    for memory_order in ("row-major", "column-major"):
        if memory_order == "column-major":
            X = np.asfortranarray(X)
        seconds, extra, _ = peak_over(lambda X=X: SVMRFE().fit(X, y))
        yield Row(
            f"SVM-RFE, 100 x 1,000,000 float32 {memory_order}, 20% a step",
            "featly",
            seconds,
            f"peak memory {1 + extra / X.nbytes:.2f} times X",
            ours=True,
        )


def tall() -> Iterator[Row]:
    for n, p, C in ((5000, 20, 1.0), (100_000, 20, 1.0)):
        problem = f"SVM-RFE, {n:,} x {p}, one by one, C={C:g}"
        X, y = two_classes(n, p)
        SVMRFE(step=1, C=C).fit(X[:1100], y[:1100])
        seconds, extra, ours = peak_over(lambda X=X, y=y, C=C: SVMRFE(step=1, C=C).fit(X, y))
        gap = f"largest relative duality gap {ours.duality_gap_.max():.0e}"
        memory = f"peak memory {1 + extra / X.nbytes:.1f} times X"
        yield Row(problem, "featly", seconds, f"{gap}; {memory}", ours=True)
        if n <= 5000:
            rfe = RFE(SVC(kernel="linear", C=C), n_features_to_select=1, step=1)
            peer, _ = best_of(lambda rfe=rfe, X=X, y=y: rfe.fit(X, y), 1)
            yield Row(problem, "RFE(SVC, step=1), as shipped", peer)


CASES = {"wide": wide, "one-by-one": one_by_one, "million": million, "tall": tall}
