"""Pictures of results, drawn with matplotlib, which is an extra.

Every function takes ``ax=None``, draws there or in a new figure whose size fits its content, and
returns the axes. No function opens a window or changes matplotlib's settings; ``ax.figure.savefig``
saves a picture. Colours are those of Okabe and Ito, which colour-blind people can tell apart;
markers, hatching or words always repeat what a colour says.
"""

from featly.plots.column import plot_column
from featly.plots.cost_front import plot_cost_front
from featly.plots.critical_difference import plot_critical_difference
from featly.plots.curves import plot_curves
from featly.plots.frequencies import plot_frequencies
from featly.plots.overlap import plot_overlap
from featly.plots.pairs import plot_pairs
from featly.plots.path import plot_path
from featly.plots.prior import plot_prior
from featly.plots.ranking import plot_ranking
from featly.plots.redundancy import plot_redundancy
from featly.plots.scatter import plot_scatter

__all__ = [
    "plot_column",
    "plot_cost_front",
    "plot_critical_difference",
    "plot_curves",
    "plot_frequencies",
    "plot_overlap",
    "plot_pairs",
    "plot_path",
    "plot_prior",
    "plot_ranking",
    "plot_redundancy",
    "plot_scatter",
]
