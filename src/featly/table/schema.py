"""Knowledge about the columns, in one object."""

import difflib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from featly.basics.errors import Column, DataError, ParameterError, SchemaError
from featly.basics.kinds import CONTINUOUS, KINDS, TARGET_KINDS
from featly.basics.params import Number, Whole
from featly.table.frames import (
    ArrayTable,
    DefaultNames,
    Table,
    is_frame,
    library_of,
    open_table,
    refuse_shapes,
)
from featly.table.schema_report import SchemaReport, build_schema_report
from featly.table.unknown_column import describe_unknown_column

__all__ = ["ABOUT_NO_COLUMN", "Columns", "Schema", "SchemaReport"]


Name = str | int
ABOUT_NO_COLUMN = ("target_kind", "trade_off")  # parts of a schema


@dataclass(frozen=True)
class Schema:
    """Knowledge about the columns: kinds, columns to keep, priors, costs, groups.

    Every method takes ``schema=``: a Schema, the same as a plain dict, or None to read the kinds
    from the dtypes: category, text and bool are categorical, ordered categories are ordinal,
    numbers are continuous. (A polars Enum is categorical, and may be declared ordinal.) Columns
    are given by name, or by an integer, which is always a position.

    Parameters
    ----------
    categorical : sequence of columns
        Unordered levels, whatever the dtype.
    ordinal : mapping of column to its levels in order, or sequence of columns
        Without levels, a column must be numeric or an ordered category.
    continuous : sequence of columns
        Numbers, whatever the dtype: booleans become 0 and 1, text is read as numbers.
    keep : sequence of columns
        Ranked first, counted among the selected, never eliminated.
    prior : mapping of column to number >= 1
        How much more than others a column is believed to matter; 1 for those not named.
    costs : mapping of column to number >= 0
        What it costs to measure a column; 0 for those not named.
    trade_off : float, default=0.0
        The score that one unit of cost is worth: columns are ranked by their score less this times
        their cost. 0 ranks them whatever they cost.
    column_groups : mapping of group name to sequence of columns
        Columns that come together, such as the values of one laboratory test.
    target_kind : {"classes", "numbers", "survival"}, optional
        What the target is, where its values do not say: more than 20 different whole numbers may
        be classes or numbers.
    known_before : sequence of columns
        Sound predictors: known before the outcome, and no record of how or where rows were
        collected. :func:`featly.check_table` asks no question about them.

    Examples
    --------
    >>> from featly import Schema
    >>> Schema(categorical=["stage"], prior={"TP53": 10})
    Schema(categorical=['stage'], prior={'TP53': 10})

    A column that is named wrongly is an error that names it:

    >>> import polars as pl
    >>> Schema(keep=["agee"]).describe(pl.DataFrame({"age": [50, 61], "sex": ["f", "m"]}))
    Traceback (most recent call last):
    ...
    featly.SchemaError: keep names 'agee', which is no column of the table; did you mean 'age'?
    """

    categorical: Sequence[Name] = ()
    ordinal: Mapping[Name, Sequence[Any]] | Sequence[Name] = field(default_factory=dict)
    continuous: Sequence[Name] = ()
    keep: Sequence[Name] = ()
    prior: Mapping[Name, float] = field(default_factory=dict)
    costs: Mapping[Name, float] = field(default_factory=dict)
    column_groups: Mapping[str, Sequence[Name]] = field(default_factory=dict)
    target_kind: str | None = None
    trade_off: float = 0.0
    known_before: Sequence[Name] = ()

    def __post_init__(self) -> None:
        for part in ("categorical", "continuous", "keep", "known_before"):
            self._check_columns(part, getattr(self, part))
        if isinstance(self.ordinal, Mapping):
            self._check_columns("ordinal", self.ordinal)
            for name, levels in self.ordinal.items():
                if isinstance(levels, str) or len(set(levels)) != len(levels) or not len(levels):
                    raise SchemaError(
                        f"ordinal levels of {name!r} are {levels!r}: give a list of different "
                        "levels, lowest first"
                    )
        else:
            self._check_columns("ordinal", self.ordinal)
        self._check_numbers("prior", self.prior, 1, "a prior is a finite number of at least 1")
        self._check_numbers("costs", self.costs, 0, "a cost is a finite number of at least 0")
        if not isinstance(self.column_groups, Mapping):
            raise SchemaError("column_groups must map the name of a group to its columns")
        for group, members in self.column_groups.items():
            self._check_columns(f"column_groups[{group!r}]", members)
        self._check_trade_off()
        if self.target_kind not in (None, *TARGET_KINDS):
            raise SchemaError(
                f"target_kind={self.target_kind!r}: give {', '.join(map(repr, TARGET_KINDS))} or "
                "None, to see it from the values"
            )
        kind_of: dict[Name, str] = {}
        for kind in KINDS:
            for name in getattr(self, kind):
                if name in kind_of:
                    raise SchemaError(f"{name!r} cannot be {kind_of[name]} and {kind}")
                kind_of[name] = kind

    def _check_trade_off(self) -> None:
        value: Any = self.trade_off
        if not Number(at_least=0).accepts(value):
            raise SchemaError(
                f"trade_off is {value!r}: give the score that one unit of cost is worth, a finite "
                "number of at least 0"
            )
        if value > 0 and not self.costs:
            raise SchemaError(f"trade_off={value!r} weighs costs, and the schema has none")

    def __repr__(self) -> str:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        stated = [
            f"{name}={value!r}"
            for name, value in values.items()
            if (len(value) if hasattr(value, "__len__") else value)  # an array has no truth value
        ]
        return f"Schema({', '.join(stated)})"

    @staticmethod
    def _check_columns(part: str, columns: Any) -> None:
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            raise SchemaError(f"{part}={columns!r}: give a list of columns")
        for name in columns:
            if not isinstance(name, str) and not Whole().accepts(name):
                raise SchemaError(f"{part} names {name!r}: a column is a name or a position")

    @classmethod
    def _check_numbers(cls, part: str, values: Any, least: float, rule: str) -> None:
        if not isinstance(values, Mapping):
            raise SchemaError(f"{part} must map columns to numbers, such as {{'age': {least}}}")
        cls._check_columns(part, values)
        for name, value in values.items():
            if not Number(at_least=least).accepts(value):
                raise SchemaError(f"the {part.removesuffix('s')} of {name!r} is {value!r}: {rule}")

    @classmethod
    def of(cls, schema: "Schema | Mapping[str, Any] | None") -> "Schema":
        """Return a Schema from the value of a method's ``schema`` parameter.

        Examples
        --------
        >>> Schema.of({"keep": ["age"]})
        Schema(keep=['age'])
        """
        if schema is None:
            return cls()
        if isinstance(schema, Schema):
            return schema
        if not isinstance(schema, Mapping):
            raise SchemaError(f"schema is {schema!r}: give a Schema, a dict or None")
        known = [f.name for f in fields(cls)]
        for part in schema:
            if part not in known:
                raise SchemaError(f"a schema has no part {part!r}{_nearest_hint(str(part), known)}")
        return cls(**schema)

    @classmethod
    def prior_from(
        cls,
        ranking: Any,
        top: int = 50,
        weight: float = 10.0,
        *,
        columns: Any = None,
        graded: bool = False,
    ) -> "Schema":
        r"""Make a prior for one table from a ranking on another, whose best columns are favoured.

        All `top` best columns get the same weight, as in the paper; or, `graded`, the r-th of
        them gets

        .. math::

            \beta_r = w^{1 - (r - 1) / t}, \qquad r = 1, \dots, t,

        which falls from the weight w to 1 just past the t best.

        Parameters
        ----------
        ranking : fitted ranker or subset selector, frame, or list of names
            A frame is what ``table()`` returns, in any library: columns `feature` and `rank`, or
            `feature` and `selected`. A list names columns, best first.
        top : int, default=50
            How many columns are favoured.
        weight : float, default=10.0
            How much more than others they are believed to matter.
        columns : list of names, frame, array or TableFile, optional
            The other table, or the names of its columns: the `top` best of those that it has are
            favoured. Without it, the `top` best of the ranking are favoured, and one that the
            other table does not have is an error when the schema is applied.
        graded : bool, default=False
            Whether the weight falls with the rank.

        Returns
        -------
        Schema
            With `prior` alone; ``dataclasses.replace`` adds what else is known.

        References
        ----------
        Helleputte, T. and Dupont, P. (2009), Partially supervised feature selection with
        regularized linear models, *ICML*, 409-416, section 4.4, where 50 columns are favoured by
        10.

        Examples
        --------
        >>> import polars as pl
        >>> from featly import FTest, Schema
        >>> old = pl.DataFrame({"age": [50, 61, 47, 70], "TFRC": [1, 5, 2, 6], "lab": [1, 1, 2, 2]})
        >>> ranker = FTest().fit(old, ["well", "ill", "well", "ill"])
        >>> schema = Schema.prior_from(ranker, top=2, columns=["TFRC", "LDHA", "lab", "age"])
        >>> schema
        Schema(prior={'TFRC': 10.0, 'age': 10.0})

        With other things that are known:

        >>> from dataclasses import replace
        >>> replace(schema, keep=["LDHA"])
        Schema(keep=['LDHA'], prior={'TFRC': 10.0, 'age': 10.0})
        """
        Whole(at_least=1).check("top", top)
        Number(at_least=1).check("weight", weight)
        names = _ranked_names(ranking)
        if columns is not None:
            known = _column_names(columns)
            shared = set(known)
            names_in_table = [name for name in names if name in shared]
            if not names_in_table:
                raise SchemaError(
                    f"none of the {len(names)} ranked columns ({_list_some(names)}) is a column "
                    f"of the table ({_list_some(known)}): are they called by other names there?"
                )
            names = names_in_table
        exponents = [1 - r / int(top) if graded else 1.0 for r in range(min(int(top), len(names)))]
        return cls(prior={n: float(weight) ** e for n, e in zip(names, exponents, strict=False)})

    def resolve(self, names: Sequence[str], inferred: Any) -> "Columns":
        """Apply this schema to a table with these column names and kinds by dtype."""
        positions_of: dict[str, list[int]] = {}

        def position(part: str, name: str) -> int | None:
            if isinstance(names, DefaultNames):
                return names.position(name)
            if not positions_of:
                mentioned = self._all_names()  # of millions of names, only these are stored
                for k, known in enumerate(names):
                    if known in mentioned:
                        positions_of.setdefault(known, []).append(k)
            positions = positions_of.get(name, [])
            if len(positions) > 1:  # a file may have two columns of one name
                more = ", ..." if len(positions) > 2 else ""
                raise SchemaError(
                    f"{part} names {name!r}, and {len(positions)} columns are called so (positions "
                    f"{positions[0]}, {positions[1]}{more}): give positions"
                )
            return positions[0] if positions else None

        def find(part: str, column: Name) -> int:
            if isinstance(column, str):
                index = position(part, column)
                if index is None:
                    raise SchemaError(
                        f"{part} names {column!r}, which {describe_unknown_column(column, names)}"
                    )
                return index
            if not 0 <= column < len(names):
                raise SchemaError(
                    f"{part} names position {column}: positions run from 0 to {len(names) - 1}"
                )
            return int(column)

        def find_all(part: str, columns: Iterable[Name]) -> list[int]:
            indices = [find(part, column) for column in columns]
            seen: set[int] = set()
            for column in indices:
                if column in seen:
                    raise SchemaError(f"{part} names ", Column(names[column]), " twice")
                seen.add(column)
            return indices

        def numbers(part: str, values: Mapping[Name, float], default: float) -> Any:
            if not values:
                return None
            out = np.full(len(names), default)
            out[find_all(part, values)] = list(values.values())
            return out

        inferred = np.asarray(inferred, dtype=np.uint8)
        kinds = inferred.copy()
        kind_of: dict[int, str] = {}
        for code, word in enumerate(KINDS):
            for column in find_all(word, getattr(self, word)):
                if column in kind_of:
                    raise SchemaError(
                        Column(names[column]), f" cannot be {kind_of[column]} and {word}"
                    )
                kind_of[column] = word
                kinds[column] = code
        find_all("known_before", self.known_before)  # an unknown name is an error
        levels = {}
        if isinstance(self.ordinal, Mapping):
            levels = {find("ordinal", name): list(order) for name, order in self.ordinal.items()}
        return Columns(
            names=names,
            kinds=kinds,
            inferred=inferred,
            levels=levels,
            keep=np.array(find_all("keep", self.keep), dtype=np.int64),
            prior=numbers("prior", self.prior, 1.0),
            costs=numbers("costs", self.costs, 0.0),
            trade_off=float(self.trade_off),
            groups={
                name: np.array(find_all(f"column_groups[{name!r}]", members), dtype=np.int64)
                for name, members in self.column_groups.items()
            },
        )

    def _all_names(self) -> set[str]:
        """Return the names of columns in any part."""
        parts = (
            self.categorical, self.ordinal, self.continuous, self.keep, self.prior, self.costs,
            self.known_before,
        )  # fmt: skip
        all_parts: list[Iterable[Name]] = [*parts, *self.column_groups.values()]
        return {name for part in all_parts for name in part if isinstance(name, str)}

    def without(self, columns: Collection[str]) -> "Schema":
        """Return what the schema says about all other columns.

        Parameters
        ----------
        columns : collection of str
            Names of columns that are left out; positions in the schema stay as they are.

        Examples
        --------
        >>> Schema(categorical=["site", "sex"], prior={"site": 2}).without(["site"])
        Schema(categorical=['sex'])
        """

        def remaining(part: Any) -> Any:
            if isinstance(part, Mapping):
                return {name: value for name, value in part.items() if name not in columns}
            return [name for name in part if name not in columns]

        names = [f.name for f in fields(self) if f.name not in ABOUT_NO_COLUMN]
        parts = {name: remaining(getattr(self, name)) for name in names if name != "column_groups"}
        groups = {group: remaining(members) for group, members in self.column_groups.items()}
        parts["column_groups"] = {group: members for group, members in groups.items() if members}
        if not parts["costs"]:
            parts["trade_off"] = 0.0
        return replace(self, **parts)

    def describe(self, X: Any) -> "SchemaReport":
        """Report the kinds that this schema gives a table, and the columns that look wrong.

        Nothing is changed: a remark says what looks odd and what could be declared.

        Parameters
        ----------
        X : data frame or two-dimensional array

        Returns
        -------
        SchemaReport
            Printed, it is a table; ``report.remarks`` maps columns to what looks wrong.

        Examples
        --------
        >>> import polars as pl
        >>> frame = pl.DataFrame({"age": [50, 61, 47], "weight": ["71", "80.5", "65"]})
        >>> print(Schema().describe(frame))
        3 rows, 2 columns: 1 continuous, 1 categorical
        weight: text that reads as numbers; declare it continuous, or convert it
        """
        refuse_shapes(X)
        library = library_of(X)
        if library is not None:
            table = open_table(X)
        else:
            X = X.tocsc() if hasattr(X, "tocsc") else np.asarray(X)
            if X.ndim != 2:
                raise DataError(f"X has {X.ndim} dimensions, where a table has 2")
            table = ArrayTable(X) if X.dtype.kind not in "OUST" else open_table(X)
        kinds = self.resolve(table.names, table.kinds()).kinds
        declared = {
            name if isinstance(name, str) else table.names[name]
            for kind in KINDS
            for name in getattr(self, kind)
        }
        return build_schema_report(table, kinds, declared, library)


@dataclass(frozen=True)
class Columns:
    """A schema applied to one table: an entry for every column."""

    names: Sequence[str]
    kinds: np.ndarray
    inferred: np.ndarray
    levels: dict[int, list[Any]]
    keep: np.ndarray
    prior: np.ndarray | None
    costs: np.ndarray | None
    groups: dict[str, np.ndarray]
    trade_off: float = 0.0
    texts: dict[int, list[str]] = field(default_factory=dict)  # levels that were asked for

    def stated_parts(self) -> list[str]:
        """Return the parts beside kinds that the schema states."""
        parts = {
            "keep": len(self.keep) > 0,
            "prior": self.prior is not None,
            "costs": self.costs is not None,
            "column_groups": bool(self.groups),
        }
        return [part for part, present in parts.items() if present]

    def take(self, features: np.ndarray) -> "Columns":
        """Return the entries of some columns, in the order given; groups without any are left out.

        Examples
        --------
        >>> columns = Schema(keep=["x2", "x0"]).resolve(DefaultNames(3), np.zeros(3))
        >>> part = columns.take(np.array([1, 2]))
        >>> list(part.names), part.keep.tolist()
        (['x1', 'x2'], [1])
        """
        new_position = {f: k for k, f in enumerate(features.tolist())}

        def translate(positions: np.ndarray) -> np.ndarray:
            kept = [new_position[f] for f in positions.tolist() if f in new_position]
            return np.array(kept, dtype=np.int64)

        groups = {name: translate(members) for name, members in self.groups.items()}
        return Columns(
            names=_SomeNames(self.names, features),
            kinds=self.kinds[features],
            inferred=self.inferred[features],
            levels={new_position[f]: lv for f, lv in self.levels.items() if f in new_position},
            keep=translate(self.keep),
            prior=None if self.prior is None else self.prior[features],
            costs=None if self.costs is None else self.costs[features],
            groups={name: members for name, members in groups.items() if len(members)},
            trade_off=self.trade_off,
            texts={new_position[f]: names for f, names in self.texts.items() if f in new_position},
        )


class _SomeNames(Sequence[str]):
    """Names of some columns, looked up when asked for: they may be in a file."""

    def __init__(self, names: Sequence[str], features: np.ndarray) -> None:
        self.names, self.features = names, features

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return [self.names[int(f)] for f in self.features[position]]
        return self.names[int(self.features[position])]


def _nearest_hint(name: str, known: list[str]) -> str:
    matches = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {matches[0]!r}?" if matches else ""


# ---- names, best first ---------------------------------------------------------------------------
def _ranked_names(ranking: Any) -> list[str]:
    """Return the names of a ranking: an estimator with a table, that table, or a list."""
    if not _is_table(ranking) and callable(getattr(ranking, "table", None)):
        ranking = ranking.table()
    table = open_table(ranking) if _is_table(ranking) else None
    names = _as_names("ranking", ranking) if table is None else _names_from_table(table)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SchemaError(f"the ranking names {name!r} twice")
        seen.add(name)
    if not names:
        raise SchemaError("the ranking names no column")
    return names


def _is_table(X: Any) -> bool:
    """Return whether X is a frame, and not one column of a frame."""
    return is_frame(X) and len(getattr(X, "shape", ())) == 2


def _names_from_table(table: Table) -> list[str]:
    """Return the names, best first, from a frame as ``table()`` returns it."""
    position_of = {name: position for position, name in enumerate(table.names)}
    rank_column = next((name for name in ("rank", "selected") if name in position_of), None)
    if "feature" not in position_of or rank_column is None:
        raise SchemaError(
            "a ranking has the columns 'feature' and 'rank', or 'feature' and 'selected', as "
            f"table() returns them: this one has {_list_some(table.names)}"
        )
    kinds = table.kinds()
    codes, levels = table.texts(position_of["feature"])
    if (codes == 0).any():
        raise SchemaError(f"row {int(np.argmin(codes))} of the ranking has no feature")
    if kinds[position_of["feature"]] == CONTINUOUS:  # names such as 1007, read as numbers
        levels = [int(v) if float(v).is_integer() else v for v in map(float, levels)]
    names = [str(levels[code - 1]) for code in codes]
    if rank_column == "selected":
        codes, levels = table.texts(position_of["selected"])
        chosen = ["", *(str(level).lower() for level in levels)]
        return [n for n, c in zip(names, codes, strict=True) if chosen[c] in ("true", "1", "1.0")]
    ranks = (
        table.numbers([position_of["rank"]])[:, 0]
        if kinds[position_of["rank"]] == CONTINUOUS
        else None
    )
    if ranks is None or np.isnan(ranks).any():
        raise SchemaError("'rank' of the ranking must be a number in every row, 1 for the best")
    return [names[row] for row in np.argsort(ranks, kind="stable")]


def _column_names(columns: Any) -> list[str]:
    """Return the names of the columns of a table."""
    if _is_table(columns):
        return open_table(columns).names
    if hasattr(columns, "names") and hasattr(columns, "X"):  # a TableFile
        return [str(name) for name in columns.names]
    if getattr(columns, "ndim", 1) == 2:
        return DefaultNames(columns.shape[1])[:]
    return _as_names("columns", columns)


def _as_names(label: str, names: Any) -> list[str]:
    """Return a list of names, or raise ParameterError for anything else."""
    if isinstance(names, str | bytes | os.PathLike):
        raise ParameterError(
            f"{label}={str(names)!r} is one text: give a list of names or a table, such as "
            "featly.read_table(path).X for a file of it"
        )
    if isinstance(names, Mapping) or not isinstance(names, Iterable):
        raise ParameterError(f"{label}={names!r}: give a table, or a list of names, best first")
    listed = list(names)
    for name in listed:
        if not isinstance(name, str):
            raise ParameterError(
                f"{label} has {name!r}, which is no name: a position says nothing about another "
                "table, give the names of columns"
            )
    return [str(name) for name in listed]


def _list_some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")
