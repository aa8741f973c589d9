"""One small report, made once in a process."""

import pytest

import featly
from featly.datasets import make_cohort


@pytest.fixture(scope="session")
def cohort():
    return make_cohort(n_patients=90, n_genes=40)


@pytest.fixture(scope="session")
def cohort_report(cohort):
    """A report of mixed columns with missing values: two methods, and no selection."""
    return featly.report(
        cohort, methods=["univariate-test", "jmi"], splits=5, rule=6, sizes=[1, 6, 20], n_shown=15,
        null=19,
    )  # fmt: skip


@pytest.fixture(scope="session")
def page(cohort_report):
    return cohort_report.html()
