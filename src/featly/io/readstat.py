"""Files of SPSS, Stata and SAS, with their value labels as categories."""

import contextlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from featly.basics.errors import DataError
from featly.io.byte_source import ByteSource
from featly.io.table_file import Reading, TableFile, split_target
from featly.table.formats import FORMATS

__all__ = ["SAS", "SPSS", "STATA", "StatisticsFormat"]

START_BYTES = 256
FEW = 3  # columns and labels in a note


@dataclass(frozen=True)
class StatisticsFormat:
    """A format that pyreadstat reads.

    Attributes
    ----------
    name : str
        The format in :data:`featly.table.formats.FORMATS`.
    words : str
        Such a file, in messages.
    functions : tuple of (bytes, str)
        Bytes that are at the start of some files, and the function of pyreadstat for these.
    """

    name: str
    words: str
    functions: tuple[tuple[bytes, str], ...]

    def names(self, opened: ByteSource) -> list[str]:
        """Return the names of the columns."""
        _, metadata = self._read(opened, metadataonly=True)
        return list(metadata.column_names)

    def columns(self, opened: ByteSource, names: Sequence[str]) -> Any:
        """Read some columns with their labels."""
        frame, metadata = self._read(opened, usecols=list(names))
        return _label_values(frame, metadata)[0]

    def read_file(self, reading: Reading) -> TableFile:
        """Read a file whole, with its target apart."""
        opened = reading.opened
        frame, metadata = self._read(opened)
        if not frame.width or not frame.height:
            raise DataError(f"{opened.name} has no rows or no columns: there is nothing to rank")
        frame, notes = _label_values(frame, metadata)
        chosen, _ = reading.columns(frame.columns)
        return split_target(opened, frame, chosen, self.name, notes)

    def _read(self, opened: ByteSource, **options: Any) -> tuple[Any, Any]:
        """Return a polars frame of codes, and what pyreadstat knows about the columns."""
        try:
            import pyreadstat
        except ImportError:
            raise DataError(
                f"{opened.name} is {self.words}, which takes pyreadstat: pip install "
                "'featly[statistics]', or save the table as CSV"
            ) from None
        start = opened.head(START_BYTES)
        read = next(name for marker, name in self.functions if marker in start)
        if not re.match(FORMATS[self.name].magic, start):
            raise DataError(f"{opened.name} is not {self.words}, whatever its name says")
        with _as_path(opened) as path:
            try:
                return getattr(pyreadstat, read)(str(path), output_format="polars", **options)  # type: ignore[no-any-return]
            except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError) as problem:
                reason = str(problem).strip().split("\n")[0]
                raise DataError(
                    f"{opened.name} cannot be read as {self.words} ({reason}): it is cut or "
                    "damaged. Copy or download it again"
                ) from None


@contextlib.contextmanager
def _as_path(opened: ByteSource) -> Iterator[Path]:
    """Yield a path from which the bytes can be read: the file itself, or a copy."""
    stream = opened.stream()  # raises if the file changed
    if opened.reopenable_path is not None and not opened.compression:
        yield opened.reopenable_path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "table"
        copy.write_bytes(opened.read(stream))
        yield copy


def _label_values(frame: Any, metadata: Any) -> tuple[Any, list[str]]:
    """Return the frame with labels in place of codes, and notes.

    A column becomes one of labels if all its values have one: an Enum in the order of the codes if
    its measure is ordinal, else text. Where only some values have labels, such as "refused" for 99,
    numbers stay numbers.
    """
    import polars as pl

    columns, labelled, partly = [], [], []
    for column in frame.get_columns():
        if column.dtype == pl.String:  # these formats have no other missing text
            column = column.set(column == "", None)
        elif column.dtype.is_float():
            column = column.fill_nan(None)
        labels = metadata.variable_value_labels.get(column.name, {})
        present = column.drop_nulls().unique().to_list() if labels else []
        if present and all(value in labels for value in present):
            ordered = [str(labels[code]) for code in sorted(labels)]
            texts = [None if value is None else str(labels[value]) for value in column.to_list()]
            is_ordinal = metadata.variable_measure.get(column.name) == "ordinal"
            dtype = pl.Enum(list(dict.fromkeys(ordered))) if is_ordinal else pl.String
            columns.append(pl.Series(column.name, texts, dtype=dtype))
            labelled.append(column.name)
        else:
            if labels and any(value in labels for value in present):
                code = next(value for value in present if value in labels)
                shown = int(code) if isinstance(code, float) and code.is_integer() else code
                partly.append(f"{column.name!r} ({shown} is {str(labels[code])!r})")
            columns.append(column)
    notes = []
    if labelled:
        notes.append(f"value labels as categories in {_list_words([repr(n) for n in labelled])}")
    if partly:
        notes.append(f"only some values have labels, so numbers stay, in {_list_words(partly)}")
    return pl.DataFrame(columns), notes


def _list_words(words: list[str]) -> str:
    rest = len(words) - FEW
    return ", ".join(words[:FEW]) + (f" and {rest} more" if rest > 0 else "")


SPSS = StatisticsFormat("spss", "an SPSS file", ((b"SPSS PORT", "read_por"), (b"", "read_sav")))
STATA = StatisticsFormat("stata", "a Stata file", ((b"", "read_dta"),))
SAS = StatisticsFormat(
    "sas", "a SAS file", ((b"HEADER RECORD", "read_xport"), (b"", "read_sas7bdat"))
)
