"""Findings about a table: alarms, questions and notes, each with what would mend it."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from featly.basics.errors import DataError, Field, Parameter, Setting, Text, Words
from featly.table.frames import frame_of

__all__ = [
    "DATES",
    "IDENTIFIER",
    "LEFT_OUT",
    "REPEATED",
    "TEXT",
    "Example",
    "Finding",
    "Findings",
    "all_left_out_error",
    "join_names",
    "let_in",
]


class Example(Field):
    """Rows or values of single individuals, for words that may name some."""

    def __init__(self, *parts: str | Field) -> None:
        self.parts: tuple[str | Field, ...] = parts

    def say(self, words: Words) -> str:
        """Return ", such as ..."; nothing where individuals are not named."""
        if not getattr(words, "names_individuals", True):
            return ""
        return f", such as {Text(*self.parts).say(words)}"


Level = Literal["alarm", "question", "note"]
LEVELS: tuple[Level, ...] = ("alarm", "question", "note")
# kinds whose columns are left out of a ranking
IDENTIFIER, REPEATED, TEXT, DATES = "identifier", "repeated identifier", "text", "dates"
LEFT_OUT = (IDENTIFIER, REPEATED, TEXT, DATES)
WITHHOLDING = ("batch", "time to the event")  # questions
MOST_NAMED = 8  # columns in an option
LISTS = ("known_before", "keep")  # parts of a schema
FLAGS = ("ignore_missing", "drop_twins")
NOT_OF_PYTHON = ("drop", "drop_twins")  # options for what is one line of Python


@dataclass(frozen=True)
class Finding:
    """One thing that a reader of the results should know about the table.

    Attributes
    ----------
    level : {"alarm", "question", "note"}
        An alarm makes results too good, or tells that they may be. A question is about a column
        that may be a good predictor or a leak, which no figure can tell apart. A note is a fact.
    kind : str
        Such as "twins", "identifier", "missing values", "separates".
    message : str or Text
        What was seen, and what it would mean; rows in it are fields.
    remedy : str
        What to do about it.
    options : tuple of (str, str)
        Parameters and their values that do it, such as ``("known_before", "marker")``.
    columns : tuple of str
    rows : tuple of int
        From 0.
    is_late : bool
        Whether the name of the column is that of something known only after the outcome.
    mended : str
        What was done about it already, such as "It is left out."; empty if nothing was.
    """

    level: Level
    kind: str
    message: str | Text
    remedy: str = ""
    options: tuple[tuple[str, str], ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    is_late: bool = False
    mended: str = ""

    @property
    def text(self) -> str:
        """Sentences on what was seen, and what it would mean, rows counted from 0."""
        return str(self.message)

    @property
    def withholds(self) -> bool:
        """Return whether no result should be believed before somebody has looked at it.

        So do alarms that nothing was done about, and questions about a batch, about a time until
        the event, and about a column that separates the classes by a name like "discharge".
        """
        if self.mended:
            return False
        return self.level == "alarm" or (
            self.level == "question" and (self.is_late or self.kind in WITHHOLDING)
        )

    def describe(self, words: Words | None = None, *, known: Collection[str] | None = None) -> str:
        """Return the sentences, and the options that do what the remedy says.

        Parameters
        ----------
        words : Words or None, default=None
            Who speaks; None is Python.
        known : collection of str or None, default=None
            Options that there are; None is all of them.
        """
        words = Words() if words is None else words
        message = self.message.say(words) if isinstance(self.message, Text) else self.message
        options = " or ".join(self.say_options(words, known))
        end = self.mended or self.remedy
        return f"{message} {end}{f' ({options})' if options else ''}".strip()

    def say_options(self, words: Words, known: Collection[str] | None = None) -> list[str]:
        """Return the options in the words of who speaks."""
        is_python = type(words) is Words
        said = []
        for name, value in self.options:
            if (known is not None and name not in known) or (is_python and name in NOT_OF_PYTHON):
                continue
            if name in FLAGS and not is_python:
                said.append(words.parameter(name, ""))
            else:
                said.append(words.setting(_as_setting(name, value)))
        return said

    def __str__(self) -> str:
        return self.describe()


def _as_setting(name: str, value: str) -> Setting:
    """Return an option with its value as Python has it."""
    if name in LISTS:
        return Setting(name, value.split(","), "Schema")
    return Setting("fill", "draw") if name == "ignore_missing" else Setting(name, value)


@dataclass(frozen=True)
class Findings(Sequence[Finding]):
    """Alarms first, then questions, then notes.

    Examples
    --------
    >>> findings = Findings.from_list([Finding("note", "order", "Rows are sorted by class.")])
    >>> len(findings.alarms), findings[0].text
    (0, 'Rows are sorted by class.')
    """

    all: tuple[Finding, ...] = ()

    @classmethod
    def from_list(cls, findings: Sequence[Finding]) -> "Findings":
        """Sort findings by their level; those of one level stay in their order."""
        return cls(tuple(sorted(findings, key=lambda finding: LEVELS.index(finding.level))))

    @property
    def alarms(self) -> tuple[Finding, ...]:
        """Findings that make results too good."""
        return tuple(finding for finding in self.all if finding.level == "alarm")

    @property
    def questions(self) -> tuple[Finding, ...]:
        """Findings about which only a person can decide."""
        return tuple(finding for finding in self.all if finding.level == "question")

    @property
    def notes(self) -> tuple[Finding, ...]:
        """Facts."""
        return tuple(finding for finding in self.all if finding.level == "note")

    def __len__(self) -> int:
        return len(self.all)

    def __getitem__(self, position: Any) -> Any:
        return self.all[position]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.all)

    def to_frame(self) -> Any:
        """Return a frame of one row a finding: level, kind, columns, rows, text, remedy."""
        return frame_of(
            {
                "level": [finding.level for finding in self],
                "kind": [finding.kind for finding in self],
                "columns": [", ".join(finding.columns) for finding in self],
                "rows": [len(finding.rows) for finding in self],
                "text": [finding.describe() for finding in self],
            },
            None,
        )

    @property
    def withholding(self) -> tuple[Finding, ...]:
        """Findings because of which no result should be believed yet."""
        return tuple(finding for finding in self.all if finding.withholds)

    def about(self, *kinds: str) -> tuple[Finding, ...]:
        """Return the findings of some kinds."""
        return tuple(finding for finding in self.all if finding.kind in kinds)

    @property
    def to_say(self) -> tuple[Finding, ...]:
        """Alarms, questions, and notes on something that was done."""
        return tuple(f for f in self.all if f.level != "note" or f.mended)

    def columns_to_leave_out(self) -> list[str]:
        """Return the columns that number or name the rows, where nothing was done about them."""
        findings = [f for f in self.about(*LEFT_OUT) if not f.mended]
        return [column for finding in findings for column in finding.columns]

    def mend_left_out(self) -> "Findings":
        """Return the findings, with those columns left out."""

        def leave_out(finding: Finding) -> Finding:
            if finding.kind not in LEFT_OUT:
                return finding
            said = "It is left out." if len(finding.columns) == 1 else "They are left out."
            options = [option for option in finding.options if option[0] == "row_groups"]
            return replace(
                finding,
                mended=f"{said} To let {'it' if len(finding.columns) == 1 else 'them'} in, say so.",
                options=(*options, *let_in(finding.columns)),
            )

        return Findings(tuple(leave_out(finding) for finding in self.all))

    def reopen(self) -> "Findings":
        """Return the findings as they were before anything was done about them."""
        return Findings(tuple(replace(finding, mended="") for finding in self.all))

    def mend(self, kind: str, mended: str, *, columns: Collection[str] | None = None) -> "Findings":
        """Return the findings, with what was done about those of a kind.

        Parameters
        ----------
        kind : str
        mended : str
            Such as "It is left out."
        columns : collection of str or None, default=None
            None is all; else only findings all of whose columns are named.
        """

        def mend_one(finding: Finding) -> Finding:
            is_meant = columns is None or set(finding.columns) <= set(columns)
            return replace(finding, mended=mended) if finding.kind == kind and is_meant else finding

        return Findings(tuple(mend_one(finding) for finding in self.all))

    def to_dicts(
        self, words: Words | None = None, *, known: Collection[str] | None = None
    ) -> list[dict[str, Any]]:
        """Return plain values, for JSON; see :meth:`Finding.describe`."""
        names = [f.name for f in fields(Finding) if f.name != "message"]
        return [
            {name: getattr(finding, name) for name in names}
            | {"text": finding.describe(words, known=known), "withholds": finding.withholds}
            for finding in self
        ]

    def __str__(self) -> str:
        if not self.all:
            return "nothing that looks wrong"
        return "\n".join(f"{finding.level}: {finding}" for finding in self)


def join_names(names: Sequence[str], most: int = 3) -> str:
    """Return names in quotes, the first few of many.

    Examples
    --------
    >>> join_names(["age"]), join_names(["a", "b", "c", "d", "e"])
    ("'age'", "'a', 'b', 'c' and 2 more")
    """
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def let_in(columns: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the option that says of columns that they were known before; none for many columns."""
    is_plain = len(columns) <= MOST_NAMED and not any("," in name for name in columns)
    return (("known_before", ",".join(columns)),) if is_plain else ()


def all_left_out_error(source: str, columns: Sequence[str]) -> DataError:
    """Return the error for a table all of whose columns say who a row is."""
    return DataError(
        f"every column of {source} numbers, names or dates the rows ({join_names(columns)}), and "
        "is left out: there is nothing to rank. Columns that mean something can be named in ",
        Parameter("known_before"),
    )
