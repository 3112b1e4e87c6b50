"""Cures of what stopped, hung, or never came back."""

from tests.simulation.cures.cure import Cure

STUCK: tuple[Cure, ...] = ()
