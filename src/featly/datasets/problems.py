"""Synthetic problems by name, for plans and for the command line.

Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
High-Dimensional Data*, Springer, table A.1, and Izetta, J., Verdes, P. F. and Granitto, P. M.
(2017), Improved multiclass feature selection via list combination, *Expert Systems with
Applications* 88, 205-216, table 3.
"""

import difflib
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from featly.basics.errors import ParameterError
from featly.datasets.artificial import make_artificial
from featly.datasets.genes import make_sd
from featly.datasets.logical import (
    make_corral,
    make_corral_100,
    make_led,
    make_monk,
    make_parity,
    make_xor_100,
)
from featly.datasets.madelon import make_madelon
from featly.datasets.synthetic import Synthetic

__all__ = ["PROBLEMS", "make_problem"]

PROBLEMS: dict[str, Callable[..., Synthetic]] = {
    "corral": make_corral,
    "corral-100": make_corral_100,
    "xor-100": make_xor_100,
    "parity3+3": make_parity,
    "led-25": partial(make_led, n_irrelevant=17),
    "led-100": partial(make_led, n_irrelevant=92),
    "monk1": partial(make_monk, 1),
    "monk2": partial(make_monk, 2),
    "monk3": partial(make_monk, 3),
    "sd1": partial(make_sd, 1),
    "sd2": partial(make_sd, 2),
    "sd3": partial(make_sd, 3),
    "madelon": make_madelon,
    "artificial-1": partial(make_artificial, 1),
    "artificial-2": partial(make_artificial, 2),
    "artificial-3": partial(make_artificial, 3),
}


def make_problem(name: str, **parameters: Any) -> Synthetic:
    """Make a problem by its name.

    Parameters
    ----------
    name : str
        A key of :data:`featly.datasets.PROBLEMS`.
    **parameters
        Parameters of the function that makes it, such as `random_state`.

    Returns
    -------
    Synthetic
        The table and the truth about it.

    Examples
    --------
    >>> from featly.datasets import make_problem
    >>> make_problem("led-25", noise=0.1)
    Synthetic(led-25: 50 rows, 10 classes, 24 columns: 7 relevant, 0 redundant, 17 irrelevant)
    >>> make_problem("corall")
    Traceback (most recent call last):
    ...
    featly.ParameterError: there is no problem 'corall': did you mean 'corral'?
    """
    if name not in PROBLEMS:
        raise ParameterError(f"there is no problem {name!r}: {_hint(str(name), list(PROBLEMS))}")
    known = list(inspect.signature(PROBLEMS[name]).parameters)
    for parameter in parameters:
        if parameter not in known:
            hint = _hint(parameter, known)
            raise ParameterError(f"problem {name!r} has no parameter {parameter!r}: {hint}")
    return PROBLEMS[name](**parameters)


def _hint(text: str, known: list[str]) -> str:
    """Return a suggestion of the nearest known word, or a list of all of them."""
    near = difflib.get_close_matches(text.lower(), known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
