"""Cures taken back: does the simulation find a broker that has one of its defects again?

    python -m tests.simulation --without NAME             20,000 seeds, or --seed, --seeds, --shrink
    python -m tests.simulation --without-each             every cure, until a seed finds it: a table

A cure is taken back by putting the old behaviour in the place of the new one, as near to the code
before it as today's parts allow. A seed finds it if the run fails as the cure says it must, and the
same plan passes with the cure in its place. A cure that no seed finds has no test yet.

lost.py: what was acknowledged and lost, or deleted and back. stuck.py: what stopped, hung, or never
came back.
"""

from tests.simulation.cures.cure import Cure
from tests.simulation.cures.lost import LOST
from tests.simulation.cures.stuck import STUCK

CURES: dict[str, Cure] = {cure.name: cure for cure in (*LOST, *STUCK)}
