"""Genotypes of a PLINK .bed file, one after the other."""


def genotypes_of(packed, n_rows):
    """Return how often the first allele occurs in every person, 3 where that is missing."""
    meaning = {"00": 2, "01": 3, "10": 1, "11": 0}
    genotypes = []
    for byte in packed:
        bits = format(byte, "08b")
        genotypes += [meaning[bits[offset : offset + 2]] for offset in (6, 4, 2, 0)]
    return genotypes[:n_rows]
