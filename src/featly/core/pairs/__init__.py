"""All pairs of columns, reduced as they are compared."""
