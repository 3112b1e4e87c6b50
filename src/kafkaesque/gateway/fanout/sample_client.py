"""`/ws`: the protocol of the sample that this project began with (docs/reference/fanout.md).

    server  text    what topic/key do you want?\\n
    client  binary  incoming/dave                   or text; the key * is all keys
    server  binary  dave                            one message with the key,
            binary  Hey, Dave, did you get this?    one with the value; and so on

`/ws?decode=json` sends JSON in place of keys and values that have a schema.
A null key is an empty message, and matched by * alone; a null value is an empty message. There is
no word for what a slow client missed: it gets the newest. An answer that cannot be served closes
the connection with 1008 and the reason. Above: http_client.py. Below: websocket_client.py.
"""

from typing import TYPE_CHECKING

from kafkaesque.gateway.fanout import websocket
from kafkaesque.gateway.fanout.encodings import sample
from kafkaesque.gateway.fanout.joining import AwayError, SubscribeError
from kafkaesque.gateway.fanout.wants import EVERYTHING, Wants
from kafkaesque.gateway.fanout.websocket import Frame
from kafkaesque.gateway.fanout.websocket_client import WebSocketClient

if TYPE_CHECKING:
    from kafkaesque.gateway.fanout.door import Door

GREETING = websocket.text(b"what topic/key do you want?\n")
_ALL_KEYS = b"*"
_NUMBER = 0


class SampleClient(WebSocketClient):
    __slots__ = ("_decodes", "_has_answered")

    def __init__(self, door: "Door", address: str, *, decodes: bool = False) -> None:
        super().__init__(door, address)
        self._decodes = decodes
        self._has_answered = False

    def message(self, frame: Frame) -> None:
        if self._has_answered:
            self.end(1008, "one answer is enough: connect again to ask for something else")
            return
        self._has_answered = True
        # A line that was typed into a terminal ends with a newline, which nobody means.
        is_typed = frame.opcode == websocket.TEXT
        answer = frame.payload.removesuffix(b"\n") if is_typed else frame.payload
        topic, slash, key = answer.partition(b"/")
        try:
            name = topic.decode()
        except UnicodeDecodeError:
            name = ""
        if not slash or not name:
            self.end(1008, "answer with topic/key, as in incoming/dave; the key * is all keys")
            return
        self.door.spawn(self._subscribe(name, key))

    async def _subscribe(self, topic: str, key: bytes) -> None:
        wants = EVERYTHING if key == _ALL_KEYS else Wants(keys=(key,))
        if reason := self.refusal(topic, wants):
            self.end(1008, reason)
            return
        try:
            encoder = self.door.decoding.sample if self._decodes else sample
            prepared = await self.door.joining.prepare(topic, wants)
        except SubscribeError as error:
            self.end(1013 if isinstance(error, AwayError) else 1008, str(error))
        else:
            subscription = self.door.joining.join(
                prepared, _NUMBER, self, encoder, decodes=self._decodes
            )
            self.welcome(subscription)
