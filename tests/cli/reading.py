"""What the command line prints in a pipe."""


def cells(text):
    return [line.split("\t") for line in text.splitlines()]
