"""Combine rankings into one, and many classes from problems of two classes."""
