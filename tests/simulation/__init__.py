"""A deterministic simulation of the whole broker, in the spirit of FoundationDB and TigerBeetle.

    make simulate                                         20,000 seeds
    python -m tests.simulation --seeds 1:300              some of them
    python -m tests.simulation --seed 17                  one: its plan, then its history
    python -m tests.simulation --shrink 17                the smallest plan that fails like it
    python -m tests.simulation --every-fault              one fault at each file call (faults/)
    python -m tests.simulation --without-each             each cure taken back (cures/)

The broker runs as it is, connections included, on an event loop with virtual time (loop.py). Its
sockets are in memory (network.py), its threads are greenlets that are suspended at every file call
(disk.py), its disk forgets what was not synced, and fails as a plan says (files.py, on top of
crash/forgetting.py). Clients (actors/) do what the plan says and note in a model (model/) what they
were told. At each start of the broker and at the end, when it has been left alone with a good disk,
everything it has is read (look.py) and held against the model (world.py); housekeeping.py looks at
what cannot be seen over the wire, complaints.py at the log. draw.py and scenes.py make the plans.

One seed, one plan, one history, byte for byte, whatever PYTHONHASHSEED is (determinism.py).

To read a failure: the last line of the history says what was promised and not kept. Above it, a
line for each event: time in seconds, who, what. A request has a line when it is sent and one when
it is answered; `disk` are faults, `machine` is the power or a kill, `log` is what the broker logs.
Shrink first: of some eighty steps two to ten are left. A plan is plain data: change it by hand, run
`World(plan).run()`, and put a breakpoint wherever you like; time stands still meanwhile.
While known defects are open, `--known PATTERN` lets runs go on after failures that match.
A failing seed belongs to the code it was found with: a change of the broker or of the simulator
gives every seed another history.
"""
