"""Plain answers to what a reader asks, each decided by a test whose error rate is known."""

from typing import Any

from featly.reports.text import METRICS_IN_WORDS, amount, rate
from featly.study.nested_estimate import SMALL

__all__ = ["answers"]

# Nogueira, Sechidis and Brown (2018), after Fleiss: below 0.4 poor, above 0.75 excellent
POOR, EXCELLENT = 0.4, 0.75
WELL, BADLY = 0.6, 0.3  # of the way from guessing to no error
COMPARED_IN_WORDS = {**METRICS_IN_WORDS, "accuracy": "share of rows predicted right"}


def answers(facts: dict[str, Any]) -> list[dict[str, str]]:
    """Answer a reader's questions: question, answer, text, and a level for a mark beside it.

    The level is "good", "fair" or "poor".
    """
    headline = facts["headline"]
    entries = [_prediction_answer(headline), _halves_answer(headline)]
    if headline["overlap"] is not None:
        entries.append(_few_rows_answer(headline, facts["protocol"]))
    comparison = _all_columns_answer(facts)
    if comparison is not None:
        entries.append(comparison)
    if any(finding["withholds"] for finding in facts["findings"]):
        sentence = "" if headline["test"] is None else headline["test"]["sentence"]
        entries = [_withhold(entry, sentence) for entry in entries]
    return entries


def _withhold(entry: dict[str, str], sentence: str) -> dict[str, str]:
    """Return an answer that waits, if it is good news; without the sentence of the test."""
    if entry["level"] != "good" and not entry["answer"].startswith("Yes"):
        return entry
    text = entry["text"].replace(sentence, "").strip() if sentence else entry["text"]
    text = f"What is said about the table above has to be settled first. {text}"
    return entry | {"answer": "Not to be believed yet", "level": "poor", "text": text}


def _prediction_answer(headline: dict[str, Any]) -> dict[str, str]:
    """Answer by shuffled labels; by the interval where there was no time for them."""
    question = "Does it predict rows that it has not seen?"
    test = headline["test"]
    if test is None:
        refusal = headline["refusal"]
        return _answer(question, "Cannot be told", "fair", f"{refusal[:1].upper()}{refusal[1:]}.")
    text = f"{_figure(headline)} {test['sentence']}"
    if test["answer"] == "not tested":
        return _answer(question, "Not tested", "fair", text)
    if test["answer"] == "no":
        return _answer(question, "Not shown", "poor", text)
    value, chance = headline["value"], headline["chance"]
    if value is None or chance is None:
        return _answer(question, "Yes", "fair", text)
    better = headline["greater_is_better"]
    if not _lies_beyond(headline):
        text += " How much better than guessing is open: the interval contains guessing."
    room = (1 - chance) if better else chance
    gain = (value - chance if better else chance - value) / room if room else 0.0
    if gain >= WELL:
        return _answer(question, "Yes, well", "good", text)
    return _answer(question, "Yes, with many errors" if gain < BADLY else "Yes", "fair", text)


def _figure(headline: dict[str, Any]) -> str:
    """Return the estimate, its interval and guessing; with few rows the interval alone."""
    name = METRICS_IN_WORDS[headline["metric"]]
    chance = "" if headline["chance"] is None else f"; guessing gives {rate(headline['chance'])}"
    if headline["value"] is None:
        return f"There is no estimate of the {name}."
    if headline["lower"] is None:
        value = rate(headline["value"])
        return f"The {name} is {value}{chance}; too many fits failed for an interval."
    ends = f"{rate(headline['lower'])} to {rate(headline['upper'])}"
    if headline["n_rows"] < SMALL:
        return f"The {name} on new rows is {ends} (95% interval{chance})."
    return f"The {name} on new rows is {rate(headline['value'])} (95% interval {ends}{chance})."


def _lies_beyond(headline: dict[str, Any]) -> bool:
    """Return whether the whole interval is better than guessing."""
    if headline["lower"] is None:
        return True
    if headline["greater_is_better"]:
        return bool(headline["lower"] > headline["chance"])
    return bool(headline["upper"] < headline["chance"])


def _halves_answer(headline: dict[str, Any]) -> dict[str, str]:
    """Answer by the agreement of halves that share no rows, beside that of shuffled labels."""
    question = "Would other rows have given the same columns?"
    value, null = headline["halves"], headline["halves_null"]
    if value is None:
        refusal = headline["halves_refusal"]
        text = f"{refusal[:1].upper()}{refusal[1:]}." if refusal else (
            "All columns are in the selection, whatever the rows."
        )  # fmt: skip
        return _answer(question, "Cannot be told", "fair", text)
    text = (
        f"Two halves of the rows, which share none, agree by {value:.2f} (1: the same columns, 0: "
        f"as random choices do; mean of {headline['n_halves']} cuts); with shuffled outcomes by "
        f"{null:.2f}. Other tables of half as many rows would agree as much."
    )
    test = headline["test"]
    if test is not None and test["answer"] == "no":
        text += (
            " That the columns predict at all is not shown: what agreement there is may be chance."
        )
        return _answer(question, "Hardly", "poor", text)
    beyond = (value - null) / (1 - null) if null < 1 else 0.0
    if beyond >= EXCELLENT:
        return _answer(question, "Mostly", "good", text)
    if beyond >= POOR:
        return _answer(question, "In part", "fair", text)
    text += " Other columns would have served as well: do not read much into single ones."
    return _answer(question, "Hardly", "poor", text)


def _few_rows_answer(headline: dict[str, Any], protocol: dict[str, Any]) -> dict[str, str]:
    """Answer by splits that share most of their rows: that is all that they tell."""
    question = "Do the columns hang on a few rows?"
    value = headline["overlap"]
    text = (
        f"{amount(headline['n_splits'], 'time')} the columns were chosen again from "
        f"{protocol['n_train']:,.0f} of the rows: these choices agree by {value:.2f} (1: the same "
        "columns every time). They share most of their rows, and so agree on noise, too: this says "
        "nothing about other rows."
    )
    if value >= EXCELLENT:
        return _answer(question, "Hardly", "good", text)
    return _answer(question, "In part" if value >= POOR else "Yes", "fair", text)


def _all_columns_answer(facts: dict[str, Any]) -> dict[str, str] | None:
    """Answer whether the selection does better than all columns together."""
    question = "Is it better than using all columns?"
    pairs = facts["comparison"]["pairs"]
    pair = next((row for row in pairs if row["method_b"] == "none"), None)
    if pair is None:
        return None
    columns = f"all {facts['data']['columns']:,} columns"
    if pair["p_adjusted"] is None:
        text = f"With {columns} every row is predicted the same."
        return _answer(question, "The same predictions", "fair", text)
    name = COMPARED_IN_WORDS[facts["comparison"]["metric"]]
    counted = "" if len(pairs) == 1 else f", both for {len(pairs)} comparisons"
    text = (
        f"The {name} differs by {pair['difference']:+.2f} from that of {columns} (interval "
        f"{pair['lower']:+.2f} to {pair['upper']:+.2f}, p = {pair['p_adjusted']:.2g}{counted})."
    )
    if pair["answer"] == "better":
        return _answer(question, "Yes", "good", text)
    if pair["answer"] == "worse":
        return _answer(question, "No, worse", "poor", text)
    text += (
        f" That is not to say that they are equal: {amount(facts['headline']['size'], 'column')}"
    )
    text += " may do better or worse than all, by as much as the interval says."
    return _answer(question, pair["answer"].capitalize(), "fair", text)


def _answer(question: str, answer: str, level: str, text: str) -> dict[str, str]:
    return {"question": question, "answer": answer, "level": level, "text": text}
