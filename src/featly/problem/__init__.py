"""From a table and a target to one checked problem that a method ranks."""
