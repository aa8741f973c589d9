"""Damaged files: a table, or one line that names the file; never a crash, a hang or a traceback.

What a seed does is shown by ``python -m tests.io.guard read SEED``. FEATLY_FUZZ_BASE moves the
seeds, to look at other mutants than those of every run.
"""

import io
import os

import numpy as np
import polars as pl
import pytest
import scipy.io
import scipy.sparse

from featly import DataError
from featly.io import read_table
from featly.io.mat5 import check_structure
from tests.io.guard import LONGEST_MESSAGE, fuzz
from tests.io.mutants import mutant, sources

BASE = int(os.environ.get("FEATLY_FUZZ_BASE", "0"))


def assert_sound(report, count):
    assert not report.failures, "\n\n".join(report.failures[:20])
    assert report.count == count


@pytest.mark.thorough
def test_mutants(tmp_path):
    assert_sound(fuzz(tmp_path, 300, base=BASE), 300)


@pytest.mark.thorough
def test_mutants_on_the_command_line(tmp_path):
    assert_sound(fuzz(tmp_path, 50, base=BASE, kind="rank"), 50)


@pytest.mark.thorough
def test_ten_thousand_mutants(tmp_path):
    report = fuzz(tmp_path, 10_000, base=BASE + 1_000_000, processes=2)
    print(
        f"{report.seconds:.0f} s; slowest {report.slowest:.1f} s: {report.slowest_label}; most "
        f"memory {report.memory:.0f} MB: {report.memory_label}"
    )
    assert_sound(report, 10_000)


def test_a_seed_is_a_mutant():
    files = sources(None)
    for seed in range(40):
        first, again = mutant(files, seed), mutant(files, seed)
        assert first == again
        assert str(seed) in first.label


@pytest.mark.thorough
def test_a_crash_and_a_hang_are_reported_with_their_seed(tmp_path, monkeypatch):
    """A crash or a hang of the guarded process is a failure like others."""
    monkeypatch.setenv("FEATLY_FUZZ_TRIAL", "crash:3,hang:5")
    report = fuzz(tmp_path, 8)
    assert report.count == 8
    crash, hang = report.failures
    assert crash.startswith("seed 3 (")
    assert "ended with -6" in crash
    assert hang.startswith("seed 5 (")
    assert "Timeout" in hang


# ---- what mutants have found ---------------------------------------------------------------------
def refusal_message(path, **options):
    with pytest.raises(DataError) as caught:
        read_table(path, **options)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert len(message) < LONGEST_MESSAGE + len(str(path))
    assert str(path) in message
    return message


def read_or_refuse(path):
    try:
        table = read_table(path)
    except DataError:
        refusal_message(path)
    else:
        assert table.shape[1] == len(table.names)


@pytest.fixture
def file(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


ARFF = "@relation r\n@attribute a {x,y}\n@attribute b numeric\n@data\n"


@pytest.mark.parametrize(
    "cell", ["{" * 300_000, "'" + "\\'" * 200_000, "\\" * 400_000, "%'\\" * 9**5]
)
@pytest.mark.parametrize("row", ["x,{}", "{},1", "{{0 {}}}", "x,1,{}}}"])
def test_an_arff_cell_of_marks_takes_no_time(file, cell, row):
    path = file("a.arff", ARFF + "x,1\n" * (row[0] != "{") + row.format(cell) + "\n")
    refusal_message(path)


def test_names_that_polars_takes_for_patterns_in_a_message(file):
    text = "@attribute ^a$ {x,y}\n@attribute ^b.*$ numeric\n@data\n"
    assert "row 1" in refusal_message(file("a.arff", text + "x,1\nz,2\n"))
    table = read_table(file("b.arff", text + "{1 2}\n{0 y}\n"), target=1)
    assert table.X["^a$"].to_list() == ["x", "y"]
    table.save_columns(["^a$"], file("saved.csv", ""))


@pytest.mark.parametrize("saved", ["s.csv", "s.parquet"])
def test_a_target_without_any_value_is_saved(file, tmp_path, saved):
    with read_table(file("a.arff", ARFF + "?,1\n?,2\n"), target="a") as table:
        table.save_columns(["b"], tmp_path / saved)
    read = pl.read_csv if saved == "s.csv" else pl.read_parquet
    assert read(tmp_path / saved)["a"].null_count() == 2


def test_a_huge_number_of_tabs_in_a_header(file):
    refusal_message(file("a.csv", "a,b" + "\t" * 200_000 + ",c\n1,2,3\n"), target="d")


@pytest.mark.parametrize("target", [None, "a", "b"])
def test_a_sparse_arff_attribute_without_levels(file, target):
    text = "@attribute a {}\n@attribute b numeric\n@data\n{1 2}\n{1 3}\n"
    assert "'a'" in refusal_message(file("a.arff", text), target=target)


def test_many_columns_above_many_lines_take_no_memory(file):
    # as many cells as lines times columns would be 160 GB
    text = ",".join(f"c{k}" for k in range(200_000)) + "\n" + "1\n" * 100_000
    refusal_message(file("a.csv", text), separator=",")


def test_an_arff_level_with_a_brace(file):
    text = (
        "@relation r\n@attribute a {'x{y',z}\n@attribute b numeric\n@data\n{0 z, 1 2}\n{0 'x{y'}\n"
    )
    assert read_table(file("a.arff", text), target="b").X["a"].to_list() == ["z", "x{y"]


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("a.arff", ARFF + f"{'z' * 10**6},1\n", {}),
        ("a.arff", ARFF + f"x,{'z' * 10**6}\n", {}),
        ("a.arff", f"@attribute {'a' * 10**6} {{x,y}}\n@data\nz\n", {}),
        ("a.arff", f"@attribute a {{{'x' * 10**6},y}}\n@data\nz\n", {}),
        ("a.svmlight", f"1 1:{'x' * 10**6}\n", {}),
        ("a.csv", f"{'a' * 10**5},b\n1,2\n", {"target": "c"}),
        ("a.csv", f"{'a' * 10**5}\n1\n2\n", {"target": 0}),
    ],
)
def test_a_huge_cell_does_not_make_a_huge_message(file, name, text, options):
    refusal_message(file(name, text), **options)


@pytest.mark.parametrize("text", ["1 1:1 " + "9" * 5000 + ":1\n", "1 " + "9" * 5000 + ":1 2:1\n"])
def test_a_libsvm_index_of_thousands_of_digits(file, text):
    refusal_message(file("a.svmlight", text))


def test_a_sparse_arff_index_of_thousands_of_digits(file):
    refusal_message(file("a.arff", ARFF + "{" + "9" * 5000 + " 1}\n"))


@pytest.mark.parametrize("text", ['"', '"\n', 'a,"\n1,2', 'a\n"'])
def test_a_lone_quote(file, text):
    read_or_refuse(file("a.csv", text))


@pytest.mark.parametrize("name", ["a.csv", "a.arff", "a.parquet"])
@pytest.mark.parametrize("target", [None, "abc", "*", "^a.*$"])
@pytest.mark.parametrize("saved", ["s.csv", "s.parquet"])
def test_names_that_polars_takes_for_patterns(file, tmp_path, name, target, saved):
    names = ["*", "^a.*$", "abc", "^b$"]
    rows = "1,x,2,3\n4,y,5,6\n"
    path = file(name, ",".join(names) + "\n" + rows)
    if name == "a.arff":
        types = ["numeric", "{x,y}", "numeric", "numeric"]
        lines = [f"@attribute {a} {b}" for a, b in zip(names, types, strict=True)]
        path.write_text("\n".join(lines) + "\n@data\n" + rows)
    elif name == "a.parquet":
        pl.read_csv(path.read_bytes()).write_parquet(path)
    with read_table(path, target=target) as table:
        left = [column for column in names if column != target]
        assert list(table.names) == table.X.columns == left
        table.save_columns(left[:2], tmp_path / saved)
    read = pl.read_csv if saved == "s.csv" else pl.read_parquet
    assert read(tmp_path / saved).columns == left[:2] + [target] * (target is not None)


@pytest.mark.parametrize("width", [40_000, 130_000])
def test_lines_longer_than_a_sample(file, width):
    # beyond the limit of Python's csv for a cell, and beyond what the layout is guessed from
    name = "n" * 30
    head = ",".join(f"{name}{k}" for k in range(width))
    table = read_table(file("a.csv", head + "\n" + ",".join(["1"] * width) + "\n"))
    assert table.shape == (1, width)
    assert table.names[-1] == f"{name}{width - 1}"


@pytest.mark.parametrize("blank", [" ", "\t", " \t "])
def test_a_long_header_with_blanks(file, blank):
    head, row = (blank.join(f"{cell}{k}" for k in range(30_000)) for cell in ("c", "1"))
    table = read_table(file("a.txt", f"\n{head}\n{row}\n{row}\n"), separator="space")
    assert table.shape == (2, 30_000)
    assert table.names[-1] == "c29999"


def test_blanks_around_the_numbers_of_many_columns(file):
    width = 15_000
    rows = [", ".join(f"{row}{k}" for k in range(width)) for row in ("c", "1", "2")]
    table = read_table(file("a.csv", " \n".join(rows) + "\n"))
    assert table.X.dtypes[5] == pl.Float64


# ---- MATLAB --------------------------------------------------------------------------------------
def matlab_bytes(packed=False, **content):
    out = io.BytesIO()
    scipy.io.savemat(out, content, do_compression=packed)
    return out.getvalue()


def test_every_byte_of_a_matlab_file(file):
    """Types and lengths are in the file as they are; SciPy follows them out of bounds."""
    data = matlab_bytes(
        X=np.arange(6.0).reshape(3, 2), Y=np.arange(3), names=np.array(["a", "b"], object)
    )
    for at in range(128, len(data)):
        for value in (0, 14, 127, 255):
            changed = data[:at] + bytes([value]) + data[at + 1 :]
            read_or_refuse(file("a.mat", changed))


def test_matlab_sparse_with_an_index_out_of_bounds(file):
    X = scipy.sparse.csc_array(np.diag(np.arange(1.0, 8.0)))
    data = matlab_bytes(X=X)
    at = data.index(np.arange(7, dtype="<i4").tobytes())
    assert "damaged" in refusal_message(file("a.mat", data[:at] + b"\x09" + data[at + 1 :]))


@pytest.mark.parametrize("packed", [False, True])
def test_sound_matlab_files_pass(packed):
    data = matlab_bytes(
        packed,
        dense=np.ones((3, 4)),
        complex=np.ones((2, 2)) * 1j,
        sparse=scipy.sparse.csc_array(np.eye(5)),
        complex_sparse=scipy.sparse.csc_array(np.eye(5) * 1j),
        cells=np.array(["a", "bcd", np.ones(3), {"deep": [1, 2]}], dtype=object),
        struct={"a": 1, "b": "text", "c": {"d": [1.5, 2]}},
        structs=np.zeros(3, dtype=[("a", "O"), ("b", "O")]),
        text="öl",
        texts=np.array(["ab", "cd"]),
        empty=np.zeros((0, 3)),
        no_text="",
        small=np.arange(5, dtype=np.int8),
        cube=np.ones((2, 3, 4)),
        yes=np.ones((2, 2), bool),
    )
    check_structure(io.BytesIO(data), len(data))


@pytest.mark.parametrize("packed", [False, True])
def test_matlab_files_that_are_cut(packed):
    data = matlab_bytes(packed, X=np.ones((3, 4)), c=np.array(["a", "bcd"], dtype=object))
    whole = []
    for size in range(129, len(data)):
        try:
            check_structure(io.BytesIO(data[:size]), size)
        except ValueError:
            continue
        whole.append(size)
    assert len(whole) <= 1  # between the two variables


def test_cells_in_cells_without_end(tmp_path):
    cell = np.array([1.0])
    for _ in range(30):
        outer = np.empty(1, dtype=object)
        outer[0] = cell
        cell = outer
    path = tmp_path / "deep.mat"
    scipy.io.savemat(path, {"X": np.eye(3), "deep": cell})
    with pytest.raises(DataError, match="cells in cells without end"):
        read_table(path)
