"""What the benchmarks of scale are made of: slopes, floors, tables, files that are gone on with."""

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
    found = slopes.slope(sizes, [3e-9 * size**1.7 for size in sizes])
    assert found.value == pytest.approx(1.7)
    assert found.error == pytest.approx(0, abs=1e-12)
    assert found.count == 4


def test_slope_is_that_of_the_upper_half():
    sizes = [100 * 2**k for k in range(10)]
    seconds = [1.0] * 5 + [size**2 for size in sizes[5:]]
    assert slopes.slope(sizes, seconds).value == pytest.approx(2)


def test_error_of_a_slope_is_that_of_least_squares():
    rng = np.random.default_rng(0)
    sizes = 2.0 ** np.arange(20)
    seconds = sizes * np.exp(0.1 * rng.normal(size=20))
    found = slopes.slope(sizes, seconds)
    design = np.column_stack([np.ones(10), np.log(sizes[10:])])
    wanted, rest = np.linalg.lstsq(design, np.log(seconds[10:]), rcond=None)[:2]
    covariance = np.linalg.inv(design.T @ design) * rest[0] / 8
    assert found.value == pytest.approx(wanted[1])
    assert found.error == pytest.approx(np.sqrt(covariance[1, 1]))
    assert str(found) == f"{found.value:.2f} ± {found.error:.2f}"


def test_no_slope_of_too_few_points_or_of_nothing():
    assert slopes.slope([1, 2], [1, 2]) is None
    assert slopes.slope([1, 2, 4], [1, 0, 2]) is None


def test_next_point_is_predicted_by_the_last_two():
    assert slopes.predicted([], 100) is None
    assert slopes.predicted([[100, 1.0]], 200) == pytest.approx(2)
    assert slopes.predicted([[50, 1.0], [100, 4.0]], 200) == pytest.approx(16)
    assert slopes.predicted([[50, 1.0], [100, 1.0]], 200) == pytest.approx(2)  # never flat


# ---- methods, grids and floors -------------------------------------------------------------------
def test_every_method_has_a_family_and_a_grid():
    assert set(families.MEASURED) <= set(METHODS)
    assert set(families.all_methods()) == set(METHODS)
    unplaced = [name for name in METHODS if families.measured(name).family == "others"]
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
def test_planted_columns_tell_the_class(table):
    X, y, planted = tables.made(2000, 100, table)
    assert X.flags.f_contiguous
    assert len(planted) == tables.PLANTED
    apart = np.abs(X[y == 0].mean(axis=0, dtype=float) - X[y == 1].mean(axis=0, dtype=float))
    best = np.argsort(-apart)
    assert tables.accuracy(best, planted) == 1
    assert tables.accuracy(best[::-1], planted) == 0
    assert tables.accuracy(planted[:2], planted) == 1  # of those that were chosen
    rows = tables.made(2000, 100, table, layout="rows")[0]
    assert rows.flags.c_contiguous
    assert (rows == X).all()


def test_table_on_a_device_has_the_same_classes_and_columns(monkeypatch):
    names = ("empty", "asarray", "minimum", "where", "ascontiguousarray")
    stub = types.SimpleNamespace(**{name: getattr(np, name) for name in names}, random=np.random)
    monkeypatch.setitem(sys.modules, "cupy", stub)
    for table, dtype in (("numbers", np.float32), ("levels", np.uint8)):
        X, y, planted = tables.made_on_device(2000, 100, table)
        _, labels, places = tables.made(2000, 100, table)
        assert X.dtype == dtype
        assert (y == labels).all()
        assert (planted == places).all()
        apart = np.abs(X[y == 0].mean(axis=0, dtype=float) - X[y == 1].mean(axis=0, dtype=float))
        assert tables.accuracy(np.argsort(-apart), planted) == 1
    assert set(np.unique(X)) == {0, 1, 2}


def test_file_holds_the_same_table(tmp_path):
    path = tmp_path / "X.npy"
    large.write_table(path, 50, 200_000, "levels")  # several blocks
    X = np.load(path)
    assert X.flags.f_contiguous
    assert (tables.made(50, 200_000, "levels")[0] == X).all()
    for size in (large.CHUNK, 3 * large.CHUNK // 2):  # once around, and several times
        buffer = np.zeros(size, np.uint8)
        assert large.read_through(path, buffer) == path.stat().st_size
        assert buffer.any()
    assert min(large.reading_times(path)) > 0


def test_a_fit_to_a_file_is_that_in_memory(tmp_path):
    path = tmp_path / "X.npy"
    large.write_table(path, 1000, 300, "levels")
    job = {"path": str(path), "method": "chi-squared", "n": 1000, "p": 300, "table": "levels",
           "parameters": {"discretizer": None}}  # fmt: skip
    found, whole = large.work(job), large.work({**job, "in_memory": True})
    assert large.agreement(found, whole) == "the same order and scores"
    assert found["accuracy"] > 0.9
    assert found["peak"] >= found["before"] > 0
    other = {**whole, "order": "another", "first": [*whole["first"][:-1], -1]}
    assert large.agreement(found, other) == "ANOTHER ORDER, 49 of the first 50 in common"
    much = {"peak": 900_000_000, "before": 300_000_000, "own": 550_000_000}
    told = "300 before the fit, 600 for it, of which 550 are no pages of a file"
    assert large.memory_of(much).endswith(f"{told}, MORE THAN THE LIMIT")
    assert large.memory_of({**much, "own": 500_000_000}).endswith("500 are no pages of a file")
    assert "100% of the first 20" in large.note_of({**found, "accuracy": 1.0}, whole)


# ---- runs ----------------------------------------------------------------------------------------
class Pretended(run.Worker):
    """Points without a process; it may die after some."""

    left = 10**9
    asked: list = []  # noqa: RUF012  shared on purpose

    def __init__(self):
        self.dead = False

    def do(self, job, keep):
        for size in job["points"]:
            type(self).asked.append((job["method"], job["axis"], size[job["axis"]]))
            if type(self).left == 0:
                self.dead = True
                return "the process ended with code -9", True
            type(self).left -= 1
            number = size["n"] * size["p"]
            keep({**size, "seconds": 1e-9 * number, "runs": 3, "memory": number,
                  "table": number, "accuracy": 0.95, "chosen": size["p"]})  # fmt: skip
        return "the grid ended", False

    def close(self):
        pass


@pytest.fixture
def pretended(monkeypatch):
    monkeypatch.setattr(run, "Worker", Pretended)
    monkeypatch.setattr(run, "cpu_rates", lambda: RATES)
    monkeypatch.setattr(run, "cuda_rates", lambda: {n: 100 * rate for n, rate in RATES.items()})
    monkeypatch.setattr(run, "needs_device", lambda: None)
    monkeypatch.setattr(
        run, "machine", lambda device: {"cpu": "a processor", "cores": "2", "gpu": "a device"}
    )
    Pretended.left, Pretended.asked = 10**9, []


@pytest.mark.usefixtures("pretended")
def test_a_run_goes_on_where_it_was_stopped(tmp_path, capsys):
    file = tmp_path / "deep" / "run.json"
    Pretended.left = 4
    found = run.run(file, methods=["f-test", "mrmr"], quick=True)
    assert json.loads(file.read_text()) == found
    assert found["methods"]["f-test"]["axes"]["n"]["why"] == "the process ended with code -9"
    assert [len(slopes.points_of(found, "f-test", axis)) for axis in "pn"] == [3, 1]
    Pretended.left, Pretended.asked = 10**9, []
    found = run.run(file, methods=["f-test", "mrmr"], quick=True)
    assert len(Pretended.asked) == 2 + 6
    assert ("f-test", "p", 500) not in Pretended.asked
    assert "failed" not in found["methods"]["f-test"]["axes"]["n"]
    Pretended.asked = []
    run.run(file, methods=["f-test", "mrmr"], quick=True)
    assert Pretended.asked == []
    with pytest.raises(SystemExit, match="another seed: name another file"):
        run.run(file, quick=True, seed=1)
    run.run(file, methods=["f-test"], quick=True, seed=1, fresh=True)
    assert list(json.loads(file.read_text())["methods"]) == ["f-test"]
    assert "the grid ended" in capsys.readouterr().err
    assert [path.name for path in file.parent.iterdir()] == ["run.json"]


@pytest.mark.usefixtures("pretended")
def test_what_the_budget_ended_goes_on_with_a_larger_one(tmp_path):
    file = tmp_path / "run.json"
    found = run.run(file, methods=["f-test"], quick=True, budget=4)
    state = found["methods"]["f-test"]["axes"]["p"]
    state["points"], state["why"] = state["points"][:1], "the next point would take about 9 s"
    run.save(file, found)
    Pretended.asked = []
    run.run(file, methods=["f-test"], quick=True, budget=4)
    assert Pretended.asked == []
    run.run(file, methods=["f-test"], quick=True, budget=40)
    assert [size for _, axis, size in Pretended.asked if axis == "p"] == [1000, 2000]


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    file = tmp_path / "run.json"
    run.save(file, {"old": [{"seconds": 1.5}]})
    with pytest.raises(TypeError):
        run.save(file, {"new": object()})
    assert json.loads(file.read_text()) == {"old": [{"seconds": 1.5}]}
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.usefixtures("pretended")
def test_a_device_is_measured_by_methods_that_compute_there(tmp_path):
    found = run.run(tmp_path / "run.json", "cuda", ["forest", "mrmr"], quick=True)
    assert found["methods"]["forest"]["skipped"] == "computed on the CPU only"
    assert {name for name, _, _ in Pretended.asked} == {"mrmr"}


def test_points_are_measured():
    job = {"method": "signal-to-noise", "axis": "p", "device": "cpu", "layout": "columns",
           "seed": 0, "budget": 5.0,
           "points": [{"n": 400, "p": p} for p in (200, 400, 800)]}  # fmt: skip
    found = list(measure.measure(job))
    assert [point["p"] for point in found] == [200, 400, 800]
    for point in found:
        assert point["accuracy"] > 0.9
        assert point["seconds"] > 0
        assert point["memory"] >= 0
        assert point["table"] == 4 * point["n"] * point["p"]
    late = list(measure.measure({**job, "budget": 1e-9}))
    assert len(late) == 2
    assert late[1].startswith("the next point would take about")


def test_a_worker_tells_of_an_error_and_goes_on():
    told = []
    out = types.SimpleNamespace(write=told.append, flush=lambda: None)
    job = {"axis": "p", "device": "cpu", "layout": "columns", "seed": 0, "budget": 5.0,
           "points": [{"n": 100, "p": 50}]}  # fmt: skip
    lines = [json.dumps({**job, "method": name}) for name in ("nothing", "f-test")]
    measure.work(lines, out)
    found = [json.loads(text) for text in told if text.strip()]
    assert [one["kind"] for one in found] == ["begin", "end", "begin", "point", "end"]
    assert found[1]["failed"]
    assert found[-1]["why"] == "the grid ended"


def test_memory_of_a_call_is_seen():
    size = 50_000_000

    def call():
        np.ones(size, np.uint8)

    extra = measure.watched("cpu", call, first=True)[1]
    assert 0.8 * size < extra < 2 * size


# ---- the page ------------------------------------------------------------------------------------
@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    return runpy.run_path(str(DOCS / "scale_pages.py"))


@pytest.mark.usefixtures("pretended")
def test_page_is_made_from_the_runs(tmp_path, pages):
    some = ["f-test", "svm-rfe", "forest"]
    runs = {
        device: run.run(tmp_path / f"{device}.json", device, some, quick=True)
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
    told = pages["rates"](runs)
    assert "| bandwidth | 10 GB/s | 1,000 GB/s |" in told
    assert "a device" in told


def test_page_without_runs_says_so(pages, tmp_path):
    assert pages["families"]({}) == pages["NOTHING"]
    assert pages["rates"]({}) == pages["NOTHING"]
    assert pages["shown"](tmp_path) == pages["NOTHING"]


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
    text = pages["shown"](tmp_path)
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
    found = json.loads(file.read_text())
    assert [one["figure"] for one in found["figures"]] == ["two", "bad", "one"]
    assert found["figures"][1]["note"] == "ValueError: lost"
    assert "| one | under 1 | 0.5 | 25% | bandwidth |  |" in capsys.readouterr().out
