"""Names of featly for type checkers: at run time each is imported when it is used.

Nothing is written here by hand: ``python -m tests.repo.public_names`` writes it anew.
"""

from featly.basics.errors import ConvergenceWarning as ConvergenceWarning
from featly.basics.errors import DataError as DataError
from featly.basics.errors import DeviceError as DeviceError
from featly.basics.errors import LeakWarning as LeakWarning
from featly.basics.errors import MethodWarning as MethodWarning
from featly.basics.errors import NoEvidenceWarning as NoEvidenceWarning
from featly.basics.errors import ParameterError as ParameterError
from featly.basics.errors import SchemaError as SchemaError
from featly.basics.errors import SchemaWarning as SchemaWarning
from featly.basics.errors import SlowWarning as SlowWarning
from featly.basics.errors import StudyError as StudyError
from featly.combine.decoding import DecodedClassifier as DecodedClassifier
from featly.combine.rankings import combine_rankings as combine_rankings
from featly.diagnostics.alarms import Finding as Finding
from featly.diagnostics.alarms import Findings as Findings
from featly.diagnostics.alarms import check_table as check_table
from featly.diagnostics.redundancy import redundancy as redundancy
from featly.diagnostics.redundancy_result import Redundancy as Redundancy
from featly.elimination.mkl_rfe import MKLRFE as MKLRFE
from featly.elimination.multiclass_svm_rfe import MulticlassSVMRFE as MulticlassSVMRFE
from featly.elimination.svm_rfe import SVMRFE as SVMRFE
from featly.embedded.arom import AROM as AROM
from featly.embedded.forest_ranker import ForestRanker as ForestRanker
from featly.embedded.perceptron_ranker import PerceptronRanker as PerceptronRanker
from featly.embedded.ridge_ranker import RidgeRanker as RidgeRanker
from featly.ensembles.pairwise import PairwiseRanker as PairwiseRanker
from featly.filters.cfs import CFS as CFS
from featly.filters.chi_squared import ChiSquared as ChiSquared
from featly.filters.cmi import CMI as CMI
from featly.filters.cmim import CMIM as CMIM
from featly.filters.consistency import Consistency as Consistency
from featly.filters.disr import DISR as DISR
from featly.filters.f_test import FTest as FTest
from featly.filters.fcbf import FCBF as FCBF
from featly.filters.gain_ratio import GainRatio as GainRatio
from featly.filters.gini_index import GiniIndex as GiniIndex
from featly.filters.icap import ICAP as ICAP
from featly.filters.information_criterion import InformationCriterion as InformationCriterion
from featly.filters.information_gain import InformationGain as InformationGain
from featly.filters.interact import Interact as Interact
from featly.filters.jmi import JMI as JMI
from featly.filters.jmim import JMIM as JMIM
from featly.filters.mifs import MIFS as MIFS
from featly.filters.mim import MIM as MIM
from featly.filters.monotone_dependence import MonotoneDependence as MonotoneDependence
from featly.filters.mrmr import MRMR as MRMR
from featly.filters.multisurf import MultiSURF as MultiSURF
from featly.filters.redundancy_filter import RedundancyFilter as RedundancyFilter
from featly.filters.relief import Relief as Relief
from featly.filters.relieff import ReliefF as ReliefF
from featly.filters.signal_to_noise import SignalToNoise as SignalToNoise
from featly.filters.symmetric_uncertainty import SymmetricUncertainty as SymmetricUncertainty
from featly.filters.univariate_test import UnivariateTest as UnivariateTest
from featly.io import TableFile as TableFile
from featly.io import read_table as read_table
from featly.io.stores import StoredTable as StoredTable
from featly.plots import plot_column as plot_column
from featly.plots import plot_cost_front as plot_cost_front
from featly.plots import plot_critical_difference as plot_critical_difference
from featly.plots import plot_curves as plot_curves
from featly.plots import plot_frequencies as plot_frequencies
from featly.plots import plot_overlap as plot_overlap
from featly.plots import plot_pairs as plot_pairs
from featly.plots import plot_path as plot_path
from featly.plots import plot_prior as plot_prior
from featly.plots import plot_ranking as plot_ranking
from featly.plots import plot_redundancy as plot_redundancy
from featly.plots import plot_scatter as plot_scatter
from featly.plots.tree_plots import plot_tree as plot_tree
from featly.preprocessing import EqualFrequency as EqualFrequency
from featly.preprocessing import EqualWidth as EqualWidth
from featly.preprocessing import MDLP as MDLP
from featly.preprocessing import PKID as PKID
from featly.preprocessing import SSVEncoder as SSVEncoder
from featly.problem.scan import scan as scan
from featly.reports.build import report as report
from featly.study import Study as Study
from featly.study.advise import advise as advise
from featly.table.schema import Schema as Schema
from featly.table.schema import SchemaReport as SchemaReport
from featly.wrappers.hybrid_forward import HybridForward as HybridForward
from featly.wrappers.wrapper import Wrapper as Wrapper

__version__: str

__all__ = [
    "AROM",
    "CFS",
    "CMI",
    "CMIM",
    "ChiSquared",
    "Consistency",
    "ConvergenceWarning",
    "DISR",
    "DataError",
    "DecodedClassifier",
    "DeviceError",
    "EqualFrequency",
    "EqualWidth",
    "FCBF",
    "FTest",
    "Finding",
    "Findings",
    "ForestRanker",
    "GainRatio",
    "GiniIndex",
    "HybridForward",
    "ICAP",
    "InformationCriterion",
    "InformationGain",
    "Interact",
    "JMI",
    "JMIM",
    "LeakWarning",
    "MDLP",
    "MIFS",
    "MIM",
    "MKLRFE",
    "MRMR",
    "MethodWarning",
    "MonotoneDependence",
    "MultiSURF",
    "MulticlassSVMRFE",
    "NoEvidenceWarning",
    "PKID",
    "PairwiseRanker",
    "ParameterError",
    "PerceptronRanker",
    "Redundancy",
    "RedundancyFilter",
    "Relief",
    "ReliefF",
    "RidgeRanker",
    "SSVEncoder",
    "SVMRFE",
    "Schema",
    "SchemaError",
    "SchemaReport",
    "SchemaWarning",
    "SignalToNoise",
    "SlowWarning",
    "StoredTable",
    "Study",
    "StudyError",
    "SymmetricUncertainty",
    "TableFile",
    "UnivariateTest",
    "Wrapper",
    "advise",
    "check_table",
    "combine_rankings",
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
    "plot_tree",
    "read_table",
    "redundancy",
    "report",
    "scan",
]
