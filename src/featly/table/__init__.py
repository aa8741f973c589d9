"""Tables of any library: cells by column, and what is known about the columns."""
