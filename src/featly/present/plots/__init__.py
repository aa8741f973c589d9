"""Pictures of what was found, drawn with matplotlib, which is an extra.

Every function takes ``ax=None``, draws there or in a new figure whose size fits what it shows, and
returns the axes. None shows anything or changes matplotlib's settings; ``ax.figure.savefig`` saves
a picture. Colours are those of Okabe and Ito, which people who see fewer colours tell apart, and
no colour stands alone: markers, hatching or words say the same.
"""

from featly.present.plots.column import plot_column
from featly.present.plots.cost_front import plot_cost_front
from featly.present.plots.critical_difference import plot_critical_difference
from featly.present.plots.curves import plot_curves
from featly.present.plots.frequencies import plot_frequencies
from featly.present.plots.overlap import plot_overlap
from featly.present.plots.pairs import plot_pairs
from featly.present.plots.path import plot_path
from featly.present.plots.prior import plot_prior
from featly.present.plots.ranking import plot_ranking
from featly.present.plots.redundancy import plot_redundancy
from featly.present.plots.scatter import plot_scatter

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
