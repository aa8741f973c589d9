"""Figures of the documentation, drawn from committed results: no study is run for them."""

import doctest
import json
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from intrusion_figures import draw_intrusion
from microarray_figures import draw_microarray
from multiclass_figures import draw_multiclass
from prior_figures import draw_prior

COLOURS = {
    "RFE-MKL": "#0072b2",
    "RFE-SVM": "#d55e00",
    "RFE-SVM by q": "#e69f00",
    "RF10000": "#009e73",
    "HFS-NB": "#cc79a7",
    "HFS-5NN": "#56b4e9",
}
# figures that a page of the guide draws itself
PAGES = {
    "pairs": "multiclass",
    "tree": "learners",
    "how_many": "how_many",
    "how_sure": "how_sure",
    "costs": "costs",
}
PANELS = (
    ("bcr", "balanced classification rate"),
    ("kuncheva", "Kuncheva's index"),
    ("categorical", "categorical columns"),
)


def draw_all(root, folder):
    """Draw every figure for which there are results; return the files by name."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "featly", "font.size": 9})
    files = {}
    results = Path(root) / "studies" / "results" / "heterogeneous.json"
    if results.exists():
        study = json.loads(results.read_text("utf-8"))
        files["ranks"] = _save(_ranks(study["diagrams"]), folder, "heterogeneous-ranks")
        for name, curves in study["curves"].items():
            file = "heterogeneous-" + "".join(c for c in name.lower() if c.isalnum())
            size = study["small_sizes"][name]
            files[name] = _save(_curves(name, curves, size), folder, file)
    rows = Path(root) / "benchmarks" / "clinical_rows.json"
    if rows.exists():
        files["rows"] = _save(_growth(json.loads(rows.read_text("utf-8"))), folder, "clinical-rows")
    for name, page in PAGES.items():
        files[name] = _save(_draw_page_figure(root, page), folder, name)
    for draw in (draw_prior, draw_multiclass, draw_microarray, draw_intrusion):
        files |= draw(root, folder, _save)
    return files


def _save(figure, folder, name):
    file = Path(folder) / f"{name}.svg"
    figure.savefig(file, bbox_inches="tight", metadata={"Date": None})
    import matplotlib.pyplot as plt

    plt.close(figure)
    return file.name


def _draw_page_figure(root, name):
    """Draw the picture of a page of the guide by running the code of that page."""
    page = (Path(root) / "docs" / "guide" / f"{name}.md").read_text("utf-8")
    names = {}
    for language, code in re.findall(r"```(python|pycon)\n(.*?)```", page, flags=re.DOTALL):
        if language == "pycon":
            parsed = doctest.DocTestParser().get_examples(code)
            code = "".join(example.source for example in parsed)
        with redirect_stdout(StringIO()):  # what the page prints is in the page
            exec(compile(code, f"{name}.md", "exec"), names)
        if language == "python":
            return names["axes"].figure
    raise ValueError(f"docs/guide/{name}.md draws nothing")


def _curves(name, curves, small):
    """Figures 2 to 5 of the paper: rate, stability and categories by size."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(11, 3.2))
    wide = max(curves["RFE-MKL"]["size"]) > 40
    for axis, (part, label) in zip(axes, PANELS, strict=True):
        for method, line in curves.items():
            style = "--" if method == "RFE-SVM by q" else "-"
            values = [float("nan") if v is None else v for v in line[part]]
            axis.plot(line["size"], values, style, color=COLOURS[method], label=method, lw=1.4)
        axis.axvline(small, color="grey", ls=":", lw=1)
        axis.set_xlabel("columns")
        axis.set_title(label, fontsize=9)
        if wide:
            axis.set_xscale("log")
        if part == "categorical" and wide:
            axis.set_yscale("symlog", linthresh=1)
        if part == "categorical":
            axis.set_ylim(bottom=0)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=7)
    figure.suptitle(name, x=0.08, ha="left", fontsize=10)
    return figure


def _ranks(diagrams):
    """Figures 1 and 6: mean ranks, and bars over methods that do not differ significantly."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(10, 4.2))
    for axis, (title, diagram) in zip(axes.flat, diagrams.items(), strict=True):
        _diagram(axis, title, diagram)
    figure.tight_layout()
    return figure


def _diagram(axis, title, result):
    ranks = sorted(result["mean_ranks"].items(), key=lambda item: item[1])
    distance = result["critical_difference"]
    axis.set_xlim(0.8, 5.2)
    axis.set_ylim(-len(ranks) / 2 - 1.4, 1.6)
    axis.spines[["left", "right", "bottom"]].set_visible(False)
    axis.xaxis.set_ticks_position("top")
    axis.set_yticks([])
    p = result["p_value"]
    axis.set_title(f"fig. {title} (p = {p:.1g}, {result['blocks']} blocks)", fontsize=9)
    half = (len(ranks) + 1) // 2
    for position, (method, rank) in enumerate(ranks):
        left = position < half
        level = -0.9 - (position if left else len(ranks) - 1 - position)
        end = 0.85 if left else 5.15
        axis.plot([rank, rank, end], [1.6, level, level], color=COLOURS[method], lw=1)
        text = f"{method} {rank:.2f}"
        axis.text(end, level + 0.1, text, ha="left" if left else "right", fontsize=7)
    bars = []
    for start, (_, rank) in enumerate(ranks):
        last = max(k for k, (_, other) in enumerate(ranks) if other - rank < distance)
        if last > start and not any(a <= start and last <= b for a, b in bars):
            bars.append((start, last))
    for number, (start, last) in enumerate(bars):
        height = 1.2 - 0.35 * number
        axis.plot([ranks[start][1] - 0.03, ranks[last][1] + 0.03], [height] * 2, "k", lw=2.5)
    axis.plot([1, 1 + distance], [0.25] * 2, color="grey", lw=1.5)
    axis.text(1, 0.35, f"CD {distance:.2f}", fontsize=7, color="grey")


def _growth(rows):
    """Seconds by number of rows."""
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(5, 3.2))
    sizes = [re.search(r"([\d,]+) x 50", row["problem"]).group(1) for row in rows["rows"]]
    n = [int(size.replace(",", "")) for size in sizes]
    seconds = [row["seconds"] for row in rows["rows"]]
    axis.loglog(n, seconds, "o-", color=COLOURS["RFE-MKL"], label="SVMRFE(kernel='clinical')")
    axis.loglog(n, [seconds[0] * k / n[0] for k in n], ":", color="grey", label="linear growth")
    axis.set_xlabel("rows (50 columns)")
    axis.set_ylabel("seconds")
    axis.legend(frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
    return figure
