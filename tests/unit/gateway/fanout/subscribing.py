"""Subscriptions without a client, for tests of what does not speak to one."""

from typing import cast

from kafkaesque.client.v1 import Policy
from kafkaesque.gateway.fanout.client import Client
from kafkaesque.gateway.fanout.encodings import v1_websocket
from kafkaesque.gateway.fanout.stream import Stream
from kafkaesque.gateway.fanout.subscription import Subscription
from kafkaesque.gateway.fanout.wants import Wants

NOBODY = cast(Client, None)


def subscription(stream: Stream, wants: Wants, policy: Policy = Policy.PAUSE) -> Subscription:
    return Subscription(1, NOBODY, stream, wants, v1_websocket, policy, 10)
