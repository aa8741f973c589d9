"""Figures of the studies of KDD Cup 99, drawn from committed results."""

import json
from pathlib import Path

COLOURS = {
    "C4.5(0.25)": "#0072b2",
    "C4.5(0.50)": "#56b4e9",
    "NB": "#cc79a7",
    "One-layer": "#009e73",
    "PSVM": "#e69f00",
    "MLP": "#d55e00",
}
SIZES = {"C4.5(0.25)": 7, "One-layer": 7}  # where two learners agree, the one below shows
TICKS = (0.5, 1, 2, 5, 10, 20)
RULES = ("sum", "sum-threshold", "loss", "hamming", "probability-sum")
CLASSES = ("Normal", "DoS", "Probe", "R2L", "U2R")


def draw_intrusion(root, folder, save):
    """Draw the figures of each study; `save` takes figure, folder and name, returns a file name."""
    files = {}
    for study, draw in (("intrusion", _binary), ("intrusion-five", _five)):
        file = Path(root) / "studies" / "results" / f"{study}.json"
        if file.exists():
            figures = draw(json.loads(file.read_text("utf-8")))
            files[study] = [
                save(figure, folder, f"{study}-{name}") for name, figure in figures.items()
            ]
    return files


# ---- normal or attack ----------------------------------------------------------------------------
def _binary(results):
    """True and false positives of every combination, and how far the printed ones are from ours."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharex=True, sharey=True)
    titles = ("learnt from cut columns", "learnt from the chosen columns as they were")
    for axis, title, original in zip(axes, titles, (False, True), strict=True):
        for name, point in results["points"].items():
            if name.endswith("original columns") != original or "none" in name:
                continue
            learner = _learner(name)
            mark = {"C4.5(0.25)": "D", "One-layer": "s"}.get(learner, "o")
            axis.plot(point["FP"], point["TP"], mark, ms=SIZES.get(learner, 5), mew=0,
                      alpha=0.75, color=COLOURS[learner])  # fmt: skip
        axis.plot(results["winner"]["FP"], results["winner"]["TP"], "k*", ms=11)
        axis.annotate("winner", (results["winner"]["FP"], results["winner"]["TP"]),
                      textcoords="offset points", xytext=(4, 6), fontsize=8)  # fmt: skip
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("normal rows taken for attacks, %")
        axis.set_xscale("log")
        axis.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axis.minorticks_off()
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("attacks found, %")
    for name, printed in results["printed"].items():
        ours, colour = results["points"][name], COLOURS[_learner(name)]
        axes[0].plot([printed["FP"], ours["FP"]], [printed["TP"], ours["TP"]], lw=0.8, color=colour)
        axes[0].plot(printed["FP"], printed["TP"], "o", ms=10, mfc="none", color=colour)
    handles = [plt.Line2D([], [], marker="o", ls="", color=c, label=n) for n, c in COLOURS.items()]
    ring = {"marker": "o", "ms": 9, "ls": "", "mfc": "none", "color": "k"}
    handles.append(plt.Line2D([], [], label="printed", **ring))
    axes[1].legend(handles=handles, frameon=False, fontsize=8, loc="center left",
                   bbox_to_anchor=(1.0, 0.5))  # fmt: skip
    figure.suptitle("Tables 5.5 and 5.6: each combination of discretiser, filter and learner",
                    x=0.08, ha="left", fontsize=10)  # fmt: skip
    return {"rates": figure}


def _learner(name):
    return name.split(",")[0].split("+")[2].split(" ")[0]


# ---- five classes --------------------------------------------------------------------------------
def _five(results):
    return {"scores": _scores(results), "detection": _detection(results)}


def _scores(results):
    """Cost scores of pairs and of one against the rest by decoding, against the winner's."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True)
    for axis, code in zip(axes, ("OvO", "OvR"), strict=True):
        for name, scores in results["scores"].items():
            if not name.endswith(f" {code}"):
                continue
            colour = COLOURS[_learner(name)]
            axis.plot(range(len(RULES)), [scores[rule][0] for rule in RULES], "o-", ms=3.5,
                      lw=0.8, alpha=0.75, color=colour)  # fmt: skip
        for key, printed in results["printed_scores"].items():
            fit, rule = key.split("|")
            if fit.endswith(f" {code}"):
                axis.plot(RULES.index(rule), printed, "D", ms=6, mfc="white", color="k")
        axis.axhline(results["winning_score"], color="grey", ls=":", lw=1)
        axis.text(len(RULES) - 0.6, results["winning_score"], "winner", fontsize=7, va="bottom",
                  ha="right", color="grey")  # fmt: skip
        axis.set_xticks(range(len(RULES)), RULES, rotation=20, fontsize=8)
        words = "each pair of classes" if code == "OvO" else "each class against the rest"
        axis.set_title(words, fontsize=9)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("mean cost of a test row")
    used = ("C4.5(0.25)", "C4.5(0.50)", "NB")
    handles = [
        plt.Line2D([], [], marker="o", color=COLOURS[name], lw=0.8, ms=4, label=name)
        for name in used
    ]
    handles.append(plt.Line2D([], [], marker="D", ls="", mfc="white", color="k", label="printed"))
    axes[1].legend(handles=handles, frameon=False, fontsize=8, loc="center left",
                   bbox_to_anchor=(1.0, 0.5))  # fmt: skip
    figure.suptitle("Table 5.8: columns cut and chosen in each problem, a line a combination",
                    x=0.08, y=1.02, ha="left", fontsize=10)  # fmt: skip
    return figure


def _detection(results):
    """Table 5.9: what was printed and ours, class by class."""
    import matplotlib.pyplot as plt

    rows = results["detections"]
    figure, axes = plt.subplots(1, len(CLASSES), figsize=(11, 2.9), sharey=True)
    for axis, name in zip(axes, CLASSES, strict=True):
        for k, rates in enumerate(rows.values()):
            low, high = rates["interval"][name]
            axis.plot([low, high], [-k, -k], color="#0072b2", lw=2, alpha=0.5)
            axis.plot(rates["ours"][name], -k, "o", ms=5, color="#0072b2", label="ours")
            axis.plot(rates["printed"][name], -k, "D", ms=5, mfc="white", color="k",
                      label="printed")  # fmt: skip
        axis.axvline(results["winner"][name], color="grey", ls=":", lw=1)
        axis.set_title(name, fontsize=9)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks([-k for k in range(len(rows))], list(rows), fontsize=8)
    handles, labels = axes[-1].get_legend_handles_labels()
    axes[-1].legend(handles[:2], labels[:2], frameon=False, fontsize=8, loc="center left",
                    bbox_to_anchor=(1.0, 0.5))  # fmt: skip
    figure.suptitle("Table 5.9: percentage of each class that is found; dotted: the winner",
                    x=0.08, y=1.04, ha="left", fontsize=10)  # fmt: skip
    return figure
