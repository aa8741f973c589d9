"""Published tables as studies: ``python -m studies NAME`` runs one and writes its verdicts."""
