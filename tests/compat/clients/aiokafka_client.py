"""aiokafka behind the contract of contract.py.

It takes no part in the group test, so it has no `member`; everything else is a coroutine, run to
its end with a time limit.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from tests.compat.clients.contract import Action, Arguments, Line, encoded, main, record_line

TIMEOUT_S = 30


async def create(bootstrap: str, arguments: Arguments) -> list[Line]:
    async with _admin(bootstrap) as admin:
        topic = NewTopic(
            arguments["topic"], arguments["partitions"], 1, topic_configs=arguments["configs"]
        )
        response = await admin.create_topics([topic])
        # This client hands errors back instead of raising them.
        for name, code, message in response.topic_errors:
            if code:
                raise RuntimeError(f"{name}: error {code}: {message}")
    return [{"topic": arguments["topic"]}]


async def produce(bootstrap: str, arguments: Arguments) -> list[Line]:
    codec = None if arguments["codec"] == "none" else arguments["codec"]
    async with AIOKafkaProducer(
        bootstrap_servers=bootstrap, compression_type=codec, linger_ms=50, enable_idempotence=True
    ) as producer:
        sent = [
            await producer.send(
                arguments["topic"],
                key=encoded(key),
                value=encoded(value),
                partition=arguments["partition"],
                headers=[(name, encoded(content)) for name, content in arguments["headers"]],
            )
            for key, value in arguments["records"]
        ]
        metadata = [await future for future in sent]
    return [{"partition": each.partition, "offset": each.offset} for each in metadata]


async def consume_assign(bootstrap: str, arguments: Arguments) -> list[Line]:
    async with _consumer(bootstrap, None) as consumer:
        partitions = [TopicPartition(arguments["topic"], each) for each in arguments["partitions"]]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        ends = await consumer.end_offsets(partitions)
        starts = await consumer.beginning_offsets(partitions)
        count = sum(ends[each] - starts[each] for each in partitions)
        return [_line(await consumer.getone()) for _ in range(count)]


async def consume_group(bootstrap: str, arguments: Arguments) -> list[Line]:
    lines = []
    async with _consumer(bootstrap, arguments["group"]) as consumer:
        consumer.subscribe([arguments["topic"]])
        for _ in range(arguments["count"]):
            record = await consumer.getone()
            lines.append(_line(record))
            partition = TopicPartition(record.topic, record.partition)
            await consumer.commit({partition: record.offset + 1})
    return lines


async def describe(bootstrap: str, arguments: Arguments) -> list[Line]:
    async with _admin(bootstrap) as admin:
        (topic,) = await admin.describe_topics([arguments["topic"]])
        resource = ConfigResource(ConfigResourceType.TOPIC, arguments["topic"])
        (response,) = await admin.describe_configs([resource])
        # (error, message, type, name, entries); an entry starts with its name and its value.
        entries = response.resources[0][4]
    return [
        {
            "partitions": sorted(each["partition"] for each in topic["partitions"]),
            "configs": {entry[0]: entry[1] for entry in entries},
        }
    ]


@asynccontextmanager
async def _admin(bootstrap: str) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


def _consumer(bootstrap: str, group: str | None) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )


def _line(record: Any) -> Line:
    return record_line(record.partition, record.offset, record.key, record.value, record.headers)


def _run(action: Callable[[str, Arguments], Coroutine[Any, Any, list[Line]]]) -> Action:
    def run(bootstrap: str, arguments: Arguments) -> list[Line]:
        return asyncio.run(asyncio.wait_for(action(bootstrap, arguments), TIMEOUT_S))

    return run


ACTIONS = {
    "create": _run(create),
    "produce": _run(produce),
    "consume_assign": _run(consume_assign),
    "consume_group": _run(consume_group),
    "describe": _run(describe),
}

if __name__ == "__main__":
    main(ACTIONS)
