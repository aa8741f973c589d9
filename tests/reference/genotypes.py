"""Genotypes of a PLINK .bed file, one after the other."""


def genotypes_of(packed, n_rows):
    """How often the first allele occurs in every person, 3 where that is missing."""
    meaning = {"00": 2, "01": 3, "10": 1, "11": 0}
    found = []
    for byte in packed:
        bits = format(byte, "08b")
        found += [meaning[bits[place : place + 2]] for place in (6, 4, 2, 0)]
    return found[:n_rows]
