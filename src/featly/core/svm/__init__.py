"""Margin machines: support vector machines, l1 margins, zero norms."""
