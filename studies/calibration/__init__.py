"""Every sentence that featly prints, on tables of which the truth is known: how often it is wrong.

``python -m studies calibration --part reports --label before --minutes 20``

Tables are drawn from made and half-made laws with fixed seeds (:mod:`studies.calibration.laws`). On
each featly is called as a user calls it (:mod:`studies.calibration.parts`), and what it says is
compared with the truth: the model that it shows, its columns and its fit to all rows, on new rows
of the same law (:mod:`studies.calibration.truth`). Nothing of featly is repeated, so the same
command with another label, after featly was changed, gives the next column of the page.

Every part writes a row a table into ``studies/runs/calibration``, stops after `minutes`, and goes
on when it is called again. Counts and means go to ``studies/results/calibration-LABEL.json``, and
from there to the guide "How often is featly wrong?". Two laws are kept aside, ``--aside``: they are
run once, when everything else is right.
"""
