"""Reading of a table and a target into one checked problem, the input of every method."""
