"""What a pipeline said last, to a reader of its own."""

from kafkaesque.client.board import Board
from kafkaesque.client.pipelines import PipelineStatus
from kafkaesque.client.profiles import connection_of


def status_of(brokers: str, name: str) -> PipelineStatus:
    board = Board(connection_of(brokers))
    try:
        board.catch_up()
        nothing = PipelineStatus(name, "", "starting", 0, 0)
        return board.statuses.get(name, nothing)
    finally:
        board.close()
