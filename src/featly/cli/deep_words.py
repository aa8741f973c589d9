"""The sentences of ``featly describe --deep``: each from one figure and one threshold."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, lgamma

import numpy as np

from featly.basics.typing import AnyArray, IntArray
from featly.cli.printing import amount
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
    """A sentence, its subject, and whether it should be read first."""

    about: str
    text: str
    serious: bool = False


def about_classes(measures: Complexity) -> list[Finding]:
    """Describe the numbers of rows of the classes, beside the number of columns."""
    counts = sorted(measures.classes.items(), key=lambda entry: entry[1])
    small, least = counts[0]
    large, most = counts[-1] if len(counts) == 2 else max(counts, key=lambda entry: entry[1])
    uneven = measures.imbalance_ratio >= THRESHOLDS["unbalanced"]
    small_classes = [name for name, count in counts if count < THRESHOLDS["small class"]]
    if len(counts) == 2:
        text = f"the classes are balanced: {small} {least:,} rows, {large} {most:,}"
        if uneven:
            text = (
                f"the minority class ({small}) has {amount(least, 'row')}, "
                f"1 for every {measures.imbalance_ratio:,.1f} of {large}"
            )
    elif uneven:
        text = (
            f"the smallest of {len(counts)} classes ({small}) has {amount(least, 'row')}, "
            f"the largest ({large}) {most:,}"
        )
    else:
        sizes = f"{least:,} rows each" if least == most else f"{least:,} to {most:,} rows"
        text = f"the {len(counts)} classes are balanced: {sizes}"
    if len(small_classes) > 1:
        text += f"; {len(small_classes)} classes have fewer than {THRESHOLDS['small class']} rows"
    elif small_classes:
        text += f"; fewer than {THRESHOLDS['small class']} are too few for ten folds"
    findings = [Finding("classes", text, serious=uneven or bool(small_classes))]
    if _is_wide(measures, _median_pair_rows(measures)):
        rows = round(_median_pair_rows(measures))
        extent = f"{rows:,} rows"
        if len(counts) > 2:
            extent = f"at most {rows:,} rows in half of the pairs of classes"
        levels = ""
        if measures.n_directions > measures.n_columns:
            levels = f" ({measures.n_directions:,} with one for each level of text)"
        findings.append(
            Finding(
                "size",
                f"{amount(measures.n_columns, 'column')}{levels} for {extent}: almost any labels "
                "could be separated here, so what fits these rows proves nothing; judge on rows "
                "left out",
                serious=True,
            )
        )
    return findings


def _median_pair_rows(measures: Complexity) -> float:
    """Return the median number of rows of two classes, over all pairs."""
    return float(np.median([a + b for a, b in combinations(measures.classes.values(), 2)]))


def _is_wide(measures: Complexity, rows: float) -> bool:
    """Return whether there are columns enough to separate almost any labels of these rows.

    Of all ways to label n rows in general position, half can be separated by n / 2 columns, and
    with a few more nearly all (Cover 1965).
    """
    return measures.n_directions >= THRESHOLDS["wide"] * rows


def _expected_by_chance(measures: Complexity) -> float:
    """Return how many columns without ties would separate shuffled classes, on average."""
    counts = list(measures.classes.values())
    orders = lgamma(len(counts) + 1) + sum(lgamma(count + 1) for count in counts)
    return measures.n_columns * exp(orders - lgamma(sum(counts) + 1))


def about_boundaries(measures: Complexity) -> list[Finding]:
    """Describe how well the classes can be told apart, and by which columns."""
    findings = []
    line_error, near_error = measures.values["L2"], measures.values["N3"]
    counts = np.array(list(measures.classes.values()))
    share = counts / counts.sum()
    idle_error = float(np.mean([min(a, b) / (a + b) for a, b in combinations(counts, 2)]))
    chance = float((share * (1 - share)).sum())
    pairs = "" if len(counts) == 2 else ", on average over pairs of classes,"
    if measures.separating_columns and _expected_by_chance(measures) <= THRESHOLDS["leak"]:
        names = _quote(measures.separating_columns)
        verb = "tells" if len(measures.separating_columns) == 1 else "each tell"
        findings.append(
            Finding(
                "leak",
                f"{names} alone {verb} all classes apart: a gift, or a leak (was it known before "
                "the outcome?)",
                serious=True,
            )
        )
    looked_at = _median_pair_rows(measures) * measures.n_used / measures.n_rows
    if not _is_wide(measures, looked_at):
        misses = f"a linear machine{pairs} misses {_percent(line_error)} of these rows"
        per_row = measures.n_directions / looked_at
        doubt = "a promise"
        if per_row >= THRESHOLDS["flattering"]:
            doubt = f"a promise: with a column for every {1 / per_row:.1f} rows it flatters"
        if line_error >= THRESHOLDS["linear: useless"] * idle_error:
            text = f"a straight boundary finds next to nothing: {misses}, always naming the larger class {_percent(idle_error)}"  # noqa: E501
        elif line_error <= THRESHOLDS["linear: easy"] and line_error <= idle_error / 2:
            text = (
                f"linear separation looks easy ({misses}; that is the training error, not {doubt})"
            )
        elif line_error <= THRESHOLDS["linear: fair"]:
            text = (
                f"a straight boundary does fairly well ({misses} it was trained on; always naming "
                f"the larger class misses {_percent(idle_error)})"
            )
        else:
            text = (
                f"a straight boundary is not enough ({misses} it was trained on; always naming "
                f"the larger class misses {_percent(idle_error)})"
            )
        findings.append(Finding("linear", text, serious="nothing" in text))
    by_chance = f"{_percent(near_error)} of rows ({_percent(chance)} by chance)"
    if near_error >= THRESHOLDS["neighbours: useless"] * chance:
        text = f"nearest neighbours know next to nothing of the class: they disagree in {by_chance}"
    elif near_error > THRESHOLDS["neighbours: better"] * chance:
        text = f"nearest neighbours disagree in {by_chance}: the classes overlap"
    elif near_error <= THRESHOLDS["neighbours: clear"]:
        text = f"the classes form clear groups: nearest neighbours disagree in {by_chance}"
    elif near_error <= THRESHOLDS["neighbours: mixed"]:
        text = f"nearest neighbours disagree in {by_chance}: the classes overlap a little"
    else:
        text = f"nearest neighbours disagree in {by_chance}: the classes overlap"
    findings.append(Finding("neighbours", text, serious="nothing" in text))
    if not _is_wide(measures, looked_at) and near_error < line_error - THRESHOLDS["curved"]:
        findings.append(
            Finding(
                "curved",
                "neighbours, each row left out in turn, do better than a line on its own rows: the "
                "boundary is curved",
            )
        )
    if not measures.separating_columns:
        ratio = measures.values["F1"]
        out_of = f" of {measures.n_columns:,}" if measures.n_columns > SHOWN else ""
        pairwise = "" if len(counts) == 2 else ", averaged over pairs of classes"
        ratio_text = f"largest Fisher ratio {ratio:.2f}{pairwise}" if np.isfinite(ratio) else ""
        findings.append(
            Finding(
                "best column",
                f"the best single column{out_of} is {measures.best_column!r}"
                + (f" ({ratio_text})" if ratio_text else ""),
            )
        )
    return findings + [
        Finding("sample", f"measured {note}") for note in measures.notes if "from" in note
    ]


def about_columns(suspects: SuspectColumns) -> list[Finding]:
    """Describe columns that say nothing, or nothing new."""
    findings = []
    for groups, relation in (
        (suspects.identical, "are the same column"),
        (suspects.rescaled, "are the same numbers in other units"),
        (suspects.relabelled, "say the same in other words"),
    ):
        if 0 < len(groups) <= 3:
            findings += [Finding("copies", f"{_quote(group)} {relation}") for group in groups]
        elif groups:
            copies = sum(len(group) - 1 for group in groups)
            first = " and ".join(repr(name) for name in groups[0][:2])
            findings.append(
                Finding("copies", f"{copies:,} columns repeat others: {first} {relation}, ...")
            )
    constant = [*suspects.empty, *suspects.constant]
    if constant:
        verb = "is" if len(constant) == 1 else "are"
        findings.append(Finding("constant", f"{_quote(constant)} {verb} empty or constant"))
    if suspects.near_constant:
        names = sorted(suspects.near_constant, key=lambda name: -suspects.near_constant[name])
        verb = "is" if len(names) == 1 else "are"
        findings.append(
            Finding(
                "near-constant",
                f"{_quote(names)} {verb} nearly constant (one value at least 19 times as often as "
                "the next)",
            )
        )
    return findings


def about_identifiers(names: Sequence[str]) -> Finding:
    """Name the columns that were not used to judge classes and rows."""
    verb = "differs" if len(names) == 1 else "differ"
    text = f"{_quote(names)} {verb} in most rows, as identifiers do: left out of all that follows"
    return Finding("identifiers", f"{text} on classes and rows")


def about_rows(
    suspects: SuspectRows, numbers: IntArray, y: AnyArray | None = None
) -> list[Finding]:
    """Describe suspicious rows; `numbers` are those in the file, `y` the classes."""
    findings = []
    among = "" if len(suspects.rows) == suspects.n_rows else f" of {len(suspects.rows):,} looked at"
    wrong = numbers[suspects.mislabelled]
    if len(wrong):
        are_many = len(wrong) > max(1, THRESHOLDS["many suspects"] * len(suspects.rows))
        class_note = _class_note(suspects, y)
        first = ", ".join(
            f"row {row} ({label}?)"
            for row, label in zip(wrong[:3], suspects.suggested, strict=False)
        )
        verb = "looks" if len(wrong) == 1 else "look"
        also = "; so many are rather hard than wrong" if are_many else class_note
        ellipsis = ", ..." if len(wrong) > 3 else ""
        text = (
            f"{amount(len(wrong), 'row')}{among} {verb} mislabelled: nearly all neighbours are of "
            f"another class, {first}{ellipsis}{also}"
        )
        findings.append(Finding("mislabelled", text))
    outliers = numbers[suspects.outliers]
    if len(outliers):
        descriptions = [
            f"row {row}" + (f" ({column!r})" if column else "")
            for row, column in zip(outliers[:3], suspects.outlier_columns, strict=False)
        ]
        if len(outliers) == 1:
            text = f"{descriptions[0]}{among} is far from all others"
            text += ": a mistake in a cell?" if suspects.outlier_columns[0] else ""
        else:
            text = (
                f"{len(outliers):,} rows{among} are far from all others: {', '.join(descriptions)}"
            )
            text += ", ..." if len(outliers) > 3 else ""
        findings.append(Finding("outliers", text))
    return findings


def _class_note(suspects: SuspectRows, y: AnyArray | None) -> str:
    """Return a remark if much of a class is suspect: it is rare or hard, then."""
    if y is None or len(suspects.mislabelled) == 0:
        return ""
    n_looked_at = {
        str(k): n for k, n in zip(*np.unique(y[suspects.rows], return_counts=True), strict=True)
    }
    suspect_classes, counts = np.unique(
        [str(label) for label in y[suspects.mislabelled]], return_counts=True
    )
    affected = [
        label
        for label, count in zip(suspect_classes.tolist(), counts.tolist(), strict=True)
        if count >= THRESHOLDS["much of a class"] * n_looked_at[label]
    ]
    return f"; much of {_quote(affected)}, so rather hard than wrong" if affected else ""


def about_shift(
    about: str, result: Shift, words: tuple[str, str], without: Sequence[str] = ()
) -> list[Finding]:
    """Describe in what two parts differ; new levels of columns `without` are left out."""
    level = THRESHOLDS["shift"]
    shifted = result.shifted(level)
    position_of = {name: f for f, name in enumerate(result.names)}
    pair = f"{words[0]} and {words[1]}"
    sample = (
        "" if result.n_used == result.n_first + result.n_second else f", on {result.n_used:,} rows"
    )
    if about.startswith("classes"):
        p = result.adjusted_p_values[0]
        if result.numeric[0]:
            name, distance_text = result.names[0], f"{result.distance[0]:.2f}, p = {p:.2g}"
            verb = "differs" if p <= level else "does not differ visibly"
            text = f"target {name!r} {verb} between {pair} ({distance_text})"
            return [Finding(about, text, serious=p <= level)]
        if p > level:
            return [Finding(about, f"class shares of {pair} do not differ visibly (p = {p:.2g})")]
        text = (
            f"class shares differ between {pair} (by {_percent(result.distance[0])}, p = {p:.2g})"
        )
        new_classes = result.new_levels.get(result.names[0], [])
        if new_classes:
            classes_are = (
                "a class is" if len(new_classes) == 1 else f"{len(new_classes)} classes are"
            )
            text += f"; {classes_are} only in {words[1]}: {_quote(new_classes)}"
        return [Finding(about, text, serious=True)]
    findings = []
    if shifted:
        examples = ", ".join(
            f"{name} ({_format_difference(result, position_of[name])})" for name in shifted[:SHOWN]
        )
        ellipsis = ", ..." if len(shifted) > SHOWN else ""
        verb = "differs" if len(shifted) == 1 else "differ"
        least = float(result.adjusted_p_values.min())
        findings.append(
            Finding(
                about,
                f"{len(shifted):,} of {amount(len(result.names), 'column')} {verb} between {pair} "
                f"(p = {least:.2g}{sample}; 0 is equal, 1 nothing in common): {examples}{ellipsis}",
                serious=True,
            )
        )
    elif result.p_value <= level:
        findings.append(
            Finding(
                about,
                f"{pair} differ as a whole (p = {result.p_value:.2g}), though no single column "
                "stands out",
                serious=True,
            )
        )
    else:
        findings.append(
            Finding(about, f"no sign that {pair} differ (p = {result.p_value:.2g}{sample})")
        )
    unseen = {name: new for name, new in result.new_levels.items() if name not in without}
    for name, levels in list(unseen.items())[:SHOWN]:
        findings.append(
            Finding(
                about,
                f"{name} has {amount(len(levels), 'level')} in {words[1]} that {words[0]} never "
                f"had: {_quote(levels)}",
                serious=True,
            )
        )
    return findings


def _format_difference(result: Shift, column: int) -> str:
    """Return the difference of a column: of its values, or of its missing values."""
    distance, missing_difference = (
        float(result.distance[column]),
        float(result.missing_difference[column]),
    )
    return (
        f"missing {missing_difference:+.0%}"
        if abs(missing_difference) > distance
        else f"{distance:.2f}"
    )


def _percent(value: float) -> str:
    if 0 < value < 0.005:
        return "under 1%"
    return f"{value:.0%}"


def _quote(names: Sequence[str]) -> str:
    quoted = [repr(str(name)) for name in names[:SHOWN]]
    if len(names) > SHOWN:
        return f"{', '.join(quoted)} and {len(names) - SHOWN:,} more"
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else quoted[0]
