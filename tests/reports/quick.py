"""Reports with the fewest shuffles that can say yes."""

import featly


def quick_report(*tables, **options):
    return featly.report(*tables, **{"null": 19} | options)
