"""Forward search by a criterion, and its packed columns."""
