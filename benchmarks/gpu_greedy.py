"""The greedy filters on a CUDA device: ``python3 benchmarks/gpu_greedy.py [columns [rows]]``.

Five million columns of three levels, 1,000 rows, made on the device. Times are medians, the device
waited for. The floor of a step is to read the planes once; fractions are of the bandwidth that a
copy on the same device reaches. The order is compared with that of the CPU on the first 50,000
columns.
"""

import statistics
import sys
import time

import numpy as np

from featly.core.counts import bitplanes_cuda
from featly.core.counts.codes import WholeCodes
from featly.core.counts.codes_cuda import CudaCodes
from featly.core.counts.entropy_cuda import Classes, chi_squared, class_information
from featly.core.greedy import search as cpu
from featly.core.greedy import search_cuda
from featly.core.runtime.device_cuda import kernel, to_host, xp
from featly.filters.cmim import CMIM
from featly.filters.jmi import JMI
from featly.filters.mrmr import MRMR

N_STEPS = 50
COMPARED = 50_000  # columns
METHODS = {"MRMR": MRMR, "JMI": JMI, "CMIM": CMIM}

# a number for every cell, by a hash of its position; every thousandth column depends on the class
MAKE = r"""
typedef unsigned long long u64;
__device__ u64 mixed(u64 x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}
extern "C" __global__ void make(unsigned char* X, const int* y, long long n, long long p) {
    const u64 cell = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (cell >= (u64)n * p) return;
    const u64 row = cell / p, column = cell % p, hash = mixed(cell);
    const bool informative = mixed(~column) % 1000 == 0;
    const bool of_class = informative && (hash >> 40) % 100 < 5 + mixed(column + 7) % 40;
    X[cell] = of_class ? y[row] : (hash & 0xffffffff) * 3 >> 32;
}
"""


def make_table(n, p):
    cupy = xp()
    y = np.random.default_rng(0).integers(0, 2, n)
    X = cupy.empty((n, p), cupy.uint8)
    loop = kernel(MAKE, "make")
    loop((-(-n * p // 256),), (256,), (X, cupy.asarray(y.astype(np.int32)), n, p))
    return X, y


def clock(function, repeats=5):
    """Return the median seconds of a call, the device waited for; the first is not counted."""
    cupy = xp()
    times = []
    for _ in range(repeats + 1):
        cupy.cuda.Device().synchronize()
        begin = time.perf_counter()
        function()
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:])


def bandwidth():
    """Return the bytes a second that a copy reads and writes."""
    cupy = xp()
    values = cupy.ones(1 << 31, cupy.uint8)
    copied = cupy.empty_like(values)
    return 2 * values.nbytes / clock(lambda: cupy.copyto(copied, values), 10)


def row(name, seconds, moved, peak):
    print(
        f"{name:44s} {seconds * 1e3:10.3f} ms {moved / 1e9:9.3f} GB {moved / seconds / peak:7.1%}"
    )


def main(p=5_000_000, n=1000):
    peak = bandwidth()
    print(f"copy: {peak / 1e12:.2f} TB/s")
    X, y = make_table(n, p)
    small = X[:, :COMPARED].copy()
    preparation(X, y, peak)
    lines = [measure_search(name, X, y, small, peak) for name in METHODS]
    print(*lines, sep="\n")
    fit(X, y)


def preparation(X, y, peak):
    """Measure the steps before a search, and the filters that need no more."""
    coded, grouping = next(CudaCodes.from_array(X).blocks()), Classes(y, 2)
    size = len(X) * coded.n_columns
    row("bounds of a block", clock(lambda: next(CudaCodes.from_array(X).blocks())), size, peak)
    written = bitplanes_cuda.pack(coded, None, 2, grouping.layout).data.nbytes
    seconds = clock(lambda: bitplanes_cuda.pack(coded, None, 2, grouping.layout))
    row("packing of a block", seconds, size + written, peak)
    for name, function in (("information", class_information), ("chi-squared", chi_squared)):
        seconds = clock(lambda function=function: function(CudaCodes.from_array(X), y, 2), 3)
        row(f"{name} of all columns, on the host", seconds, X.nbytes, peak)


def measure_search(name, X, y, small, peak):
    """Measure a search and its steps, and return a line on whether the CPU agrees."""
    method, p = METHODS[name](), X.shape[1]
    wants = {"by_class": method._by_class, "redundancy": method._redundancy}

    def terms(table):
        return search_cuda.PairInformation(CudaCodes.from_array(table), y, 2, **wants)

    def search(table):
        return search_cuda.forward_search(method._criterion(terms(table)), N_STEPS)

    seconds = clock(lambda: terms(X), 3)
    pair_terms = terms(X)
    n_plane_bytes = sum(array.nbytes for array in pair_terms._store.data)
    row(f"{name}: packed, relevance known", seconds, 2 * X.nbytes + n_plane_bytes, peak)
    written = 8 * p * (method._by_class + method._redundancy)
    step = clock(lambda: [pair_terms.condition_on(17) for _ in range(20)]) / 20
    row(f"{name}: a step, the counts alone", step, n_plane_bytes + 8 * p + written, peak)
    criterion = method._criterion(pair_terms)
    step = clock(lambda: [(criterion.choose(17), criterion.value()) for _ in range(20)]) / 20
    row(f"{name}: a step, counts and criterion", step, n_plane_bytes + 8 * p + written, peak)
    step = clock(
        lambda: search_cuda._best(pair_terms.relevance, pair_terms.digits, None, pair_terms.varies),
        20,
    )
    row(f"{name}: a step, the best column", step, 9 * p, peak)
    whole = clock(lambda: search(X), 3)
    moved = 2 * X.nbytes + n_plane_bytes + (N_STEPS - 1) * (n_plane_bytes + 8 * p + written)
    row(f"{name}: {N_STEPS} steps, order on the host", whole, moved, peak)
    # ---- the same order as on the CPU
    table = to_host(small)
    low, high = np.zeros(table.shape[1], np.int64), np.full(table.shape[1], 2)
    begin = time.perf_counter()
    theirs = cpu.PairInformation(WholeCodes(table, low, high), y, 2, **wants)
    expected = cpu.forward_search(method._criterion(theirs), N_STEPS)
    cpu_seconds = time.perf_counter() - begin
    result = search(small)
    alike = (result.order == expected.order).all() and (
        result.criterion == expected.criterion
    ).all()
    return (
        f"{name}: {whole * 1e3:.1f} ms for {p:,} x {len(X):,}; {table.shape[1]:,} columns in the "
        f"order of the CPU: {'yes' if alike else 'NO'} (CPU {cpu_seconds:.2f} s, first call)"
    )


def fit(X, y):
    """Time the public method, from an array on the device to attributes on the host."""
    for name, kind in METHODS.items():
        if "device" not in kind().get_params():
            print("the methods take no device yet")
            return
        method = kind(discretizer=None, device="cuda", max_steps=N_STEPS)
        seconds = clock(lambda method=method: method.fit(X, y), 3)
        print(f"{name}(discretizer=None, device='cuda').fit: {seconds * 1e3:.1f} ms")


if __name__ == "__main__":
    main(*(int(argument.replace("_", "")) for argument in sys.argv[1:]))
