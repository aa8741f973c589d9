"""Reading of the command line's output in a pipe."""


def cells(text):
    return [line.split("\t") for line in text.splitlines()]
