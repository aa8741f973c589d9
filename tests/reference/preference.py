"""Rankings by merit less cost, in fractions."""

from fractions import Fraction


def order_by_value(merit, cost, trade_off, prior=None, keep=()):
    """Return columns by beta J - lambda C, those to keep first, equal ones by position."""
    prior = prior or [1] * len(merit)

    def value(f):
        J, beta = Fraction(merit[f]), Fraction(prior[f])
        return (J / beta if J < 0 else J * beta) - Fraction(trade_off) * Fraction(cost[f])

    return sorted(range(len(merit)), key=lambda f: (f not in keep, -value(f), f))


def greedy_with_costs(columns, y, criterion, cost, trade_off):
    """Return the columns as a forward search chooses them; all of them vary."""
    chosen = []
    while len(chosen) < len(columns):
        S = [columns[s] for s in chosen]
        free = [f for f in range(len(columns)) if f not in chosen]
        value = {f: round(criterion(columns[f], S, y), 7) - trade_off * cost[f] for f in free}
        chosen.append(max(free, key=lambda f: (round(value[f], 7), -f)))
    return chosen
