"""Honest evaluation: methods judged on rows that their selection never saw.

Examples
--------
>>> from featly.datasets import make_cohort
>>> from featly.study import Study, Subsampling
>>> cohort = make_cohort(n_patients=60, n_genes=100, missing_rate=0.0)
>>> study = Study("svm-rfe", cohort, splits=Subsampling(10), sizes=[5, 20]).run()
>>> study.curves().select("size", "n").rows()
[(5, 10), (20, 10)]
"""

from featly.study.advise.advice import Advice, advise
from featly.study.comparison import Comparison
from featly.study.dataset import Dataset
from featly.study.halves import HalfStability, half_stability
from featly.study.nested import NestedStoppedError, nested
from featly.study.nested_estimate import NestedEstimate
from featly.study.nested_result import Nested
from featly.study.plan import Study
from featly.study.plan_files import read_dataset, read_plan
from featly.study.predictability import Predictability, predictability
from featly.study.prior_report import PriorReport, prior_report
from featly.study.results import Results
from featly.study.splits import (
    Bootstrap,
    DistributionBalancedKFold,
    Holdout,
    KFold,
    LeaveOneOut,
    Split,
    Subsampling,
)
from featly.study.tuning import Tuned
from featly.study.verdicts import Claim, Finding, Verdict, Verdicts

__all__ = [
    "Advice",
    "Bootstrap",
    "Claim",
    "Comparison",
    "Dataset",
    "DistributionBalancedKFold",
    "Finding",
    "HalfStability",
    "Holdout",
    "KFold",
    "LeaveOneOut",
    "Nested",
    "NestedEstimate",
    "NestedStoppedError",
    "Predictability",
    "PriorReport",
    "Results",
    "Split",
    "Study",
    "Subsampling",
    "Tuned",
    "Verdict",
    "Verdicts",
    "advise",
    "half_stability",
    "nested",
    "predictability",
    "prior_report",
    "read_dataset",
    "read_plan",
]
