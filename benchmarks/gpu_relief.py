"""Times of numbers on a CUDA device: ``PYTHONPATH=src python3 benchmarks/gpu_relief.py``.

ReliefF, SVM-RFE, l2-AROM, moments and the clinical kernel on tables that are made on the device.
Times are the best of some, the device waited for. Fractions are of what the same device reaches
with a copy, with a product of float64 matrices and with additions of float64 in registers. Orders
are compared with those of the CPU on small tables, in the same run.

With ``--small`` the tables are small: to see that it runs.
"""

import sys
import time
from functools import partial

import numpy as np

from featly.core.kernels import clinical as host_clinical
from featly.core.kernels import clinical_cuda as cuda_clinical
from featly.core.kernels import kernel_sets
from featly.core.kernels.mkl import solve_mkl
from featly.core.ranking.ordering import best_first
from featly.core.relief import relief
from featly.core.relief import relief_cuda as cuda_relief
from featly.core.relief.relief import GRID, Near, Nearest
from featly.core.relief.relief_columns import ClassOrder
from featly.core.runtime import device_cuda
from featly.core.sources import centers_and_variances, linear_cuda, moments_cuda, unit_scale
from featly.core.sources.source_cuda import CudaSource, cuda_source
from featly.core.stats.pair_sums_cuda import PairSums
from featly.core.svm.arom import arom
from featly.elimination.clinical_svm import ClinicalMachine
from featly.elimination.linear_svm import LinearMachine
from featly.elimination.rfe import eliminate

ADDITIONS = r"""
extern "C" __global__ void additions(double* out, double step, int times)
{
    double a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, g = a + 6, h = a;
    for (int k = 0; k < times; k++) {
        #pragma unroll
        for (int q = 0; q < 16; q++) {
            a += step; b += step; c += step; d += step; e += step; f += step; g += step; h += step;
        }
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d + e + f + g + h;
}
"""


def best_of(call, times=3):
    """Return the shortest time of some calls on the device, and the last result."""
    seconds, result = [], None
    for _ in range(times):
        result = None  # its memory is given back before the next call
        wait()
        began = time.perf_counter()
        result = call()
        wait()
        seconds.append(time.perf_counter() - began)
    return min(seconds), result


def wait():
    device_cuda.xp().cuda.runtime.deviceSynchronize()


def show(label, seconds, note=""):
    print(f"{label:<58} {1e3 * seconds:12.2f} ms   {note}", flush=True)


def peaks(small):
    """Return bytes moved, float64 operations of products, and float64 additions, all a second."""
    cupy = device_cuda.xp()
    size = 1 << (20 if small else 29)
    values, copied = cupy.ones(size), cupy.empty(size)
    seconds, _ = best_of(partial(cupy.copyto, copied, values))
    bandwidth = 16 * size / seconds
    show("copy within the device", seconds, f"{bandwidth / 1e12:.2f} TB/s")
    del values, copied
    n = 256 if small else 8192
    A = cupy.random.standard_normal((n, n))
    seconds, _ = best_of(lambda: A @ A)
    products = 2 * n**3 / seconds
    show(f"product of float64 matrices, {n} x {n}", seconds, f"{products / 1e12:.1f} TFLOP/s")
    blocks, times = 132 * 16, 10 if small else 4000
    out = cupy.empty((blocks, 256))
    add = device_cuda.kernel(ADDITIONS, "additions")
    argument = (out, np.float64(1e-3), np.int32(times))
    seconds, _ = best_of(lambda: add((blocks,), (256,), argument))
    additions = blocks * 256 * times * 128 / seconds
    show("additions of float64 in registers", seconds, f"{additions / 1e12:.1f} T/s")
    return bandwidth, products, additions


def normal(n, p, layout="rows", seed=0):
    """Make normal float32 numbers on the device, 20 columns shifted between two classes."""
    cupy = device_cuda.xp()
    cupy.random.seed(seed)
    y = np.random.default_rng(seed).permutation(np.arange(n) % 2)
    shape = (n, p) if layout == "rows" else (p, n)
    X = cupy.random.standard_normal(shape, dtype=np.float32)
    X = X if layout == "rows" else X.T
    X[:, :20] += 0.6 * cupy.asarray(y[:, None], dtype=np.float32)
    return X, y


def measure_relief(n, p, additions, bandwidth):
    X, y = normal(n, p)
    name = f"ReliefF {n:,} x {p:,} float32"
    seconds, result = best_of(lambda: cuda_relief.relief_weights(CudaSource(X), y, 2, Nearest(10)))
    terms = n * (n + 1) / 2 * p
    show(name, seconds, f"{2 * terms / seconds / additions:.0%} of float64 additions")
    good = (np.sort(best_first(result.weights)[:20]) < 20).sum()
    layout = ClassOrder.from_labels(y, 2)

    def columns():
        varying = cuda_relief._Columns(CudaSource(X), layout)
        for _ in varying.tiles():
            pass
        return varying

    seconds, varying = best_of(columns, 2)
    bytes_moved = n * p * (4 + 4 + 8)
    show("  ranges and scaling", seconds, f"{bytes_moved / seconds / bandwidth:.0%} of a copy")

    def distances():
        sums = PairSums(n, varying.width)
        for _, tile in varying.tiles():
            sums.add(tile)
        return sums.total()

    seconds, total = best_of(distances, 2)
    show("  distances", seconds, f"{2 * terms / seconds / additions:.0%} of float64 additions")
    own_rows = device_cuda.as_device(np.arange(n, dtype=np.int32))
    work = cuda_relief._Work(varying, layout, Nearest(10), False)
    seconds, _ = best_of(partial(work._weigh, total, own_rows), 1)
    show("  neighbours", seconds)
    seconds, pairs = best_of(partial(cuda_relief._collect_pairs, total, own_rows, triangle=True), 1)
    show("  pairs", seconds, f"{len(pairs.firsts):,}")
    del total
    out = device_cuda.xp().zeros(len(varying.features))

    def weights():
        for positions, tile in varying.tiles():
            cuda_relief._add_weights(tile, pairs, positions, out)

    seconds, _ = best_of(weights, 2)
    read = 8 * len(pairs.firsts) * p
    show("  weights", seconds, f"{read / seconds / 1e12:.1f} TB/s of rows, {good}/20 found")


def measure_multisurf(n, p):
    X, y = normal(n, p)
    seconds, _ = best_of(lambda: cuda_relief.relief_weights(CudaSource(X), y, 2, Near()), 2)
    show(f"MultiSURF {n:,} x {p:,} float32", seconds)


def standardise(source):
    center, variance = centers_and_variances(source, source.moments())
    return source.scaled(center, unit_scale(variance))


def measure_columns(n, p, bandwidth, products):
    """Measure moments, forms, Gram matrices, SVM-RFE and l2-AROM of a wide table."""
    for layout in ("rows", "columns"):
        X, y = normal(n, p, layout)
        source, signs = CudaSource(X), np.where(y == 1, 1.0, -1.0)
        size = X.nbytes
        name = f"{n:,} x {p:,} float32 by {layout}: "
        by_class = partial(moments_cuda.compute_moments, X, source.columns, y, 2)
        seconds, _ = best_of(by_class, 5)
        note = f"{size / seconds / 1e12:.2f} TB/s, {size / seconds / bandwidth:.0%} of a copy"
        show(name + "moments by class", seconds, note)
        seconds, _ = best_of(lambda source=source, y=y: source.moments(y, 2))
        show("  and brought to the host", seconds)
        scaled = standardise(source)
        v = np.random.default_rng(0).normal(size=n)
        forms = partial(
            linear_cuda.compute_forms, X, scaled.columns, v, scaled.center, scaled.scale
        )
        seconds, _ = best_of(forms, 5)
        note = f"{size / seconds / 1e12:.2f} TB/s, {size / seconds / bandwidth:.0%} of a copy"
        show(name + "forms v'K_f v", seconds, note)
        seconds, _ = best_of(scaled.gram, 5)
        flops = 2 * n * n * p
        note = f"{flops / seconds / 1e12:.1f} TFLOP/s, {flops / seconds / products:.0%} of products"
        show(name + "Gram matrix", seconds, note)

        def rfe(scaled=scaled, signs=signs):
            machine = LinearMachine(scaled, signs, np.ones(n), 1.0)
            return eliminate(machine, p, step=0.2).order

        seconds, order = best_of(rfe, 2)
        show(name + "SVM-RFE", seconds, f"{(order[:20] < 20).sum()} of the best 20 are shifted")
        seconds, result = best_of(lambda scaled=scaled, signs=signs: arom(scaled, signs, np.inf), 2)
        show(name + "l2-AROM", seconds, f"{len(result.path)} machines, {result.path[-1]} left")


def measure_clinical(n, p, bandwidth, additions):
    """Measure the clinical kernel: sorting, forms, matrix, SVM-RFE and MKL."""
    X, y = normal(n, p)
    source, signs = CudaSource(X), np.where(y == 1, 1.0, -1.0)
    name = f"clinical {n:,} x {p:,} float32: "
    seconds, columns = best_of(lambda: cuda_clinical.ClinicalColumns.from_source(source), 2)
    show(name + "sorted", seconds, f"{n * p / seconds / 1e9:.1f} G cells/s")
    v = np.random.default_rng(0).normal(size=n)
    seconds, _ = best_of(lambda: columns.forms(v), 5)
    note = f"{12 * n * p / seconds / bandwidth:.0%} of a copy, results on the host"
    show(name + "forms v'K_f v", seconds, note)
    seconds, _ = best_of(columns.gram)
    terms = n * (n + 1) / 2 * p
    show(name + "matrix", seconds, f"{2 * terms / seconds / additions:.0%} of float64 additions")
    seconds, _ = best_of(lambda: columns.product(v))
    show(name + "product", seconds)

    def rfe():
        machine = ClinicalMachine(columns, signs, np.full(n, 0.1))
        return eliminate(machine, p, step=0.2).order

    seconds, order = best_of(rfe, 1)
    show(name + "SVM-RFE", seconds, f"{(order[:20] < 20).sum()} of the best 20 are shifted")
    kernels = cuda_clinical.ColumnKernels.from_source(source)
    seconds, result = best_of(lambda: solve_mkl(kernels, signs, np.full(n, 0.1)), 1)
    show(name + "multiple kernel learning", seconds, f"{result.n_iter} machines")


def measure_streaming(n, p):
    """Measure a table on the host that passes through the device."""
    X = np.random.default_rng(0).standard_normal((n, p), dtype=np.float32)
    source = cuda_source(X, capacity=X.nbytes // 4)
    for label, call in (("moments", source.moments), ("Gram matrix", source.gram)):
        seconds, _ = best_of(call, 2)
        note = f"{X.nbytes / seconds / 1e9:.1f} GB/s"
        show(f"streamed {n:,} x {p:,} float32: {label}", seconds, note)


def compare_with_cpu():
    """Compare orders with those of the CPU, on tables that it can do."""
    for layout in ("rows", "columns"):
        X, y = normal(300, 3000, layout, seed=1)
        mine = CudaSource(X)
        theirs = mine.on_host()
        signs = np.where(y == 1, 1.0, -1.0)
        for rule in (Nearest(10), Near()):
            ours = cuda_relief.relief_weights(mine, y, 2, rule).weights
            cpu = relief.relief_weights(theirs, y, 2, rule).weights
            same = (best_first(ours) == best_first(cpu)).all()
            apart = np.abs(ours - cpu).max() * GRID
            print(f"{layout}: {rule}: same order {same}, weights within {apart:.0f} of the grid")

        def rfe(source, signs=signs):
            machine = LinearMachine(standardise(source), signs, np.ones(300), 1.0)
            return eliminate(machine, 3000, step=0.2).order

        print(f"{layout}: SVM-RFE: same order {(rfe(mine) == rfe(theirs)).all()}")
        paths = [arom(standardise(source), signs, np.inf).path for source in (mine, theirs)]
        print(f"{layout}: l2-AROM: same path {paths[0] == paths[1]}")

        def clinical(columns, signs=signs):
            machine = ClinicalMachine(columns, signs, np.full(300, 0.1))
            return eliminate(machine, 3000, step=0.2).order

        ours = clinical(cuda_clinical.ClinicalColumns.from_source(mine))
        cpu = clinical(host_clinical.ClinicalColumns.from_source(theirs))
        print(f"{layout}: clinical SVM-RFE: same order {(ours == cpu).all()}")
        weights = [
            solve_mkl(kernels.from_source(source), signs, np.full(300, 0.1)).weights
            for kernels, source in (
                (cuda_clinical.ColumnKernels, mine),
                (kernel_sets.ColumnKernels, theirs),
            )
        ]
        print(
            f"{layout}: MKL: same order {(best_first(weights[0]) == best_first(weights[1])).all()}"
        )


def main(small):
    bandwidth, products, additions = peaks(small)
    measure_relief(*((300, 1000) if small else (10_000, 100_000)), additions, bandwidth)
    measure_multisurf(*((200, 500) if small else (4_000, 20_000)))
    measure_columns(*((50, 3000) if small else (200, 1_000_000)), bandwidth, products)
    measure_clinical(*((50, 500) if small else (200, 200_000)), bandwidth, additions)
    measure_streaming(*((50, 2000) if small else (200, 4_000_000)))
    compare_with_cpu()


if __name__ == "__main__":
    main("--small" in sys.argv[1:])
