"""An attack on a page without individuals: all that it publishes, as linear equations.

The reader knows the names of all levels and classes, and of the page every number of rows: class
sizes, rows with a value, missing values, counts and shares of levels, the words on both, bars of
the small pictures, legends, sums. Unknowns are the cells of classes x (missing, levels) of every
column. A cell is given away if linear programming leaves it fewer than three whole numbers.
"""

import json
import re
from html import unescape

import numpy as np
from scipy.optimize import linprog

FEWEST_VALUES = 3
SMALL = 5
BAR = 320 - 84 - 8  # length of a bar in a small picture
TINY = 1e-6


class Attack:
    """Linear equations about the cells of tables of counts.

    Parameters
    ----------
    tables : dict of str to dict
        For every column, by (class, level), the true number of rows; level None is missing.
    """

    def __init__(self, tables):
        self.tables = tables
        self.cells = [(c, k, v) for c, table in tables.items() for k, v in table]
        self.place = {cell: i for i, cell in enumerate(self.cells)}
        self.rows, self.low, self.high = [], [], []
        self.classes = list(dict.fromkeys(k for table in tables.values() for k, _ in table))

    def true(self, column, label, level):
        return self.tables[column][label, level]

    def among(self, column, labels, levels):
        """Return the positions of some cells of a column."""
        return [
            self.place[column, k, v]
            for k, v in self.tables[column]
            if k in labels and (levels is None or v in levels)
        ]

    def know(self, cells, low, high, weights=None):
        """Add that a sum of cells lies between two numbers."""
        row = np.zeros(len(self.cells))
        np.add.at(row, cells, 1.0 if weights is None else weights)
        self.rows.append(row)
        self.low.append(low)
        self.high.append(high)

    def bounds(self, cells):
        """Return the least and the greatest whole number that a sum of cells may be."""
        A, low, high = np.array(self.rows), np.array(self.low, float), np.array(self.high, float)
        goal = np.zeros(len(self.cells))
        goal[cells] = 1.0
        ends = []
        for sign in (1.0, -1.0):
            left, right = np.vstack([A, -A]), np.concatenate([high, -low]) + TINY
            said = np.isfinite(right)
            result = linprog(sign * goal, left[said], right[said], bounds=(0, None))
            assert result.status in (0, 3), result.message  # what is published agrees with itself
            ends.append(sign * result.fun if result.status == 0 else sign * -np.inf)
        return np.ceil(ends[0] - 1e-4), np.floor(ends[1] + 1e-4)

    def given_away(self):
        """Return the small cells and classes with fewer than three possible values."""
        leaks = []
        for column, table in self.tables.items():
            for (label, level), count in table.items():
                if 0 < count < SMALL:
                    low, high = self.bounds([self.place[column, label, level]])
                    if high - low + 1 < FEWEST_VALUES:
                        leaks.append((column, label, level, count, low, high))
            for label in self.classes:
                size = sum(count for (k, _), count in table.items() if k == label)
                if 0 < size < SMALL:
                    low, high = self.bounds(self.among(column, [label], None))
                    if high - low + 1 < FEWEST_VALUES:
                        leaks.append((column, label, "all", size, low, high))
        return leaks

    # ---- what a page says ----------------------------------------------------------------------
    def members(self, shown):
        """Return the classes behind a label of the page."""
        if shown in self.classes:
            return [shown]
        named = [k for k in self.classes if shown == f"{k} or rarer"]
        assert named or shown == "all classes", shown
        return [k for k in self.classes if k not in self.shown_classes]

    def read_classes(self, sizes):
        """Take in the sizes of the classes as {label: number or None}."""
        self.shown_classes = set(sizes)
        self.sizes = sizes
        for column in self.tables:
            for label, size in sizes.items():
                if size is not None:
                    self.know(self.among(column, self.members(label), None), size, size)

    def read_total(self, n_rows):
        for column in self.tables:
            self.know(self.among(column, self.classes, None), n_rows, n_rows)

    def read_row(self, column, label, n, missing, cells):
        """Take in one class of a column; cells are (level, count, share), hidden ones None."""
        members = self.members(label)
        levels = {v for k, v in self.tables[column] if v is not None}
        named = {level for level, *_ in cells}
        valued = self.among(column, members, levels)
        for value, where in ((n, valued), (missing, self.among(column, members, [None]))):
            if value is not None:
                self.know(where, value, value)
        for level, count, share in cells:
            mine = [level] if level in levels else [v for v in levels if v not in named]
            if level is None or not mine:
                continue
            where = self.among(column, members, mine)
            if count == "<5":
                self.know(where, 1, 4)
            elif count is not None:
                self.know(where, count, count)
            if share is not None:  # of the rows with a value or of all: what both readings allow
                low, high = share
                self.know(where + valued, 0, np.inf, [1.0] * len(where) + [-low] * len(valued))
                rows = valued if count == "<5" else self.among(column, members, None)
                self.know(where + rows, -np.inf, 0, [1.0] * len(where) + [-high] * len(rows))


def percent(text):
    """Return the ends of a rounded share; whole tenths may be rounded to tenths."""
    value = int(text) / 100
    margin = 0.05 if int(text) % 10 == 0 else 0.005
    return value - margin, value + margin


def exact(share):
    """Return the ends of a share of JSON; whole tenths may be rounded to tenths."""
    if share is None:
        return None
    margin = 0.05 if round(share, 1) == share else TINY
    return share - margin, share + margin


def read_count(text):
    return {"hidden": None, "<5": "<5"}.get(text) if not text[0].isdigit() else int(
        text.replace(",", "")
    )  # fmt: skip


def attack_json(attack, text):
    facts = json.loads(text)
    attack.read_classes(facts["data"]["classes"])
    attack.read_total(facts["data"]["rows"])
    if facts["data"]["missing_cells"] is not None:
        missing = [i for i, (_, _, level) in enumerate(attack.cells) if level is None]
        attack.know(missing, facts["data"]["missing_cells"], facts["data"]["missing_cells"])
    for row in facts["features"]:
        for group in row.get("classes", ()):
            if row["name"] not in attack.tables:
                continue
            cells = [
                (c["level"], read_count(c["count"]), exact(c["share"]))
                for c in group.get("levels", ())
            ]
            attack.read_row(row["name"], group["class"], group["n"], group["missing"], cells)
        read_words(attack, row["name"], row.get("words", ""))


def read_words(attack, column, words):
    """Take in "'A' is in 41% of sick and in 30% of well"."""
    words = words.partition(" (of all rows")[0].rstrip(".")
    match = re.match(r"'(.*)' is in (\d+)% of (.*) and in (\d+)% of (.*)$", words)
    if match and column in attack.tables and match[1] in {v for _, v in attack.tables[column]}:
        for share, label in ((match[2], match[3]), (match[4], match[5])):
            members = attack.members(label)
            size = attack.sizes[label]
            # of the rows with a value or of all: what both readings allow
            low, high = percent(share)
            present = attack.among(column, members, {v for _, v in attack.tables[column] if v})
            where = attack.among(column, members, [match[1]])
            attack.know(where, -np.inf, high * size)
            weights = [1.0] * len(where) + [-low] * len(present)
            attack.know(where + present, 0, np.inf, weights)


def attack_html(attack, text):
    target = re.search(
        r"<dt>(?:classes|\w+)</dt><dd>((?:<bdi>[^<]*</bdi> [\d,]+(?:, )?)+)</dd>", text
    )
    pairs = re.findall(r"<bdi>([^<]*)</bdi> ([\d,]+)", target[1])
    attack.read_classes({unescape(k): int(v.replace(",", "")) for k, v in pairs})
    attack.read_total(int(re.search(r"<dt>rows</dt><dd>([\d,]+)", text)[1].replace(",", "")))
    total = re.search(r"<dt>missing</dt><dd>([\d,]+) cells", text)
    if total:
        missing = [i for i, (_, _, level) in enumerate(attack.cells) if level is None]
        attack.know(missing, int(total[1]), int(total[1]))
    for card in re.findall(r'<li class="card">(.*?)</li>', text, re.DOTALL):
        column = unescape(re.search(r"<bdi>\d+\. (.*?)</bdi>", card)[1])
        if column not in attack.tables:
            continue
        for label, n, missing, rest in re.findall(
            r"<p><bdi>([^<]*)</bdi>: "
            r"(?:([\d,]+) rows(?:, ([\d,]+) missing)?|rows with a value: hidden)(;.*?)?</p>",
            card,
        ):
            cells = [
                (unescape(level), read_count(unescape(count)), percent(share) if share else None)
                for level, count, share in re.findall(
                    r"<bdi>([^<]*)</bdi> (\S+?)(?: \((\d+)%\))?(?=,|$)", rest
                )
            ]
            n_missing = None if not n else read_count(missing or "0")
            attack.read_row(column, unescape(label), read_count(n or "hidden"), n_missing, cells)
        read_bars(attack, column, card)
        read_words(attack, column, unescape(re.findall(r"<p>([^<]*)</p>", card)[0]))


def read_bars(attack, column, card):
    """Take in the lengths of the bars of a small picture, and their titles."""
    labels = [
        unescape(t)
        for t in re.findall(r'text-anchor="end">(?:<title>[^<]*</title>)?([^<]*)<', card)
    ]
    for title, top, width in re.findall(
        r'<g><title>([^<]*)</title><rect [^>]*y="(\d+)" width="(\d+)"', card
    ):
        named = re.match(r"(.*): ([\d,]+) rows", unescape(title))
        label = labels[(int(top) - 3) // 22]
        if named is None or label not in attack.sizes or attack.sizes[label] is None:
            continue
        level, count = named[1], int(named[2].replace(",", ""))
        where = attack.among(column, attack.members(label), [level])
        if where:
            attack.know(where, count, count)
            longest = (int(width) + 1) / BAR * attack.sizes[label]
            attack.know(where, -np.inf, longest)


def attack_markdown(attack, text):
    classes = re.search(r"^- classes: (.*)$", text, re.MULTILINE)[1]
    pairs = re.findall(r"(.+?) ([\d,]+)(?:, |$)", re.sub(r"\\(.)", r"\1", classes))
    attack.read_classes({k: int(v.replace(",", "")) for k, v in pairs})
    n_rows, missing = re.search(
        r"^- ([\d,]+) rows.*?(?:, ([\d,]+) missing cells)?", text, re.M
    ).groups()
    attack.read_total(int(n_rows.replace(",", "")))
    if missing:
        where = [i for i, (_, _, level) in enumerate(attack.cells) if level is None]
        attack.know(where, int(missing), int(missing))
    for line in re.findall(r"^\| \d+ \|.*$", text, re.MULTILINE):
        parts = [re.sub(r"\\(.)", r"\1", part) for part in line.strip("| ").split(" | ")]
        if len(parts) == 7 and "% of" in parts[5]:
            read_words(attack, parts[1], parts[5])


def attack_svg(attack, text):
    """Take in legends such as "well (56)"."""
    for label, size in re.findall(r">([^<>]*) \(([\d,]+)\)<", text):
        if unescape(label) in attack.sizes:
            for column in attack.tables:
                where = attack.among(column, attack.members(unescape(label)), None)
                attack.know(where, int(size.replace(",", "")), int(size.replace(",", "")))


def true_tables(frame, y, columns):
    """Return the cells of the columns of a polars frame; numbers have the level "a value"."""
    tables = {}
    for name in columns:
        values = frame[name].to_list()
        if frame[name].dtype.is_numeric():
            values = [None if v is None or v != v else "a value" for v in values]
        levels = [None, *sorted({v for v in values if v is not None})]
        tables[name] = {(k, v): 0 for k in sorted(set(y)) for v in levels}
        for k, v in zip(y, values, strict=True):
            tables[name][k, v] += 1
    return tables
