"""Checks that every method of featly passes, and that methods of others can be put to.

Examples
--------
>>> from featly import FTest
>>> from featly.testing import check_method, method_checks
>>> checks = dict(method_checks(FTest()))
>>> checks["permuted_rows"](FTest())

``check_method(FTest())`` runs all of them, and scikit-learn's own.
"""

from featly.testing.checks import CHECKS, check_method, method_checks

__all__ = ["CHECKS", "check_method", "method_checks"]
