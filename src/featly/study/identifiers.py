"""Columns that identify patients with several rows, found by their names and values."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["is_identifier_name", "suspect_identifier"]

# a name needs one of these words; plurals are left out, since "persons" is a count
PERSON_WORDS = (
    "animal",
    "case",
    "donor",
    "individual",
    "mouse",
    "mrn",
    "participant",
    "patient",
    "person",
    "pid",
    "proband",
    "pt",
    "ptid",
    "respondent",
    "sample",
    "specimen",
    "subj",
    "subject",
    "usubjid",
    "volunteer",
)
LABEL_WORDS = (
    "barcode",
    "code",
    "id",
    "identifier",
    "key",
    "label",
    "name",
    "no",
    "nr",
    "num",
    "number",
    "uid",
    "uuid",
)
SUFFICIENT_LABELS = ("id", "identifier", "uid", "uuid")  # need no word for a person
MAX_MEAN_REPEATS = 20  # rows per value; with more it is more likely a site or a batch
MIN_VALUES = 3  # a "case" of two values is an outcome
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def suspect_identifier(frame: "pl.DataFrame") -> str | None:
    """Find a column that looks like the identifier of a patient with several rows.

    Its name consists of words such as patient, subject, donor, sample, id, number; it holds text
    or whole numbers; it has at least 3 values, some of them repeated, and no more than 20 rows a
    value on average. Of several such columns the one with the fewest values is returned, since a
    patient has several samples.

    Parameters
    ----------
    frame : polars frame

    Returns
    -------
    str or None
        The name of the column.

    Examples
    --------
    >>> import polars as pl
    >>> from featly.study.splits import suspect_identifier
    >>> ages = [50, 51, 60, 61, 70, 44]
    >>> suspect_identifier(pl.DataFrame({"PatientID": [1, 1, 2, 2, 3, 4], "age": ages}))
    'PatientID'

    With one row a patient there is nothing to find:

    >>> suspect_identifier(pl.DataFrame({"PatientID": [1, 2, 3, 4, 5, 6], "age": ages}))
    """
    import polars as pl

    texts = (pl.String, pl.Categorical, pl.Enum)
    candidates = []
    for name, dtype in frame.schema.items():
        if not is_identifier_name(name) or not (dtype.is_numeric() or dtype in texts):
            continue
        values = frame.get_column(name).drop_nulls()
        if dtype.is_float():  # whole numbers from a text file are floats
            values = values.drop_nans()
            if (values != values.floor()).any():
                continue
        n_values = values.n_unique()
        repeats = n_values < len(values) <= MAX_MEAN_REPEATS * n_values
        if repeats and n_values >= MIN_VALUES:
            candidates.append((n_values, name))
    return min(candidates)[1] if candidates else None


def is_identifier_name(name: str) -> bool:
    """Return whether a name consists of words such as patient, id, number."""
    words = [word.lower() for word in WORDS.findall(name)]
    words = [part for word in words for part in _split_word(word)]
    are_known = all(word in PERSON_WORDS + LABEL_WORDS for word in words)
    return are_known and any(word in PERSON_WORDS + SUFFICIENT_LABELS for word in words)


def _split_word(word: str) -> list[str]:
    """Split words written together: patientid is patient and id."""
    for person_word in PERSON_WORDS:
        if word.startswith(person_word) and word[len(person_word) :] in LABEL_WORDS:
            return [person_word, word[len(person_word) :]]
    return [word]
