"""Tables that stay on disk: reading, messages, errors, caches, and resumed runs."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

from featly import FTest
from featly.basics.errors import Setting
from featly.cli.outcome import MANY
from featly.registry import METHODS
from tests.cli.reading import cells
from tests.cli.test_processes import command, run_on_terminal
from tests.io.stores.making import write_example, write_h5, write_h5ad, write_npy


def levels(n_rows=60, n_features=300, seed=0):
    """Three levels, and columns 5 and 17 that tell of the class."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n_rows, n_features)).astype(np.uint8)
    y = np.arange(n_rows) % 2
    X[:, 5], X[:, 17] = 2 * y, np.where(rng.random(n_rows) < 0.1, 1, 2 * y)
    return X, y


@pytest.fixture
def table(tmp_path):
    """An .npy file with its target in two formats."""
    X, y = levels()
    write_npy(tmp_path / "X.npy", X, "F")
    np.save(tmp_path / "y.npy", y)
    lines = ["state", *np.where(y, "ill", "well")]
    (tmp_path / "y.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


# ---- formats -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("npy", None),
        ("npy-rows", None),
        ("parquet", None),
        ("h5", "y"),
        ("h5ad", "state"),
        ("h5ad-rows", "state"),
        ("zarr-3", None),
        ("zarr-zip", None),
        ("bed", "phenotype"),
    ],
)
def test_every_format_gives_the_ranking_of_its_numbers(name, target, featly, tmp_path):
    path, X = write_example(name, tmp_path)
    if name == "zarr-zip":
        path = path.rename(tmp_path / "table.zarr.zip")
    y = np.arange(len(X)) % 2
    np.save(tmp_path / "y.npy", y)
    target_options = ("--target", target) if target else ("--target-file", tmp_path / "y.npy")
    limit = ("--memory-limit", "1GB") if name.startswith(("parquet", "h5ad")) else ()
    code, out, err = featly("rank", path, *target_options, *limit)
    assert code == 0, err
    numbers = np.where(X == 3, np.nan, X.astype(np.float32)) if name == "bed" else X
    expected = FTest().fit(numbers, y).order_
    rows = cells(out)[1:]
    assert [int(row[1].lstrip("abcdefghijklmnopqrstuvwxyz_")) for row in rows] == expected.tolist()
    assert [int(row[0]) for row in rows] == list(range(1, X.shape[1] + 1))
    assert "method: f-test" in err


def test_select_writes_the_columns_of_a_table_on_disk(featly, table):
    small = table / "small.csv"
    code, out, err = featly(
        "select", table / "X.npy", "--target-file", table / "y.csv", "-k", 2, "-o", small
    )
    assert (code, out) == (0, "")
    assert "2 columns and 'state' are in" in err
    X, y = levels()
    frame = pl.read_csv(small)
    assert frame.columns == ["x5", "x17", "state"]
    assert frame["x17"].to_list() == X[:, 17].tolist()
    assert frame["state"].to_list() == np.where(y, "ill", "well").tolist()


def test_select_from_a_bed_keeps_missing_values_and_names(featly, tmp_path):
    path, X = write_example("bed", tmp_path)
    bim = path.with_suffix(".bim")
    bim.write_text("\n".join(f"1\t.\t0\t{j + 1}\tA\tG" for j in range(X.shape[1])) + "\n")
    fam = path.with_suffix(".fam")
    people = fam.read_text().splitlines()
    people[3] = people[3][:-1] + "-9"
    fam.write_text("\n".join(people) + "\n")
    code, out, err = featly("select", path, "--target", "phenotype", "--count", 3)
    assert code == 0, err
    assert "1 row has no 'phenotype' and stays out" in err
    lines = [line.split(",") for line in out.splitlines()]
    assert lines[0] == [".", "._2", "._3", "phenotype"]
    assert len(lines) == len(X) + 1
    assert [lines[3][-1], lines[4][-1]] == ["1", ""]
    assert {cell for line in lines[1:] for cell in line[:3]} == {"", "0", "1", "2"}


def test_parquet_is_read_by_blocks_with_a_limit_and_gives_the_same(featly, tmp_path):
    X, y = levels()
    frame = pl.from_numpy(X, schema=[f"g{j}" for j in range(X.shape[1])])
    text = pl.Series("ward", np.where(levels(seed=2)[0][:, 0] > 1, "a", "b"))
    frame = frame.with_columns(text, row=pl.int_range(len(X)), ill=pl.Series(y))
    path = tmp_path / "X.parquet"
    frame.write_parquet(path)
    for options in ([], ["--drop", "ward"]):
        common = ["rank", path, "--target", "ill", "--drop", "row", *options]
        whole = featly(*common, "--method", "univariate-test")
        blocks = featly(*common, "--memory-limit", "100MB", "--method", "univariate-test")
        assert whole[0] == blocks[0] == 0
        assert whole[1] == blocks[1]
    code, out, _ = featly("rank", path, "-t", "ill", "--drop", "row", "--memory-limit", "100MB")
    assert code == 0
    # text beside numbers: a test by the kind of the column
    assert cells(out)[0][-2:] == ["test", "note"]


def test_a_prior_changes_the_default(featly, table):
    (table / "prior.csv").write_text("x5,4\n")
    arguments = ("--target-file", table / "y.npy", "--prior", table / "prior.csv", "--top", 3)
    code, out, err = featly("rank", table / "X.npy", *arguments)
    assert code == 0
    assert "method: jmi" in err
    assert cells(out)[1][1] == "x5"
    assert "ranks with the prior: 'x5' 1" in err


def test_matrices_and_layers_are_chosen(featly, mistake, tmp_path):
    pytest.importorskip("h5py")
    X, _ = levels()
    path = tmp_path / "two.h5"
    write_h5(path, X)
    import h5py

    with h5py.File(path, "a") as file:
        file["other/Z"] = X[:, :10]
    assert "name one by --dataset" in mistake("rank", path, "-t", "y")
    code, out, _ = featly("rank", path, "-t", "y", "--dataset", "other/Z", "-q")
    assert code == 0
    assert len(cells(out)) == 11
    assert "name the matrix by --dataset" in mistake("rank", path, "-t", "y", "--layer", "a")
    assert "--dataset is for hdf5, zarr files" in mistake(
        "rank", _save_npy(tmp_path, X), "--target-file", "y", "--dataset", "Z"
    )
    pytest.importorskip("anndata")
    write_h5ad(tmp_path / "a.h5ad", X.astype(np.float32), raw=X[:, ::-1].astype(np.float32))
    plain = featly("rank", tmp_path / "a.h5ad", "-t", "state", "--top", 1, "-q")[1]
    layer = featly("rank", tmp_path / "a.h5ad", "-t", "state", "--layer", "raw", "--top", 1, "-q")
    assert (cells(plain)[1][1], cells(layer[1])[1][1]) == ("gene5", "gene294")


def _save_npy(folder, X):
    write_npy(folder / "Z.npy", X, "C")
    return folder / "Z.npy"


# ---- messages ------------------------------------------------------------------------------------
def test_json_has_the_method_and_no_resources(featly, table):
    code, out, _ = featly(
        "rank", table / "X.npy", "--target-file", table / "y.csv", "--method", "mrmr", "--json",
        "--top", 2, "--memory-limit", "50MB", "--cache", table / "kept", "--device", "cpu",
    )  # fmt: skip
    assert code == 0
    document = json.loads(out)
    assert (document["rows"], document["columns"], document["target"]) == (60, 300, "state")
    assert document["classes"] == {"ill": 30, "well": 30}
    assert not {"device", "cache", "memory_limit"} & document["parameters"].keys()
    assert [row["feature"] for row in document["ranking"]] == ["x5", "x17"]


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_the_whole_ranking_is_saved(featly, table, ending):
    path = table / f"ranking.{ending}"
    arguments = ("rank", table / "X.npy", "--target-file", table / "y.npy", "--top", 1, "-o", path)
    assert featly(*arguments)[0] == 0
    if ending == "json":
        names = [row["feature"] for row in json.loads(path.read_text())["ranking"]]
    else:
        read = pl.read_csv if ending == "csv" else pl.read_parquet
        frame = read(path)
        assert frame["rank"].to_list() == list(range(1, 301))
        assert frame["kind"].unique().to_list() == ["continuous"]
        names = frame["feature"].to_list()
    X, y = levels()
    assert names == [f"x{j}" for j in FTest().fit(X, y).order_]


def test_names_of_many_variants(featly, tmp_path):
    path, X = write_example("bed", tmp_path, n_features=2 * MANY)
    code, out, _ = featly("rank", path, "--target", "phenotype", "--keep", f"rs{MANY}", "-q")
    assert code == 0
    names = [row[1] for row in cells(out)[1:]]
    numbers = np.where(X == 3, np.nan, X.astype(np.float32))
    ranked = FTest(schema={"keep": [MANY]}).fit(numbers, np.arange(len(X)) % 2)
    assert names == [f"rs{column}" for column in ranked.order_]
    code, out, err = featly("select", path, "-t", "phenotype", "-k", 2, "--keep", f"rs{MANY}")
    assert code == 0, err
    assert f"rs{MANY}" in out.splitlines()[0].split(",")


@pytest.mark.thorough
def test_a_bar_on_a_terminal(table):
    common = ("rank", table / "X.npy", "--target-file", table / "y.npy", "--top", 1)
    code, shown = run_on_terminal(command(*common))
    assert code == 0
    assert "FTest, reading" in shown
    assert "300/300 columns" in shown
    more = ("-m", "mrmr", "--set", "max_steps=3", "--set", "discretizer=none")
    code, shown = run_on_terminal(command(*common, *more))
    assert code == 0
    assert "3/3 steps" in shown
    assert "299 more; --top 0 shows all" in shown


def test_describe_does_not_read_a_table_on_disk(featly, mistake, table):
    code, out, err = featly("describe", table / "X.npy", "--target-file", table / "y.csv")
    assert (code, out) == (0, "")
    assert "npy: uint8, column after column, 18 kB; columns x0 to x299" in err
    assert "target 'state': 2 classes (ill 30, well 30)" in err
    document = json.loads(featly("describe", table / "X.npy", "--json")[1])
    assert (document["rows"], document["n_columns"], document["bytes"]) == (60, 300, 18_000)
    assert "needs a table that is read whole" in mistake("describe", table / "X.npy", "--deep")


def test_methods_show_where_they_read_and_compute(featly):
    head, *rows = cells(featly("methods")[1])
    for row in rows:
        shown, method = dict(zip(head, row, strict=True)), METHODS[row[0]]
        assert (shown["disk"] == "yes", shown["gpu"] == "yes") == (method.streams, method.on_device)
    assert "tables on disk, by blocks of columns" in featly("methods", "mrmr")[1]
    assert "runs    on the CPU\n" in featly("methods", "cfs")[1]


# ---- mistakes ------------------------------------------------------------------------------------
def test_a_target_must_be_found(mistake, table):
    file = table / "X.npy"
    assert "Name a file with the class of every row by --target-file" in mistake("rank", file)
    assert "a matrix without names" in mistake("rank", file, "--target", "y")
    assert "there is no file" in mistake("rank", file, "--target-file", table / "z.npy")
    np.save(table / "short.npy", np.arange(59) % 2)
    message = mistake("rank", file, "--target-file", table / "short.npy")
    assert "has the classes of 59 rows, " in message
    assert "has 60: they must go together" in message
    message = mistake("rank", file, "--target-file", table / "y.csv", "--no-header")
    assert "--header or --no-header says" in message
    assert "shape (60, 300): give one class a row" in mistake("rank", file, "--target-file", file)
    np.save(table / "objects.npy", np.array([{}] * 60), allow_pickle=True)
    assert "holds no labels" in mistake("rank", file, "--target-file", table / "objects.npy")
    (table / "two.csv").write_text("a,b\n" + "1,x\n2,y\n" * 30)
    assert "which is the target? Say --target with one of a, b" in mistake(
        "rank", file, "--target-file", table / "two.csv"
    )
    message = mistake("rank", file, "--target-file", table / "two.csv", "--target", "c")
    assert "target 'c' is no column of" in message


def test_a_column_of_a_target_file_is_named(featly, table):
    (table / "two.csv").write_text("a,b\n" + "1,x\n2,y\n" * 30)
    file = ("rank", table / "X.npy", "--target-file", table / "two.csv", "--target", "b")
    code, out, _ = featly(*file, "--json", "--top", 1)
    assert code == 0
    assert json.loads(out)["classes"] == {"x": 30, "y": 30}
    code, out, _ = featly(
        "rank", table / "X.npy", "--target-file", table / "y.csv", "-t", "state", "--json"
    )
    assert code == 0
    assert json.loads(out)["target"] == "state"


def test_targets_beside_the_matrix_are_offered(mistake, tmp_path):
    path, _ = write_example("h5ad", tmp_path)
    assert "Say --target state, or name a file" in mistake("rank", path)
    assert "did you mean 'state'?" in mistake("rank", path, "-t", "stat")
    path, _ = write_example("bed", tmp_path)
    assert "Say --target with one of phenotype, sex, or" in mistake("rank", path)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--memory-limit", "2XB"], "--memory-limit '2XB': give 1 MB or more, as a number of"),
        (["--memory-limit", "9"], "--memory-limit '9': give 1 MB or more"),
        (
            ["--memory-limit", "1GB", "-m", "mkl-rfe"],
            "mkl-rfe needs the whole table in memory. Lea",
        ),
        (["--cache", "kept"], "f-test has no search to be kept. Leave it out, or use MIFS, MRMR"),
        (["--cache", "kept", "-m", "relieff"], "relieff has no search to be kept"),
        (["--cache", __file__, "-m", "mrmr"], "is a file: give a folder"),
        (["--device", "gpu"], "--device 'gpu': give auto, cpu or cuda"),
        (["--method", "auto"], "--method auto looks at a table in memory"),
        (["--method", "f-test", "--set", "device=cpu"], "--set 'device=cpu': leave it to --device"),
        (["--fill"], "--fill is not for"),
        (["--drop", "x1"], "--drop is not for"),
        (["--format", "csv"], "--format is not for"),
        (["--n-features", "3"], "--n-features is not for"),
        (["--missing", "-9"], "--header, --separator, --encoding and --missing are not for"),
        (["--keep", "x300"], "keep 'x300' is no column of"),
    ],
)
def test_options_that_make_no_sense(options, expected, mistake, table):
    assert expected in mistake("rank", table / "X.npy", "--target-file", table / "y.npy", *options)


def test_a_device_that_is_not_there(mistake, table, monkeypatch):
    from featly.core.runtime import device_cuda

    monkeypatch.setattr(
        device_cuda,
        "_unavailable_reason",
        lambda: ("no CUDA device is there: give ", Setting("device", "cpu")),
    )
    arguments = ("rank", table / "X.npy", "--target-file", table / "y.npy", "--device", "cuda")
    assert mistake(*arguments) == "no CUDA device is there: give --device cpu"


def test_a_device_that_a_method_has_no_use_for(mistake, featly, table, monkeypatch):
    from featly.core.runtime import device_cuda

    monkeypatch.setattr(
        device_cuda,
        "_unavailable_reason",
        lambda: ("no CUDA device is there: give ", Setting("device", "cpu")),
    )
    monkeypatch.setattr(device_cuda, "xp", lambda: None)
    common = ("rank", table / "X.npy", "--target-file", table / "y.npy", "--method", "consistency")
    message = mistake(*common, "--device", "cuda")
    assert "--device cuda: consistency computes on the CPU only. Leave it out, or use" in message
    assert featly(*common, "--device", "auto", "-q")[0] == 0  # where it computes anyway


def test_files_that_are_none(mistake, table):
    file = table / "cut.npy"
    file.write_bytes((table / "X.npy").read_bytes()[:5000])
    assert "is cut: it has 5000 bytes" in mistake("rank", file, "--target-file", table / "y.npy")
    file = table / "text.npy"
    np.save(file, np.array([["a", "b"]] * 60))
    message = mistake("rank", file, "--target-file", table / "y.npy")
    assert "bool, whole numbers, float32 and float64 are read in blocks" in message
    message = mistake("rank", table / "y.csv", "-t", "state", "--memory-limit", "1GB")
    assert "convert it with polars.scan_csv(" in message
    assert message.endswith("or leave --memory-limit out")
    (table / "X.xyz").write_text("?")
    message = mistake("rank", table / "X.xyz", "-t", "y", "--memory-limit", "1GB")
    assert "in no format that is read by columns" in message


def test_options_of_tables_on_disk_for_others(mistake, csv):
    for option in ("--target-file", "--dataset", "--layer"):
        message = mistake("rank", csv, "-t", "ill", option, "a")
        assert f"{option} goes with files that are read by blocks of columns" in message


def test_a_missing_library_names_the_extra(mistake, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    (tmp_path / "a.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    message = mistake("rank", tmp_path / "a.h5", "--target-file", "y.npy")
    assert "pip install 'featly[io]'" in message


def test_commands_that_read_a_table_whole_say_so(mistake, table):
    message = mistake("evaluate", table / "X.npy", "-t", "y")
    assert "this command needs a table that is read whole" in message


def test_the_count_of_a_large_table_is_needed_and_must_fit(mistake, table):
    arguments = ("select", table / "X.npy", "--target-file", table / "y.npy")
    assert "how many of the 300 columns of" in mistake(*arguments)
    write_npy(table / "X.npy", levels(60, 1000)[0], "F")
    message = mistake(*arguments, "-k", "1.0", "--memory-limit", "1MB")
    assert "1,000 columns of" in message
    assert "are too many to be written at once: choose up to 416 with --count" in message


def test_a_method_that_says_itself_how_many_needs_no_count(featly, table):
    arguments = ("select", table / "X.npy", "--target-file", table / "y.npy", "-m", "fcbf")
    code, out, _ = featly(*arguments, "-q")
    assert code == 0
    assert out.startswith("x5,")


def test_resources_of_a_method_are_those_of_its_ranker(featly, mistake, table):
    common = ("rank", table / "X.npy", "--target-file", table / "y.npy", "-m", "pairwise", "-q")
    code, limited, err = featly(*common, "--memory-limit", "1MB", "--set", "ranker=f-test")
    assert code == 0, err
    assert limited == featly(*common, "--set", "ranker=f-test")[1]
    message = mistake(*common[:-1], "--memory-limit", "1MB", "--set", "ranker=forest")
    assert "forest needs the whole table in memory" in message


# ---- Ctrl-C --------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def long_search(tmp_path_factory):
    """A search that takes some seconds."""
    folder = tmp_path_factory.mktemp("long")
    X, y = levels(200, 200_000)
    write_npy(folder / "X.npy", X, "F")
    np.save(folder / "y.npy", y)
    return folder


def mrmr_command(folder, cache, steps, *more):
    options = ["--method", "mrmr", "--set", "discretizer=none", "--set", f"max_steps={steps}"]
    return [
        sys.executable, "-m", "featly", "rank", str(folder / "X.npy"), "--target-file",
        str(folder / "y.npy"), *options, "--memory-limit", "20MB", "--cache", str(cache), *more,
    ]  # fmt: skip


def run_process(arguments):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=300)


@pytest.mark.thorough
def test_a_search_that_was_stopped_goes_on(long_search, tmp_path):
    cache, max_steps = tmp_path / "cache", 100_000  # more steps than any machine makes meanwhile
    assert (
        run_process(mrmr_command(long_search, tmp_path / "compiled", 3)).returncode == 0
    )  # what steps need is compiled
    stopped = subprocess.Popen(
        mrmr_command(long_search, cache, max_steps),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 200
    while not any(cache.glob("*.packed")) and time.monotonic() < deadline:
        assert stopped.poll() is None
        time.sleep(0.02)
    time.sleep(0.3)  # some steps
    os.kill(stopped.pid, signal.SIGINT)
    out, err = stopped.communicate(timeout=60)
    assert stopped.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    lines = [line for line in err.splitlines() if not line.startswith("note: ")]
    assert lines[1].startswith("featly: stopped after ")
    assert "The same command goes on from there, with what is in " in lines[1]
    done = int(lines[1].split()[3].replace(",", ""))
    assert 1 <= done < max_steps
    assert lines[2].startswith("chosen so far: x5")
    again = run_process(mrmr_command(long_search, cache, done + 10))
    assert again.returncode == 0
    assert f"going on after step {done:,}, up to which" in again.stderr
    third = run_process(mrmr_command(long_search, cache, done + 10))
    assert "the whole search was in " in third.stderr
    whole = run_process(mrmr_command(long_search, tmp_path / "whole", done + 10, "-q"))
    assert whole.returncode == 0
    assert again.stdout == third.stdout == whole.stdout
    assert len(whole.stdout.splitlines()) == 200_001


@pytest.mark.thorough
def test_packing_that_was_stopped_goes_on(long_search, tmp_path):
    cache = tmp_path / "cache"
    stopped = subprocess.Popen(
        mrmr_command(long_search, cache, 9, "--jobs", "1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 200
    while not any(path.stat().st_size > 500 for path in cache.glob("*.journal")):
        assert time.monotonic() < deadline
        assert stopped.poll() is None
        if any(cache.glob("*.packed")):
            break  # too late, on a quick machine
        time.sleep(0.002)
    os.kill(stopped.pid, signal.SIGINT)
    _, err = stopped.communicate(timeout=60)
    if stopped.returncode != 0:  # which it is where all was done by then
        assert stopped.returncode == 130, err
        assert "featly: stopped" in err
    again = run_process(mrmr_command(long_search, cache, 9, "--top", "30"))
    whole = run_process(mrmr_command(long_search, tmp_path / "other", 9, "--top", "30"))
    assert again.returncode == whole.returncode == 0
    assert again.stdout == whole.stdout


def test_without_a_cache_the_message_names_the_option(featly, table, monkeypatch):
    from featly.core.greedy import search as greedy

    def stop(value, *_):
        if stop.left == 0:
            raise KeyboardInterrupt
        stop.left -= 1
        return best(value, *_)

    best, stop.left = greedy._best, 2
    monkeypatch.setattr(greedy, "_best", stop)
    arguments = ("rank", table / "X.npy", "--target-file", table / "y.npy", "-m", "mrmr")
    code, out, err = featly(*arguments, "--set", "discretizer=none", "--set", "max_steps=9")
    assert (code, out) == (130, "")
    expected = (
        "featly: stopped after 2 of 9 steps; nothing was written. With --cache FOLDER another"
    )
    assert expected in err
    assert err.splitlines()[-1].startswith("chosen so far: x5, ")


def test_a_method_without_a_search_says_that_nothing_was_written(featly, table, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(FTest, "_rank", stop)
    code, out, err = featly("rank", table / "X.npy", "--target-file", table / "y.npy")
    assert (code, out) == (130, "")
    assert err.endswith("featly: stopped; nothing was written\n")
