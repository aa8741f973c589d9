"""Detection of the format of a file from its first bytes."""

import re

from featly.basics.errors import DataError
from featly.io.byte_source import ByteSource, guess_encoding, is_text
from featly.table.formats import FORMATS, format_of_content, format_of_suffix, format_of_text

__all__ = ["guess_format", "is_json_text", "is_web_page"]


def guess_format(opened: ByteSource, encoding: str | None = None) -> str:
    """Guess the format of a file from its first bytes, and that of a text from its name, too."""
    start = opened.head(1 << 16)
    if not start.strip():
        raise DataError(f"{opened.name} is empty: no table is in it")
    kind = format_of_content(start)
    # of what is read, nothing is text: a column of a table may be called like the first bytes
    if kind is not None and not (FORMATS[kind].reader and is_text(start)):
        return _refuse_foreign(opened, kind)
    kind = format_of_suffix(opened.suffix)
    if kind not in (None, "csv", "tsv") and FORMATS[str(kind)].reader:
        return str(kind)
    text = start.decode(encoding or guess_encoding(start), errors="ignore").lstrip("\ufeff")
    return _refuse_foreign(opened, format_of_text(text, opened.suffix))


def _refuse_foreign(opened: ByteSource, kind: str) -> str:
    """Return the format, or raise DataError with what to do if nothing reads it."""
    entry = FORMATS[kind]
    if not entry.reader:
        raise DataError(f"{opened.name} is {entry.words}: {entry.remedy}")
    return kind


def is_web_page(text: str) -> bool:
    """Return whether a text begins like HTML or XML."""
    return re.match(r"\s*<(!doctype|html|\?xml)", text, re.IGNORECASE) is not None


def is_json_text(text: str) -> bool:
    """Return whether a text begins like JSON."""
    return re.match(r"\s*\[?\s*\{\s*\"", text) is not None
