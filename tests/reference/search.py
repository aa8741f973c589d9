"""Searches over subsets, literally as defined: sets, one merit at a time, nothing clever."""

from collections.abc import Callable, Iterable

Merit = Callable[[frozenset[int]], float]


def best_first(
    p: int, merit: Merit, *, start: Iterable[int] = (), max_stale: int = 5, threshold: float = 1e-5
) -> tuple[frozenset[int], float, int]:
    """Expand the best unexpanded subset; return the best, its merit, and the number of merits."""
    first = frozenset(start)
    merits = {first: merit(first) if first else float("-inf")}
    expanded: set[frozenset[int]] = set()
    best, stale = first, 0
    while stale < max_stale and len(expanded) < len(merits):
        subset = min(
            (s for s in merits if s not in expanded), key=lambda s: (-merits[s], len(s), sorted(s))
        )
        expanded.add(subset)
        children = [subset | {c} for c in range(p) if c not in subset]
        for child in children:
            if child not in merits:
                merits[child] = merit(child)
        best_child = min(children, key=lambda s: (-merits[s], sorted(s)), default=best)
        if (not best and best_child) or merits[best_child] > merits[best] + threshold:
            best, stale = best_child, 0
        else:
            stale += 1
    return best, merits[best], len(merits) - (not first)


def weka_best_first(
    p: int, merit: Merit, *, start: Iterable[int] = (), max_stale: int = 5
) -> tuple[frozenset[int], float]:
    """Search as Weka's BestFirst does, forward, by its documentation and its outputs.

    The list holds `max_stale` subsets, equal merits in the order of their arrival; a subset met
    again is put on it again; improvements are by more than 1e-5, one child after the other.
    """
    best = frozenset(start)
    best_merit = merit(best)
    waiting = [(best_merit, best)]
    stale = 0
    while stale < max_stale and waiting:
        _, subset = waiting.pop(0)
        improved = False
        for column in range(p):
            if column in subset:
                continue
            child = subset | {column}
            value = merit(child)
            position = sum(other >= value for other, _ in waiting)
            waiting.insert(position, (value, child))
            del waiting[max_stale:]
            if value - best_merit > 1e-5:
                best, best_merit, improved = child, value, True
        stale = 0 if improved else stale + 1
    return best, best_merit


def forward(
    p: int, merit: Merit, *, start: Iterable[int] = (), count: int | None = None
) -> list[int]:
    """Add the best column while that improves the merit, or up to a count."""
    chosen = list(start)
    while len(chosen) < (p if count is None else count):
        left = [c for c in range(p) if c not in chosen]
        best = max(left, key=lambda c: (merit(frozenset([*chosen, c])), -c))
        better = not chosen or merit(frozenset([*chosen, best])) > merit(frozenset(chosen)) + 1e-5
        if count is None and not better:
            break
        chosen.append(best)
    return chosen


def backward(
    p: int, merit: Merit, *, keep: Iterable[int] = (), count: int | None = None
) -> list[frozenset[int]]:
    """Remove the column that is missed least while that does no harm; every subset on the way."""
    fixed = set(keep)
    path = [frozenset(range(p))]
    while len(path[-1]) > max(1, len(fixed), count or 0):
        subset = path[-1]
        removed = max(subset - fixed, key=lambda c: (merit(subset - {c}), c))
        if count is None and merit(subset - {removed}) < max(map(merit, path)) - 1e-5:
            break
        path.append(subset - {removed})
    return path


def floating(p: int, merit: Merit, count: int, *, start: Iterable[int] = ()) -> frozenset[int]:
    """Search forward with removals, as Pudil does, up to a count."""
    fixed = frozenset(start)
    best_of_size = {len(fixed): fixed}
    current = fixed
    while len(current) < count:
        added = max(set(range(p)) - current, key=lambda c: (merit(current | {c}), -c))
        current = current | {added}
        if (
            len(current) in best_of_size
            and merit(current) <= merit(best_of_size[len(current)]) + 1e-5
        ):
            current = best_of_size[len(current)]
        best_of_size[len(current)] = current
        while len(current) > len(fixed) + 1:
            removed = max(current - fixed, key=lambda c: (merit(current - {c}), c))
            smaller = current - {removed}
            if len(smaller) == 0 or merit(smaller) <= merit(best_of_size[len(smaller)]) + 1e-5:
                break
            current = smaller
            best_of_size[len(current)] = current
    return best_of_size[count]
