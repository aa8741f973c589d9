"""Files of SPSS, Stata and SAS against the frames that they were made of."""

import gzip
import sys

import polars as pl
import pytest

from featly import FTest, read_table
from featly.basics.errors import DataError
from featly.io.read import column_names

pyreadstat = pytest.importorskip("pyreadstat")

FRAME = pl.DataFrame(
    {
        "age": [61.0, None, 52.5, 68.0],
        "sex": [1.0, 2.0, 2.0, None],
        "stage": [2.0, 1.0, 3.0, 1.0],
        "smokes": [0.0, 1.0, 99.0, 1.0],
        "ward": ["A", "", "B", "A"],
        "ill": [1.0, 0.0, 0.0, 1.0],
    }
)
LABELS = {
    "sex": {1.0: "female", 2.0: "male", 3.0: "other"},
    "stage": {1.0: "low", 2.0: "middle", 3.0: "high"},
    "smokes": {99.0: "refused"},
    "ill": {0.0: "no", 1.0: "yes"},
}
NOTES = [
    "value labels as categories in 'sex', 'stage', 'ill'",
    "only some values have labels, so numbers stay, in 'smokes' (99 is 'refused')",
]


def write(path, frame=FRAME):
    writers = {".sav": "write_sav", ".zsav": "write_sav", ".por": "write_por",
               ".dta": "write_dta", ".xpt": "write_xport"}  # fmt: skip
    options = {"compress": True} if path.suffix == ".zsav" else {}
    if path.suffix in (".sav", ".zsav"):
        options["variable_measure"] = {"stage": "ordinal"}
    if path.suffix != ".xpt":
        options["variable_value_labels"] = (
            LABELS if path.suffix != ".dta"
            else {name: {int(k): v for k, v in labels.items()} for name, labels in LABELS.items()}
        )  # fmt: skip
    if path.suffix == ".dta":  # Stata labels whole numbers alone
        frame = frame.with_columns(pl.col(*LABELS).cast(pl.Int32))
    if path.suffix == ".por":
        options.pop("variable_value_labels")
    getattr(pyreadstat, writers[path.suffix])(frame, str(path), **options)


@pytest.mark.parametrize("ending", [".sav", ".zsav", ".dta"])
def test_labels_are_categories(tmp_path, ending):
    path = tmp_path / f"study{ending}"
    write(path)
    with read_table(path, target="ill") as table:
        assert table.notes == NOTES
        X = table.X
        assert X["age"].to_list() == FRAME["age"].to_list()
        assert X["sex"].to_list() == ["female", "male", "male", None]
        assert X["smokes"].to_list() == FRAME["smokes"].to_list()
        assert X["ward"].to_list() == ["A", None, "B", "A"]
        assert table.y.tolist() == ["yes", "no", "no", "yes"]
        is_ordered = ending != ".dta"  # Stata has no measure
        assert X.schema["stage"] == (
            pl.Enum(["low", "middle", "high"]) if is_ordered else pl.String
        )
        table.save_columns(["sex"], tmp_path / "small.csv")
    assert (tmp_path / "small.csv").read_text().splitlines()[:2] == ["sex,ill", "female,yes"]
    assert column_names(path) == FRAME.columns
    path.rename(tmp_path / "study")
    assert read_table(tmp_path / "study", target="ill").notes == NOTES  # its content tells


@pytest.mark.parametrize("ending", [".xpt", ".por"])
def test_numbers_and_text(tmp_path, ending):
    path = tmp_path / f"study{ending}"
    write(path, FRAME.select(pl.all().name.to_uppercase()))
    table = read_table(path, target="ILL")
    assert table.format == ("sas" if ending == ".xpt" else "spss")
    assert table.X["AGE"].to_list() == FRAME["age"].to_list()
    assert table.X["WARD"].to_list() == ["A", None, "B", "A"]
    assert table.y.tolist() == [1, 0, 0, 1]
    assert FTest().fit(table.X.select("STAGE", "AGE"), table.y).n_features_in_ == 2


def test_a_compressed_file_is_decompressed(tmp_path):
    write(tmp_path / "study.sav")
    path = tmp_path / "study.sav.gz"
    path.write_bytes(gzip.compress((tmp_path / "study.sav").read_bytes()))
    assert read_table(path, target="ill").notes == NOTES


def test_wrong_files_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "study.sav"
    write(path)
    (tmp_path / "cut.sav").write_bytes(path.read_bytes()[:150])
    with pytest.raises(DataError, match=r"cut.sav' cannot be read as an SPSS file"):
        read_table(tmp_path / "cut.sav")
    (tmp_path / "a.dta").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"a.dta' is not a Stata file, whatever its name says"):
        read_table(tmp_path / "a.dta")
    with pytest.raises(DataError, match=r"sheet is for excel files, but .* is read as spss"):
        read_table(path, sheet="a")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(DataError, match=r"takes pyreadstat: pip install 'featly\[statistics\]'"):
        read_table(path)
