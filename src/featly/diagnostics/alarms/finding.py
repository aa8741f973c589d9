"""Findings about a table: alarms, questions and notes, each with what would mend it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from featly.table.frames import frame_of

__all__ = ["Finding", "Findings", "join_names"]

Level = Literal["alarm", "question", "note"]
LEVELS: tuple[Level, ...] = ("alarm", "question", "note")


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
    text : str
        What was seen, and what it would mean.
    remedy : str
        What to do about it.
    options : tuple of (str, str)
        Parameters and their values that do it, such as ``("known_before", "marker")``.
    columns : tuple of str
    rows : tuple of int
        From 0.
    """

    level: Level
    kind: str
    text: str
    remedy: str = ""
    options: tuple[tuple[str, str], ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()

    def describe(self, style: Literal["python", "command"] = "python") -> str:
        """Return the sentences, and the options that do what the remedy says.

        Parameters
        ----------
        style : {"python", "command"}, default="python"
            Whether options are said as Python or as a shell has them.
        """
        said = [_say_option(name, value, style) for name, value in self.options]
        options = " or ".join(option for option in said if option)
        return f"{self.text} {self.remedy}{f' ({options})' if options else ''}".strip()

    def __str__(self) -> str:
        return self.describe()


def _say_option(name: str, value: str, style: str) -> str:
    if style == "command":
        return f"--{name.replace('_', '-')} {value}".strip()
    if name == "drop":  # which a user of Python does not need an option for
        return ""
    return f"{name}={[value] if name == 'known_before' else value or True!r}"


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

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return plain values, for JSON."""
        return [asdict(finding) | {"text": finding.describe("command")} for finding in self]

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
