"""All figures: those that need a fresh broker first, then those on brokers that are warm."""

from benchmarks.figures.cold import COLD
from benchmarks.figures.connections import CONNECTIONS_FIGURE
from benchmarks.figures.partitions import PARTITIONS
from benchmarks.figures.rate import LOADS_FIGURE, RATE
from benchmarks.figures.start import START
from benchmarks.figures.topics import TOPICS_FIGURE
from benchmarks.figures.trip import TRIP
from benchmarks.figures.volume import VOLUME

FIGURES = (
    START,
    VOLUME,
    PARTITIONS,
    CONNECTIONS_FIGURE,
    RATE,
    TRIP,
    COLD,
    LOADS_FIGURE,
    TOPICS_FIGURE,
)
