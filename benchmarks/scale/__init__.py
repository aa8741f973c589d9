"""Growth of time, memory and accuracy of every method with the columns and the rows.

``python -m benchmarks.scale --output FILE`` measures, ``python -m benchmarks.scale plot FILE ...``
draws. The table of methods and of what they cannot do without is :mod:`benchmarks.scale.families`.
"""
