"""Uses of public names whose types ``make lint`` checks by mypy and basedpyright; never run.

An ignored error that is none any more is an error itself, so a name that became Any is noticed.
"""

from collections.abc import Callable
from typing import assert_type

import featly
from featly import MDLP, SVMRFE, FTest, Schema, Study, TableFile, read_table, scan
from featly.base import Ranker, SubsetSelector
from featly.elimination.svm_rfe import SVMRFE as DefinedSVMRFE  # noqa: N811
from featly.filters.f_test import FTest as DefinedFTest
from featly.io.stores import StoredTable

ranker = SVMRFE(n_features_to_select=2, C=1.0, schema=Schema(keep=["age"]))
assert_type(ranker, DefinedSVMRFE)
assert_type(ranker.fit([[0.0], [1.0]], [0, 1]), DefinedSVMRFE)
assert_type(featly.FTest(), DefinedFTest)
FTest().fit([[0.0], [1.0]], [0, 1]).p_value_.min()  # a method may add attributes
a_ranker: Ranker = FTest()
a_selector: SubsetSelector = featly.CFS()
assert_type(read_table("a.csv", target="ill"), TableFile)
assert_type(scan("a.npy"), StoredTable)
assert_type(featly.__version__, str)
an_error: type[ValueError] = featly.DataError
a_study: type[Study] = featly.Study
a_function: Callable[..., object] = featly.plot_curves
a_discretizer = MDLP(encoding="distinct")

SVMRFE(nfeatures=2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
SVMRFE(C="much")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
FTest().fit()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
read_table("a.csv", traget="ill")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
_ = featly.SVMRFF  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
