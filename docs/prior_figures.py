"""Figures of the studies of prior knowledge, drawn from committed results."""

import json
from pathlib import Path

COLOURS = {
    "PS-l2-AROM": "#0072b2",
    "RANDOM": "#cc79a7",
    "l2-AROM": "#56b4e9",
    "RFE": "#d55e00",
    "S/N": "#009e73",
    "PS-l1-AROM": "#e69f00",
    "l1-AROM": "#f0c75e",
}
PANELS = (
    ("kuncheva", "Kuncheva's index"),
    ("bcr", "balanced classification rate"),
    ("geometric_mean", "geometric mean of the two"),
)
TICKS = (1, 4, 16, 64, 256)
STUDIES = ("prior", "prior-norms", "prior-partition")
TITLES = {
    ("prior", "DLBCL"): "Figure 1: DLBCL, TR and LDHA favoured",
    ("prior", "leukemia"): "Figure 2: leukemia, CD11c, CD33 and MB-1 favoured",
    ("prior-partition", "DLBCL"): "Figures 3 and 4: DLBCL, prior from 20% of the rows",
    ("prior-partition", "leukemia"): "Figures 3 and 4: leukemia, prior from 20% of the rows",
    ("prior-partition", "prostate"): "Figures 5 and 6: prostate, prior from 20% of the rows",
    ("prior-partition", "colon"): "Figures 5 and 6: colon, prior from 20% of the rows",
}


def draw_prior(root, folder, save):
    """Draw the figures of each study; `save` takes figure, folder and name, returns a file name."""
    files_by_study = {}
    for study in STUDIES:
        file = Path(root) / "studies" / "results" / f"{study}.json"
        if not file.exists():
            continue
        results = json.loads(file.read_text("utf-8"))
        files = []
        for name, lines in results["lines"].items():
            title = TITLES.get((study, name), f"{name}, 1-norm and 2-norm")
            styles = {method: (COLOURS[method], _style(method)) for method in lines}
            files.append(
                save(_draw_panels(title, lines, styles), folder, f"{study}-{name.lower()}")
            )
        for name, lines in results.get("weights", {}).items():
            title = f"{name}: markers favoured by other weights than 10"
            styles = _shades(lines)
            file_name = f"{study}-weights-{name.lower()}"
            files.append(save(_draw_panels(title, lines, styles, "beta = "), folder, file_name))
        files_by_study[study] = files
    return files_by_study


def _style(method):
    return "-" if method.startswith("PS") else "--" if "AROM" in method else "-."


def _shades(lines):
    import matplotlib

    shades = matplotlib.colormaps["viridis"]
    steps = max(len(lines) - 1, 1)
    return {name: (shades(0.9 * k / steps), "-") for k, name in enumerate(lines)}


def _draw_panels(title, lines, styles, prefix=""):
    """Draw stability, rate and their geometric mean by size."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(11, 3.2))
    for axis, (part, label) in zip(axes, PANELS, strict=True):
        for name, line in lines.items():
            colour, style = styles[name]
            axis.plot(
                line["size"], line[part], style, color=colour, label=f"{prefix}{name}", lw=1.4
            )
        axis.set_xscale("log", base=2)
        axis.set_xticks(TICKS, [str(tick) for tick in TICKS])
        axis.set_xlim(right=1.1 * max(lines[name]["size"]))
        axis.set_xlabel("genes")
        axis.set_title(label, fontsize=9)
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.suptitle(title, x=0.08, y=1.02, ha="left", fontsize=10)
    return figure
