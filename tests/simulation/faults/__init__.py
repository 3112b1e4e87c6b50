"""One fault at each file call of the broker, in each of its states, and what becomes of it.

    python -m tests.simulation --every-fault              all of the table

A few plans (days.py) touch every operation on every family of files. A run of each without a fault
notes every call and where it comes from (sites.py, files.py). Then, for each such site and each
fault that fits (table.py), the same plan runs with that one fault (world.py), and everything has to
hold that the simulation asks of any run: see the package above.
"""
