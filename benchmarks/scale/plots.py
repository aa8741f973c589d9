"""Pictures of a run: time over columns, time over rows, memory over columns, on logarithms."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.scale.families import FAMILIES, Family
from benchmarks.scale.slopes import family_names, floor_of, points_of, slope

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#666666")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
PANELS = (
    ("p", "seconds", "time, s"),
    ("n", "seconds", "time, s"),
    ("p", "memory", "memory over the table, MB"),
)
LEAST_MEMORY = 1e-1  # MB; less cannot be told from 0
GREY = "#555555"


def load_runs(files: Sequence[Path]) -> dict[str, dict[str, Any]]:
    """Read runs from their files, by device."""
    runs = {}
    for file in files:
        run = json.loads(Path(file).read_text("utf-8"))
        runs[run["about"]["device"]] = run
    return dict(sorted(runs.items()))


def draw(runs: dict[str, dict[str, Any]], folder: Path, kind: str = "svg") -> dict[str, Path]:
    """Draw a picture a family, a row of panels a device; return the files, by family."""
    import matplotlib

    matplotlib.use("svg" if kind == "svg" else "agg")
    import matplotlib.pyplot as plt

    Path(folder).mkdir(parents=True, exist_ok=True)
    files = {}
    with plt.rc_context({"svg.hashsalt": "featly", "font.size": 9}):
        for name, family in FAMILIES.items():
            names_by_device = {
                d: names for d, run in runs.items() if (names := family_names(run).get(name))
            }
            if names_by_device:
                file = Path(folder) / f"scale-{name}.{kind}"
                figure = _draw_family(family, names_by_device, runs)
                options = {"metadata": {"Date": None}} if kind == "svg" else {"dpi": 110}
                figure.savefig(file, bbox_inches="tight", **options)
                plt.close(figure)
                files[name] = file
    return files


def label_of(run: dict[str, Any]) -> str:
    """Return the machine that a run was made on, in words."""
    machine = run["about"]["machine"]
    if run["about"]["device"] == "cuda":
        return machine["gpu"]
    return f"{machine['cores']} cores of {machine['cpu']}"


def _draw_family(
    family: Family, names_by_device: dict[str, list[str]], runs: dict[str, Any]
) -> Any:
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(
        len(names_by_device),
        3,
        figsize=(11, 0.4 + 3.7 * len(names_by_device)),
        squeeze=False,
        sharex="col",
        sharey="col",
        layout="constrained",
    )
    all_names = list(dict.fromkeys(name for names in names_by_device.values() for name in names))
    styles = {
        name: {"color": COLOURS[k % 8], "marker": MARKS[k % 8]} for k, name in enumerate(all_names)
    }
    for row, (device, names) in enumerate(names_by_device.items()):
        axes = grid[row]
        for axis, (over, quantity, title) in zip(axes, PANELS, strict=True):
            _draw_panel(axis, runs[device], family, names, styles, over, quantity)
            axis.set_ylabel(title)
            if row == len(names_by_device) - 1:
                axis.set_xlabel("columns" if over == "p" else "rows")
        fixed = _fixed_sizes(runs[device], names)
        axes[0].set_title(f"{label_of(runs[device])}: {fixed['p']} rows", loc="left", fontsize=9)
        axes[1].set_title(f"{fixed['n']} columns", loc="left", fontsize=9)
        axes[2].set_title(f"{fixed['p']} rows", loc="left", fontsize=9)
    figure.suptitle(family.title, x=0.01, ha="left", fontsize=11)
    return figure


def _fixed_sizes(run: dict[str, Any], names: Sequence[str]) -> dict[str, str]:
    """Return the rows while columns grow, and the columns while rows grow."""
    sizes_by_axis = {}
    for axis, other in (("p", "n"), ("n", "p")):
        sizes = sorted({q[other] for name in names for q in points_of(run, name, axis)})
        sizes_by_axis[axis] = " or ".join(f"{size:,}" for size in sizes) or "no"
    return sizes_by_axis


def _draw_panel(
    axis: Any,
    run: dict[str, Any],
    family: Family,
    names: Sequence[str],
    styles: dict[str, dict[str, str]],
    over: str,
    quantity: str,
) -> None:
    from matplotlib.ticker import NullFormatter

    for name in names:
        points = points_of(run, name, over)
        x = [point[over] for point in points]
        if quantity == "seconds":
            y = [point["seconds"] for point in points]
        else:
            y = [max(point["memory"] / 1e6, LEAST_MEMORY) for point in points]
        steep = slope(x, y) if quantity == "seconds" else None
        label = f"{name} {steep}" if steep else name
        axis.plot(x, y, label=label, lw=1.1, ms=3.5, mew=0, **styles[name])
    most = _longest_points(run, names, over)
    if quantity == "seconds" and most:
        floor = [floor_of(run, family, point) for point in most]
        axis.plot([q[over] for q in most], floor, "--", color=GREY, lw=1.3, label="floor")
    elif most:
        table = [max(point["table"] / 1e6, LEAST_MEMORY) for point in most]
        axis.plot([q[over] for q in most], table, ":", color=GREY, lw=1.3, label="the table")
    axis.set_xscale("log")
    axis.set_yscale("log")
    for side in (axis.xaxis, axis.yaxis):  # over a short range all marks have names, in a heap
        side.set_minor_formatter(NullFormatter())
    axis.grid(True, which="major", lw=0.3, color="#cccccc")
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelbottom=True, labelleft=True)
    if quantity == "seconds":
        # below, where it hides no floor
        axis.legend(
            fontsize=6.5, frameon=False, handlelength=1.6, labelspacing=0.25, columnspacing=1.0,
            ncol=2, loc="upper center", bbox_to_anchor=(0.5, -0.2),
        )  # fmt: skip
    elif most:
        handles, labels = axis.get_legend_handles_labels()
        axis.legend(handles[-1:], labels[-1:], fontsize=6.5, frameon=False)


def _longest_points(run: dict[str, Any], names: Sequence[str], over: str) -> list[dict[str, Any]]:
    """Return the points of the method that came farthest: the floor is drawn along them."""
    every = [points_of(run, name, over) for name in names]
    return max(every, key=lambda points: points[-1][over] if points else 0, default=[])
