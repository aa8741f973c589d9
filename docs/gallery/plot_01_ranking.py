"""
The best columns of a ranking
=============================

Bars are the scores of a method, best first. Colour and hatching show the kind of a column; filled
bars are selected, hollow ones are not. A steep fall means that few columns carry the signal of this
method, a long plateau that it can hardly order them.
"""

from featly import MIM
from featly.datasets import make_cohort
from featly.plots import plot_ranking

cohort = make_cohort(n_patients=150, n_genes=200)
ranker = MIM(n_features_to_select=10, schema=cohort.schema).fit(cohort.X, cohort.y)
ax = plot_ranking(ranker, n_features=20)

# %%
# The truth is known here. A score is not a proof: some of the best columns are copies of a cause,
# and noise stands among the rest.
causal = cohort.truth.filter(cohort.truth["role"] == "causal")
print(", ".join(causal["column"]))
