"""What pytest leaves out here: a file that is for type checkers."""

collect_ignore = ["typed_use.py"]
