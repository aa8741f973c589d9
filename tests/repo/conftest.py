"""Files that pytest leaves out here: one is for type checkers."""

collect_ignore = ["typed_use.py"]
