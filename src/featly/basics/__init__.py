"""Small things that know nobody: errors, kinds of column, progress, whole files, resources."""
