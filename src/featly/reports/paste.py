"""Text for a paper: what was done, in one paragraph, and what to cite."""

from typing import Any

from featly.reports.text import METRICS_IN_WORDS, amount, rate

__all__ = ["citation", "methods_paragraph"]

REFERENCES = {
    "nested": "Varma, S. and Simon, R. (2006), Bias in error estimation when using "
    "cross-validation for model selection, BMC Bioinformatics 7, 91.",
    "shuffles": "Ojala, M. and Garriga, G. C. (2010), Permutation tests for studying classifier "
    "performance, Journal of Machine Learning Research 11, 1833-1863.",
    "agreement": "Nogueira, S., Sechidis, K. and Brown, G. (2018), On the stability of feature "
    "selection algorithms, Journal of Machine Learning Research 18(174), 1-54.",
}
RULES = {
    "best": "the number with the best performance",
    "one-standard-error": "the smallest number within one standard error of the best",
    "within-interval": "the smallest number within the confidence interval of the best",
    "within-corrected-interval": "the smallest number within the corrected interval of the best",
    "knee": "the number at the knee of the performance curve",
    "rule-of-thumb": "a fixed share of the columns",
}


def methods_paragraph(facts: dict[str, Any]) -> str:
    """Return what was done and found, for the methods section of a paper.

    What is open about the table is said, too, so that it is not lost on the way.
    """
    sentences = [
        *_about_table(facts),
        *_about_ranking(facts),
        *_about_estimate(facts),
        *_about_halves(facts["headline"]),
        f"The analysis used featly {facts['versions']['featly']}"
        f" (random seed {facts['protocol']['seed']}).",
    ]
    return " ".join(sentences)


def _about_table(facts: dict[str, Any]) -> list[str]:
    data = facts["data"]
    classes = ", ".join(f"{n:,} {label}" for label, n in data["classes"].items())
    groups = ""
    if data["row_groups"]:
        groups = f" in {data['row_groups']:,} groups, which were never separated"
    sentences = [
        f"The table had {amount(data['rows'], 'row')} ({classes}){groups} and "
        f"{amount(data['columns'], 'column')}."
    ]
    left_out = [
        name
        for finding in facts["findings"]
        if finding["mended"] and finding["kind"] != "missing values"
        for name in finding["columns"]
    ]
    if left_out:
        names = ", ".join(left_out[:5]) + (", ..." if len(left_out) > 5 else "")
        sentences.append(f"Columns that number, name or date the rows were left out ({names}).")
    still_open = [finding for finding in facts["findings"] if finding["withholds"]]
    if still_open:
        kinds = ", ".join(dict.fromkeys(finding["kind"] for finding in still_open))
        sentences.append(
            f"[OPEN, settle before publication: what the report says about {kinds}; the figures "
            "below may be too good.]"
        )
    fill = facts["protocol"]["fill"]
    if data["missing_cells"]:
        what = "were used as they are"
        if fill == "draw":
            what = "were filled with values of the same column, drawn from the training rows"
        elif fill:
            what = "were filled with medians of the training rows, or a level of their own"
        sentences.append(f"Missing values ({data['missing_cells']:,} cells) {what}.")
    return sentences


def _about_ranking(facts: dict[str, Any]) -> list[str]:
    protocol, method = facts["protocol"], facts["method"]
    parameters = ", ".join(f"{name}={value}" for name, value in method["parameters"].items())
    settled = "by featly's advice" if method["advised"] else "by the authors"
    rule = RULES.get(str(protocol["rule"]), f"fixed at {protocol['rule']}")
    sizes = protocol["sizes"]
    tried = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0])
    return [
        f"Columns were ranked by {method['name']} ({method['class']}({parameters})), settled "
        f"{settled} before any result was seen.",
        f"A classifier ({protocol['learner']}) was trained on the best columns; their number "
        f"({tried}) was {rule}.",
    ]


def _about_estimate(facts: dict[str, Any]) -> list[str]:
    protocol, headline = facts["protocol"], facts["headline"]
    name = METRICS_IN_WORDS[headline["metric"]]
    if headline["value"] is None:
        return ["Performance on new rows could not be estimated."]
    repeats = "once" if protocol["repeats"] == 1 else f"{protocol['repeats']} times"
    interval = ""
    if headline["lower"] is not None:
        ends = f"{rate(headline['lower'])} to {rate(headline['upper'])}"
        interval = f" (95% interval {ends})"
    sentences = [
        f"Performance was estimated by nested cross-validation ({protocol['folds']} folds, drawn "
        f"{repeats}): the ranking, the number of columns (by {protocol['inner']} inner folds) and "
        "the classifier were made from the training rows of each fold alone.",
        f"The {name} on new rows was {rate(headline['value'])}{interval}.",
    ]
    test = headline["test"]
    if test is not None and test["drawn"]:
        sentences.append(
            f"With shuffled outcomes the same recipe did as well in {test['reached']} of "
            f"{test['drawn']} tries (p = {test['p_value']:.2g})."
        )
    chosen = amount(len(facts["signature"]), "column")
    return [*sentences, f"The final selection of {chosen} was made from all rows."]


def _about_halves(headline: dict[str, Any]) -> list[str]:
    if headline["halves"] is None:
        return []
    return [
        f"Selections from disjoint halves of the rows ({headline['n_halves']} cuts) agreed by "
        f"{headline['halves']:.2f} (corrected for chance; {headline['halves_null']:.2f} with "
        "shuffled outcomes)."
    ]


def citation(facts: dict[str, Any]) -> list[str]:
    """Return what to cite: featly, the paper of the method, and those of the evaluation."""
    version, year = facts["versions"]["featly"], facts["made"][:4]
    entries = [
        f"The featly developers ({year}), featly: feature ranking and selection in Python, "
        f"version {version}."
    ]
    if facts["method"]["tier"]:
        entries.append(
            f"The paper of {facts['method']['name']}: help(featly.{facts['method']['class']}) "
            "names it."
        )
    headline = facts["headline"]
    if headline["value"] is not None:
        entries.append(REFERENCES["nested"])
    if headline["test"] is not None and headline["test"]["drawn"]:
        entries.append(REFERENCES["shuffles"])
    if headline["halves"] is not None:
        entries.append(REFERENCES["agreement"])
    return entries
