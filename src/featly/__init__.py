"""featly tells what each column of a table is worth, and how sure one can be."""

from importlib import import_module
from typing import Any

from featly.registry import METHODS

__version__ = "0.1.0"

_MODULES = {
    "Schema": "featly.table.schema",
    "SchemaReport": "featly.table.schema",
    "TableFile": "featly.io",
    "read_table": "featly.io",
    "StoredTable": "featly.io.stores",
    "scan": "featly.problem.scan",
    "DataError": "featly.basics.errors",
    "DeviceError": "featly.basics.errors",
    "SchemaError": "featly.basics.errors",
    "ParameterError": "featly.basics.errors",
    "SchemaWarning": "featly.basics.errors",
    "ConvergenceWarning": "featly.basics.errors",
    "LeakWarning": "featly.basics.errors",
    "MethodWarning": "featly.basics.errors",
    "NoEvidenceWarning": "featly.basics.errors",
    "SlowWarning": "featly.basics.errors",
    "StudyError": "featly.basics.errors",
    "Study": "featly.study",
    "DecodedClassifier": "featly.combine.decoding",
    "combine_rankings": "featly.combine.rankings",
    "advise": "featly.study.advise",
    "report": "featly.reports.build",
    "Redundancy": "featly.diagnostics.redundancy_result",
    "redundancy": "featly.diagnostics.redundancy",
    "check_table": "featly.diagnostics.alarms",
    "Finding": "featly.diagnostics.alarms",
    "Findings": "featly.diagnostics.alarms",
    **dict.fromkeys(
        (
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
        ),
        "featly.plots",
    ),
    "plot_tree": "featly.plots.tree_plots",
    **dict.fromkeys(
        ("MDLP", "PKID", "EqualWidth", "EqualFrequency", "SSVEncoder"), "featly.preprocessing"
    ),
    **{method.class_name: method.path.partition(":")[0] for method in METHODS.values()},
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'featly' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
