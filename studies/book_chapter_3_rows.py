"""Claims of the rows of tables 3.1 to 3.11 and 3.13 of Bolón-Canedo et al. (2015), but for C4.5."""

from collections.abc import Callable, Collection, Sequence

import polars as pl

from featly.study import Claim, Results
from featly.study.verdicts import Finding
from studies.book_led_sd_tables import BEST, LED_ROWS, SD_ROWS
from studies.book_tables import LEARNERS, ROWS, SUBSETS, WHERE

__all__ = ["best_rows", "led_rows", "printed_rows", "sd_rows"]

TENTH = 0.00005  # half a unit of the last printed digit of a percentage, as a share
CLAIM_OF = {"cfs": "D6", "information-gain": "D7", "relieff": "D8", "fs-p": "D9", "svm-rfe": "D10"}
SD_CLAIM_OF = {"sd1": "D14", "sd2": "D15", "sd3": "D16"}


def _table(family: str) -> str:
    """Return the table of a family, such as "led-25 10%" or "monk3 real"."""
    return WHERE[family if family in WHERE else family.partition(" ")[0]]


def _place(family: str) -> str:
    """Return a family in words: "led-25 with 10% noise"."""
    return family.replace(" ", " with ") + " noise" if family.endswith("%") else family


def _success(name: str, family: str, method: str, value: float) -> Claim:
    """Return a claim about the index of success."""
    return Claim.value(name, f"{method} on {_place(family)}: success", value, where=_table(family),
                       dataset=family, method=method, metric="success")  # fmt: skip


def _accuracies(
    name: str, family: str, method: str, percents: Sequence[float | None], **size: int
) -> list[Claim]:
    """Return claims about the accuracies of the three learners that are not lost in the print."""
    columns = f", {size['size']} columns" if size else ""
    return [
        Claim.value(
            f"{name} {learner}",
            f"{method} on {_place(family)}{columns}: accuracy of {learner} (selected on all rows)",
            round(percent / 100, 4), where=_table(family), dataset=family, method=method,
            metric="accuracy", learner=learner, tolerance=TENTH, **size,
        )
        for learner, percent in zip(LEARNERS, percents, strict=True)
        if percent is not None
    ]  # fmt: skip


def printed_rows(known: Collection[str]) -> list[Claim]:
    """Return claims of tables 3.1 to 3.4, 3.7 and 3.11, of some methods, a figure each."""
    row_claims = []
    for family, rows in ROWS.items():
        for method, (success, *accuracies) in rows.items():
            if method in known:
                name = f"T{WHERE[family][6:]} {method}"
                row_claims.append(_success(f"{name} success", family, method, success))
                row_claims += _accuracies(name, family, method, accuracies)
    return row_claims


def led_rows(known: Collection[str]) -> list[Claim]:
    """Return claims D6 to D10, one a level of noise, and the other figures of these tables."""
    row_claims = []
    for family, rows in LED_ROWS.items():
        problem, _, noise = family.partition(" ")
        for method, (success, *accuracies) in rows.items():
            if method not in known:
                continue
            name = f"T{WHERE[problem][6:]} {method} {noise}"
            own = f"{CLAIM_OF[method]} {family}" if method in CLAIM_OF else f"{name} success"
            row_claims.append(_success(own, family, method, float(success or 0)))
            row_claims += _accuracies(name, family, method, accuracies)
    return row_claims


def sd_rows(known: Collection[str]) -> list[Claim]:
    """Return claims D14 to D16, relevant groups found, and the accuracies beside them."""
    row_claims = []
    for family, rows in SD_ROWS.items():
        for (method, size), (relevant, *accuracies) in rows.items():
            if method not in known:
                continue
            sizes = {} if method in (*SUBSETS, "wrapper-svm") else {"size": size}
            suffix = f" {size}" if sizes else ""
            # the names of before tables 3.8 to 3.10 were judged whole
            optimal = suffix if sizes and (size < 20 or method == "svm-rfe") else ""
            row_claims.append(
                Claim.value(f"{SD_CLAIM_OF[family]} {method}{optimal}",
                            f"{method} on {family}{suffix and f',{suffix} columns'}: relevant "
                            "groups found", float(relevant or 0), where=WHERE[family],
                            dataset=family, method=method, metric="relevant", **sizes)
            )  # fmt: skip
            name = f"T{WHERE[family][6:]} {method}{suffix}"
            row_claims += _accuracies(name, family, method, accuracies, **sizes)
    return row_claims


def best_rows(known: Collection[str]) -> list[Claim]:
    """Return claims of table 3.13: after which method each learner is best."""

    def check(family: str, learner: str, best: tuple[str, ...]) -> Callable[[Results], Finding]:
        def judge(results: Results) -> Finding:
            rows = results.families("accuracy").filter(
                (pl.col("family") == family) & (pl.col("learner") == learner)
                & pl.col("method").is_in([m for m in known if m not in ("none", "f-test")])
                & pl.col("mean").is_not_null()
            )  # fmt: skip
            means = dict(rows.group_by("method").agg(pl.col("mean").max()).rows())
            if not set(best) & set(means):
                return Finding(None, "a wrapper, which is in a study of its own")
            first = max(means, key=lambda method: means[method])
            ours = max(means[method] for method in best if method in means)
            why = f"ours is best after {first}, {100 * means[first]:.1f}%"
            return Finding(ours >= means[first] - 1e-9, why, ours)

        return judge

    return [
        Claim(f"T3.13 {family} {learner}", f"{learner} on {family} is best after "
              f"{', '.join(best)}", check(family, learner, best), None, "table 3.13")
        for family, by_learner in BEST.items()
        for learner, best in by_learner.items()
    ]  # fmt: skip
