"""Spark's Python processes, forked from one that has loaded what they need.

A pipeline on one machine has some ten of them: one looks for sources, others plan, read, write and
commit. Each would load PySpark, pyarrow, pandas and our own modules anew: one to four seconds of
a processor before the first row.

    session.py ── starts ──► server.py, which loads all that once, while the JVM starts
        │                        │ forks, from then on
        ▼                        ▼
       JVM ── starts ──► asking.py ◄── says how it ended ── the process that Spark meant to start

    forks.py   the server's life, seen from the driver, and the script that Spark takes for Python
    asking.py  what that script runs, and what it and the server say to each other

Where there is no server (another machine, another system, it was killed), asking.py turns into the
Python that was meant, which is slower and otherwise the same. Above: session.py.
"""
