"""Advice on which method suits a table, and on how to evaluate it.

The facts are in :mod:`featly.study.advise.facts`, the rules in :mod:`featly.study.advise.rules`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from featly.basics.params import Whole
from featly.diagnostics import Findings
from featly.registry import METHODS, method_class
from featly.study.advise.facts import Facts, describe_table
from featly.study.advise.rules import (
    Choice,
    Protocol,
    Reason,
    first_rule,
    is_applicable,
    protocol_for,
)
from featly.study.dataset import Dataset
from featly.study.plan import Study
from featly.study.splits import Holdout, Splitter
from featly.table.frames import library_of
from featly.table.schema import Schema

__all__ = ["Advice", "advise", "advise_on_training_rows"]


@dataclass(frozen=True, repr=False, eq=False)
class Advice:
    """The advice of :func:`advise` about a table.

    Attributes
    ----------
    method : str
        A name that ``featly methods`` lists.
    parameters : dict
        Of the method, where they are not the default.
    fill : bool
        Whether to fill missing values first, because the method needs complete columns.
    alternatives : tuple of Choice
        Two or three other methods that take the table: ``method``, ``parameters`` and ``when`` to
        prefer it.
    learner : str
        Classifier to evaluate selections with.
    splits : splitter
        Of :mod:`featly.study.splits`.
    sizes : str
        Numbers of columns to try.
    size_rule : str
        How to choose among them; see :data:`featly.measures.sizes.SIZE_RULES`.
    rule : str
        The name of the rule that decided on the method.
    reasons : tuple of Reason
        Sentences with a fact and its consequence (``text``) and their origin (``source``); the
        first is for the method.
    warnings : tuple of str
        Problems of the table.
    facts : Facts
        The facts that the rules use.
    findings : Findings
        What :func:`featly.check_table` says about the table.
    """

    method: str
    parameters: dict[str, Any]
    fill: bool
    alternatives: tuple[Choice, ...]
    learner: str
    splits: Splitter
    sizes: str
    size_rule: str
    rule: str
    reasons: tuple[Reason, ...]
    warnings: tuple[str, ...]
    facts: Facts
    findings: Findings = field(default_factory=Findings)
    _schema: Schema | dict[str, Any] | None = None
    _row_groups: Any = None
    _library: str | None = None
    _n_jobs: int | None = None
    _random_state: int = 0

    def estimator(self) -> Any:
        """Return the advised method, ready for ``fit``, behind a filler where `fill` says so.

        Returns
        -------
        method, or Pipeline of a filler and the method
        """
        method = self._make_estimator(self.method, self.parameters, self._schema)
        if not self.fill:
            return method
        from sklearn.pipeline import make_pipeline

        return make_pipeline(_filler(self._library), method)

    def study(self, X: Any, y: Any) -> Study:
        """Return a study that compares the method with its alternatives and no selection.

        Parameters
        ----------
        X : data frame, array or sparse matrix
            The table that the advice is for.
        y : sequence
            Its classes.

        Returns
        -------
        Study
            Call ``run()``.
        """
        data = Dataset.of(
            X,
            y,
            schema=self._schema,
            row_groups=self._row_groups,
            findings=self.findings.reopen(),
        )
        return Study(
            self.methods(),
            data,
            self.splits,
            sizes=self.sizes,
            learner=self.learner,
            fill=self.fill,
            random_state=self._random_state,
        )

    def methods(self) -> dict[str, Any]:
        """Return the advised method, its alternatives and "none", by name, for a study.

        Their schema is that of the dataset.
        """
        wanted: list[tuple[str, Mapping[str, Any]]] = [(self.method, self.parameters)]
        wanted += [(choice.method, choice.parameters) for choice in self.alternatives]
        estimators = {
            name: self._make_estimator(name, parameters, None) for name, parameters in wanted
        }
        return {**estimators, "none": "none"}

    def _make_estimator(self, name: str, parameters: Mapping[str, Any], schema: Any) -> Any:
        estimator = method_class(name)(**parameters, schema=schema)
        known = estimator.get_params()
        settings = {"n_jobs": self._n_jobs, "random_state": self._random_state}
        return estimator.set_params(**{k: v for k, v in settings.items() if k in known})

    def summary(self) -> str:
        """Return the advice in a few lines."""
        lines = [f"use {self.call()}{' on columns filled in' if self.fill else ''}"]
        lines += [f"  because {self.reasons[0]}"]
        lines += [f"or {other.method} if {other.when}" for other in self.alternatives]
        lines += [f"judge it by {self.splits!r}, {self.learner}, sizes {self.sizes!r}"]
        lines += [f"  {reason}" for reason in self.reasons[1:]]
        lines += [f"choose the number of columns by {self.size_rule!r}"]
        lines += [f"{finding.level}: {finding}" for finding in self.findings.to_say]
        lines += [f"look out: {text}" for text in self.warnings]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.summary()

    def call(self) -> str:
        """Return the method with its parameters as text."""
        inside = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.method} ({inside})" if inside else self.method

    def document(self) -> dict[str, Any]:
        """Return the advice as a dict for JSON."""
        return {
            "method": self.method,
            "parameters": dict(self.parameters),
            "fill": self.fill,
            "rule": self.rule,
            "alternatives": [
                {"method": c.method, "parameters": dict(c.parameters), "when": c.when}
                for c in self.alternatives
            ],
            "learner": self.learner,
            "splits": repr(self.splits),
            "sizes": self.sizes,
            "size_rule": self.size_rule,
            "reasons": [{"text": r.text, "source": r.source} for r in self.reasons],
            "warnings": list(self.warnings),
            "findings": self.findings.to_dicts(),
            "facts": self.facts.document(),
        }


def advise(
    X: Any,
    y: Any,
    *,
    schema: Schema | dict[str, Any] | None = None,
    row_groups: Any = None,
    names: Sequence[str] | None = None,
    training_rows_only: bool = False,
    findings: Findings | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> Advice:
    """Advise on a method for a table and on how to evaluate it, with reasons.

    The first rule of a list that holds decides. The rules go by the numbers of rows, columns and
    rows of each class, kinds, missing values, zeros and the schema; of training rows alone, also by
    whether nearest neighbours err less than a straight line. They rest on published guidelines and
    on the studies of this package; no method is tried on the table. So the advice is a start:
    :meth:`Advice.study` evaluates it.

    How good it is: on 39 tables, given training rows alone, the advised method is within noise of
    the best of eleven methods on all tables, and within 0.02 of its balanced rate on 25. A method
    drawn at random is so on 33.1 and 18.1 tables, a forest on 37 and 23. On average the advised
    method predicts no better than MKL-RFE on every table (0.770 and 0.771). ``studies/advice.py``
    says how that was counted.

    It takes half a second at 500 x 5,000 (two cores). Of larger tables 1,000 rows and 2,000
    columns are used. Another order of the rows may then change a measure a little.

    Parameters
    ----------
    X : data frame, array or sparse matrix of shape (n_rows, n_features)
    y : sequence of shape (n_rows,), or name of a column of X
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        A prior changes the advice.
    row_groups : sequence, name of a column of X, or None, default=None
        Which rows belong together, such as those of one patient.
    names : sequence of str or None, default=None
        Names of the columns of an array or a sparse matrix, for warnings.
    training_rows_only : bool, default=False
        Say True if the advice will be judged on none of these rows. Else no choice rests on more
        of the labels than the counts of classes: one that does would be judged too well.
    findings : Findings or None, default=None
        What :func:`featly.check_table` said about the table; None checks it.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    random_state : int, default=0
        Seed of the random numbers.
        It draws the rows of a large table, and the advised splits.

    Returns
    -------
    Advice

    References
    ----------
    Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
    High-Dimensional Data*, Springer, sections 3.5, 4.5 and 5.1.

    Paul, J., D'Ambrosio, R. and Dupont, P. (2015), Kernel methods for heterogeneous feature
    selection, *Neurocomputing* 169, 187-195.

    Helleputte, T. and Dupont, P. (2009), Partially supervised feature selection with regularized
    linear models, *ICML*, 409-416.

    Izetta, J., Verdes, P. F. and Granitto, P. M. (2017), Improved multiclass feature selection via
    list combination, *Expert Systems with Applications* 88, 205-216.

    Brown, G., Pocock, A., Zhao, M.-J. and Luján, M. (2012), Conditional likelihood maximisation: a
    unifying framework for information theoretic feature selection, *Journal of Machine Learning
    Research* 13, 27-66.

    Examples
    --------
    >>> from featly.datasets import make_cohort
    >>> from featly.study import advise
    >>> cohort = make_cohort(n_patients=100, n_genes=200)
    >>> advice = advise(cohort.X, cohort.y, schema=cohort.schema)
    >>> advice.method, advice.learner, advice.splits
    ('mkl-rfe', 'clinical-svm', Subsampling(200, test_size=0.1))
    >>> ranking = advice.estimator().fit(cohort.X, cohort.y)
    >>> [other.method for other in advice.alternatives]
    ['forest', 'relieff', 'univariate-test']
    """
    Whole(at_least=0).check("random_state", random_state)
    facts, warnings, findings = describe_table(
        X,
        y,
        schema=schema,
        row_groups=row_groups,
        names=names,
        findings=findings,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    rule = first_rule(facts, training_rows_only=training_rows_only)
    # missing values are filled only if the method takes none
    fill = facts.columns_with_gaps > 0 and not METHODS[rule.method].missing
    alternatives = tuple(
        choice
        for choice in rule.alternatives
        if is_applicable(METHODS[choice.method], facts, choice.parameters, fill=fill)
    )
    protocol: Protocol = protocol_for(facts, random_state)
    reasons = [Reason(rule.explain(facts), rule.source)]
    if fill:
        verb = "column has" if facts.columns_with_gaps == 1 else "columns have"
        reasons.append(
            Reason(
                f"{facts.columns_with_gaps:,} {verb} missing values, {rule.method} takes none: "
                "numbers are filled with the median of the training rows",
                "the registry of methods",
            )
        )
    reasons += [rule.learner_reason, *protocol.reasons]
    return Advice(
        method=rule.method,
        parameters=dict(rule.parameters),
        fill=fill,
        alternatives=alternatives,
        learner=rule.learner,
        splits=protocol.splits,
        sizes=protocol.sizes,
        size_rule=protocol.rule,
        rule=rule.name,
        reasons=tuple(reasons),
        warnings=tuple(warnings),
        facts=facts,
        findings=findings,
        _schema=schema,
        _row_groups=row_groups,
        _library=library_of(X),
        _n_jobs=n_jobs,
        _random_state=random_state,
    )


def _filler(library: str | None) -> Any:
    """Return a filler of missing numbers by medians that keeps the names of the columns."""
    if library == "polars":
        from featly.preprocessing import Filler

        return Filler()
    from sklearn.impute import SimpleImputer

    filler = SimpleImputer(strategy="median", keep_empty_features=True)
    return filler.set_output(transform="pandas") if library == "pandas" else filler


def advise_on_training_rows(data: Dataset, seed: int, column: str | None = None) -> Advice:
    """Return the advice for a dataset, from its training rows if it has an official split.

    Else all rows are tested once, and no choice rests on more of the labels than class counts.
    `column` is the name of that split, as in :class:`featly.study.Holdout`.
    """
    rows: Any = slice(None)
    if data.official is not None:
        splitter = Holdout(column=column or "split")
        rows = splitter.split_at(0, None, data.y, official=data.official).train
    advice = advise(
        data.X[rows],
        data.y[rows],
        schema=data.schema,
        row_groups=None if data.row_groups is None else data.row_groups[rows],
        training_rows_only=data.official is not None,
        findings=Findings(),  # the table has been checked
        random_state=seed,
    )
    return replace(advice, findings=data.findings)
