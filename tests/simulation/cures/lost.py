"""Cures of what was acknowledged and lost, or deleted and back."""

from tests.simulation.cures.cure import Cure

LOST: tuple[Cure, ...] = ()
