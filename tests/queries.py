"""Streaming queries that take all there is, and end."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

END_S = 200


def finish(queries: "Sequence[StreamingQuery]") -> None:
    """Wait for all of them; raises what one has failed of."""
    try:
        for query in queries:
            assert query.awaitTermination(END_S), f"{query.name} does not end"
    finally:
        for query in queries:
            query.stop()
