"""The sentences of ``featly describe --deep``: each from one figure and one threshold."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, lgamma
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.diagnostics import Complexity, Shift, SuspectColumns, SuspectRows

__all__ = [
    "THRESHOLDS",
    "Finding",
    "about_boundaries",
    "about_classes",
    "about_columns",
    "about_identifiers",
    "about_rows",
    "about_shift",
]

#: What turns a figure into words.
THRESHOLDS = {
    "unbalanced": 1.5,  # rows of the largest class over those of the smallest, from here on
    "small class": 10,  # rows, below which a class is too small for ten folds
    "wide": 0.55,  # columns over rows, from where on almost any labels can be separated (Cover)
    "flattering": 0.2,  # columns over rows, from where on a training error says little
    "linear: easy": 0.05,  # training error of a linear machine up to here ...
    "linear: fair": 0.2,  # ... or here
    "linear: useless": 0.9,  # of the error of always naming the larger class, from here on
    "neighbours: clear": 0.05,  # rows whose nearest row is of another class, up to here ...
    "neighbours: mixed": 0.2,  # ... or here
    "neighbours: better": 0.5,  # of what it would be by chance, up to here for both
    "neighbours: useless": 0.8,  # of what it would be by chance, from here on
    "curved": 0.05,  # by how much neighbours have to beat a line
    "leak": 0.01,  # columns that would tell all classes apart by chance, up to here
    "shift": 0.05,  # adjusted p-value up to which a column differs
    "many suspects": 0.03,  # share of rows from which on mislabelled ones are rather hard ...
    "much of a class": 0.3,  # ... or of the rows of a class
}
SHOWN = 5  # names in a sentence


@dataclass(frozen=True)
class Finding:
    """A sentence, and whether it should be read first."""

    about: str
    text: str
    serious: bool = False


def about_classes(found: Complexity) -> list[Finding]:
    """How many rows the classes have, beside the columns."""
    counts = sorted(found.classes.items(), key=lambda entry: entry[1])
    small, least = counts[0]
    large, most = counts[-1] if len(counts) == 2 else max(counts, key=lambda entry: entry[1])
    uneven = found.imbalance_ratio >= THRESHOLDS["unbalanced"]
    few = [name for name, count in counts if count < THRESHOLDS["small class"]]
    if len(counts) == 2:
        text = f"the classes are balanced: {small} {least:,} rows, {large} {most:,}"
        if uneven:
            text = (
                f"the minority class ({small}) has {_counted(least, 'row')}, "
                f"1 for every {found.imbalance_ratio:,.1f} of {large}"
            )
    elif uneven:
        text = (
            f"the smallest of {len(counts)} classes ({small}) has {_counted(least, 'row')}, "
            f"the largest ({large}) {most:,}"
        )
    else:
        sizes = f"{least:,} rows each" if least == most else f"{least:,} to {most:,} rows"
        text = f"the {len(counts)} classes are balanced: {sizes}"
    if len(few) > 1:
        text += f"; {len(few)} classes have fewer than {THRESHOLDS['small class']} rows"
    elif few:
        text += f"; fewer than {THRESHOLDS['small class']} are too few for ten folds"
    out = [Finding("classes", text, serious=uneven or bool(few))]
    if _is_wide(found, _rows_of_pairs(found)):
        rows = round(_rows_of_pairs(found))
        where = f"{rows:,} rows"
        if len(counts) > 2:
            where = f"at most {rows:,} rows in half of the pairs of classes"
        levels = ""
        if found.n_directions > found.n_columns:
            levels = f" ({found.n_directions:,} with one for each level of text)"
        out.append(
            Finding(
                "size",
                f"{_counted(found.n_columns, 'column')}{levels} for {where}: almost any labels "
                "could be separated here, so what fits these rows proves nothing; judge on rows "
                "left out",
                serious=True,
            )
        )
    return out


def _rows_of_pairs(found: Complexity) -> float:
    """Rows of two classes, in the middle of all pairs."""
    return float(np.median([a + b for a, b in combinations(found.classes.values(), 2)]))


def _is_wide(found: Complexity, rows: float) -> bool:
    """Whether a linear machine has about half as many columns as rows, and so fits anything.

    Of all ways to label n rows in general position, half can be separated by n / 2 columns, and
    with a few more nearly all (Cover 1965).
    """
    return found.n_directions >= THRESHOLDS["wide"] * rows


def _by_chance(found: Complexity) -> float:
    """How many columns without ties would tell all classes apart if labels were dealt anew."""
    counts = list(found.classes.values())
    orders = lgamma(len(counts) + 1) + sum(lgamma(count + 1) for count in counts)
    return found.n_columns * exp(orders - lgamma(sum(counts) + 1))


def about_boundaries(found: Complexity) -> list[Finding]:
    """What tells the classes apart, and how well."""
    out = []
    linear, near = found.values["L2"], found.values["N3"]
    counts = np.array(list(found.classes.values()))
    share = counts / counts.sum()
    idle = float(np.mean([min(a, b) / (a + b) for a, b in combinations(counts, 2)]))
    chance = float((share * (1 - share)).sum())
    pairs = "" if len(counts) == 2 else ", on average over pairs of classes,"
    if found.separating_columns and _by_chance(found) <= THRESHOLDS["leak"]:
        who = _listed(found.separating_columns)
        verb = "tells" if len(found.separating_columns) == 1 else "each tell"
        out.append(
            Finding(
                "leak",
                f"{who} alone {verb} all classes apart: a gift, or a leak (was it known before "
                "the outcome?)",
                serious=True,
            )
        )
    looked_at = _rows_of_pairs(found) * found.n_used / found.n_rows
    if not _is_wide(found, looked_at):
        misses = f"a linear machine{pairs} misses {_share(linear)} of these rows"
        wide = found.n_directions / looked_at
        doubt = "a promise"
        if wide >= THRESHOLDS["flattering"]:
            doubt = f"a promise: with a column for every {1 / wide:.1f} rows it flatters"
        if linear >= THRESHOLDS["linear: useless"] * idle:
            text = f"a straight boundary finds next to nothing: {misses}, always naming the larger class {_share(idle)}"  # noqa: E501
        elif linear <= THRESHOLDS["linear: easy"] and linear <= idle / 2:
            text = (
                f"linear separation looks easy ({misses}; that is the training error, not {doubt})"
            )
        elif linear <= THRESHOLDS["linear: fair"]:
            text = (
                f"a straight boundary does fairly well ({misses} it was trained on; always naming "
                f"the larger class misses {_share(idle)})"
            )
        else:
            text = (
                f"a straight boundary is not enough ({misses} it was trained on; always naming "
                f"the larger class misses {_share(idle)})"
            )
        out.append(Finding("linear", text, serious="nothing" in text))
    by_chance = f"{_share(near)} of rows ({_share(chance)} by chance)"
    if near >= THRESHOLDS["neighbours: useless"] * chance:
        text = f"nearest neighbours know next to nothing of the class: they disagree in {by_chance}"
    elif near > THRESHOLDS["neighbours: better"] * chance:
        text = f"nearest neighbours disagree in {by_chance}: the classes overlap"
    elif near <= THRESHOLDS["neighbours: clear"]:
        text = f"the classes form clear groups: nearest neighbours disagree in {by_chance}"
    elif near <= THRESHOLDS["neighbours: mixed"]:
        text = f"nearest neighbours disagree in {by_chance}: the classes overlap a little"
    else:
        text = f"nearest neighbours disagree in {by_chance}: the classes overlap"
    out.append(Finding("neighbours", text, serious="nothing" in text))
    if not _is_wide(found, looked_at) and near < linear - THRESHOLDS["curved"]:
        out.append(
            Finding(
                "curved",
                "neighbours, each row left out in turn, do better than a line on its own rows: the "
                "boundary is curved",
            )
        )
    if not found.separating_columns:
        ratio = found.values["F1"]
        of = f" of {found.n_columns:,}" if found.n_columns > SHOWN else ""
        pairwise = "" if len(counts) == 2 else ", averaged over pairs of classes"
        shown = f"largest Fisher ratio {ratio:.2f}{pairwise}" if np.isfinite(ratio) else ""
        out.append(
            Finding(
                "best column",
                f"the best single column{of} is {found.best_column!r}"
                + (f" ({shown})" if shown else ""),
            )
        )
    return out + [Finding("sample", f"measured {note}") for note in found.notes if "from" in note]


def about_columns(found: SuspectColumns) -> list[Finding]:
    """Columns that say nothing, or nothing new."""
    out = []
    for groups, words in (
        (found.identical, "are the same column"),
        (found.rescaled, "are the same numbers in other units"),
        (found.relabelled, "say the same in other words"),
    ):
        if 0 < len(groups) <= 3:
            out += [Finding("copies", f"{_listed(group)} {words}") for group in groups]
        elif groups:
            copies = sum(len(group) - 1 for group in groups)
            first = " and ".join(repr(name) for name in groups[0][:2])
            out.append(Finding("copies", f"{copies:,} columns repeat others: {first} {words}, ..."))
    constant = [*found.empty, *found.constant]
    if constant:
        verb = "is" if len(constant) == 1 else "are"
        out.append(Finding("constant", f"{_listed(constant)} {verb} empty or constant"))
    if found.near_constant:
        names = sorted(found.near_constant, key=lambda name: -found.near_constant[name])
        verb = "is" if len(names) == 1 else "are"
        out.append(
            Finding(
                "near-constant",
                f"{_listed(names)} {verb} nearly constant (one value at least 19 times as often as "
                "the next)",
            )
        )
    return out


def about_identifiers(names: Sequence[str]) -> Finding:
    """Columns that were not used to judge classes and rows."""
    verb = "differs" if len(names) == 1 else "differ"
    text = f"{_listed(names)} {verb} in most rows, as identifiers do: left out of all that follows"
    return Finding("identifiers", f"{text} on classes and rows")


def about_rows(
    found: SuspectRows, numbers: npt.NDArray[np.int64], y: npt.NDArray[Any] | None = None
) -> list[Finding]:
    """Rows to look at; `numbers` are those in the file, `y` the classes."""
    out = []
    of = "" if len(found.rows) == found.n_rows else f" of {len(found.rows):,} looked at"
    odd = numbers[found.mislabelled]
    if len(odd):
        many = len(odd) > max(1, THRESHOLDS["many suspects"] * len(found.rows))
        few = _much_of_a_class(found, y)
        first = ", ".join(
            f"row {row} ({label}?)" for row, label in zip(odd[:3], found.suggested, strict=False)
        )
        verb = "looks" if len(odd) == 1 else "look"
        also = "; so many are rather hard than wrong" if many else few
        more = ", ..." if len(odd) > 3 else ""
        text = (
            f"{_counted(len(odd), 'row')}{of} {verb} mislabelled: nearly all neighbours are of "
            f"another class, {first}{more}{also}"
        )
        out.append(Finding("mislabelled", text))
    far = numbers[found.outliers]
    if len(far):
        told = [
            f"row {row}" + (f" ({column!r})" if column else "")
            for row, column in zip(far[:3], found.outlier_columns, strict=False)
        ]
        if len(far) == 1:
            text = f"{told[0]}{of} is far from all others"
            text += ": a mistake in a cell?" if found.outlier_columns[0] else ""
        else:
            text = f"{len(far):,} rows{of} are far from all others: {', '.join(told)}"
            text += ", ..." if len(far) > 3 else ""
        out.append(Finding("outliers", text))
    return out


def _much_of_a_class(found: SuspectRows, y: npt.NDArray[Any] | None) -> str:
    """A caution where the suspects are much of a class: such a class is rare, or hard."""
    if y is None or len(found.mislabelled) == 0:
        return ""
    looked = {str(k): n for k, n in zip(*np.unique(y[found.rows], return_counts=True), strict=True)}
    blamed, counts = np.unique([str(label) for label in y[found.mislabelled]], return_counts=True)
    much = [
        label
        for label, count in zip(blamed.tolist(), counts.tolist(), strict=True)
        if count >= THRESHOLDS["much of a class"] * looked[label]
    ]
    return f"; much of {_listed(much)}, so rather hard than wrong" if much else ""


def about_shift(
    about: str, found: Shift, words: tuple[str, str], without: Sequence[str] = ()
) -> list[Finding]:
    """Whether two parts differ, and in what; new levels of columns `without` are no news."""
    level = THRESHOLDS["shift"]
    odd = found.shifted(level)
    place = {name: f for f, name in enumerate(found.names)}
    both = f"{words[0]} and {words[1]}"
    sampled = (
        "" if found.n_used == found.n_first + found.n_second else f", on {found.n_used:,} rows"
    )
    if about.startswith("classes"):
        p = found.adjusted_p_values[0]
        if found.numeric[0]:
            name, far = found.names[0], f"{found.distance[0]:.2f}, p = {p:.2g}"
            verb = "differs" if p <= level else "does not differ visibly"
            text = f"target {name!r} {verb} between {both} ({far})"
            return [Finding(about, text, serious=p <= level)]
        if p > level:
            return [Finding(about, f"class shares of {both} do not differ visibly (p = {p:.2g})")]
        text = f"class shares differ between {both} (by {_share(found.distance[0])}, p = {p:.2g})"
        fresh = found.new_levels.get(found.names[0], [])
        if fresh:
            many = "a class is" if len(fresh) == 1 else f"{len(fresh)} classes are"
            text += f"; {many} only in {words[1]}: {_listed(fresh)}"
        return [Finding(about, text, serious=True)]
    out = []
    if odd:
        shown = ", ".join(f"{name} ({_moved(found, place[name])})" for name in odd[:SHOWN])
        more = ", ..." if len(odd) > SHOWN else ""
        verb = "differs" if len(odd) == 1 else "differ"
        least = float(found.adjusted_p_values.min())
        out.append(
            Finding(
                about,
                f"{len(odd):,} of {_counted(len(found.names), 'column')} {verb} between {both} "
                f"(p = {least:.2g}{sampled}; 0 is equal, 1 nothing in common): {shown}{more}",
                serious=True,
            )
        )
    elif found.p_value <= level:
        out.append(
            Finding(
                about,
                f"{both} differ as a whole (p = {found.p_value:.2g}), though no single column "
                "stands out",
                serious=True,
            )
        )
    else:
        out.append(Finding(about, f"no sign that {both} differ (p = {found.p_value:.2g}{sampled})"))
    unheard = {name: new for name, new in found.new_levels.items() if name not in without}
    for name, levels in list(unheard.items())[:SHOWN]:
        out.append(
            Finding(
                about,
                f"{name} has {_counted(len(levels), 'level')} in {words[1]} that {words[0]} never "
                f"had: {_listed(levels)}",
                serious=True,
            )
        )
    return out


def _moved(found: Shift, column: int) -> str:
    """How much a column differs: in its values, or in how many are missing."""
    distance, gap = float(found.distance[column]), float(found.missing_difference[column])
    return f"missing {gap:+.0%}" if abs(gap) > distance else f"{distance:.2f}"


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"


def _share(value: float) -> str:
    if 0 < value < 0.005:
        return "under 1%"
    return f"{value:.0%}"


def _listed(names: Sequence[str]) -> str:
    shown = [repr(str(name)) for name in names[:SHOWN]]
    if len(names) > SHOWN:
        return f"{', '.join(shown)} and {len(names) - SHOWN:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]
