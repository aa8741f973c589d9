"""The logical problems row by row, as the texts state them."""

SEGMENTS = {  # the display as drawn: top, upper right, lower right, bottom, lower left, upper left
    0: " _ | ||_|",
    1: "     |  |",
    2: " _  _||_ ",
    3: " _  _| _|",
    4: "   |_|  |",
    5: " _ |_  _|",
    6: " _ |_ |_|",
    7: " _   |  |",
    8: " _ |_||_|",
    9: " _ |_| _|",
}
POSITIONS = {"a": 1, "f": 3, "g": 4, "b": 5, "e": 6, "d": 7, "c": 8}  # in the nine characters above


def corral(f1, f2, f3, f4):
    return 1 if (f1 == 1 and f2 == 1) or (f3 == 1 and f4 == 1) else 0


def parity(*bits):
    return 1 if sum(bits) in (1, 3, 5) else 0


def is_lit(digit, segment):
    return 1 if SEGMENTS[digit][POSITIONS[segment]] != " " else 0


def monk(problem, x):
    x1, x2, _, x4, x5, _ = x
    if problem == 1:
        return int(x1 == x2 or x5 == 1)
    if problem == 2:
        return int([value == 1 for value in x].count(True) == 2)
    return int((x5 == 3 and x4 == 1) or (x5 != 4 and x2 != 3))
