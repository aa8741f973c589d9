r"""Columns that number the rows, and groups of rows that such a column hides.

n different whole numbers in a range of R are no accident if so many would hardly ever be different:

.. math::

    \log \frac{n! \binom{R}{n}}{R^n} = \sum_{i<n} \log \left(1 - \frac{i}{R}\right) < \log 10^{-4}

the birthday problem. Feller, W. (1968), *An Introduction to Probability Theory and Its
Applications* I, section II.3. Measurements are not caught: they fall into a far wider range, or
repeat.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from featly.basics.typing import FloatArray, IntArray
from featly.diagnostics.reading import Rows

__all__ = ["IdentifierGroups", "Identifiers", "find_groups", "find_identifiers"]

LEAST_ROWS = 20
CHANCE = np.log(1e-4)
MANY_LEVELS = 0.2  # of the rows
FREE_TEXT_WORDS = 3
DATE_SHARE = 0.95
PARTS = re.compile(r"[A-Za-z]+|\d+|[^A-Za-z\d]+")
GROUP_SIZES = 2, 20
COVERED = 0.2  # of the rows, by groups
SHUFFLES, LEVEL = 199, 0.01
DATE_FORMATS = (
    "%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y%m%d",
    "%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%d.%m.%y", "%m/%d/%y", "%d/%m/%y", "%Y-%m",
    "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M",
)  # fmt: skip

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
HINT = re.compile("|".join([*PERSON_WORDS, *SUFFICIENT_LABELS]), re.IGNORECASE)
NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True)
class Identifiers:
    """Columns that tell who a row is, not how it is.

    Attributes
    ----------
    numbers : list of str
        Whole numbers that count the rows.
    texts : list of str
        Texts of which half are different.
    free : list of str
        Texts of several words.
    dates : list of str
        Texts that are dates, more of them than a fifth of the rows.
    many_levels : list of str
        Texts of so many levels that a fifth of the rows would not fill them.
    repeated : list of str
        Columns called like an identifier, with up to 20 rows a value on average.
    """

    numbers: list[str]
    texts: list[str]
    free: list[str]
    dates: list[str]
    many_levels: list[str]
    repeated: list[str]

    @property
    def who(self) -> list[str]:
        """Columns that say who or when a row is, or speak of it in words."""
        return [*self.numbers, *self.texts, *self.free, *self.dates, *self.repeated]


def find_identifiers(rows: Rows) -> Identifiers:
    """Find columns that number the rows, name them, date them or describe them in words."""
    first = rows.numbers[:LEAST_ROWS]
    with np.errstate(invalid="ignore"):
        are_whole = ~((first % 1) > 0).any(axis=0)  # most columns need no closer look
    numbers = [
        rows.names[rows.numeric[j]]
        for j in np.flatnonzero(are_whole).tolist()
        if numbers_rows(rows.numbers[~np.isnan(rows.numbers[:, j]), j])
    ]
    texts, free, dates, many = list[str](), list[str](), list[str](), list[str]()
    for f, codes, levels in zip(rows.categorical, rows.codes, rows.levels, strict=True):
        known = codes[codes > 0]
        counts = np.bincount(known, minlength=len(levels) + 1)[1:]
        n_levels = int((counts > 0).sum())
        if len(known) < LEAST_ROWS or n_levels <= 2:
            continue
        present = [str(level) for level, n in zip(levels, counts, strict=True) if n]
        name = rows.names[f]
        values = _as_numbers(levels)
        if values is not None:  # declared to be labels: they name rows as numbers do
            if numbers_rows(values[known - 1]):
                numbers.append(name)
        elif are_dates(present):
            if n_levels > MANY_LEVELS * len(known):  # a few months are levels like others
                dates.append(name)
        elif 2 * n_levels > len(known):
            words = sorted(len(text.split()) for text in present)
            (free if words[len(words) // 2] >= FREE_TEXT_WORDS else texts).append(name)
        elif n_levels > MANY_LEVELS * len(known):
            many.append(name)
    apart = {*numbers, *texts, *free, *dates}
    repeated = [name for name in _find_repeated(rows) if name not in apart]
    many = [name for name in many if name not in repeated]
    return Identifiers(numbers, texts, free, dates, many, repeated)


def _as_numbers(levels: Iterable[str]) -> FloatArray | None:
    """Return levels as numbers; None if one is none."""
    try:
        return np.array([float(level) for level in levels])
    except ValueError:
        return None


def _find_repeated(rows: Rows) -> list[str]:
    """Return the columns with the name of an identifier whose values repeat, but not often."""
    columns = [
        *((int(f), rows.numbers[:, j], True) for j, f in enumerate(rows.numeric)),
        *((int(f), codes, False) for f, codes in zip(rows.categorical, rows.codes, strict=True)),
    ] if any(map(HINT.search, rows.names)) else []  # fmt: skip
    names = []
    for f, cells, is_number in columns:
        if not is_identifier_name(rows.names[f]):
            continue
        known = cells[~np.isnan(cells)] if is_number else cells[cells > 0]
        if is_number and (known % 1 != 0).any():
            continue
        n_values = len(np.unique(known))
        if MIN_VALUES <= n_values < len(known) <= MAX_MEAN_REPEATS * n_values:
            names.append((n_values, rows.names[f]))
    return [name for _, name in sorted(names)]  # a patient has several samples


def is_identifier_name(name: str) -> bool:
    """Return whether a name consists of words such as patient, id, number."""
    words = [word.lower() for word in NAME_PARTS.findall(name)]
    words = [part for word in words for part in _split_word(word)]
    are_known = all(word in PERSON_WORDS + LABEL_WORDS for word in words)
    return are_known and any(word in PERSON_WORDS + SUFFICIENT_LABELS for word in words)


def _split_word(word: str) -> list[str]:
    """Split words written together: patientid is patient and id."""
    for person_word in PERSON_WORDS:
        if word.startswith(person_word) and word[len(person_word) :] in LABEL_WORDS:
            return [person_word, word[len(person_word) :]]
    return [word]


def numbers_rows(values: FloatArray) -> bool:
    """Return whether whole numbers are all different, and far more often than chance makes them.

    Examples
    --------
    >>> numbers_rows(np.arange(100.0)), numbers_rows(np.arange(100.0) * 1_000_003)
    (True, False)
    """
    n = len(values)
    if n < LEAST_ROWS or not np.isfinite(values).all() or bool((values % 1).any()):
        return False
    span = float(values.max() - values.min()) + 1
    if span < n or len(np.unique(values)) < n:
        return False
    if n == span:
        return True
    return bool(np.log1p(-np.arange(n) / span).sum() < CHANCE)


def are_dates(texts: Sequence[str]) -> bool:
    """Return whether nearly all texts are dates in one of the common spellings.

    Examples
    --------
    >>> are_dates(["2020-03-01", "2021-12-24"]), are_dates(["stage II", "stage III"])
    (True, False)
    """
    from datetime import datetime

    sample = list(texts[:: max(1, len(texts) // 500)])
    if not sample or not all(any(mark.isdigit() for mark in text) for text in sample[:5]):
        return False
    for form in DATE_FORMATS:
        failures, allowed = 0, (1 - DATE_SHARE) * len(sample)
        for text in sample:
            try:
                datetime.strptime(text.strip(), form)
            except ValueError:
                failures += 1
                if failures > allowed:
                    break
        if failures <= allowed:
            return True
    return False


@dataclass(frozen=True)
class IdentifierGroups:
    """Groups of rows that parts of an identifier make.

    Attributes
    ----------
    column : str
    labels : int array of shape (n_rows,)
        The group of every row.
    example : str
        The part that the rows of one group share.
    n_groups : int
        Groups of two rows or more.
    p : float
        Share of shuffled groups whose rows are as near to each other.
    """

    column: str
    labels: IntArray
    example: str
    n_groups: int
    p: float


def find_groups(
    texts: Sequence[str], column: str, cells: FloatArray, random_state: int = 0
) -> IdentifierGroups | None:
    """Find the cut of an identifier whose groups have rows that are near to each other.

    Parameters
    ----------
    texts : sequence of str
        The identifier of every row; empty where it is missing.
    column : str
    cells : float array of shape (n_rows, n_columns)
        The other columns, in comparable units, missing cells as 0.
    random_state : int, default=0
        Seed of the random numbers.
        They shuffle the groups.
    """
    candidates: dict[bytes, tuple[IntArray, str]] = {}
    split = [PARTS.findall(text) for text in texts]
    most_parts = max((len(parts) for parts in split), default=0)
    for count in range(1, most_parts):
        for heads in (
            ["".join(parts[:count]) if len(parts) > count else "" for parts in split],
            ["".join(parts[-count:]) if len(parts) > count else "" for parts in split],
        ):
            labels = _label_groups(heads)
            if labels is not None:
                position = int(np.flatnonzero(np.bincount(labels)[labels] > 1)[0])
                candidates.setdefault(labels.tobytes(), (labels, heads[position]))
    groups: list[IdentifierGroups] = []
    for labels, example in candidates.values():
        p = _nearness_p(labels, cells, random_state)
        if p <= LEVEL / len(candidates):
            sizes = np.bincount(labels)
            n_groups = int((sizes > 1).sum())
            groups.append(IdentifierGroups(column, labels, example, n_groups, p))
    # of nested cuts, the one with the largest groups holds all that belongs together
    return min(groups, key=lambda group: (group.p, len(np.unique(group.labels))), default=None)


def _label_groups(heads: Sequence[str]) -> IntArray | None:
    """Return a number for every row, equal where heads are; None if they make no sound groups."""
    counts: dict[str, int] = {}
    for head in heads:
        counts[head] = counts.get(head, 0) + 1
    counts.pop("", None)
    low, high = GROUP_SIZES
    if not counts or max(counts.values()) > high:
        return None
    if sum(n for n in counts.values() if n >= low) < COVERED * len(heads):
        return None
    number: dict[str, int] = {}
    labels = [
        number.setdefault(head if head else f"\0{row}", len(number))
        for row, head in enumerate(heads)
    ]
    return np.array(labels, np.int64)


def _nearness_p(labels: IntArray, cells: FloatArray, random_state: int) -> float:
    """Return the share of shuffled groups that are as near inside as the groups."""
    rng = np.random.default_rng(random_state)
    n_groups = int(labels.max()) + 1
    weight = 1.0 / np.bincount(labels, minlength=n_groups)

    def spread_between(shuffled: IntArray) -> float:
        """Return the squared length of the groups' sums over their sizes; more is nearer."""
        order = np.argsort(shuffled, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(shuffled, minlength=n_groups))[:-1]])
        sums = np.add.reduceat(cells[order], starts, axis=0)
        return float((weight[:, None] * sums**2).sum())

    observed = spread_between(labels)
    reached = sum(
        spread_between(rng.permutation(labels)) >= observed * (1 - 1e-12) for _ in range(SHUFFLES)
    )
    return (1 + reached) / (1 + SHUFFLES)
