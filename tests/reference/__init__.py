"""Reference implementations of the fast loops: slow, obvious, and independent of them."""
