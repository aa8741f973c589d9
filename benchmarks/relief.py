"""ReliefF against Weka's, on made numbers and on genotypes.

Weka runs where the environment variable FEATLY_WEKA names its jar and Java is installed (it is in
the Python package python-weka-wrapper3); without it that peer is left out. Only its evaluation is
timed, the best of three in one machine that is warm; featly's time is that of ``fit``.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.harness import Row, best_of, peak_over, two_classes
from featly.filters.multisurf import MultiSURF
from featly.filters.relieff import ReliefF

PEER = """
import java.nio.*;
import java.nio.file.*;
import java.util.*;
import weka.attributeSelection.ReliefFAttributeEval;
import weka.core.*;

public class Peer {
  public static void main(String[] arguments) throws Exception {
    int n = Integer.parseInt(arguments[1]), p = Integer.parseInt(arguments[2]);
    boolean named = Boolean.parseBoolean(arguments[3]);
    ArrayList<String> levels = new ArrayList<>(List.of("a", "b", "c"));
    ArrayList<Attribute> columns = new ArrayList<>();
    for (int j = 0; j < p; j++)
      columns.add(named ? new Attribute("x" + j, levels) : new Attribute("x" + j));
    columns.add(new Attribute("class", List.of("0", "1")));
    Instances table = new Instances("table", columns, n);
    table.setClassIndex(p);
    DoubleBuffer cells = ByteBuffer.wrap(Files.readAllBytes(Paths.get(arguments[0])))
        .order(ByteOrder.LITTLE_ENDIAN).asDoubleBuffer();
    for (int i = 0; i < n; i++) {
      double[] row = new double[p + 1];
      cells.get(row);
      table.add(new DenseInstance(1.0, row));
    }
    double best = Double.MAX_VALUE;
    ReliefFAttributeEval evaluation = null;
    for (int turn = 0; turn < Integer.parseInt(arguments[4]); turn++) {
      evaluation = new ReliefFAttributeEval();
      evaluation.setNumNeighbours(10);
      long began = System.nanoTime();
      evaluation.buildEvaluator(table);
      best = Math.min(best, (System.nanoTime() - began) / 1e9);
    }
    StringBuilder found = new StringBuilder().append(best);
    for (int j = 0; j < p; j++) found.append('\\n').append(evaluation.evaluateAttribute(j));
    System.out.println(found);
  }
}
"""


def weka(cells: np.ndarray, y: np.ndarray, *, named: bool = False, turns: int = 3) -> tuple | None:
    """Return Weka's seconds and weights of a table of numbers, or of levels 0, 1, 2; or None."""
    jar = os.environ.get("FEATLY_WEKA")
    if not jar or shutil.which("java") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        table, program = Path(folder) / "table.bin", Path(folder) / "Peer.java"
        table.write_bytes(np.column_stack([cells, y]).astype("<f8").tobytes())
        program.write_text(PEER)
        path = os.pathsep.join([jar, str(Path(jar).parent / "*")])
        sizes = [*map(str, cells.shape), str(named).lower(), str(turns)]
        command = ["java", "-Xmx8g", "-cp", path, str(program), str(table), *sizes]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return None
    seconds, *weights = map(float, done.stdout.split())
    return seconds, np.array(weights)


def against(problem: str, X, cells: np.ndarray, y: np.ndarray, **options) -> Iterator[Row]:
    """featly, featly on one thread, MultiSURF for scale, Weka."""
    as_weka = ReliefF(ties="weka", missing="weka").fit(X, y)
    single_thread, _ = best_of(lambda: ReliefF(n_jobs=1).fit(X, y))
    ours, _ = best_of(lambda: ReliefF().fit(X, y), 7)
    surf, _ = best_of(lambda: MultiSURF().fit(X, y))
    yield Row(problem, "featly", ours, ours=True)
    yield Row(problem, "featly, one thread", single_thread)
    yield Row(problem, "featly MultiSURF", surf)
    peer = weka(cells, y, **options)
    if peer is not None:
        seconds, weights = peer
        worst = np.abs(as_weka.scores_ - weights).max()
        yield Row(problem, "Weka ReliefFAttributeEval", seconds, f"weights differ by {worst:.0e}")


def wide() -> Iterator[Row]:
    X, y = two_classes(500, 5000)
    yield from against("ReliefF, k=10, 500 x 5,000", X, X, y)


def long() -> Iterator[Row]:
    X, y = two_classes(2000, 500)
    yield from against("ReliefF, k=10, 2,000 x 500", X, X, y)


def genotypes() -> Iterator[Row]:
    """A hundredth of the calls is missing; the frame is read in ``fit``."""
    file = Path(os.environ.get("FEATLY_DATA", "")) / "snp_hapmap_chr10.parquet"
    if file.exists():
        frame = pl.read_parquet(file)
        X, y = frame.drop("class", "stratum"), (frame["class"] == "case").to_numpy().astype(int)
    else:
        rng = np.random.default_rng(0)
        calls, y = rng.integers(0, 3, (1000, 28_501)).astype(str), np.arange(1000) % 2
        missing = rng.random(calls.shape) < 0.01
        X = pl.from_numpy(np.where(missing, "", calls)).select(
            pl.all().replace("", None).cast(pl.Categorical)
        )
    problem = f"ReliefF, k=10, {X.height:,} x {X.width:,} genotypes"
    ReliefF().fit(X[:, :100], y)  # compile
    seconds, extra, _ = peak_over(lambda: ReliefF().fit(X, y))
    yield Row(problem, "featly", seconds, f"peak memory {extra / 1e6:.0f} MB", ours=True)
    few_columns = X[:, :2000].with_columns(pl.all().cast(pl.String))
    ranks = few_columns.select(pl.all().rank("dense").cast(pl.Float64) - 1).to_numpy()
    peer = weka(ranks, y, named=True, turns=1)
    if peer is not None:
        note = f"{X.width / 2000:.2f} x the time of 2,000 columns"
        yield Row(problem, "Weka ReliefFAttributeEval", peer[0] * X.width / 2000, note)


def many_rows() -> Iterator[Row]:
    X, y = two_classes(20_000, 100)
    ReliefF(n_samples=10).fit(X, y)  # compile
    seconds, extra, _ = peak_over(lambda: ReliefF().fit(X, y))
    note = f"peak memory {extra / 1e6:.0f} MB"
    yield Row("ReliefF, k=10, 20,000 x 100", "featly", seconds, note, ours=True)


CASES = {
    "relief": wide,
    "relief-long": long,
    "relief-genotypes": genotypes,
    "relief-rows": many_rows,
}
