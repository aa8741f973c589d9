"""The base of a report: the table, the study, and the methods fitted to all rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from featly.basics.privacy import pool_classes
from featly.basics.typing import BoolArray, IntArray
from featly.reports.inference import Inference
from featly.study import Dataset, Results, Study
from featly.table.schema import Schema

__all__ = ["Evidence", "order_of"]


@dataclass(eq=False)
class Evidence:
    """Table, study and fitted methods that a report is made from.

    Attributes
    ----------
    table : data frame, array or sparse matrix
        The columns to select from, as the user has them.
    data : Dataset
    schema : Schema
    names : list of str
    study : Study
    results : Results
    fitted : dict
        Methods fitted to all rows, by name; those that are not of the study were not judged.
    main : str
        The method that makes the signature.
    metric : str
    rule : str or int
    size : int
        The number of columns that the rule chooses for it.
    inference : Inference
    advice : Advice or None
    prior : PriorReport or None
    individuals : bool
    n_shown : int
    warnings : list of str
        Warnings of the study and the fits.
    seed : int
    null : int or None
        The shuffles that were asked for.
    n_jobs : int or None
    """

    table: Any
    data: Dataset
    schema: Schema
    names: list[str]
    study: Study
    results: Results
    fitted: dict[str, Any]
    main: str
    metric: str
    rule: str | int
    size: int
    inference: Inference
    advice: Any
    prior: Any
    individuals: bool
    n_shown: int
    warnings: list[str]
    seed: int = 0
    null: int | None = None
    n_jobs: int | None = None

    @property
    def classes(self) -> list[str]:
        """Labels as text, in order."""
        return [str(label) for label in self.data.classes.tolist()]

    @cached_property
    def shown_classes(self) -> tuple[IntArray, list[str]]:
        """The class of every row, and labels; without individuals, small classes are pooled."""
        codes = np.asarray(self.data.codes, np.int64)
        return (codes, self.classes) if self.individuals else pool_classes(codes, self.classes)

    @property
    def pools_classes(self) -> bool:
        """Return whether classes are too small to be shown."""
        return len(self.shown_classes[1]) < len(self.classes)

    @property
    def learner(self) -> str:
        """The learner that judges; the first of several."""
        return next(iter(self.study.learners))

    @property
    def fitted_main(self) -> Any:
        """The method that makes the signature, fitted to all rows."""
        return self.fitted[self.main]

    @property
    def kinds_of_table(self) -> Schema:
        """Kinds in the schema, for the table as the user has it."""
        schema = self.schema
        return Schema(
            categorical=schema.categorical, ordinal=schema.ordinal, continuous=schema.continuous
        )

    def kinds_of_data(self, positions: Sequence[int] | None = None) -> Schema:
        """Return a schema with the ordinal columns of `data`, or of some of its columns."""
        ordinal = set() if self.data.schema is None else {int(c) for c in self.data.schema.ordinal}
        columns = range(self.data.n_features) if positions is None else positions
        return Schema(
            ordinal=[k for k, c in enumerate(columns) if c in ordinal], target_kind="classes"
        )

    @cached_property
    def order(self) -> IntArray:
        """Columns ranked by the method on all rows, best first; all, or those it chose."""
        return order_of(self.fitted_main)

    @cached_property
    def signature_columns(self) -> IntArray:
        """The signature, by position."""
        return self.signature_of(self.main, self.size)

    def signature_of(self, method: str, size: int) -> IntArray:
        """Return the best columns of a method, or all that it chose itself."""
        order = order_of(self.fitted[method])
        return order if len(order) < self.data.n_features else order[:size]

    @cached_property
    def filler(self) -> BoolArray:
        """Mask of the columns with a rank, or a choice, for which the method has no evidence."""
        evidence = getattr(self.fitted_main, "evidence_", None)
        if evidence is None:  # the method does not say
            return np.zeros(self.data.n_features, bool)
        with_rank = np.zeros(self.data.n_features, bool)
        with_rank[self.order] = True
        filler: BoolArray = with_rank & ~evidence
        return filler

    @cached_property
    def orders(self) -> list[IntArray]:
        """Rankings of the splits."""
        return self.results.orders(method=self.main)

    @cached_property
    def times_chosen(self) -> IntArray:
        """Number of splits in which each column is among the chosen."""
        p = self.data.n_features
        counts = np.zeros(p, np.int64)
        for order in self.orders:
            counts[order if len(order) < p else order[: self.size]] += 1
        return counts


def order_of(fitted: Any) -> IntArray:
    """Return columns best first, of featly's methods and of others."""
    if hasattr(fitted, "order_"):
        return np.asarray(fitted.order_)
    if hasattr(fitted, "ranking_") and len(set(fitted.ranking_)) == len(fitted.ranking_):
        return np.argsort(fitted.ranking_, kind="stable")
    return np.asarray(fitted.get_support(indices=True))
