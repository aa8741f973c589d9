"""All pairs of columns on a GPU: the ten nearest of every column, exactly.

    python benchmarks/gpu_pairs.py [columns [rows]]

The table is made on the device. Prints, for several widths of a tile, the time, what it is of the
tensor cores' peak, and where the time goes; then checks: 5,000 columns against the CPU, bit by bit,
and some columns of the large table against all others in float64.
"""

import sys
import time

import cupy as cp
import numpy as np

from featly.core.pairs import correlation, search_cuda
from featly.core.pairs import search as cpu
from featly.core.sources import DenseSource

PEAK = 870e12  # flop a second, measured: a product of large matrices in half precision
COUNT = 10


def main() -> None:
    p = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
    X = make_table(n, p)
    lines = [f"{p} columns x {n} rows, {COUNT} nearest, on {device_name()}"]
    lines.append(f"{'tile':>6} {'ready':>8} {'all':>8} {'flop/s':>9} {'of peak':>8} {'margin':>8}")
    result = None
    for tile in (4096, 8192, 16384):
        search_cuda.TILE = tile
        warm(n)
        begin = clock()
        columns = search_cuda.UnitColumns(X)
        ready = clock() - begin
        result = search_cuda.neighbours(columns, COUNT)
        seconds = clock() - begin
        rate = p * p * n / seconds  # a multiplication and an addition, of half the pairs
        lines.append(
            f"{tile:>6} {ready:>7.3f}s {seconds:>7.3f}s {rate / 1e12:>8.0f}T {rate / PEAK:>7.0%}"
            f" {columns.margin:>8.1e}"
        )
        print(lines[-1], flush=True)
        del columns
    search_cuda.TILE = 8192
    lines += parts(X)
    lines += check_results(X, result)
    print("\n".join(lines))


def make_table(n: int, p: int) -> cp.ndarray:
    """Make normal columns, one in a hundred nearly a copy of an earlier one."""
    random = cp.random.default_rng(0)
    X = cp.empty((p, n), np.float32)
    for low in range(0, p, 50_000):
        X[low : low + 50_000] = random.standard_normal((min(50_000, p - low), n), np.float32)
    copies = cp.arange(100, p, 100)
    X[copies] = X[copies - 57] + 0.3 * X[copies]
    X[1::1000] = X[: len(X[1::1000])]
    return X.T


def warm(n: int) -> None:
    """Compile everything and wake the device."""
    random = cp.random.default_rng(1)
    few = search_cuda.UnitColumns(random.standard_normal((2 * search_cuda.TILE, n), np.float32).T)
    search_cuda.neighbours(few, COUNT)


def clock() -> float:
    cp.cuda.runtime.deviceSynchronize()
    return time.perf_counter()


def device_name() -> str:
    return str(cp.cuda.runtime.getDeviceProperties(0)["name"].decode())


def parts(X: cp.ndarray) -> list[str]:
    """Measure the products alone, the sorting, and the last values."""
    columns = search_cuda.UnitColumns(X)
    p, n = columns.n_features, columns.n_rows
    lines = []
    for width in (4096, 8192, 16384):
        tile = cp.empty((width, width), np.uint16)
        blocks = [(low, low + width) for low in range(0, min(p, 16 * width) - width, width)]
        columns.tile(tile, blocks[0], blocks[0])
        begin, rounds = clock(), 3
        for _ in range(rounds):
            for block in blocks:
                columns.tile(tile, blocks[0], block)
        seconds = (clock() - begin) / rounds / len(blocks)
        rate = 2 * width**2 * n / seconds
        lines.append(f"product of {width}: {1e3 * seconds:.3f} ms, {rate / PEAK:.0%} of peak")
        del tile
    spent = dict.fromkeys(("shrink", "best"), 0.0)
    originals = {name: getattr(search_cuda._Sweep, name) for name in spent}
    lengths = []

    def time_method(name):
        def call(sweep):
            sweep.wait()
            lengths.append(sweep._length())
            begin = clock()
            out = originals[name](sweep)
            spent[name] += clock() - begin
            return out

        return call

    for name in spent:
        setattr(search_cuda._Sweep, name, time_method(name))
    search_cuda.neighbours(columns, COUNT)
    for name, function in originals.items():
        setattr(search_cuda._Sweep, name, function)
    noted = ", ".join(f"{length / p:.1f}" for length in lengths)
    lines.append(f"pairs a column in the list when it is sorted: {noted}")
    lines += [f"{name}: {seconds:.3f} s" for name, seconds in spent.items()]
    return lines


def check_results(X: cp.ndarray, result: tuple[np.ndarray, np.ndarray]) -> list[str]:
    few = cp.asnumpy(X[:, :5000])
    begin = time.perf_counter()
    expected = cpu.neighbours(correlation.UnitColumns(DenseSource(few)), COUNT, 1 << 33)
    seconds = time.perf_counter() - begin
    same = search_cuda.neighbours(search_cuda.UnitColumns(X[:, :5000]), COUNT)
    equal = all(np.array_equal(a, b) for a, b in zip(same, expected, strict=True))
    lines = [f"5,000 columns, the same bits as the CPU ({seconds:.1f} s): {equal}"]
    p = X.shape[1]
    chosen = np.concatenate([[0, 1, 100, p - 1], np.random.default_rng(0).integers(0, p, 28)])
    Z = X[:, cp.asarray(chosen)].astype(np.float64)
    Z = (Z - Z.mean(axis=0)) / cp.linalg.norm(Z - Z.mean(axis=0), axis=0)
    value = cp.empty((len(chosen), p))
    for low in range(0, p, 50_000):
        part = X[:, low : low + 50_000].astype(np.float64)
        part -= part.mean(axis=0)
        part /= cp.linalg.norm(part, axis=0)
        value[:, low : low + 50_000] = cp.abs(Z.T @ part)
    value[cp.arange(len(chosen)), cp.asarray(chosen)] = 0
    value = cp.rint(value * 2.0**40) / 2.0**40
    best = cp.asnumpy(cp.argsort(-value, axis=1)[:, :COUNT])
    best_values = cp.asnumpy(cp.take_along_axis(value, cp.asarray(best), axis=1))
    # products by cuBLAS may be a step of the grid off
    near = np.abs(best_values - result[1][chosen]).max() < 2.0**-38
    agree = (np.sort(best, axis=1) == np.sort(result[0][chosen], axis=1)).all(axis=1).sum()
    lines.append(
        f"{len(chosen)} columns against all in float64: values {near}, the same columns {agree}"
    )
    return lines


if __name__ == "__main__":
    main()
