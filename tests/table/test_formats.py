"""The literal of formats: readers and errors know an entry, and nobody keeps another list."""

import ast
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import featly
from featly import FTest, read_table
from featly.basics.errors import DataError
from featly.io import write_frame
from featly.io.read import column_names
from featly.io.schema_files import read_ranking
from featly.io.stores.files import describe_beginning
from featly.table import formats
from featly.table.formats import FORMATS, load_part
from tests.table.toy import FRAME, TOY, write_toy

ROOT = Path(__file__).parents[2]


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A file of a format that is added to the literal."""
    monkeypatch.setitem(FORMATS, "toy", TOY)
    path = tmp_path / "study.toy"
    with path.open("wb") as file:
        write_toy(FRAME, file)
    return path


def test_parts_of_all_formats_can_be_imported():
    for name, entry in FORMATS.items():
        for part in ("text", "folder", "reader", "names", "columns", "writer", "store"):
            if getattr(entry, part):
                assert callable(load_part(getattr(entry, part))), (name, part)
        if entry.magic:
            re.compile(entry.magic)


def test_every_format_is_read_written_or_comes_with_a_remedy():
    for name, entry in FORMATS.items():
        is_of_use = entry.reader or entry.store or entry.convert
        assert is_of_use or entry.remedy, name
        # what is told from its first bytes and not read whole must say what to do
        assert entry.reader or not (entry.magic or entry.text) or entry.remedy, name
        assert entry.suffixes or entry.also or entry.reader, name


def test_endings_are_of_one_format():
    endings = [ending for entry in FORMATS.values() for ending in entry.suffixes + entry.also]
    assert len(endings) == len(set(endings))
    assert all(ending.startswith(".") and ending == ending.lower() for ending in endings)


def test_a_toy_is_read(toy, tmp_path):
    bare = tmp_path / "no ending"
    bare.write_bytes(toy.read_bytes())
    for path in (toy, bare):
        with read_table(path, target="ill") as table:
            assert (table.format, table.names, table.notes) == ("toy", ["age", "dose"], ["a toy"])
            assert table.y.tolist() == FRAME["ill"].to_list()
            table.save_columns(["dose"], tmp_path / "small.csv")
            table.save_columns(["dose"], tmp_path / "small.toy")
        assert column_names(path) == ["age", "ill", "dose"]
    assert read_table(tmp_path / "small.toy").names == ["dose", "ill"]
    assert pl.read_csv(tmp_path / "small.csv").columns == ["dose", "ill"]


def test_a_toy_is_scanned(toy):
    with featly.scan(toy, target="ill") as X:
        assert X.shape == (6, 2)
        by_blocks = FTest().fit(X, X.y).scores_
    with read_table(toy, target="ill") as table:
        assert by_blocks.tolist() == FTest().fit(table.X, table.y).scores_.tolist()
    with featly.scan(toy, target="ill", without=["age"]) as X:
        assert X.names == ["dose"]
    with pytest.raises(DataError, match=r"layer is for hdf5 files, but .* is read as toy"):
        featly.scan(toy, layer="a")


def test_errors_know_a_toy(toy, tmp_path):
    with pytest.raises(DataError, match="there is no format 'toi'; did you mean 'toy'"):
        read_table(toy, format="toi")
    with pytest.raises(DataError, match=r"separator is for csv, tsv files, but .* is read as toy"):
        read_table(toy, separator=";")
    (tmp_path / "a.toys").write_bytes(toy.read_bytes())
    with pytest.raises(DataError, match=r"did you mean '.toy'\?. It begins like a toy table"):
        featly.scan(tmp_path / "a.toys")
    with pytest.raises(DataError, match=r"such as '.*study.toy'"):
        featly.scan(tmp_path)
    assert describe_beginning(toy.read_bytes()) == "a toy table (.toy)"
    with pytest.raises(DataError, match=r"give it one of .*\.toy"):
        write_frame(FRAME, tmp_path / "a.doc")


def test_a_ranking_in_a_toy(toy, tmp_path):
    write_frame(pl.DataFrame({"feature": ["a", "b"], "rank": [2.0, 1.0]}), tmp_path / "r.toy")
    assert read_ranking(tmp_path / "r.toy").rows() == [("a", 2.0), ("b", 1.0)]


def test_a_toy_without_a_reader_is_refused_by_its_words(toy, monkeypatch):
    monkeypatch.setitem(FORMATS, "toy", replace(TOY, reader=""))
    with pytest.raises(DataError, match=r"study.toy' is a toy table: play with it$"):
        read_table(toy)
    assert formats.is_always_stored(toy)


def test_a_toy_that_cannot_be_read_by_columns_comes_with_a_command(toy, monkeypatch):
    monkeypatch.setitem(FORMATS, "toy", replace(TOY, store="", convert="toy {shown} {npy} {bare}"))
    monkeypatch.chdir(toy.parent)
    line = "toy study.toy 'study.npy' study"
    with pytest.raises(DataError, match=f"cannot be read by columns: convert it with {line}$"):
        featly.scan("study.toy")


def test_without_its_entry_a_toy_is_unknown(toy, monkeypatch):
    monkeypatch.delitem(FORMATS, "toy")
    with pytest.raises(DataError, match=r"its ending '.toy' is none"):
        featly.scan(toy)
    assert formats.format_of_name(toy) is None


@pytest.mark.parametrize(
    ("name", "strictly", "loosely"),
    [
        ("a.csv", "csv", "csv"),
        ("a.b.TSV", "tsv", "tsv"),
        ("a.txt", None, "text"),
        ("a.zip", None, "zarr"),
        ("a.zarr.zip", "zarr", "zarr"),
        ("folder.zarr/", "zarr", "zarr"),
        ("a.feather", "arrow", "arrow"),
        (".npy", None, None),
        ("npy", None, None),
        ("a", None, None),
    ],
)
def test_the_format_of_a_name(name, strictly, loosely):
    assert formats.format_of_name(name) == strictly
    assert formats.format_of_name(name, loosely=True) == loosely


def test_text_may_begin_like_a_format_that_is_read(tmp_path):
    (tmp_path / "a.csv").write_text("ARROW1,PAR1\n1,2\n3,4\n")
    assert read_table(tmp_path / "a.csv").names == ["ARROW1", "PAR1"]


def endings_in(path):
    """Return the endings of formats that texts of a file consist of, one by one or in a list."""
    known = {ending for entry in FORMATS.values() for ending in entry.suffixes}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in known:
            yield node.lineno, node.value


def test_nobody_else_keeps_a_list_of_endings():
    # one ending that a module is about is no list
    allowed = {
        "table/formats.py": None,
        "cli/stored.py": {".npy"},  # a vector of labels
        "cli/warm.py": {".csv"},  # small tables of its own
        "io/read.py": {".csv", ".tsv"},  # endings that decide against LIBSVM
        "io/write.py": {".csv"},  # standard output
        "io/stores/bed.py": {".bed"},
        "io/stores/hdf5.py": {".h5ad"},
        "reports/report.py": None,  # pages, not tables
        "study/shared_tables.py": {".npy"},  # made with a mode of access of its own
    }
    for path in sorted((ROOT / "src" / "featly").rglob("*.py")):
        name = path.relative_to(ROOT / "src" / "featly").as_posix()
        seen = {ending for _, ending in endings_in(path)}
        known = allowed.get(name, set())
        assert known is None or seen <= known, f"{name} has endings of its own: {seen}"


def test_the_guides_name_every_format():
    files = (ROOT / "docs" / "guide" / "files.md").read_text("utf-8")
    for name in formats.readable():
        assert f"`{name}`" in files, name
    large = (ROOT / "docs" / "guide" / "large_tables.md").read_text("utf-8")
    for name in formats.scannable():
        for ending in FORMATS[name].suffixes:
            assert f"`{ending}`" in large, ending
    for name in formats.writable():
        for ending in FORMATS[name].suffixes[:1]:
            assert f"`{ending}`" in files, ending


def test_readers_are_imported_when_they_are_used():
    code = (
        "import sys, featly.io, featly.table.formats, featly.problem.scan\n"
        "late = ['featly.io.readers', 'featly.io.matlab', 'featly.io.stores.arrow', 'pyarrow']\n"
        "assert not [name for name in late if name in sys.modules]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
