"""A format that is added to the literal is known to the commands, their help and their errors."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from featly.table.formats import FORMATS
from tests.cli.reading import cells
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


def test_a_sheet_is_chosen_by_an_option(featly, mistake, frame, tmp_path):
    pytest.importorskip("fastexcel")
    xlsxwriter = pytest.importorskip("xlsxwriter")
    path = tmp_path / "study.xlsx"
    with xlsxwriter.Workbook(path) as book:
        for name, columns in (("Legend", ["age", "ill"]), ("Data", ["age", "marker", "ill"])):
            frame.select(columns).write_excel(book, name, include_header=True)
    call = ("rank", path, "-t", "ill", "-m", "f-test")
    code, out, err = featly(*call, "--sheet", "Data")
    assert code == 0, err
    assert {row[1] for row in cells(out)[1:]} == {"age", "marker"}
    code, out, err = featly(*call)
    assert "the sheet 'Legend' of 2: 'Legend', 'Data'" in err
    message = mistake(*call, "--sheet", "Date")
    assert "has no sheet 'Date': give --sheet one of 'Legend', 'Data'" in message
    frame.write_csv(tmp_path / "a.csv")
    message = mistake("rank", tmp_path / "a.csv", "-t", "ill", "--sheet", "Data")
    assert message.startswith("--sheet is for excel files, but")
    (tmp_path / "a.npy").touch()
    message = mistake("rank", tmp_path / "a.npy", "-t", "ill", "--sheet", "Data")
    assert "--sheet is not for" in message


def test_a_toy_is_ranked_whole_and_by_blocks(featly, toy):
    code, whole, err = featly("rank", toy, "-t", "ill", "-m", "f-test", "--json")
    assert code == 0, err
    for options in (["--memory-limit", "1MB"], ["--memory-limit", "1MB", "--format", "toy"]):
        code, blocks, err = featly("rank", toy, "-t", "ill", "-m", "f-test", "--json", *options)
        assert code == 0, err
        assert blocks.partition('"ranking"')[2] == whole.partition('"ranking"')[2]
    code, out, _ = featly("rank", toy, "-t", "ill", "--memory-limit", "1MB", "--drop", "age", "-q")
    assert code == 0
    assert [row[1] for row in cells(out)[1:]] == ["dose"]


def test_a_toy_is_selected_from_and_combined(featly, toy, tmp_path):
    small, ranking = tmp_path / "small.toy", tmp_path / "f.toy"
    code, _, err = featly("select", toy, "-t", "ill", "-k", 1, "-o", small, "--ranking", ranking)
    assert code == 0, err
    assert small.read_bytes().startswith(b"TOY1")
    featly("rank", toy, "-t", "ill", "-m", "signal-to-noise", "-o", tmp_path / "s.toy")
    code, out, err = featly("combine", ranking, tmp_path / "s.toy")
    assert code == 0, err
    assert cells(out)[0][-2:] == ["f", "s"]


def test_a_toy_that_is_never_read_whole(featly, mistake, toy, monkeypatch):
    monkeypatch.setitem(FORMATS, "toy", replace(TOY, reader=""))
    assert featly("rank", toy, "-t", "ill", "-m", "f-test", "-q")[0] == 0
    assert "is read by blocks of columns, which" in mistake("evaluate", toy, "-t", "ill")
    assert "Say --target with the name of a column" in mistake("rank", toy)
    assert "--format is not for" in mistake("rank", toy, "-t", "ill", "--format", "toy")


def test_errors_know_a_toy(mistake, toy, tmp_path):
    message = mistake("rank", toy, "--format", "toi")
    assert "there is no format 'toi'; did you mean 'toy'?" in message
    assert "--layer is for hdf5 files" in mistake(
        "rank", toy, "-t", "ill", "--memory-limit", "1MB", "--layer", "a"
    )
    message = mistake("select", toy, "-t", "ill", "-k", "1", "-o", tmp_path / "a.doc")
    assert ".toy" in message.partition("give it one of ")[2]


def test_help_knows_a_toy():
    code = (
        "import sys\n"
        "from featly.table.formats import FORMATS\n"
        "from tests.table.toy import TOY\n"
        "FORMATS['toy'] = TOY\n"
        "from featly.cli.main import main\n"
        "sys.argv = ['featly', 'select', '--help']\n"
        "main()"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT,
        env={"COLUMNS": "200", "PYTHONPATH": ":".join(sys.path), "NO_COLOR": "1"},
    )  # fmt: skip
    help_text = " ".join(run.stdout.split())
    assert "sas, toy; guessed from the file" in help_text
    large = help_text.partition("which stay on disk")[2].partition(")")[0]
    assert ".toy" in large
    assert ".arrow, .toy are read by blocks of columns, too" in help_text
    assert help_text.count(".json, .toy") == 1
    assert "The reduced table: .csv, .tsv, .parquet, .arrow, .toy." in help_text


def test_too_little_memory_names_the_formats(mistake, toy, monkeypatch):
    def no_memory(*_, **__):
        raise MemoryError

    monkeypatch.setattr("tests.table.toy.parse", no_memory)
    message = mistake("rank", toy, "-t", "ill")
    assert "Files that end in .npy, .h5, .zarr, .bed are read by blocks of columns" in message
    assert message.endswith("and .parquet, .arrow, .toy with --memory-limit")
