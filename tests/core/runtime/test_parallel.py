import threading
import time
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import threadpoolctl

from featly import FTest
from featly.core.runtime.parallel import n_threads, run_blocks, single_threaded_blas, split


def blas_threads():
    return [p["num_threads"] for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas"]


def test_results_come_in_order_whatever_finishes_first():
    def slow_first(k):
        time.sleep(0.02 if k == 0 else 0)
        return k

    for n_jobs in (1, 2, 5):
        assert run_blocks(slow_first, range(8), n_jobs) == list(range(8))
    assert run_blocks(slow_first, [], 2) == []


def test_an_error_cancels_what_has_not_begun():
    begun = []

    def fail(k):
        begun.append(k)
        if k == 0:
            raise KeyboardInterrupt
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        run_blocks(fail, range(200), 2)
    time.sleep(0.05)
    assert len(begun) < 200


def test_split():
    assert split(0, 3) == []
    assert split(7, 3) == [(0, 3), (3, 6), (6, 7)]


def test_counts_of_threads():
    assert n_threads(3) == 3
    assert n_threads(None) == n_threads(-1) == joblib.cpu_count()
    assert n_threads(-1000) == 1
    with pytest.raises(ValueError, match="n_jobs=0"):
        n_threads(0)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_one_thread_inside_a_joblib_worker(backend):
    counts = joblib.Parallel(2, backend=backend)(joblib.delayed(n_threads)() for _ in range(4))
    assert counts == [1, 1, 1, 1]


def test_methods_run_in_joblib_workers_on_read_only_maps():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 1000)), np.arange(400) % 2
    fit = joblib.delayed(lambda X, y: FTest().fit(X, y).order_)
    expected = FTest().fit(X, y).order_
    for order in joblib.Parallel(2, max_nbytes=1000)(fit(X, y) for _ in range(2)):
        assert np.array_equal(order, expected)


def test_blas_limit_nests_and_is_lifted():
    before = blas_threads()
    with single_threaded_blas():
        with single_threaded_blas():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_blas_limit_is_lifted_after_threads_that_overlap():
    before = blas_threads()
    inside = threading.Barrier(2, timeout=10)
    second_may_leave = threading.Event()

    def work(first):
        with single_threaded_blas():
            inside.wait()
            if not first:
                second_may_leave.wait(timeout=10)
        if first:
            second_may_leave.set()

    with ThreadPoolExecutor(2) as pool:
        for task in [pool.submit(work, first) for first in (True, False)]:
            task.result(timeout=20)
    assert blas_threads() == before
