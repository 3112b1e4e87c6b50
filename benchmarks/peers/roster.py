"""The brokers that race, in the order of their turns. Another broker is one more file and entry."""

from benchmarks.peers.apache import APACHE, KAFKA
from benchmarks.peers.kafkaesque import KAFKAESQUE

PEERS = (APACHE, KAFKAESQUE)
REFERENCE = KAFKA
"""The variant that all ratios are to."""
