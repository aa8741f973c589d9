r"""Every format of files: how it is told, what reads and writes it, and what to do if nothing does.

A format is one entry of `FORMATS`. ``read_table``, ``scan``, the command line, its help and the
errors ask the functions below; what reads or writes is imported when it is used.

The order is that of lists in messages and of comparisons with the content of a file.
"""

import importlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

__all__ = [
    "FORMATS",
    "Format",
    "always_stored",
    "can_be_stored",
    "convert_command",
    "describe_endings",
    "format_of_content",
    "format_of_folder",
    "format_of_name",
    "format_of_suffix",
    "format_of_text",
    "is_always_stored",
    "load_part",
    "readable",
    "scannable",
    "strip_ending",
    "taking",
    "writable",
]


@dataclass(frozen=True)
class Format:
    """A format of files.

    A part is named as "module:function" or "module:object.method", and imported when it is used.

    Attributes
    ----------
    words : str
        One such file, in messages: "a parquet table".
    suffixes : tuple of str
        Endings of such files, in small letters; the first is the usual one.
    also : tuple of str
        Endings that files of other formats have, too: ``scan`` and the writers go by them, and
        ``read_table`` by the content.
    magic : bytes
        A regular expression that the first bytes match.
    text : str
        A part: whether the beginning of a text may be of this format.
    sure : bool
        Whether that goes before the ending of the name.
    folder : str
        A part: whether a folder is of this format.
    reader : str
        A part: from a :class:`featly.io.table_file.Reading` to a :class:`featly.io.TableFile`.
    names, columns : str
        Parts: from an open file to the names of its columns; from an open file and some of these to
        a polars frame with the types of the file.
    writer : str
        A part: writes a polars frame to a binary stream.
    options : tuple of str
        Parameters of ``read_table`` that it takes.
    store : str
        A part: from a path and options to a :class:`featly.io.stores.StoredTable`.
    store_options : tuple of str
        Parameters of ``scan`` that it takes.
    remedy : str
        What to do with such a file where nothing reads it.
    convert : str
        A command that makes of it a file that is read by columns. {path} and {parquet} are names
        between quotes, {npy} as well; {shown} and {bare} are without, {bare} without its ending.
    """

    words: str
    suffixes: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    magic: bytes = b""
    text: str = ""
    sure: bool = False
    folder: str = ""
    reader: str = ""
    names: str = ""
    columns: str = ""
    writer: str = ""
    options: tuple[str, ...] = ()
    store: str = ""
    store_options: tuple[str, ...] = ()
    remedy: str = ""
    convert: str = ""


_TEXT = ("separator", "header", "encoding", "missing")
_BY_PLINK = "plink2 --vcf {shown} --make-bed --out {bare}"

FORMATS: dict[str, Format] = {
    # read whole, and written
    "csv": Format(
        "a CSV table",
        (".csv",),
        reader="featly.io.readers:read_text",
        names="featly.io.csv_dialect:text_names",
        writer="featly.io.write:write_csv",
        options=_TEXT,
        convert="polars.scan_csv({path}).sink_parquet({parquet})",
    ),
    "tsv": Format(
        "a TSV table",
        (".tsv", ".tab"),
        reader="featly.io.readers:read_text",
        names="featly.io.csv_dialect:text_names",
        writer="featly.io.write:write_tsv",
        options=_TEXT,
        convert=r"polars.scan_csv({path}, separator='\t').sink_parquet({parquet})",
    ),
    "text": Format(  # of no format by its ending: whoever writes one gets tabs
        "a text",
        also=(".txt",),
        writer="featly.io.write:write_tsv",
        convert="polars.scan_csv({path}).sink_parquet({parquet})",
    ),
    "parquet": Format(
        "a parquet table",
        (".parquet", ".pq"),
        magic=b"PAR1",
        reader="featly.io.parquet:PARQUET.read_file",
        names="featly.io.parquet:PARQUET.names",
        columns="featly.io.parquet:PARQUET.columns",
        writer="featly.io.parquet:write_parquet",
        store="featly.io.stores.parquet:ParquetTable",
        store_options=("target", "without"),
    ),
    "arrow": Format(
        "an Arrow table",
        (".arrow", ".feather", ".ipc"),
        magic=rb"ARROW1|FEA1|\xff{4}(?s:..)\0\0",  # a file, the old Feather, a stream
        reader="featly.io.arrow:ARROW.read_file",
        names="featly.io.arrow:ARROW.names",
        columns="featly.io.arrow:ARROW.columns",
        writer="featly.io.arrow:write_arrow",
        store="featly.io.stores.arrow:ArrowTable",
        store_options=("target", "without"),
    ),
    "arff": Format(
        "an ARFF table",
        (".arff",),
        text="featly.io.arff:is_arff_text",
        sure=True,
        reader="featly.io.readers:read_arff_file",
        names="featly.io.arff:arff_names",
        options=("encoding", "missing"),
        convert="featly.read_table({path}).X.write_parquet({parquet})",
    ),
    "libsvm": Format(
        "a LIBSVM file",
        (".svmlight", ".libsvm", ".svm"),
        text="featly.io.libsvm:is_libsvm_text",
        reader="featly.io.readers:read_libsvm_file",
        options=("encoding", "n_features"),
    ),
    "matlab": Format(
        "a MATLAB file",
        (".mat",),
        magic=rb"MATLAB 5\.0 MAT-file|(?s:.){512}\x89HDF\r\n\x1a\n",
        reader="featly.io.readers:read_matlab_file",
        convert="numpy.save({npy}, featly.read_table({path}).X)",
    ),
    "records": Format(
        "a file of records",
        text="featly.io.records:is_records_text",
        reader="featly.io.readers:read_records_file",
        options=("encoding",),
    ),
    "excel": Format(
        "a spreadsheet",
        (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
        magic=rb"PK\x03\x04|\xd0\xcf\x11\xe0",
        reader="featly.io.excel:read_excel_file",
        names="featly.io.excel:sheet_names",
        options=("sheet", "header", "missing"),
        convert="featly.read_table({path}).X.write_parquet({parquet})",
    ),
    "spss": Format(
        "an SPSS file",
        (".sav", ".zsav", ".por"),
        magic=rb"\$FL[23]@|(?s:.){40}ASCII SPSS PORT",
        reader="featly.io.readstat:SPSS.read_file",
        names="featly.io.readstat:SPSS.names",
        columns="featly.io.readstat:SPSS.columns",
        convert="featly.read_table({path}).X.write_parquet({parquet})",
    ),
    "stata": Format(
        "a Stata file",
        (".dta",),
        magic=rb"<stata_dta>|[\x68-\x76][\x01\x02]\x01\x00",
        reader="featly.io.readstat:STATA.read_file",
        names="featly.io.readstat:STATA.names",
        columns="featly.io.readstat:STATA.columns",
        convert="featly.read_table({path}).X.write_parquet({parquet})",
    ),
    "sas": Format(
        "a SAS file",
        (".sas7bdat", ".xpt"),
        magic=rb"\0{12}\xc2\xea\x81\x60|HEADER RECORD\*{7}LIB",
        reader="featly.io.readstat:SAS.read_file",
        names="featly.io.readstat:SAS.names",
        columns="featly.io.readstat:SAS.columns",
        convert="featly.read_table({path}).X.write_parquet({parquet})",
    ),
    # read by blocks of columns
    "npy": Format(
        "a NumPy array",
        (".npy",),
        magic=rb"\x93NUMPY",
        store="featly.io.stores.npy:NpyTable",
        remedy="load it with numpy and pass the array to a method",
    ),
    "hdf5": Format(
        "an HDF5 file",
        (".h5", ".hdf5", ".h5ad"),
        magic=rb"\x89HDF\r\n\x1a\n",
        store="featly.io.stores.hdf5:Hdf5Table",
        store_options=("dataset", "layer", "target", "memory_limit"),
        remedy="save the table as parquet or CSV",
    ),
    "zarr": Format(
        "a Zarr store",
        (".zarr", ".zarr.zip"),
        also=(".zip",),
        folder="featly.io.stores.zarr:is_zarr_folder",
        store="featly.io.stores.zarr:ZarrTable",
        store_options=("dataset", "target"),
    ),
    "bed": Format(
        "PLINK genotypes",
        (".bed",),
        magic=rb"l\x1b",
        store="featly.problem.scan:open_bed",
        store_options=("target",),
        remedy="open it by featly.scan",
    ),
    # read by no function, but converted
    "npz": Format(
        "an archive of NumPy arrays",
        (".npz",),
        convert="numpy.save({npy}, numpy.load({path})['X'])",
    ),
    "pgen": Format(
        "PLINK genotypes",
        (".pgen",),
        convert="plink2 --pfile {bare} --make-bed --out {bare}",
    ),
    "vcf": Format("genotypes", (".vcf", ".bcf"), convert=_BY_PLINK),
    "bgen": Format(
        "genotypes", (".bgen",), convert="plink2 --bgen {shown} --make-bed --out {bare}"
    ),
    # told from others, and refused
    "json": Format(
        "JSON",
        (".json",),
        text="featly.io.sniff:is_json_text",
        sure=True,
        writer="featly.io.write:write_json",
        remedy="write the table as CSV or parquet",
    ),
    "html": Format(
        "a web page or XML, no table",
        (".html", ".xml"),
        text="featly.io.sniff:is_web_page",
        sure=True,
        remedy="was a download refused?",
    ),
    "zstd": Format(
        "compressed with zstd", (".zst",), magic=rb"\x28\xb5\x2f\xfd", remedy="decompress it first"
    ),
    "r": Format(
        "an R file",
        (".rds", ".rda", ".rdata"),
        magic=rb"RDX[23]\nX\n|X\n\0\0",
        remedy="write the data frame with write.csv",
    ),
    "sqlite": Format(
        "a database",
        (".sqlite", ".db"),
        magic=b"SQLite format 3",
        remedy="export the table as CSV",
    ),
    "pdf": Format("a PDF", (".pdf",), magic=b"%PDF-", remedy="the table has to be saved as CSV"),
    "pickle": Format(
        "a Python pickle",
        (".pickle", ".pkl"),
        magic=rb"\x80[\x02-\x05]",
        remedy="save the frame as parquet",
    ),
}


def load_part(path: str) -> Any:
    """Import a part of a format.

    Examples
    --------
    >>> load_part("featly.io.write:write_csv").__name__
    'write_csv'
    """
    module, _, name = path.partition(":")
    return attrgetter(name)(importlib.import_module(module))


# ---- which formats -------------------------------------------------------------------------------
def readable() -> tuple[str, ...]:
    """Return the formats that ``read_table`` reads."""
    return tuple(name for name, entry in FORMATS.items() if entry.reader)


def scannable() -> tuple[str, ...]:
    """Return the formats that ``scan`` opens."""
    return tuple(name for name, entry in FORMATS.items() if entry.store)


def always_stored() -> tuple[str, ...]:
    """Return the formats that are read by blocks of columns and never whole."""
    return tuple(name for name, entry in FORMATS.items() if entry.store and not entry.reader)


def writable() -> tuple[str, ...]:
    """Return the formats that frames are written in."""
    return tuple(name for name, entry in FORMATS.items() if entry.writer)


def taking(option: str) -> tuple[str, ...]:
    """Return the formats that take an option of ``read_table`` or ``scan``.

    Examples
    --------
    >>> taking("n_features"), taking("layer")
    (('libsvm',), ('hdf5',))
    """
    return tuple(
        name for name, entry in FORMATS.items() if option in entry.options + entry.store_options
    )


def describe_endings(names: Iterable[str], *, usual: bool = False) -> str:
    """Return the endings of files of some formats, or the usual one of each.

    Examples
    --------
    >>> describe_endings(["parquet", "bed"]), describe_endings(["parquet", "bed"], usual=True)
    ('.parquet, .pq, .bed', '.parquet, .bed')
    """
    return ", ".join(
        suffix for name in names for suffix in FORMATS[name].suffixes[: 1 if usual else None]
    )


# ---- the format of a file ------------------------------------------------------------------------
def format_of_suffix(suffix: str, *, loosely: bool = False) -> str | None:
    """Return the format of an ending in small letters, if it has one.

    Parameters
    ----------
    suffix : str
    loosely : bool, default=False
        Whether to go by endings that files of other formats have, too.
    """
    for name, entry in FORMATS.items():
        if suffix in entry.suffixes or (loosely and suffix in entry.also):
            return name
    return None


def format_of_name(path: Any, *, loosely: bool = False) -> str | None:
    """Return the format of a file by the ending of its name; `loosely` as above.

    Examples
    --------
    >>> format_of_name("a.PARQUET"), format_of_name("b.zarr.zip"), format_of_name("c.zip")
    ('parquet', 'zarr', None)
    """
    for suffix in _suffixes(path):
        name = format_of_suffix(suffix, loosely=loosely)
        if name is not None:
            return name
    return None


def _suffixes(path: Any) -> Iterator[str]:
    """Yield the endings of a name, the longest first."""
    parts = [part.lower() for part in Path(path).suffixes]
    yield from ("".join(parts[-2:]), parts[-1]) if len(parts) > 1 else parts


def strip_ending(name: str) -> str:
    """Return the name of a file without the endings of its format and of a compression.

    Examples
    --------
    >>> strip_ending("f-test.csv.gz"), strip_ending("v1.2.arrow"), strip_ending("v1.2")
    ('f-test', 'v1.2', 'v1.2')
    """
    bare = name[:-3] if name.lower().endswith(".gz") else name
    for suffix in _suffixes(bare):
        if format_of_suffix(suffix, loosely=True) is not None:
            return bare[: -len(suffix)]
    return name


def format_of_folder(path: Any) -> str | None:
    """Return the format of a folder, if it is one and a table is in it."""
    if not Path(path).is_dir():
        return None
    for name, entry in FORMATS.items():
        if entry.folder and load_part(entry.folder)(Path(path)):
            return name
    return None


def can_be_stored(path: Any) -> bool:
    """Return whether a file or folder may be read by blocks of columns.

    Examples
    --------
    >>> can_be_stored("X.npy"), can_be_stored("X.parquet"), can_be_stored("X.csv")
    (True, True, False)
    """
    return format_of_name(path) in scannable() or format_of_folder(path) is not None


def is_always_stored(path: Any) -> bool:
    """Return whether a file or folder is read by blocks of columns and never whole.

    Examples
    --------
    >>> is_always_stored("X.npy"), is_always_stored("X.zarr.zip"), is_always_stored("X.parquet")
    (True, True, False)
    """
    return format_of_name(path) in always_stored() or format_of_folder(path) is not None


def format_of_content(start: bytes) -> str | None:
    """Return the format that begins with such bytes; None for text and for what is unknown.

    Examples
    --------
    >>> format_of_content(b"\\x93NUMPY\\x01"), format_of_content(b"a,b")
    ('npy', None)
    """
    for name, entry in FORMATS.items():
        if entry.magic and re.match(entry.magic, start):
            return name
    return None


def format_of_text(text: str, suffix: str) -> str:
    """Return the format of a text, by its beginning and by its ending in small letters."""
    candidates = {name: entry for name, entry in FORMATS.items() if entry.text}
    for name, entry in candidates.items():
        if entry.sure and load_part(entry.text)(text):
            return name
    if format_of_suffix(suffix) not in ("csv", "tsv"):
        for name, entry in candidates.items():
            if not entry.sure and load_part(entry.text)(text):
                return name
    return "csv"


def convert_command(name: str, path: Any) -> str:
    """Return the command that makes of a file one that is read by columns.

    Examples
    --------
    >>> convert_command("csv", "a.csv")
    "polars.scan_csv('a.csv').sink_parquet('a.parquet')"
    """
    stem = str(Path(path).with_suffix(""))
    return FORMATS[name].convert.format(
        path=repr(str(path)),
        shown=str(path),
        bare=stem,
        parquet=repr(f"{stem}.parquet"),
        npy=repr(f"{stem}.npy"),
    )
