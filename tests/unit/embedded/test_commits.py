"""Offsets that are committed in the broker's process, beside what else goes on there."""

import asyncio
from pathlib import Path

import pytest
from tests.held_disk import settled
from tests.unit.broker.broker_rig import BrokerRig, run

from kafkaesque.embedded.node import Node
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups.events import CheckCommit, Reply
from kafkaesque.types import TopicPartition

PLACE = TopicPartition("orders", 0)


def test_nothing_is_committed_for_a_topic_that_is_deleted_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(rig: BrokerRig) -> None:
        await rig.topic("orders")
        node, coordinator = Node(rig.broker, 1, None), rig.broker.coordinator
        asked: list[CheckCommit] = []
        # A group that is busy answers later.
        monkeypatch.setattr(coordinator, "ask", lambda group, event: asked.append(event))
        commit = asyncio.ensure_future(node.commit("readers", {PLACE: 5}))
        await settled()
        await node.delete("orders")
        await rig.topic("orders")
        (event,) = asked
        assert isinstance(event.token, asyncio.Future)
        event.token.set_result(Reply(event.token, ErrorCode.NONE))
        with pytest.raises(KafkaError):
            await commit
        assert coordinator.table.offsets.fetch("readers", PLACE) is None

    run(tmp_path, work)
