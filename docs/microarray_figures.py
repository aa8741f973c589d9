"""The figure of the studies of microarrays, drawn from committed results."""

import json
from pathlib import Path

COLOURS = {
    "Brain (substitute)": "#999999",
    "CNS": "#d55e00",
    "Colon": "#0072b2",
    "DLBCL": "#009e73",
}
STUDY = "microarray-dobscv"


def draw_microarray(root, folder, save):
    """Draw the figures of each study; `save` takes figure, folder and name, returns a file name."""
    file = Path(root) / "studies" / "results" / f"{STUDY}.json"
    if not file.exists():
        return {}
    pairs = json.loads(file.read_text("utf-8"))["pairs"]
    return {STUDY: [save(_deals(pairs), folder, f"{STUDY}-deals")]}


def _deals(pairs):
    """Accuracy in plain folds against that in DOB-SCV folds: as printed, and ours."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(pairs), figsize=(3.3 * len(pairs), 6.2), squeeze=False,
                                sharex=True, sharey=True)  # fmt: skip
    for column, (learner, sets) in enumerate(pairs.items()):
        for row, (caption, at) in enumerate((("printed, one deal", 0), ("ours, mean of deals", 2))):
            axis = axes[row][column]
            axis.plot([0.15, 1], [0.15, 1], color="#cccccc", lw=1, zorder=0)
            for name, points in sets.items():
                axis.scatter([p[at] for p in points], [p[at + 1] for p in points], s=14,
                             color=COLOURS[name], label=name)  # fmt: skip
            axis.set_title(f"{learner}, {caption}")
            if row:
                axis.set_xlabel("accuracy, five folds")
        axes[0][column].set_xlim(0.15, 1.02)
        axes[0][column].set_ylim(0.15, 1.02)
    for row in axes:
        row[0].set_ylabel("accuracy, five DOB-SCV folds")
    axes[0][0].legend(fontsize=7, loc="upper left")
    figure.tight_layout()
    return figure
