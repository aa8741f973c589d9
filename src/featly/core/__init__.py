"""Arrays in, arrays out: the loops behind the methods.

Nothing here knows scikit-learn or data frames. Every compiled loop goes through
:func:`featly.core.runtime.jit.kernel`, every sum over a column runs in a fixed order, and every
ranking is made by :mod:`featly.core.ranking.ordering`.
"""
