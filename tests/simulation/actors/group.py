"""Groups: committers without members, and members that join, sync, commit and leave."""

import asyncio

from tests.simulation.actors.actor import PATIENCE_SECONDS, Actor
from tests.simulation.model.groups import REBALANCE_MS, SESSION_MS
from tests.simulation.model.records import Key, name
from tests.simulation.plan import Step

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.delete_groups import DeleteGroupsRequest
from kafkaesque.protocol.messages.heartbeat import HeartbeatRequest
from kafkaesque.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kafkaesque.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkaesque.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkaesque.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafkaesque.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment


class Committer(Actor):
    """A group of its own name that only commits: offsets are labels, so that no two are equal."""

    async def commit(self, topic: str, index: int) -> None:
        place = self.partition(topic, index)
        if place is not None:
            await self._commit(self.name, place)

    async def _commit(
        self, group: str, place: Key, generation: int = -1, member_id: str = ""
    ) -> ErrorCode:
        offset = self.world.records.new_label()
        commit = (group, *place)
        self.world.offsets.asked_for(commit, offset)
        self.world.groups.wanted(group)
        self.note(f"commit {offset} for {name(place)}")
        wanted = OffsetCommitRequestPartition(partition_index=place[1], committed_offset=offset)
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            topics=[OffsetCommitRequestTopic(topic_id=place[0], partitions=[wanted])],
        )
        answer = await self.ask(request, 10)
        code = self.code(answer.topics[0].partitions[0].error_code)
        self.note(f"commit {offset} for {name(place)}: {code.name}")
        if code is ErrorCode.NONE:
            self.world.offsets.told(commit, offset)
        return code

    async def delete_offset(self, topic: str, index: int) -> None:
        place = self.partition(topic, index)
        if place is None:
            return
        commit = (self.name, *place)
        self.world.offsets.asked_for(commit, None)
        wanted = OffsetDeleteRequestPartition(partition_index=place[1])
        request = OffsetDeleteRequest(
            group_id=self.name,
            topics=[OffsetDeleteRequestTopic(name=topic, partitions=[wanted])],
        )
        self.note(f"delete offset for {name(place)}")
        answer = await self.ask(request, 0)
        code = self.code(answer.error_code)
        if code is ErrorCode.NONE:
            code = self.code(answer.topics[0].partitions[0].error_code)
        self.note(f"delete offset for {name(place)}: {code.name}")
        if code is ErrorCode.NONE and self.partition(topic, index) == place:
            self.world.offsets.told(commit, None)

    async def delete_group(self) -> None:
        commits = self.world.offsets.known(self.name)
        for commit in commits:
            self.world.offsets.asked_for(commit, None)
        self.note("delete the group")
        answer = await self.ask(DeleteGroupsRequest(groups_names=[self.name]), 2)
        code = self.code(answer.results[0].error_code)
        self.note(f"delete the group: {code.name}")
        if code is ErrorCode.NONE:
            self.world.groups.deleted(self.name)
        for commit in commits:
            # No group is left of one that was there: an attempt that was refused has deleted it.
            is_gone = code is ErrorCode.GROUP_ID_NOT_FOUND and self.world.offsets.was_there(commit)
            if code is ErrorCode.NONE or is_gone:
                self.world.offsets.told(commit, None)


class Member(Committer):
    """One of several in a group: its name is the group's, a dash, and a number."""

    def __init__(self, name: str, world: object) -> None:
        super().__init__(name, world)  # type: ignore[arg-type]
        self._group = name.rpartition("-")[0]
        self._instance = name if name.endswith("s") else None
        self._member_id = ""
        self._generation = -1

    async def live(self, steps: list[Step]) -> None:
        """Whoever is a member goes on with heartbeats when the broker is back."""
        at = self.world.loop.time()
        if self._generation >= 0 and self.world.groups.is_member(self.name, at):
            steps.insert(0, Step(at, self.name, "beat", (2,)))
        await super().live(steps)

    async def join(self) -> None:
        joined = await self._join()
        if joined is None:
            return
        self._generation = joined.generation_id
        members = [member.member_id for member in joined.members]
        request = SyncGroupRequest(
            group_id=self._group,
            generation_id=self._generation,
            member_id=self._member_id,
            group_instance_id=self._instance,
            protocol_type="consumer",
            protocol_name=joined.protocol_name,
            assignments=[SyncGroupRequestAssignment(member_id=m, assignment=b"") for m in members],
        )
        sent_at = self.world.loop.time()
        code = self.code((await self.ask(request, 5)).error_code)
        self.note(f"sync of generation {self._generation}: {code.name}")
        is_named = self._instance is not None
        if code is ErrorCode.NONE:
            self.world.groups.synced(self.name, self._group, self._member_id, sent_at, is_named)
        else:
            self._answered(code, sent_at)
            self._generation = -1

    def _answered(self, code: ErrorCode, sent_at: float) -> None:
        """Whoever is in the group is not told otherwise."""
        self._checked(code)
        if code is ErrorCode.NONE:
            self.world.groups.heard(self.name, sent_at)

    def _checked(self, code: ErrorCode) -> None:
        for problem in self.world.groups.answered(self.name, code, self.world.loop.time()):
            self.world.fail(problem)

    async def _join(self) -> JoinGroupResponse | None:
        for _ in range(2):
            request = JoinGroupRequest(
                group_id=self._group,
                session_timeout_ms=SESSION_MS,
                rebalance_timeout_ms=REBALANCE_MS,
                member_id=self._member_id,
                group_instance_id=self._instance,
                protocol_type="consumer",
                protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
            )
            self.note("join")
            self.world.groups.joining(self.name, self._group, self._member_id)
            answer: JoinGroupResponse = await self.ask(request, 9, PATIENCE_SECONDS)
            code = self.code(answer.error_code)
            self.note(f"join: {code.name}, generation {answer.generation_id}")
            self._checked(code)
            if code is ErrorCode.NONE:
                self._member_id = answer.member_id
                return answer
            is_named = code is ErrorCode.MEMBER_ID_REQUIRED
            self._member_id = answer.member_id if is_named else ""
        return None

    async def beat(self, times: int) -> None:
        """Heartbeats a second apart, and a new join where the group asks for it."""
        for _ in range(times):
            if self._generation < 0:
                return
            request = HeartbeatRequest(
                group_id=self._group,
                generation_id=self._generation,
                member_id=self._member_id,
                group_instance_id=self._instance,
            )
            sent_at = self.world.loop.time()
            code = self.code((await self.ask(request, 4)).error_code)
            self._answered(code, sent_at)
            if code is not ErrorCode.NONE:
                self.note(f"heartbeat: {code.name}")
                self._generation = -1
                await self.join()
            await asyncio.sleep(1)

    async def commit_as_member(self, topic: str, index: int) -> None:
        place = self.partition(topic, index)
        if place is not None and self._generation >= 0:
            sent_at = self.world.loop.time()
            code = await self._commit(self._group, place, self._generation, self._member_id)
            self._answered(code, sent_at)

    async def leave(self) -> None:
        if not self._member_id:
            return
        self.world.groups.leaving(self.name)
        member = MemberIdentity(member_id=self._member_id, group_instance_id=self._instance)
        answer = await self.ask(LeaveGroupRequest(group_id=self._group, members=[member]), 5)
        self.note(f"leave: {self.code(answer.error_code).name}")
        self._member_id, self._generation = "", -1
