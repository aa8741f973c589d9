"""Detection of the format of a file from its first bytes."""

import re

from featly.basics.errors import DataError
from featly.io.byte_source import ByteSource, guess_encoding
from featly.io.libsvm import is_libsvm_line
from featly.io.matlab import HDF5
from featly.io.records import is_records_text

__all__ = ["guess_format"]

_FOREIGN = {
    b"PK\x03\x04": "an Excel or zip file: save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel file: save the sheet as CSV",
    b"\x28\xb5\x2f\xfd": "compressed with zstd: decompress it first",
    b"ARROW1\0": "an Arrow file: save it as parquet",
    b"RDX2\nX\n": "an R file: write the data frame with write.csv",
    b"RDX3\nX\n": "an R file: write the data frame with write.csv",
    b"X\n\0\0": "an R file: write the data frame with write.csv",
    b"$FL2@": "an SPSS file: save it as CSV",
    b"SQLite format 3": "a database: export the table as CSV",
    b"%PDF-": "a PDF: the table has to be saved as CSV",
    b"\x80\x02": "a Python pickle: save the frame as parquet",
    b"\x80\x03": "a Python pickle: save the frame as parquet",
    b"\x80\x04": "a Python pickle: save the frame as parquet",
    b"\x80\x05": "a Python pickle: save the frame as parquet",
    b"\x93NUMPY": "a NumPy file: load it with numpy and pass the array to a method",
    HDF5: "an HDF5 file: save the table as parquet or CSV",
}


def guess_format(opened: ByteSource, encoding: str | None = None) -> str:
    """Guess the format of a file from its first bytes, and that of a text from its name, too."""
    start = opened.head(1 << 16)
    if not start.strip():
        raise DataError(f"{opened.name} is empty: no table is in it")
    for magic, description in _FOREIGN.items():
        if start.startswith(magic):
            raise DataError(f"{opened.name} is {description}")
    if re.match(rb"PAR1[^ -~\s]", start):  # and not the name of a column
        return "parquet"
    if start.startswith(b"MATLAB 5.0 MAT-file") or start[512:520] == HDF5:
        return "matlab"
    if opened.suffix in (".parquet", ".pq"):
        raise DataError(f"{opened.name} is no parquet file, whatever its name says: it is damaged")
    if opened.suffix == ".mat":
        return "matlab"
    if opened.suffix == ".arff":
        return "arff"
    if opened.suffix in (".svmlight", ".libsvm", ".svm"):
        return "libsvm"
    text = start.decode(encoding or guess_encoding(start), errors="ignore").lstrip("\ufeff")
    lines = [line.strip() for line in re.split(r"[\r\n]+", text) if line.strip()]
    declared = [line for line in lines if not line.startswith("%")]
    if declared and re.match(r"@(relation|attribute)\b", declared[0], re.IGNORECASE):
        return "arff"
    if re.match(r"<(!doctype|html|\?xml)", text.lstrip(), re.IGNORECASE):
        raise DataError(f"{opened.name} is a web page or XML, no table: was a download refused?")
    if re.match(r"\[?\s*\{\s*\"", text.lstrip()):
        raise DataError(f"{opened.name} is JSON: write the table as CSV or parquet")
    if opened.suffix in (".csv", ".tsv", ".tab"):
        return "csv"
    if len(lines) > 1 and all(is_libsvm_line(line.encode()) for line in lines[:3][:-1]):
        return "libsvm"
    if is_records_text(text):
        return "records"
    return "csv"
