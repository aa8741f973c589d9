"""Figures of the studies of many classes, drawn from committed results."""

import json
from pathlib import Path

COLOURS = {
    "3Q-SD": "#e69f00",
    "Av-SD": "#56b4e9",
    "Best": "#009e73",
    "K-First": "#0072b2",
    "Condorcet": "#cc79a7",
    "Schulze": "#d55e00",
    "Zhou C&S": "#000000",
    "Zhou W&W": "#666666",
    "Zhou OVO": "#999999",
}
STYLES = {"Zhou C&S": "--", "Zhou W&W": "-.", "Zhou OVO": ":"}
MARKS = {
    "3Q-SD": "s", "Av-SD": "v", "Best": "^", "K-First": "o", "Condorcet": "D", "Schulze": "X",
}  # fmt: skip
FIRST = ("Artificial-3-3C", "Artificial-3-8C", "Artificial-1-16C", "Artificial-2-8C")
THIRD = ("Artificial-1-8C", "Artificial-2-8C")
STUDIES = (
    "multiclass",
    "multiclass-few-rows",
    "multiclass-ova",
    "multiclass-real",
    "multiclass-time",
)
FEW = ", 15 training rows a class"


def draw_multiclass(root, folder, save):
    """Draw the figures of each study; `save` takes figure, folder and name, returns a file name."""
    files = {}
    for study in STUDIES:
        file = Path(root) / "studies" / "results" / f"{study}.json"
        if file.exists():
            results = json.loads(file.read_text("utf-8"))
            figures = {
                "multiclass-real": _real,
                "multiclass-time": _time,
            }.get(study, _artificial)(results, FEW if study.endswith("few-rows") else "")
            files[study] = [
                save(figure, folder, f"{study}-{name}") for name, figure in figures.items()
            ]
    return files


def _artificial(results, note):
    """Figures 1 to 4, those for which there are results."""
    figures = {}
    if "shares" in results:
        panels = {name: _shade_lines(results["shares"][name]) for name in FIRST}
        title = f"Figure 1: K-First with k as a share of the columns{note}"
        figures["k"] = _panels(title, panels)
    if "ties" in results:
        panels = {name: _directions(lines) for name, lines in results["ties"].items()}
        figures["ties"] = _panels(f"Figure 2: which SD comes first among equals{note}", panels)
    if "ova" in results:
        panels = {}
        for name in THIRD:
            ova = {key.removesuffix(", OvA"): line for key, line in results["ova"][name].items()}
            panels[f"{name}, each class against the rest"] = _style_lines(ova)
            panels[f"{name}, every pair of classes"] = _style_lines(results["lines"][name])
        title = f"Figure 3: lists of classes against the rest, and of pairs of classes{note}"
        figures["ova"] = _panels(title, panels, same="row")
    if "shares" in results:
        panels = {name: _style_lines(lines) for name, lines in results["lines"].items()}
        figures["rules"] = _panels(f"Figures 3 and 4: the six rules{note}", panels, columns=3)
    return figures


def _style_lines(lines):
    """Return name, line and style of every line."""
    return [
        (name, line, {"color": COLOURS[name], "ls": STYLES.get(name, "-"),
                      "marker": MARKS.get(name)})
        for name, line in lines.items()
    ]  # fmt: skip


def _shade_lines(lines):
    import matplotlib

    shades = matplotlib.colormaps["viridis"]
    steps = max(len(lines) - 1, 1)
    return [
        (f"k = {name}", line, {"color": shades(0.92 * at / steps), "lw": 2 if name == "10%" else 1})
        for at, (name, line) in enumerate(lines.items())
    ]


def _directions(lines):
    return [
        (
            name if "smaller" in name else f"{name}, larger SD",
            line,
            {
                "color": COLOURS[name.split(",", maxsplit=1)[0]],
                "ls": "--" if "smaller" in name else "-",
            },
        )
        for name, line in lines.items()
    ]


def _count_relevant(name):
    """Count the relevant columns of a made table, from its name."""
    problem, classes = name.split(",", maxsplit=1)[0].removeprefix("Artificial-").split("-")
    return 25 if problem == "2" else 5 * int(classes.removesuffix("C"))


def _panels(title, panels, columns=2, made=True, same=False):
    """Error by number of columns; bars of one standard deviation over runs."""
    import matplotlib.pyplot as plt

    rows = -(-len(panels) // columns)
    shape = {"figsize": (4.1 * columns, 2.7 * rows), "squeeze": False, "sharey": same}
    figure, axes = plt.subplots(rows, columns, **shape)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, (name, lines) in zip(axes.flat, panels.items(), strict=False):
        for at, (label, line, style) in enumerate(lines):
            shift = 1 + 0.012 * (at - len(lines) / 2)  # so that bars do not hide one another
            axis.errorbar(
                [size * shift for size in line["size"]], line["error"], line["sd"], label=label,
                **({"lw": 1.3, "ms": 3, "elinewidth": 0.5} | style),
            )  # fmt: skip
        if made:
            axis.axvline(_count_relevant(name), color="#888888", lw=0.8, ls=":")
        axis.set_xscale("log")
        ticks = [size for size in lines[0][1]["size"] if size in (2, 5, 10, 20, 40, 80, 160)]
        axis.set_xticks(ticks, [str(tick) for tick in ticks])
        axis.minorticks_off()
        axis.set_ylim(bottom=0)
        axis.set_title(name, fontsize=9)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[:, 0]:
        axis.set_ylabel("error")
    for axis in axes.flat[max(0, len(panels) - columns) : len(panels)]:  # lowest in their column
        axis.set_xlabel("columns")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.tight_layout()
    figure.legend(
        handles, labels, frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5)
    )
    figure.suptitle(title, x=0.02, y=1.03, ha="left", fontsize=10)
    return figure


def _real(results, note):
    """Figures 5 and 6, and table 8."""
    panels = {name: _style_lines(lines) for name, lines in results["lines"].items()}
    title = "Figures 5 and 6: real tables"
    return {
        "table-8": _scores(results["table8"]),
        "errors": _panels(title, panels, columns=3, made=False),
    }


def _scores(rows):
    """Table 8: how many others each method beats."""
    import matplotlib.pyplot as plt

    rows = [row for row in rows if "ours" in row]
    figure, axes = plt.subplots(1, len(rows), figsize=(2.7 * len(rows), 3.2), sharey=True)
    for axis, row in zip(axes, rows, strict=True):
        heights = range(len(row["methods"]))[::-1]
        colours = [COLOURS[name] for name in row["methods"]]
        axis.hlines(heights, row["printed"], row["ours"], color="#cccccc", lw=1, zorder=1)
        axis.barh(heights, row["sure"], height=0.28, color=colours, alpha=0.3, zorder=0)
        axis.scatter(row["ours"], heights, color=colours, s=34, zorder=3, label="ours")
        axis.scatter(
            row["printed"], heights, facecolor="white", edgecolor="#222222", s=34, zorder=2,
            label="printed",
        )  # fmt: skip
        axis.set_yticks(list(heights), row["methods"])
        axis.set_xlim(-0.5, 8.5)
        axis.set_xticks(range(0, 9, 2))
        axis.set_xlabel("others beaten")
        axis.set_title(f"{row['domain']}, {row['size']} columns", fontsize=9)
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    title = "Table 8: of eight other methods, how many are beaten. Filled: ours; "
    title += "open: printed; bars: by more than chance"
    figure.suptitle(title, x=0.02, y=1.04, ha="left", fontsize=10)
    return figure


def _time(results, note):
    """Figure 7."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(11, 3.2))
    panels = (
        ("columns", "seconds", "columns (500 training rows)"),
        ("columns", "combining", "columns: to combine the 28 lists alone"),
        ("rows", "seconds", "training rows (540 columns)"),
    )
    for axis, (part, quantity, label) in zip(axes, panels, strict=True):
        sizes = results[part]["size"]
        for name, values in results[part][quantity].items():
            axis.plot(
                sizes, values, color=COLOURS[name], ls=STYLES.get(name, "-"),
                marker=MARKS.get(name), ms=3, lw=1.3, label=name,
            )  # fmt: skip
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xticks(sizes, [str(size) for size in sizes])
        axis.minorticks_off()
        axis.set_xlabel(label)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("seconds, one thread")
    figure.tight_layout()
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5)
    )
    figure.suptitle("Figure 7: time on Artificial-1-8C", x=0.02, y=1.03, ha="left", fontsize=10)
    return {"7": figure}
