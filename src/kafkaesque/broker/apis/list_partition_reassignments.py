"""ListPartitionReassignments (46), version 0. None: on one node there is nothing to move.

As in Kafka, topics that are not there are no error.
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


def list_partition_reassignments(
    ctx: Context, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse()
