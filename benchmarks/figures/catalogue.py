"""All figures, in the order in which they run: on brokers of their own, just started, warm."""

from benchmarks.figures.cold import COLD
from benchmarks.figures.connections import CONNECTIONS_FIGURE
from benchmarks.figures.partitions import PARTITIONS
from benchmarks.figures.rate import LOADS_FIGURE, RATE, RATE_WARM
from benchmarks.figures.start import START
from benchmarks.figures.topics import TOPICS_FIGURE
from benchmarks.figures.transactions import TRANSACTIONS_FIGURE
from benchmarks.figures.trip import TRIP, TRIP_WARM
from benchmarks.figures.volume import VOLUME

FIGURES = (
    START,
    VOLUME,
    PARTITIONS,
    CONNECTIONS_FIGURE,
    RATE,
    TRIP,
    RATE_WARM,
    TRIP_WARM,
    COLD,
    LOADS_FIGURE,
    TOPICS_FIGURE,
    TRANSACTIONS_FIGURE,
)
