"""The tables of "How often is featly wrong?", made from the committed results of the study."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from markdown_tables import safe, table

from featly.plots.frequencies import wilson_interval

LABELS = ("before", "after")  # first; other labels follow
NOISE, SIGNAL = ("noise",), ("weak", "mid", "strong")
TOGETHER = ("together",)
ALL = (*NOISE, *SIGNAL, *TOGETHER)
NOT_YET = "not measured yet"
OF_TEST = {"before": "before", "after": "default"}  # the tests of the study of p-values
NO_LONGER = "no longer said"
FIRST = "before"


@dataclass(frozen=True)
class Sentence:
    """A row of the table: what featly says, on which tables, and what it should be.

    Attributes
    ----------
    text, level : str
        What is said, and how often that should be so.
    parts : tuple of str
        The parts of the study that tell it; the one with the most tables is shown.
    figure : str
        Its name there.
    signals : tuple of str
        The laws that count.
    show : callable
        Turns the figures of the laws, by name, into a cell.
    is_gone : bool
        Whether featly said it in the first run only.
    """

    text: str
    level: str
    parts: tuple[str, ...]
    figure: str
    signals: tuple[str, ...] = ALL
    show: Callable[[dict[str, dict[str, float]]], str] | None = None
    is_gone: bool = False


def write_how_often_wrong(app):
    """Write the tables of the page."""
    root = Path(app.srcdir).parent
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    for name, text in pages(root / "studies" / "results").items():
        (folder / f"{name}.inc").write_text(text, encoding="utf-8")


def pages(folder):
    """Return the included texts by name, from a folder of results."""
    runs = read_runs(folder)
    return {
        "wrong_sentences": sentences(runs, folder),
        "wrong_laws": laws(runs),
        "wrong_versions": versions(runs),
    }


def read_runs(folder):
    """Return the results by label: before, after, then others."""
    files = {path.stem.removeprefix("calibration-"): path
             for path in sorted(Path(folder).glob("calibration-*.json"))}  # fmt: skip
    names = [*(label for label in LABELS if label in files), *sorted(set(files) - set(LABELS))]
    return {name: json.loads(files[name].read_text("utf-8")) for name in names}


def sentences(runs, folder):
    """Return the table of sentences, a group after the other."""
    parts = []
    for title, rows in GROUPS.items():
        lines = [
            (row.text, row.level, *(_cell(row, name, run) for name, run in runs.items()))
            for row in rows
        ]
        parts += [f"### {title}\n", table(("what featly says", "should be", *runs), lines)]
    extra = p_values(folder)
    return "\n".join([*parts, *extra]) if runs else "The study has not been run yet.\n"


def p_values(folder):
    """Return the tables of the study of p-values and q-values, if it has been run."""
    file = Path(folder) / "p-values.json"
    if not file.exists():
        return []
    result = json.loads(file.read_text("utf-8"))
    null_head = ("columns that tell nothing", "should be", *LABELS)
    null_rows = []
    for law in dict.fromkeys(row["law"] for row in result["null"]):
        mine = [row for row in result["null"] if row["law"] == law]
        null_rows.append((safe(law), "1%", *(_most_small(mine, test) for test in OF_TEST.values())))
    fdr_head = ("table", "q at most", *LABELS)
    fdr = {}
    for row in result["fdr"]:
        blocks = f", blocks at {row['correlation']}" if row["correlation"] else ""
        empty = "" if row["columns_that_differ"] else ", no column differs"
        name = f"{row['law']}, {row['rows']} rows, {row['small_class']} in a class{blocks}{empty}"
        fdr.setdefault((safe(name), row["q"]), {})[row["test"]] = row
    fdr_rows = [
        (name, str(q), *(_false_share(tests.get(test)) for test in OF_TEST.values()))
        for (name, q), tests in fdr.items()
    ]
    return [
        "### p-values of single columns\n",
        "Share of the columns with p at most 0.01 where no column tells anything, by the default "
        "test; of several shapes of table the worst:\n",
        table(null_head, null_rows),
        "### q-values of single columns\n",
        "Share of false columns among those that have a q-value of at most so much:\n",
        table(fdr_head, fdr_rows),
    ]


def _most_small(rows, test):
    """Return the largest share of small p-values, and the table that it is from."""
    mine = [row for row in rows if row["test"] == test]
    if not mine:
        return NOT_YET
    row = max(mine, key=lambda row: row["P01"])
    shape = f"{row['rows']} rows, {row['small_class']} in a class"
    return f"**{_percent(row['P01'])}** of {row['columns']:,} ({shape})"


def _false_share(row):
    if row is None:
        return NOT_YET
    error = _percent(2 * row["standard_error"])
    return f"**{_percent(row['fdr'])}** (± {error}; {row['tables']} tables)"


def _cell(sentence, label, run):
    if sentence.is_gone and label != FIRST:
        return NO_LONGER
    known = [_figures(sentence, run["parts"][name]) for name in sentence.parts
             if name in run["parts"]]  # fmt: skip
    figures = max(known, key=_n_tables, default={})
    return (sentence.show or share)(figures) if figures else NOT_YET


def _figures(sentence, part):
    """Return the figures of the laws that count, by name."""
    return {
        law: about["figures"][sentence.figure]
        for law, about in part["settings"].items()
        if about["signal"] in sentence.signals and sentence.figure in about["figures"]
    }


def _n_tables(figures):
    return sum(figure["of"] for figure in figures.values())


# ---- cells ---------------------------------------------------------------------------------------
def share(figures):
    """Return a share with Wilson's interval, over the tables of all laws."""
    yes, of = (sum(figure[key] for figure in figures.values()) for key in ("yes", "of"))
    if not of:
        return NOT_YET
    lower, upper = _wilson(yes, of)
    return f"**{_percent(yes / of)}** ({_percent(lower)} to {_percent(upper)}; {yes:,} of {of:,})"


def share_and_least(figures):
    """Return the share, and the law where it is least."""
    known = {law: figure for law, figure in figures.items() if figure["of"]}
    law, figure = min(known.items(), key=lambda item: item[1]["yes"] / item[1]["of"])
    least = f"least: {_percent(figure['yes'] / figure['of'])} of {figure['of']}, {safe(law)}"
    return f"{share(figures)}; {least}"


def share_and_most(figures):
    """Return the share, and the law where it is largest."""
    known = {law: figure for law, figure in figures.items() if figure["of"]}
    law, figure = max(known.items(), key=lambda item: item[1]["yes"] / item[1]["of"])
    most = f"most: {_percent(figure['yes'] / figure['of'])} of {figure['of']}, {safe(law)}"
    return f"{share(figures)}; {most}"


def mean(figures):
    """Return the mean over laws, with twice its standard error."""
    values = list(figures.values())
    average = sum(figure["mean"] for figure in values) / len(values)
    error = sum(figure["sd"] ** 2 / figure["of"] for figure in values) ** 0.5 / len(values)
    tables = sum(figure["of"] for figure in values)
    spread = f"± {2 * error:.3f}; " if error else ""
    return f"**{average:.3f}** ({spread}{tables:,} tables)"


def difference(figures):
    """Return the mean difference over laws, and the law where it is largest."""
    law, figure = max(figures.items(), key=lambda item: abs(item[1]["mean"]))
    text = mean(figures)
    sign = "" if text.startswith("**-") else "+"
    return f"**{sign}{text[2:]}; most: {figure['mean']:+.3f}, {safe(law)}"


def _wilson(yes, of):
    lower, upper = wilson_interval([yes / of], of)
    return float(lower[0]), float(upper[0])


def _percent(value):
    percent = 100 * value
    return (
        f"{percent:.1f}%"
        if percent < 10 and round(percent, 1) != round(percent)
        else (f"{percent:.0f}%")
    )


# ---- by law --------------------------------------------------------------------------------------
def laws(runs):
    """Return a row for every law, for every label: by the part with the most tables."""
    texts = []
    for label, run in runs.items():
        rows = [(safe(law), *_law_row(law, run["parts"])) for law in _law_names(run["parts"])]
        texts += [f"### {label}\n", table(LAW_HEAD, rows)]
    return "\n".join(texts)


LAW_PARTS = ("reports", "interval-quick", "predicts-noise", "predicts-signal", "halves")
LAW_HEAD = ("law", "tables", "rate told", "true rate", "interval holds it", "width",
            "“predicts: yes”", "stability of 4 told", "between fresh tables")  # fmt: skip


def _law_names(parts):
    names = [f"{part}{aside}" for aside in ("", "-aside") for part in LAW_PARTS]
    return dict.fromkeys(law for name in names if name in parts for law in parts[name]["settings"])


def _law_row(law, parts):
    abouts = [
        part["settings"][law]
        for name, part in parts.items()
        if name.removesuffix("-aside") in LAW_PARTS and law in part["settings"]
    ]

    def find(name):
        known = [about["figures"][name] for about in abouts if name in about["figures"]]
        return max(known, key=lambda figure: figure["of"], default=None)

    def number(name):
        figure = find(name)
        return f"{figure['mean']:.2f}" if figure else ""

    def percent(name):
        figure = find(name)
        return _percent(figure["yes"] / figure["of"]) if figure and figure["of"] else ""

    tables = find("told")
    return (
        str(tables["of"] if tables else ""), number("told"), number("true"),
        percent("interval covers"), number("width"), percent("says it predicts"),
        number("stability of 4 told"), number("stability of 4 fresh"),
    )  # fmt: skip


def versions(runs):
    """Return a row for every part of every run: tables, laws, state of the code, versions."""
    rows = []
    for label, run in runs.items():
        libraries = ", ".join(f"{name} {number}" for name, number in run["versions"].items())
        for name, part in run["parts"].items():
            settings = part["settings"].values()
            rows.append((
                label, name, safe(part["about"]), f"{sum(s['tables'] for s in settings):,}",
                str(len(settings)), f"`{part['code']}`", safe(libraries),
            ))  # fmt: skip
    head = ("column", "part", "what is measured", "tables", "laws", "code of featly", "versions")
    return table(head, rows)


# ---- the sentences -------------------------------------------------------------------------------
RARE = "rarely"
OFTEN = "as often as can be"
PAGE = ("reports",)
QUICK = ("reports", "interval-quick")  # the page draws the folds once, unless asked
TESTED = ("reports", "predicts-noise", "predicts-signal")
GROUPS = {
    "Does it predict?": (
        Sentence("“Does it predict …? Yes” on pure noise, by the f-test", "at most 5%",
                 TESTED, "says it predicts", NOISE, share_and_most),
        Sentence("the same by the method that featly advises", "at most 5%",
                 ("advised",), "says it predicts", NOISE),
        Sentence("“Yes, well” on pure noise", "never", PAGE, "says it predicts well", NOISE),
        Sentence("“Yes” where the signal is weak", OFTEN, TESTED, "says it predicts", ("weak",)),
        Sentence("“Yes” where it is moderate", OFTEN, TESTED, "says it predicts", ("mid",)),
        Sentence("“Yes” where it is strong", OFTEN, TESTED, "says it predicts", ("strong",)),
        Sentence("`featly evaluate --null 19`: p at most 0.05 on pure noise", "at most 5%",
                 ("shuffles", "null-19"), "says more than chance", NOISE),
    ),
    "How well does it predict?": (
        Sentence("the 95% interval holds the true rate", "95%",
                 QUICK, "interval covers", ALL, share_and_least),
        Sentence("the same with `--thorough`", "95%",
                 ("interval",), "interval covers", ALL, share_and_least),
        Sentence("the true rate is below the interval: it promised too much", "2.5%",
                 QUICK, "interval too high", ALL, share_and_most),
        Sentence("rate told, less the true rate", "0", QUICK, "told less true", ALL, difference),
        Sentence("the same with `--thorough`", "0",
                 ("interval",), "told less true", ALL, difference),
        Sentence("width of the interval", "as narrow as coverage allows",
                 QUICK, "width", ALL, mean),
        Sentence("the same with `--thorough`", "narrower",
                 ("interval",), "width", ALL, mean),
        Sentence("`--metric auc`: the 95% interval holds the true area", "95%",
                 ("interval-quick",), "interval covers, auc", ALL, share_and_least),
        Sentence("area told, less the true one", "0",
                 ("interval-quick",), "told less true, auc", ALL, difference),
        Sentence("`--metric accuracy`: the 95% interval holds the true accuracy", "95%",
                 ("interval-quick",), "interval covers, accuracy", ALL, share_and_least),
        Sentence("`--metric sensitivity`: the 95% interval holds the true sensitivity", "95%",
                 ("interval-quick",), "interval covers, sensitivity", ALL, share_and_least),
        Sentence("the same page by the advised method: the interval holds the true rate", "95%",
                 ("advised",), "interval covers", ALL, share_and_least),
        Sentence("`featly evaluate`: the 95% interval holds the true rate, on one half of the "
                 "columns", "95%", ("evaluate", "pairs-quick"), "interval covers, size chosen",
                 ALL, share_and_least),
        Sentence("the same without a selection", "95%",
                 ("evaluate", "pairs-quick"), "interval covers, all columns", ALL,
                 share_and_least),
        Sentence("an interval without width", "never",
                 QUICK, "interval has no width", ALL, share_and_most),
        Sentence("a table gets an interval", OFTEN, QUICK, "interval given"),
        Sentence("the figure “with the size for each split chosen on the others”, less the true "
                 "rate", "0", PAGE, "nested less true", ALL, difference, is_gone=True),
        Sentence("an interval over splits at a fixed size, 8, as the rate of new rows", "95%",
                 ("evaluate",), "interval covers, size 8", ALL, share_and_least, is_gone=True),
    ),
    "Is one better than the other?": (
        Sentence("“Is it better than using all columns? Yes” on pure noise", "at most 2.5%",
                 ("reports", "versus-all-quick"), "says better than all columns", NOISE,
                 share_and_most),
        Sentence("“No, worse” on pure noise", "at most 2.5%",
                 ("reports", "versus-all-quick"), "says worse than all columns", NOISE),
        Sentence("of all “Yes, better than all columns”: in truth it is not", RARE,
                 ("reports", "versus-all-quick"), "says better, and it is not"),
        Sentence("the 95% interval of the difference from all columns holds the true one", "95%",
                 ("versus-all-quick",), "interval of the difference covers", ALL,
                 share_and_least),
        Sentence("`featly evaluate`: p at most 0.05 for two recipes that are equal by "
                 "construction, each at its chosen size", "at most 5%",
                 ("evaluate", "pairs-quick"), "equals differ, sizes chosen", ALL, share_and_most),
        Sentence("the same with `--thorough`", "at most 5%",
                 ("pairs",), "equals differ, sizes chosen", ALL, share_and_most),
        Sentence("p at most 0.05 for a selection against all columns, on pure noise",
                 "at most 5%", ("evaluate", "pairs-quick"),
                 "a selection differs from all columns", NOISE, share_and_most),
        Sentence("some pair of three methods differs, p adjusted, on pure noise", "at most 5%",
                 ("evaluate", "pairs-quick"), "some pair of three differs", NOISE,
                 share_and_most),
        Sentence("p over splits at a fixed size, 8, of two equal recipes", "at most 5%",
                 ("evaluate",), "equals differ, size 8", ALL, share_and_most, is_gone=True),
    ),
    "Would other rows have given the same columns?": (
        Sentence("“In part” or better on pure noise, where no choice is like another", RARE,
                 PAGE, "says the columns are the same, at least in part", NOISE, share_and_most),
        Sentence("“Mostly” or “Yes” on pure noise", "never",
                 PAGE, "says the columns are mostly the same", NOISE),
        Sentence("agreement of the best 4 told, on pure noise", "0",
                 ("reports", "halves"), "stability of 4 told", NOISE, mean),
        Sentence("agreement of the best 4 between fresh tables, on pure noise", "",
                 ("reports", "halves"), "stability of 4 fresh", NOISE, mean),
        Sentence("agreement of the best 4 told, on tables with a signal: since it is that of "
                 "halves, not above the next row", "at most the next row",
                 ("reports", "halves"), "stability of 4 told", SIGNAL, mean),
        Sentence("agreement of the best 4 between fresh tables, on tables with a signal", "",
                 ("reports", "halves"), "stability of 4 fresh", SIGNAL, mean),
        Sentence("agreement of the best 4 with shuffled labels, on tables with a signal", "0",
                 ("halves",), "stability of 4 on shuffled labels", SIGNAL, mean),
        Sentence("a 95% interval of the stability of the best 4 holds that of fresh tables",
                 "95%", PAGE, "stability interval of 4 holds fresh", ALL, share, is_gone=True),
    ),
    "Columns one by one": (
        Sentence("a column of the page has a q-value of at most 0.05, on pure noise", "at most 5%",
                 PAGE, "says q of a column is at most .05", NOISE, share_and_most),
    ),
    "What does it advise?": (
        Sentence("`featly advise`: “columns tell more together than alone”, where none does", RARE,
                 ("advice",), "says columns tell only together", (*NOISE, *SIGNAL),
                 share_and_most),
        Sentence("the same where two columns tell by the sign of their product", OFTEN,
                 ("advice",), "says columns tell only together", TOGETHER),
    ),
}  # fmt: skip
