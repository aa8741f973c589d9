"""The number of columns that ``featly select`` takes, and how many may be false.

Without ``--count`` a rule on the ranking decides, never a share that nobody asked for.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from featly.base import RULES
from featly.cli.printing import amount
from featly.measures.sizes import MOST_Q, expected_false

__all__ = ["Size", "settle_size"]

ORIGINS: dict[str | None, str] = {
    "fdr": f"as many as have a q-value of at most {MOST_Q:.2f}, at least one (rule fdr)",
    "rule-of-thumb": "by the number of columns of the table (rule-of-thumb)",
    "largest-gap": "cut at the largest gap between scores (largest-gap)",
    "two-variances": "without low scores (two-variances)",
}


@dataclass(frozen=True)
class Size:
    """The number of selected columns, and where it comes from.

    Attributes
    ----------
    size : int
    rule : str or None
        The rule that chose the size; None if the user gave a number or the method chose it.
    expected_false : float or None
        Columns that are expected to be false, at most; None if the method has no q-values.
    origin : str
        The rule in words; empty if the user gave a number.
    n_judged : int
        Columns that the expectation is about: all but those that the schema keeps.
    largest_q : float or None
        Of these columns.
    can_evaluate : bool
        Whether ``featly evaluate`` takes the target.
    """

    size: int
    rule: str | None
    expected_false: float | None
    origin: str
    n_judged: int
    largest_q: float | None
    can_evaluate: bool

    def document(self) -> dict[str, Any]:
        """Return the size, its rule and the expected number of false columns for JSON."""
        return {"size": self.size, "rule": self.rule, "expected_false": self.expected_false}

    def line(self) -> str:
        """Return the size, its origin and the expected number of false columns in one line."""
        first = f"{amount(self.size, 'column')}, {self.origin}"
        if self.expected_false is None or self.largest_q is None:
            remedy = "; featly evaluate tells how well they predict" if self.can_evaluate else ""
            return f"{first}; how many of them are noise is not known{remedy}"
        about = (
            "fewer than 0.1" if self.expected_false < 0.05 else f"about {self.expected_false:.1f}"
        )
        verb = "is" if self.n_judged == 1 else "are"
        n_kept = self.size - self.n_judged
        kept = f", those to keep left out ({n_kept:,})" if n_kept else ""
        return (
            f"{first}; of {amount(self.n_judged, 'column')}{kept} {about} {verb} expected to be "
            f"false (q <= {math.ceil(100 * self.largest_q - 1e-9) / 100:.2f})"
        )


def settle_size(method: Any, requested: int | float | str | None) -> Size:
    """Return the number of columns that a fitted method selects; set it where none is requested.

    Without a request, a ranker selects as many columns as have a q-value of at most 0.1, or if it
    has no q-values as many as the rule of thumb says, but no filler.

    Parameters
    ----------
    method : fitted method
    requested : int, float, str or None
        The value of ``--count``.
    """
    q = getattr(method, "q_value_", None)
    q = None if q is None or np.isnan(q).any() else q
    rule = str(requested) if requested in RULES else None
    origin = ORIGINS.get(rule, "")
    if not hasattr(method, "ranking_"):
        origin = "as many as the method chose itself"
    elif requested is None:
        rule = "rule-of-thumb" if q is None else "fdr"
        origin = ORIGINS[rule]
        _apply_rule(method, rule)
    judged = method.support_.copy()
    judged[method._columns.keep] = False
    q = q if judged.any() else None
    return Size(
        size=int(method.support_.sum()),
        rule=rule,
        expected_false=None if q is None else expected_false(q, judged),
        origin=origin,
        n_judged=int(judged.sum()),
        largest_q=None if q is None else float(q[judged].max()),
        can_evaluate=method.target_kind_ == "classes",
    )


def _apply_rule(method: Any, rule: str) -> None:
    """Let a fitted ranker select as many columns as a rule says, but no filler."""
    method.set_params(n_features_to_select=rule)
    most = max(1, method._n_before_filler(), len(method._columns.keep))
    if method.support_.sum() > most:
        method.set_params(n_features_to_select=most)
