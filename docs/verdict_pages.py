"""Published figures compared with ours: a page for each study, and totals."""

import ast
import json
import re
from pathlib import Path

from figures import draw_all
from markdown_tables import safe, table

from featly.study.dataset import family_of


def write_reproduced(app):
    """Turn the committed results of studies into pages of verdicts, and a table of them."""
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    root = Path(app.srcdir).parent
    figures = draw_all(root, folder)
    pages = study_pages(root / "studies" / "results", figures, about=root / "studies")
    for old in folder.glob("verdicts-*.md"):
        old.unlink()
    for name, text in pages.items():
        (folder / f"verdicts-{name}.md").write_text(text, encoding="utf-8")
    plot = f"![](/generated/{figures['rows']})\n" if "rows" in figures else ""
    (folder / "clinical_rows.inc").write_text(plot, encoding="utf-8")
    results = root / "studies" / "results"
    texts = {"": overview(results), "_own": overview(results, own=True), "_totals": totals(results)}
    for name, text in texts.items():
        (folder / f"reproduced{name}.inc").write_text(text, encoding="utf-8")


def study_pages(folder, figures=(), about=None):
    """Return a page for each study of a folder, as Markdown; `figures` are files by name.

    `about` is the folder of the studies, whose first words say how they were made.
    """
    pages = {}
    for name, result in _with_verdicts(folder):
        words = _study_description(Path(about) / f"{name.replace('-', '_')}.py") if about else ""
        pages[name] = _study(name, result, figures, words)
    return pages


def overview(folder, own=False):
    """Return one row a study: its title and how many claims hold; `own`: studies of our claims."""
    rows = []
    for name, result in _results(folder, own):
        counts = [f"{result['counts'][word]:,}" for word in COUNTED]
        title = result["about"]["title"] or name
        biased = " (biased)" if result["biased"] else ""
        rows.append((f"[{safe(title)}](generated/verdicts-{name}.md){biased}", *counts))
    rows.sort(key=lambda row: row[0].lower())
    return table(("study", *COUNTED), rows) if rows else NOTHING


def totals(folder):
    """Return the totals of all studies of published claims, in a sentence."""
    results = [result for _, result in _results(folder)]
    if not results:
        return NOTHING
    holds, fails, untestable = (sum(study["counts"][word] for study in results) for word in COUNTED)
    tested, fits = holds + fails, sum(study["fits"] for study in results)
    share = 100 * holds / max(tested, 1)
    return (
        f"**{len(results)} studies, {tested + untestable:,} claims: {holds:,} hold, {fails:,} do "
        f"not, {untestable:,} cannot be tested.** That is {share:.0f}% of what could be tested, "
        f"from {fits:,} fits.\n"
    )


def _results(folder, own=False):
    """Return the committed results of a folder by name: of published claims, or of our own."""
    return ((name, result) for name, result in _with_verdicts(folder) if (name in OWN) == own)


def _with_verdicts(folder):
    """Yield results by name; those of a study without claims have pages of their own."""
    for path in sorted(Path(folder).glob("*.json")):
        result = json.loads(path.read_text("utf-8"))
        if "counts" in result:
            yield path.stem, result


def _study_description(file):
    """Return the docstring of a study as Markdown."""
    if not file.exists():
        return ""
    text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    text = re.sub(r":mod:`(?:studies\.)?(\w+)`", lambda m: f"`{m[1].replace('_', '-')}`", text)
    return text.replace("``", "`") + "\n"


def _study(name, result, figures, words):
    """Return the page of one study: protocol, data, verdicts, and recovery of the truth."""
    about = result["about"]
    holds, fails, untestable = (result["counts"][word] for word in COUNTED)
    tally = f"{holds} hold, {fails} do not hold, {untestable} cannot be tested"
    parts = [f"# {safe(about['title'] or name)}\n"]
    if result["biased"]:
        parts.append(BIASED)
    parts += [
        f"**{holds + fails + untestable} claims: {tally}.**\n",
        words,
        table(("", ""), _protocol(name, result)),
    ]
    if result["failures"]:
        parts.append(_failures(result["failures"]))
    parts += ["## Verdicts\n", table(VERDICT_HEAD, map(_verdict, result["verdicts"]))]
    if "success" in result["summary"]:
        parts += ["## Index of success\n", SUCCESS, _by_method(result["summary"]["success"])]
    for extra in result.get("tables", ()):
        parts += [f"## {extra['title']}\n", table(extra["head"], extra["rows"])]
    if "curves" in result and figures:
        parts += ["## Figures\n", FIGURES]
        parts += [f"![](/generated/{figures[part]})\n" for part in ("ranks", *result["curves"])]
    if figures and name in figures:
        parts += ["## Figures\n", *(f"![](/generated/{file})\n" for file in figures[name])]
    parts += ["## Data\n", _data(about["datasets"])]
    return "\n".join(parts)


BIASED = """:::{danger}
**BIASED.** The columns were selected once, on all rows, test rows included, because that is how
the published figures were made. Rates of prediction below are too good, theirs as well as ours.
They say whether a figure can be reproduced, not how well anything predicts.
:::
"""
FIGURES = """Mean ranks of the paper's five methods as in its figures 1 and 6, then every table
as in figures 2 to 5: rate, stability and number of categorical columns by size. RFE-SVM uses the
printed criterion; the dashed line is featly's. The dotted line is the size of figure 6.
"""
SUCCESS = "Mean over the draws, with the standard deviation, and how many columns were taken.\n"
NOTHING = "No study has been run yet.\n"
OWN = ("advice",)  # studies of what we claim ourselves, not of what was published
COUNTED = ("holds", "does not hold", "cannot be tested")
VERDICT_HEAD = ("claim", "what was published", "printed", "ours", "verdict", "why")


def _protocol(name, result):
    about = result["about"]
    versions = ", ".join(f"{library} {number}" for library, number in about["versions"].items())
    rows = [
        ("run", f"`python -m studies {name}`"),
        ("methods", ", ".join(f"`{method}`" for method in about["methods"])),
        ("learners", ", ".join(f"`{learner}`" for learner in about["learners"])),
        ("splits", f"`{about['splits']}`"),
        ("columns selected", "on all rows" if result["biased"] else "on the training rows"),
        ("missing values filled", "yes" if about["fill"] else "no"),
        ("shuffled labels", str(about["null"]) if about["null"] else "none"),
        ("fits", f"{result['fits']:,}"),
        ("versions", versions),
    ]
    return [(f"**{part}**", safe(value) if "`" not in value else value) for part, value in rows]


def _failures(texts):
    """Errors that differ, up to the names in them."""
    kinds = list(dict.fromkeys(re.sub(r"'[^']*'", "'...'", text) for text in texts))
    return "What failed:\n\n" + "".join(f"- {safe(text)}\n" for text in kinds)


def _verdict(row):
    where = f" ({row['where']})" if row["where"] else ""
    verdict = row["verdict"] if row["verdict"] == "cannot be tested" else f"**{row['verdict']}**"
    cells = (row["claim"], row["text"] + where, row["published"] or "", _ours(row))
    return (*map(safe, cells), verdict, safe(row["why"]))


def _ours(row):
    if row["ours"] is None:
        return ""
    if row["lower"] is None or row["upper"] is None:
        return f"{row['ours']:.3g}"
    return f"{row['ours']:.3g} ({row['lower']:.3g} to {row['upper']:.3g})"


def _by_method(rows):
    """Families by methods."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    cells = {}
    for row in rows:
        if row["mean"] is None:
            continue
        spread = "" if row["sd"] is None else f" ± {row['sd']:.1f}"
        text = f"{row['mean']:.1f}{spread} ({row['size']})"
        cells.setdefault(row["family"], {}).setdefault(row["method"], []).append(text)
    return table(
        ("problem", *(f"`{method}`" for method in methods)),
        [
            (safe(family), *("; ".join(by_method.get(method, ["–"])) for method in methods))
            for family, by_method in cells.items()
        ],
    )


def _data(datasets):
    """One line a family of draws, with the hash of the first."""
    families = {}
    for name, about in datasets.items():
        families.setdefault(family_of(name), []).append(about)
    rows = []
    for family, draws in families.items():
        first = draws[0]
        shape = (f"{first['rows']:,}", f"{first['columns']:,}", str(len(first["classes"])))
        rows.append((safe(family), str(len(draws)), *shape, f"`{first['hash'][:12]}`"))
    head = ("data", "draws", "rows", "columns", "classes", "hash of the first")
    return table(head, rows)
