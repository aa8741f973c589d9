"""Modules that import no other part of featly: errors, kinds of column, progress, resources."""
