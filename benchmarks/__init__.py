"""featly against its peers, in one run: ``make bench``."""
