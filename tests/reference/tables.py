"""Tables as text, read cell by cell: the expected output of the readers in featly.io."""

import csv
import io
import math
import re

MISSING = ("", "?", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null")


def read_plain(text, separator=",", decimal_comma=False, missing=()):
    """Names, and columns as lists: floats with NaN, or texts with None."""
    text = re.sub("\r\n?", "\n", text)
    lines, quoted = [], False
    for line in text.split("\n"):
        if quoted or line.strip(" "):
            lines.append(line)
        quoted ^= line.count('"') % 2 == 1
    text = io.StringIO("\n".join(lines), newline="")
    names, *rows = csv.reader(text, delimiter=separator)
    columns = []
    for j in range(len(names)):
        cells = [row[j].strip() for row in rows]
        cells = [None if cell in (*MISSING, *missing) else cell for cell in cells]
        columns.append(numbers(cells, decimal_comma) or cells)
    return [name.strip() for name in names], columns


def numbers(cells, decimal_comma=False):
    """Return the cells as floats; None where one of them is no number."""
    values = []
    for cell in cells:
        if cell is None:
            values.append(math.nan)
            continue
        if decimal_comma:
            cell = cell.replace(",", ".")
        if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", cell, re.ASCII):
            return None
        values.append(float(cell))
    return values


def read_sparse_rows(text, n_features):
    """LIBSVM, zeros written out: rows of floats, and labels."""
    rows, labels = [], []
    for line in text.split("\n"):
        words = line.split("#")[0].split()
        if words:
            row = [0.0] * n_features
            for word in words[1:]:
                index, value = word.split(":")
                if index != "qid":
                    row[int(index) - 1] = float(value)
            rows.append(row)
            labels.append(float(words[0]))
    return rows, labels
