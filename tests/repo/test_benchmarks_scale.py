"""Parts of the benchmarks of scale: slopes, floors, tables, runs that go on with a file."""

import json
import runpy
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from benchmarks import gpu, large
from benchmarks.scale import families, measure, run, slopes, tables
from benchmarks.scale.plots import draw

from featly.registry import METHODS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RATES = {"bandwidth": 1e10, "products": 1e10, "coarse": 2e10, "additions": 5e9, "popcounts": 1e9}


# ---- slopes --------------------------------------------------------------------------------------
def test_slope_of_a_power_is_its_exponent():
    sizes = [100 * 2**k for k in range(8)]
    slope = slopes.slope(sizes, [3e-9 * size**1.7 for size in sizes])
    assert slope.value == pytest.approx(1.7)
    assert slope.error == pytest.approx(0, abs=1e-12)
    assert slope.count == 4


def test_slope_is_that_of_the_upper_half():
    sizes = [100 * 2**k for k in range(10)]
    seconds = [1.0] * 5 + [size**2 for size in sizes[5:]]
    assert slopes.slope(sizes, seconds).value == pytest.approx(2)


def test_error_of_a_slope_is_that_of_least_squares():
    rng = np.random.default_rng(0)
    sizes = 2.0 ** np.arange(20)
    seconds = sizes * np.exp(0.1 * rng.normal(size=20))
    slope = slopes.slope(sizes, seconds)
    design = np.column_stack([np.ones(10), np.log(sizes[10:])])
    wanted, residuals = np.linalg.lstsq(design, np.log(seconds[10:]), rcond=None)[:2]
    covariance = np.linalg.inv(design.T @ design) * residuals[0] / 8
    assert slope.value == pytest.approx(wanted[1])
    assert slope.error == pytest.approx(np.sqrt(covariance[1, 1]))
    assert str(slope) == f"{slope.value:.2f} ± {slope.error:.2f}"


def test_no_slope_of_too_few_points_or_of_zeros():
    assert slopes.slope([1, 2], [1, 2]) is None
    assert slopes.slope([1, 2, 4], [1, 0, 2]) is None


def test_next_point_is_predicted_by_the_last_two():
    assert slopes.predict_seconds([], 100) is None
    assert slopes.predict_seconds([[100, 1.0]], 200) == pytest.approx(2)
    assert slopes.predict_seconds([[50, 1.0], [100, 4.0]], 200) == pytest.approx(16)
    assert slopes.predict_seconds([[50, 1.0], [100, 1.0]], 200) == pytest.approx(2)  # never flat


# ---- methods, grids and floors -------------------------------------------------------------------
def test_every_method_has_a_family_and_a_grid():
    assert set(families.MEASUREMENTS) <= set(METHODS)
    assert set(families.all_methods()) == set(METHODS)
    unplaced = [name for name in METHODS if families.measurement_of(name).family == "others"]
    assert unplaced == []
    for name in METHODS:
        family = families.family_of(name)
        for axis, other in (("p", "n"), ("n", "p")):
            grid = families.sizes(family, axis)
            along = np.array([size[axis] for size in grid])
            assert len(grid) >= 8
            assert (along[1:] == 2 * along[:-1]).all()
            assert len({size[other] for size in grid}) == 1
            assert len(families.sizes(family, axis, quick=True)) == 3
    assert families.why_not(METHODS["mrmr"], "cuda") is None
    assert families.why_not(METHODS["forest"], "cuda") == "computed on the CPU only"


def test_parameters_of_methods_are_theirs():
    for name in METHODS:
        measure.estimator(name, "cpu")


def test_floor_is_the_larger_of_bytes_and_operations():
    floors = families.FAMILIES
    assert floors["moments"].floor_seconds(100, 50, RATES) == pytest.approx(4 * 5000 / 1e10)
    assert floors["relief"].floor_seconds(100, 50, RATES) == pytest.approx(500_000 / 5e9)
    assert floors["machines"].floor_seconds(100, 50, RATES) == pytest.approx(100 * 50**2 / 1e10)
    words = 49 * 50 * 4 * 6400 / 64  # steps, columns, pairs of planes, words
    assert floors["greedy"].floor_seconds(6400, 50, RATES) == pytest.approx(words / 1e9)
    moved = 6400 * 50 + 49 * 50 * (6400 / 4 + 16)
    unknown = {"bandwidth": 1e10}
    assert floors["greedy"].floor_seconds(6400, 50, unknown) == pytest.approx(moved / 1e10)


# ---- tables --------------------------------------------------------------------------------------
@pytest.mark.parametrize("table", ["numbers", "levels"])
def test_planted_columns_depend_on_the_class(table):
    X, y, planted = tables.make_table(2000, 100, table)
    assert X.flags.f_contiguous
    assert len(planted) == tables.PLANTED
    apart = np.abs(X[y == 0].mean(axis=0, dtype=float) - X[y == 1].mean(axis=0, dtype=float))
    best = np.argsort(-apart)
    assert tables.accuracy(best, planted) == 1
    assert tables.accuracy(best[::-1], planted) == 0
    assert tables.accuracy(planted[:2], planted) == 1  # of those that were chosen
    rows = tables.make_table(2000, 100, table, layout="rows")[0]
    assert rows.flags.c_contiguous
    assert (rows == X).all()


def test_table_on_a_device_has_the_same_classes_and_columns(monkeypatch):
    names = ("empty", "asarray", "minimum", "where", "ascontiguousarray")
    stub = types.SimpleNamespace(**{name: getattr(np, name) for name in names}, random=np.random)
    monkeypatch.setitem(sys.modules, "cupy", stub)
    for table, dtype in (("numbers", np.float32), ("levels", np.uint8)):
        X, y, planted = tables.make_table_on_device(2000, 100, table)
        _, labels, positions = tables.make_table(2000, 100, table)
        assert X.dtype == dtype
        assert (y == labels).all()
        assert (planted == positions).all()
        apart = np.abs(X[y == 0].mean(axis=0, dtype=float) - X[y == 1].mean(axis=0, dtype=float))
        assert tables.accuracy(np.argsort(-apart), planted) == 1
    assert set(np.unique(X)) == {0, 1, 2}


def test_file_holds_the_same_table(tmp_path):
    path = tmp_path / "X.npy"
    large.write_table(path, 50, 200_000, "levels")  # several blocks
    X = np.load(path)
    assert X.flags.f_contiguous
    assert (tables.make_table(50, 200_000, "levels")[0] == X).all()
    for size in (large.CHUNK, 3 * large.CHUNK // 2):  # once around, and several times
        buffer = np.zeros(size, np.uint8)
        assert large.read_through(path, buffer) == path.stat().st_size
        assert buffer.any()
    assert min(large.reading_times(path)) > 0


def test_a_fit_to_a_file_equals_that_in_memory(tmp_path):
    path = tmp_path / "X.npy"
    large.write_table(path, 1000, 300, "levels")
    job = {"path": str(path), "method": "chi-squared", "n": 1000, "p": 300, "table": "levels",
           "parameters": {"discretizer": None}}  # fmt: skip
    streamed, whole = large.work(job), large.work({**job, "in_memory": True})
    assert large.agreement(streamed, whole) == "the same order and scores"
    assert streamed["accuracy"] > 0.9
    assert streamed["peak"] >= streamed["before"] > 0
    other = {**whole, "order": "another", "first": [*whole["first"][:-1], -1]}
    assert large.agreement(streamed, other) == "ANOTHER ORDER, 49 of the first 50 in common"
    much = {"peak": 900_000_000, "before": 300_000_000, "own": 550_000_000}
    expected = "300 before the fit, 600 for it, of which 550 are no pages of a file"
    assert large.memory_of(much).endswith(f"{expected}, MORE THAN THE LIMIT")
    assert large.memory_of({**much, "own": 500_000_000}).endswith("500 are no pages of a file")
    assert "100% of the first 20" in large.note_of({**streamed, "accuracy": 1.0}, whole)


# ---- runs ----------------------------------------------------------------------------------------
class PretendedWorker(run.Worker):
    """Worker that makes points without a process; it may die after some."""

    left = 10**9
    requested: list = []  # noqa: RUF012  shared on purpose

    def __init__(self):
        self.dead = False

    def do(self, job, record):
        for size in job["points"]:
            type(self).requested.append((job["method"], job["axis"], size[job["axis"]]))
            if type(self).left == 0:
                self.dead = True
                return "the process ended with code -9", True
            type(self).left -= 1
            number = size["n"] * size["p"]
            record({**size, "seconds": 1e-9 * number, "runs": 3, "memory": number,
                  "table": number, "accuracy": 0.95, "chosen": size["p"]})  # fmt: skip
        return "the grid ended", False

    def close(self):
        pass


@pytest.fixture
def pretended_worker(monkeypatch):
    monkeypatch.setattr(run, "Worker", PretendedWorker)
    monkeypatch.setattr(run, "cpu_rates", lambda: RATES)
    monkeypatch.setattr(run, "cuda_rates", lambda: {n: 100 * rate for n, rate in RATES.items()})
    monkeypatch.setattr(run, "needs_device", lambda: None)
    monkeypatch.setattr(
        run, "machine", lambda device: {"cpu": "a processor", "cores": "2", "gpu": "a device"}
    )
    PretendedWorker.left, PretendedWorker.requested = 10**9, []


@pytest.mark.usefixtures("pretended_worker")
def test_a_run_goes_on_where_it_was_stopped(tmp_path, capsys):
    file = tmp_path / "deep" / "run.json"
    PretendedWorker.left = 4
    results = run.run(file, methods=["f-test", "mrmr"], quick=True)
    assert json.loads(file.read_text()) == results
    assert results["methods"]["f-test"]["axes"]["n"]["why"] == "the process ended with code -9"
    assert [len(slopes.points_of(results, "f-test", axis)) for axis in "pn"] == [3, 1]
    PretendedWorker.left, PretendedWorker.requested = 10**9, []
    results = run.run(file, methods=["f-test", "mrmr"], quick=True)
    assert len(PretendedWorker.requested) == 2 + 6
    assert ("f-test", "p", 500) not in PretendedWorker.requested
    assert "failed" not in results["methods"]["f-test"]["axes"]["n"]
    PretendedWorker.requested = []
    run.run(file, methods=["f-test", "mrmr"], quick=True)
    assert PretendedWorker.requested == []
    with pytest.raises(SystemExit, match="another seed: name another file"):
        run.run(file, quick=True, seed=1)
    run.run(file, methods=["f-test"], quick=True, seed=1, fresh=True)
    assert list(json.loads(file.read_text())["methods"]) == ["f-test"]
    assert "the grid ended" in capsys.readouterr().err
    assert [path.name for path in file.parent.iterdir()] == ["run.json"]


@pytest.mark.usefixtures("pretended_worker")
def test_a_grid_ended_by_the_budget_goes_on_with_a_larger_one(tmp_path):
    file = tmp_path / "run.json"
    results = run.run(file, methods=["f-test"], quick=True, budget=4)
    state = results["methods"]["f-test"]["axes"]["p"]
    state["points"], state["why"] = state["points"][:1], "the next point would take about 9 s"
    run.save(file, results)
    PretendedWorker.requested = []
    run.run(file, methods=["f-test"], quick=True, budget=4)
    assert PretendedWorker.requested == []
    run.run(file, methods=["f-test"], quick=True, budget=40)
    assert [size for _, axis, size in PretendedWorker.requested if axis == "p"] == [1000, 2000]


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    file = tmp_path / "run.json"
    run.save(file, {"old": [{"seconds": 1.5}]})
    with pytest.raises(TypeError):
        run.save(file, {"new": object()})
    assert json.loads(file.read_text()) == {"old": [{"seconds": 1.5}]}
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.usefixtures("pretended_worker")
def test_a_device_is_measured_by_methods_that_compute_there(tmp_path):
    results = run.run(tmp_path / "run.json", "cuda", ["forest", "mrmr"], quick=True)
    assert results["methods"]["forest"]["skipped"] == "computed on the CPU only"
    assert {name for name, _, _ in PretendedWorker.requested} == {"mrmr"}


def test_points_are_measured():
    job = {"method": "signal-to-noise", "axis": "p", "device": "cpu", "layout": "columns",
           "seed": 0, "budget": 5.0,
           "points": [{"n": 400, "p": p} for p in (200, 400, 800)]}  # fmt: skip
    points = list(measure.measure(job))
    assert [point["p"] for point in points] == [200, 400, 800]
    for point in points:
        assert point["accuracy"] > 0.9
        assert point["seconds"] > 0
        assert point["memory"] >= 0
        assert point["table"] == 4 * point["n"] * point["p"]
    late = list(measure.measure({**job, "budget": 1e-9}))
    assert len(late) == 2
    assert late[1].startswith("the next point would take about")


def test_a_worker_reports_an_error_and_goes_on():
    written = []
    out = types.SimpleNamespace(write=written.append, flush=lambda: None)
    job = {"axis": "p", "device": "cpu", "layout": "columns", "seed": 0, "budget": 5.0,
           "points": [{"n": 100, "p": 50}]}  # fmt: skip
    lines = [json.dumps({**job, "method": name}) for name in ("nothing", "f-test")]
    measure.work(lines, out)
    messages = [json.loads(text) for text in written if text.strip()]
    assert [message["kind"] for message in messages] == ["begin", "end", "begin", "point", "end"]
    assert messages[1]["failed"]
    assert messages[-1]["why"] == "the grid ended"


def test_memory_of_a_call_is_measured():
    size = 50_000_000

    def call():
        np.ones(size, np.uint8)

    extra = measure.measure_call("cpu", call, first=True)[1]
    assert 0.8 * size < extra < 2 * size


# ---- the page ------------------------------------------------------------------------------------
@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    return runpy.run_path(str(DOCS / "scale_pages.py"))


@pytest.mark.usefixtures("pretended_worker")
def test_page_is_made_from_the_runs(tmp_path, pages):
    methods = ["f-test", "svm-rfe", "forest"]
    runs = {
        device: run.run(tmp_path / f"{device}.json", device, methods, quick=True)
        for device in ("cpu", "cuda")
    }
    figures = draw(runs, tmp_path)
    assert set(figures) == {"moments", "machines", "forest"}
    assert all(file.stat().st_size < 200_000 for file in figures.values())
    text = pages["families"](runs, {name: file.name for name, file in figures.items()})
    assert text.count("| `f-test` | ") == 2
    row = next(line for line in text.splitlines() if line.startswith("| `f-test` | CPU"))
    assert "1.00 ± 0.00 | 1.00 ± 0.00 | 100 x 2,000 |" in row
    ratio = 1e-9 * 200_000 / (4 * 200_000 / 1e10)
    assert row.endswith(f"| {ratio:.1f} | under 1 MB | 0.95 |")
    assert "![](/generated/scale-machines.svg)" in text
    assert "GPU: computed on the CPU only: `forest`." in text
    rates_text = pages["rates"](runs)
    assert "| bandwidth | 10 GB/s | 1,000 GB/s |" in rates_text
    assert "a device" in rates_text


def test_page_without_runs_has_a_note(pages, tmp_path):
    assert pages["families"]({}) == pages["NOTHING"]
    assert pages["rates"]({}) == pages["NOTHING"]
    assert pages["large_tables"](tmp_path) == pages["NOTHING"]


def test_everything_that_the_page_includes_is_written(pages, tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    pages["write_scale"](types.SimpleNamespace(srcdir=str(docs)))
    written = {path.name for path in (docs / "generated").iterdir()}
    page = (DOCS / "guide" / "scale.md").read_text("utf8")
    included = {line.rpartition("/")[2] for line in page.splitlines() if "{include}" in line}
    assert written == included == {"scale.inc", "scale_rates.inc", "scale_must.inc"}


def test_large_tables_are_on_the_page(pages, tmp_path):
    rows = [{"problem": "a table", "tool": "mrmr", "seconds": 7.1234, "note": "fine", "ours": True}]
    (tmp_path / "large.json").write_text(json.dumps({"environment": {"cores": "2"}, "rows": rows}))
    figure = gpu.Figure("mRMR", 0.15, 0.123456, 0.731, "bandwidth of a copy", "yes")
    failed = gpu.Figure("JMI", 0.5, None, note="too little memory")
    figures = [vars(figure), vars(failed)]
    made = {"machine": {"gpu": "a device"}, "figures": figures}
    (tmp_path / "gpu.json").write_text(json.dumps(made))
    text = pages["large_tables"](tmp_path)
    assert "| a table | mrmr | 7.12 | fine |" in text
    assert "| mRMR | 0.15 | 0.123 | 73% | bandwidth of a copy | yes |" in text
    assert "| JMI | 0.5 | failed |" in text


# ---- the GPU in one call -------------------------------------------------------------------------
def test_a_part_that_fails_does_not_stop_the_others(monkeypatch, tmp_path, capsys):
    def good(rates, small):
        yield gpu.Figure("one", 1.0, 0.5, 0.25, "bandwidth")

    def bad(rates, small):
        yield gpu.Figure("two", 1.0, 0.7)
        raise ValueError("lost\nand more")

    file = tmp_path / "gpu.json"
    monkeypatch.setattr(gpu, "PARTS", {"bad": bad, "good": good})
    monkeypatch.setattr(gpu, "needs_device", lambda: None)
    monkeypatch.setattr(gpu, "cuda_rates", lambda *size: RATES)
    monkeypatch.setattr(gpu, "machine", lambda device: {"gpu": "a device"})
    monkeypatch.setattr(gpu, "free", lambda: None)
    monkeypatch.setattr(sys, "argv", ["gpu", "--small", "--output", str(file)])
    with pytest.raises(SystemExit):
        gpu.main()
    content = json.loads(file.read_text())
    assert [figure["figure"] for figure in content["figures"]] == ["two", "bad", "one"]
    assert content["figures"][1]["note"] == "ValueError: lost"
    assert "| one | under 1 | 0.5 | 25% | bandwidth |  |" in capsys.readouterr().out
