"""The page on scale: tables and pictures from the committed runs of ``benchmarks.scale``."""

import json
import sys
from pathlib import Path

from markdown_tables import safe, table

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.scale.families import FAMILIES  # noqa: E402
from benchmarks.scale.plots import draw, label_of, load_runs  # noqa: E402
from benchmarks.scale.slopes import family_names, rows  # noqa: E402

DEVICES = {"cpu": "CPU", "cuda": "GPU"}
HEAD = (
    "method", "", "time grows with p", "with n", "largest table, n x p", "seconds",
    "times the floor", "memory over the table", "accuracy",
)  # fmt: skip
RATES = {
    "bandwidth": ("bandwidth", 1e9, "GB/s"),
    "products": ("float64 products of matrices", 1e9, "Gflop/s"),
    "coarse": ("products in float32, on a GPU in float16", 1e9, "Gflop/s"),
    "additions": ("float64 additions", 1e9, "G/s"),
    "popcounts": ("words of 64 bits joined and counted", 1e9, "G/s"),
}
NOTHING = "No run has been committed yet.\n"


def write_scale(app):
    """Write what the page includes, from the committed results."""
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    results = Path(app.srcdir).parent / "benchmarks" / "scale" / "results"
    runs = load_runs([file for name in DEVICES if (file := results / f"{name}.json").exists()])
    for old in folder.glob("scale-*.svg"):
        old.unlink()
    figures = {name: file.name for name, file in draw(runs, folder).items()} if runs else {}
    texts = {
        "scale": families(runs, figures),
        "scale_rates": rates(runs),
        "scale_must": large_tables(results),
    }
    for name, text in texts.items():
        (folder / f"{name}.inc").write_text(text, encoding="utf-8")


# ---- families ------------------------------------------------------------------------------------
def families(runs, figures=()):
    """Return a section a family: the floor, the picture, a row a method and device."""
    parts = []
    for name, family in FAMILIES.items():
        device_rows = [
            (device, row)
            for device, run in runs.items()
            for row in rows(run, family_names(run).get(name, ()))
        ]
        if not device_rows:
            continue
        methods = list(dict.fromkeys(row["method"] for _, row in device_rows))
        device_rows.sort(key=lambda pair: methods.index(pair[1]["method"]))
        parts.append(f"### {family.title}\n\nFloor: {safe(family.floor)}.\n")
        if name in figures:
            parts.append(f"![](/generated/{figures[name]})\n")
        parts.append(table(HEAD, [_row(device, row) for device, row in device_rows]))
    return "\n".join(parts) + "\n" + _list_unmeasured(runs) if parts else NOTHING


def _row(device, row):
    point = row["largest_p"] or row["largest_n"]
    axis = "p" if row["largest_p"] else "n"
    return (
        f"`{row['method']}`",
        DEVICES[device],
        str(row["slope_p"] or "too few points"),
        str(row["slope_n"] or "too few points"),
        f"{point['n']:,} x {point['p']:,}",
        f"{point['seconds']:.2g}",
        _format_ratio(row[f"ratio_{axis}"]),
        _format_bytes(point["memory"]),
        f"{point['accuracy']:.2f}",
    )


def _format_ratio(ratio):
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:,.0f}"


def _format_bytes(count):
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return (
                f"{count / size:.2g} {unit}" if count < 10 * size else f"{count / size:.0f} {unit}"
            )
    return "under 1 MB"


def _list_unmeasured(runs):
    """List methods not measured on a device, and grids that did not come to their end."""
    lines = []
    for device, run in runs.items():
        skipped = [name for name, known in run["methods"].items() if "skipped" in known]
        if skipped:
            names = ", ".join(f"`{name}`" for name in skipped)
            lines.append(f"- {DEVICES[device]}: computed on the CPU only: {names}.")
        short = [
            f"`{name}` ({', '.join(axes)})"
            for name, known in run["methods"].items()
            if (axes := [axis for axis in ("p", "n") if _is_short(known, axis)])
        ]
        if short:
            budget = run["about"]["budget"]
            lines.append(
                f"- {DEVICES[device]}: grids that the budget of {budget:g} s a method ended, and "
                f"not the size of a table, 1 GB (GPU: 10 GB): {', '.join(short)}."
            )
        failed = [
            f"`{name}` ({axis}: {safe(state['why'])})"
            for name, known in run["methods"].items()
            for axis, state in known.get("axes", {}).items()
            if state.get("failed")
        ]
        if failed:
            lines.append(
                f"- {DEVICES[device]}: grids that ended with an error: {', '.join(failed)}."
            )
    return "### What was not measured\n\n" + "\n".join(lines) + "\n" if lines else ""


def _is_short(known, axis):
    state = known.get("axes", {}).get(axis, {})
    return "would take" in state.get("why", "")


# ---- rates of the machines -----------------------------------------------------------------------
def rates(runs):
    """Return the table of measured rates that floors are made of, and what measured them."""
    if not runs:
        return NOTHING
    head = ("", *(label_of(run) for run in runs.values()))
    lines = [
        (words, *(_rate(run, name, size, unit) for run in runs.values()))
        for name, (words, size, unit) in RATES.items()
    ]
    provenance = [
        f"{DEVICES[device]}: {run['about']['date']}, {_versions(run)}."
        for device, run in runs.items()
    ]
    return table(head, lines) + "\n" + " ".join(provenance) + "\n"


def _rate(run, name, size, unit):
    rate = run["about"]["rates"].get(name)
    return f"{rate / size:,.0f} {unit}" if rate else ""


def _versions(run):
    return ", ".join(f"{name} {number}" for name, number in run["about"]["versions"].items())


# ---- tables on disk and on a GPU -----------------------------------------------------------------
def large_tables(results):
    """Return tables of large files on a CPU, and of tables on a GPU, where they were run."""
    parts = []
    large, gpu = results / "large.json", results / "gpu.json"
    if large.exists():
        content = json.loads(large.read_text("utf-8"))
        lines = [
            (safe(row["problem"]), safe(row["tool"]), f"{row['seconds']:.3g}", safe(row["note"]))
            for row in content["rows"]
        ]
        cores = content["environment"]["cores"]
        parts += [f"From files, on {cores} cores:\n", table(("", "", "seconds", ""), lines)]
    if gpu.exists():
        content = json.loads(gpu.read_text("utf-8"))
        lines = [
            (
                safe(row["figure"]),
                f"{row['asked']:g}" if row["asked"] is not None else "",
                f"{row['seconds']:.3g}" if row["seconds"] is not None else "failed",
                f"{row['fraction']:.0%}" if row["fraction"] is not None else "",
                safe(row["peak"]),
                safe(row["note"]),
            )
            for row in content["figures"]
        ]
        head = ("", "aim, s", "seconds", "of peak", "the peak", "")
        parts += [f"On {safe(content['machine']['gpu'])}:\n", table(head, lines)]
    return "\n".join(parts) if parts else NOTHING
