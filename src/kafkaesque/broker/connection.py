"""One client's connection: bytes in, requests to their APIs, responses out in the order of the
requests.

    frame:  length i32 | header (api key, version, correlation id, client id) | body

Requests are pipelined. Each one's ordered stage runs as soon as it has arrived, in order of
arrival; what has to wait (a flush, a long poll, a rebalance) goes on as a task, and its response
takes its place in the line. A request or a response with thousands of elements is decoded or
encoded in slices.

What is in flight is counted, byte by byte: the frame that is being received, requests without a
response, responses that are not sent. A connection that has more in flight than its share, or finds
the broker's budget used up, is not read from until some of it is given back. A long request is
decoded when there is room for what it comes to.

When a connection ends, so does what only it wanted: questions, and long requests that have not
begun. What changes something is brought to its end, and holds its bytes until then.

Above: server.py. Below: apis/, budget.py, long_requests.py, slices.py. Two things are caught here
and nowhere else: bytes that do not decode close this connection alone, with one line in the log;
our own bug is logged with its traceback.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from inspect import iscoroutinefunction
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from kafkaesque.broker.apis import APIS, Api, Context
from kafkaesque.broker.apis.api_versions import unsupported_api_versions
from kafkaesque.broker.config import ANY_ADDRESS
from kafkaesque.broker.long_requests import Room
from kafkaesque.broker.partial_frame import PartialFrame, first_bytes
from kafkaesque.broker.progress import Progress
from kafkaesque.broker.steps import (
    ELEMENT_BYTES,
    Encoding,
    after_one_step,
    begin_to_encode,
    framed,
    measured,
)
from kafkaesque.errors import DecodeError, ErrorCode
from kafkaesque.protocol.codec import decode, decode_in_steps, encode, taken_apart
from kafkaesque.protocol.header import RequestHeader, decode_request_header
from kafkaesque.protocol.messages import API_VERSIONS, FETCH, FLEXIBLE_SINCE, MESSAGES, PRODUCE
from kafkaesque.types import Buffer

if TYPE_CHECKING:
    from kafkaesque.broker.broker import Broker
    from kafkaesque.broker.config import Listener

logger = logging.getLogger(__name__)

_MAX_IN_FLIGHT = 128
_UNCOUNTED_UNSENT_BYTES = 16 * 1024
_LARGE_ANSWER_BYTES = 256 * 1024
_SMALL_BYTES = 8192
"""A request of this size cannot be long. It is let in whatever else is in flight, if its connection
has nothing there: else a few greedy clients could shut everybody out.
"""
_BYTES_PER_ELEMENT = 16
"""How much larger a request without records becomes by being decoded, as a rule."""
_REQUESTS_IN_A_ROW = 8
MAX_ELEMENTS = 50_000
"""In all arrays of one request: no client comes near it, but one megabyte can."""
_TIMES_A_TEXT = 4
"""How much larger a text may be when it is decoded: one emoji, and each of its letters takes four
bytes. Records are not decoded.
"""
_CHANGES = frozenset(api.key for api in APIS.values() if iscoroutinefunction(api.handle))
"""An API that is `async def` changes something, or is long. As in Kafka, nothing that comes after
it on its connection begins before it is answered: the next OffsetFetch sees a commit.
"""
_HOT = frozenset((PRODUCE, FETCH))
_AWAITABLE = (asyncio.Future, Awaitable)
"""The usual one first: to ask whether something is an `Awaitable` takes ten times as long."""
_FETCH_KEY = FETCH.to_bytes(2)


class _Place:
    """A place in the line of responses; `chunks` once there is an answer, `size` what it holds.
    Without a context its request has not begun. A long one has a room, until it is answered. Its
    answer is behind if there are others to be sent before it.
    """

    __slots__ = ("chunks", "context", "is_behind", "is_long", "room", "size")

    def __init__(self, size: int = 0, context: Context | None = None) -> None:
        self.chunks: list[Buffer] | None = None
        self.context = context
        self.is_behind = False
        self.is_long = False
        self.room: Room | None = None
        self.size = size

    @property
    def has_room(self) -> bool:
        return self.room is not None or (self.context is not None and self.context.room is not None)

    def give_back(self) -> None:
        """All that its request holds beside its bytes."""
        if self.room is not None:
            self.room.leave()
        if self.context is not None:
            self.context.give_back()


class Connection(asyncio.BufferedProtocol):
    """Receives into the broker's scratch buffer; a frame that does not fit in what was read gets
    its own.
    """

    def __init__(
        self,
        broker: "Broker",
        listener: "Listener",
        open_connections: set["Connection"],
        apis: Mapping[int, Api] = APIS,
    ) -> None:
        self._broker = broker
        self._listener = listener
        self._open = open_connections
        self._apis = apis
        self._turn = broker.turn
        self._scratch = broker.scratch
        self._budget = broker.budget
        self._traffic = broker.traffic
        self._max_frame_bytes: int = broker.config["socket.request.max.bytes"]
        self._max_held: int = broker.config["queued.max.request.bytes.per.connection"]
        self._transport: asyncio.Transport
        self._time: Callable[[], float]
        self._number = next(broker.connection_numbers)
        self.peer = "?"
        self.last_heard = 0.0
        self._began = 0.0  # The last read.
        # What has come of the next frame: less than its length, or what there is of it.
        self._head = b""
        self._frame: PartialFrame | None = None
        # Requests whose responses have not been sent, oldest first.
        self._line: deque[_Place] = deque()
        self._change: _Place | None = None
        self._under_way: dict[asyncio.Future[Any], _Place] = {}
        self._encoding: set[asyncio.Future[Any]] = set()
        self._forgetting: set[asyncio.Future[Any]] = set()
        # Bytes in flight, and of them those that the transport has not sent. What of them are long
        # answers, and what of these waits behind others.
        self._held = 0
        self._unsent = 0
        self._unread = 0
        self._behind = 0
        self._largest_write = 0
        self._is_writable = True
        # Not read from: with whole frames that wait for their turn, or a frame that wants room.
        self._is_waiting = False
        self._backlog = memoryview(b"")
        self._is_let_in = False
        self._is_lost = False
        self._closing = False
        self._finishing = False
        self._progress = Progress()

    @property
    def is_busy(self) -> bool:
        """Whether a request waits for its response, or a response to be sent."""
        return bool(self._line) or self._transport.get_write_buffer_size() > 0

    @property
    def parked_bytes(self) -> int:
        return len(self._backlog) + (self._frame.held if self._frame else 0)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self.peer = peer[0] if peer else "?"
        self._is_let_in = self._broker.connection_limits.enter(self.peer)
        if not self._is_let_in:
            self.abort()
            return
        self._transport.set_write_buffer_limits(high=_UNCOUNTED_UNSENT_BYTES, low=0)
        if self._listener.host in ANY_ADDRESS and not self._listener.advertised_host:
            # "Come back to 0.0.0.0" helps nobody: the address that this client reached does.
            reached = transport.get_extra_info("sockname")[0]
            self._listener = replace(self._listener, advertised_host=reached)
        self._time = asyncio.get_running_loop().time
        self.last_heard = self._time()
        self._open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._closing = True
        if not self._is_let_in:
            return
        self._broker.connection_limits.leave(self.peer)
        self._open.discard(self)
        self._budget.forget(self)
        left = 0
        for work, place in tuple(self._under_way.items()):
            context = place.context
            if context is None or context.ends_with_connection:
                work.cancel()
                place.size = 0
            elif context.waits or not isinstance(work, asyncio.Task):
                place.size = 0  # It is the answer alone that is waited for.
            left += place.size
        self._budget.unread -= self._unread + self._behind
        self._hold(left - self._held)
        self._is_lost = True
        self._frame, self._backlog = None, memoryview(b"")
        self._line.clear()
        for encoding in tuple(self._encoding):
            encoding.cancel()

    def _hold(self, size: int) -> None:
        """So many bytes more in flight, or fewer. What is left of a lost connection is given back
        where it ends.
        """
        if self._is_lost:
            return
        self._held += size
        budget = self._budget
        budget.used += size
        if size < 0 and budget.waiting:
            budget.wake_soon()

    def _hold_unsent(self, size: int, of_long: int) -> None:
        """What the transport has, and what of it are answers of long requests."""
        self._hold(size - self._unsent)
        self._unsent = size
        self._budget.unread += of_long - self._unread
        self._unread = of_long

    def _hold_behind(self, size: int) -> None:
        self._behind += size
        self._budget.unread += size

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._scratch if self._frame is None else self._frame.room()

    def buffer_updated(self, nbytes: int) -> None:
        self._began = perf_counter()
        self.last_heard = self._time()
        self._traffic.received_bytes += nbytes
        if self._frame is None:
            self._receive(self._scratch[:nbytes])
        else:
            self._take_in(self._frame, nbytes)
            nbytes = len(self._scratch)  # The rest of a large frame may be small.
        is_whole = self._frame is None
        is_spent = self._turn.is_spent(self._began, perf_counter(), nbytes, is_whole=is_whole)
        if is_spent and not (self._is_waiting or self._closing):
            self._transport.pause_reading()
            asyncio.get_running_loop().call_soon(self._read_on)

    def _read_on(self) -> None:
        """In the next turn: unless reading has been stopped for another reason meanwhile."""
        self._turn.next(perf_counter())
        if not (self._is_waiting or self._closing or self._finishing):
            self._transport.resume_reading()

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self._is_writable = False
        self._count_unsent()

    def resume_writing(self) -> None:
        self._is_writable = True
        self._hold_unsent(0, 0)
        self._catch_up()

    def _count_unsent(self) -> None:
        """Of what is sent in part all is kept."""
        kept = max(self._transport.get_write_buffer_size(), self._largest_write)
        self._hold_unsent(kept, min(self._unread, kept))

    def _receive(self, data: memoryview) -> None:
        """Take whole frames out of `data` and keep what is left of it for the next read."""
        if self._head:
            data, self._head = memoryview(bytearray(self._head) + data), b""
        budget = self._budget
        position, end, count = 0, len(data), 0
        while not self._closing:
            there = end - position - 4
            if there < 0:
                self._head = bytes(data[position:])
                return
            size = int.from_bytes(data[position : position + 4])
            if not 8 <= size <= self._max_frame_bytes:
                if self._must_answer_first():
                    self._keep(data[position:])
                    return
                self.refuse(
                    f"a frame of {size} bytes (socket.request.max.bytes={self._max_frame_bytes})"
                )
                return
            if (
                size > there
                or self._held + size > self._max_held
                or budget.used + size > budget.limit
                or budget.waiting
                or self._finishing
                or (self._line and self._must_answer_first())
            ):
                is_small = size <= _SMALL_BYTES and data[position + 4 : position + 6] != _FETCH_KEY
                needed = size if size <= there else first_bytes(size, there)
                if self._is_behind(needed, is_small):
                    self._keep(data[position:])
                    return
            if count % _REQUESTS_IN_A_ROW == 0 and count and self._has_had_its_share():
                self._keep(data[position:])
                return
            position += 4
            if there < size:
                self._begin_frame(size, data[position:])
                return
            self._request(data[position : position + size])
            position += size
            count += 1

    def _has_had_its_share(self) -> bool:
        """Thousands of small requests fit into one read: others are heard in between."""
        if self._turn.is_spent(self._began, perf_counter()):
            asyncio.get_running_loop().call_soon(self._catch_up_next)
            return True
        return False

    def _catch_up_next(self) -> None:
        self._turn.next(perf_counter())
        self._catch_up()

    def _keep(self, data: memoryview) -> None:
        """Whole frames, and perhaps the beginning of one, for later."""
        self._backlog = data if data.obj is not self._scratch.obj else memoryview(bytearray(data))
        self._hold(len(data))
        self._pause()

    def _pause(self) -> None:
        self._is_waiting = self._progress.has_waited = True
        if not self._closing:
            self._transport.pause_reading()

    def _begin_frame(self, size: int, received: memoryview) -> None:
        self._progress.begun_frames += 1
        self._frame = PartialFrame(size, received)
        self._hold(self._frame.held)
        self._make_room(self._frame)

    def _take_in(self, frame: PartialFrame, nbytes: int) -> None:
        frame.filled += nbytes
        if frame.is_whole:
            self._frame = None
            self._hold(-frame.held)
            self._request(frame.whole())
        else:
            self._make_room(frame)

    def _make_room(self, frame: PartialFrame) -> bool:
        """Whether there is room for the next bytes of a frame; if not, they have to wait for it."""
        if not frame.is_full:
            return True
        others = self._held - frame.held
        has_own = not others or self._held + frame.growth <= self._max_held
        if has_own and self._budget_admits(frame.growth, has_begun=True):
            self._hold(frame.growth)
            frame.grow()
            return True
        self._pause()
        return False

    def _budget_admits(self, size: int, *, has_begun: bool = False) -> bool:
        if self._budget.admits(self, size):
            return True
        self._budget.wait(self, size, has_begun=has_begun)
        return False

    def _is_behind(self, size: int, is_small: bool = False) -> bool:
        """Whether the next request, which needs so many bytes, has to wait."""
        if self._must_answer_first():
            return True
        if self._held:
            if self._held + size > self._max_held:
                return True
        elif is_small:
            return False
        return not self._budget_admits(size)

    def _must_answer_first(self) -> bool:
        is_changing = self._change is not None
        return is_changing or self._finishing or len(self._line) >= _MAX_IN_FLIGHT

    def go_on(self) -> None:
        self._catch_up()

    def _catch_up(self) -> None:
        if not self._is_waiting or self._closing:
            return
        if self._frame is not None:
            if not self._make_room(self._frame):
                return
            self._is_waiting = False
        else:
            if self._must_answer_first():
                return
            self._is_waiting = False
            backlog, self._backlog = self._backlog, memoryview(b"")
            self._hold(-len(backlog))
            self._began = perf_counter()
            self._receive(backlog)
        if not (self._is_waiting or self._closing or self._finishing):
            self._transport.resume_reading()

    def _request(self, data: memoryview) -> None:
        try:
            header, position = decode_request_header(data, FLEXIBLE_SINCE)
            api = self._apis.get(header.api_key)
            if api is None or not api.min_version <= header.api_version <= api.max_version:
                self._unsupported(header)
                return
            self._traffic.requests[api.key] += 1
            messages = MESSAGES[api.key]
            message, version = messages.request, header.api_version
            if len(data) <= _SMALL_BYTES:
                request = decode(message, version, data, position, surplus=True)
            else:
                steps = decode_in_steps(message, version, data, position, MAX_ELEMENTS)
                request = after_one_step(steps)
        except DecodeError as error:
            self.refuse(error.message)
            return
        if request is None:
            self._decode_in_slices(api, header, data, position)
            return
        context = self._context(api, header, len(data))
        try:
            result = api.handle(context, request)
        except Exception as error:
            self._line.append(place := _Place())
            self._broken(place, api, header, error)
            return
        if type(result) is messages.response:
            self._broker.slices.has_company = True
            self._respond(api, header, result)
        elif isinstance(result, _AWAITABLE):
            # A coroutine, or a task, may be long work itself.
            if isinstance(result, asyncio.Future) and not isinstance(result, asyncio.Task):
                self._broker.slices.has_company = True
            self._await(api, context, result, len(data))
        elif result is not None:
            self._respond(api, header, result)

    def _context(self, api: Api, header: RequestHeader, size: int) -> Context:
        return Context(
            self._broker,
            self._listener,
            header,
            self.peer,
            self._number,
            api.ends_with_connection,
            size,
        )

    def _await(self, api: Api, context: Context, result: Awaitable[Any], size: int) -> None:
        if api.key != PRODUCE and size <= _SMALL_BYTES:
            size *= _BYTES_PER_ELEMENT
        place = self._new_place(size, context)
        if context.alone or api.key in _CHANGES:
            self._change = place
        self._wait(place, api, context.header, result)

    def _new_place(self, size: int, context: Context | None = None) -> _Place:
        place = _Place(size, context)
        self._line.append(place)
        self._hold(size)
        return place

    def _decode_in_slices(
        self, api: Api, header: RequestHeader, data: memoryview, position: int
    ) -> None:
        """From the start again: what was read from the scratch buffer has to be copied first."""
        if data.obj is self._scratch.obj:
            data = memoryview(bytearray(data))
        place = self._change = self._new_place(len(data))
        if api.key == PRODUCE:
            # A producer that waits for no answer (acks=0) may have gone when it has sent all.
            place.context = self._context(api, header, len(data))
        self._wait(place, api, header, self._served_in_slices(place, api, header, data, position))

    async def _served_in_slices(
        self, place: _Place, api: Api, header: RequestHeader, data: memoryview, position: int
    ) -> Any:
        message = MESSAGES[api.key].request
        most_elements = min(len(data), MAX_ELEMENTS)
        texts = 0 if api.key == PRODUCE else len(data) * _TIMES_A_TEXT
        place.room = await self._broker.long_requests.enter(
            most_elements * ELEMENT_BYTES + texts, most_elements
        )
        steps = decode_in_steps(message, header.api_version, data, position, MAX_ELEMENTS)
        request, size = await self._broker.slices.run(measured(steps))
        place.room.resize(size + texts)
        context = place.context = place.context or self._context(api, header, len(data))
        context.room = place.room
        result = api.handle(context, request)
        if isinstance(result, Awaitable):
            if not context.alone and api.key not in _CHANGES and self._change is place:
                # Its ordered stage is over.
                self._change = None
                asyncio.get_running_loop().call_soon(self._catch_up)
            result = await result
        self._let_go(request)
        return result

    def _let_go(self, message: Any) -> None:
        """Even to forget a hundred thousand objects takes long."""
        forgetting = asyncio.ensure_future(self._broker.slices.run(taken_apart(message)))
        self._forgetting.add(forgetting)
        forgetting.add_done_callback(self._forgetting.discard)

    def _wait(self, place: _Place, api: Api, header: RequestHeader, result: Awaitable[Any]) -> None:
        # A future answers by itself; a coroutine needs a task.
        answer = result if isinstance(result, asyncio.Future) else asyncio.ensure_future(result)
        self._under_way[answer] = place
        answer.add_done_callback(partial(self._finish, place, api, header))

    def _finish(
        self, place: _Place, api: Api, header: RequestHeader, answer: asyncio.Future[Any]
    ) -> None:
        del self._under_way[answer]
        # What fetches may hold is bounded by what is in flight already.
        place.is_long = api.key != FETCH and place.has_room
        if self._is_lost:
            self._budget.give_back(place.size)
        if not self._is_encoded_later(place, api, header, answer):
            place.give_back()

    def _is_encoded_later(
        self, place: _Place, api: Api, header: RequestHeader, answer: asyncio.Future[Any]
    ) -> bool:
        if answer.cancelled():
            return False
        if isinstance(error := answer.exception(), Exception):
            self._broken(place, api, header, error)
            return False
        result = answer.result()
        if self._closing:
            if result is not None and api.key not in _HOT:
                self._let_go(result)
            return False  # Nobody gets it any more.
        try:
            if result is None:
                chunks: list[Buffer] | Encoding = []
            elif api.key in _HOT and place is not self._change:
                chunks = framed(header, encode(result, header.api_version))
            else:
                chunks = begin_to_encode(header, result)
        except Exception as error:
            self._broken(place, api, header, error)
            return False
        if isinstance(chunks, list):
            self._fill(place, chunks)
            return False
        self._encode_in_slices(place, api, header, result, chunks)
        return True

    def _respond(self, api: Api, header: RequestHeader, result: Any) -> None:
        """With what a handler has answered at once."""
        try:
            if api.key in _HOT:
                chunks: list[Buffer] | Encoding = framed(header, encode(result, header.api_version))
            else:
                chunks = begin_to_encode(header, result)
        except Exception as error:
            self._broken(self._new_place(0), api, header, error)
            return
        if not isinstance(chunks, list):
            self._encode_in_slices(self._new_place(0), api, header, result, chunks)
        elif self._line:
            self._fill(self._new_place(0), chunks)
        else:
            self._write(chunks)

    def _encode_in_slices(
        self, place: _Place, api: Api, header: RequestHeader, response: Any, steps: Encoding
    ) -> None:
        encoding = asyncio.ensure_future(self._broker.slices.run(steps))
        self._encoding.add(encoding)

        def encoded(done: asyncio.Future[list[Buffer]]) -> None:
            self._encoding.discard(done)
            place.give_back()
            self._let_go(response)
            if done.cancelled():
                return
            if isinstance(error := done.exception(), Exception):
                self._broken(place, api, header, error)
            else:
                self._fill(place, framed(header, done.result()))

        encoding.add_done_callback(encoded)

    def _fill(self, place: _Place, chunks: list[Buffer]) -> None:
        if self._closing:
            return  # Nobody gets it any more.
        place.chunks = chunks
        if place is self._change:
            self._change = None
        if self._line and self._line[0] is not place:
            size = sum(map(len, chunks))
            self._hold(size - place.size)
            place.size = size
            if place.is_long:
                place.is_behind = True
                self._hold_behind(size)
        self._send()

    def _send(self) -> None:
        """Write the responses at the head of the line that are there."""
        line = self._line
        while line and line[0].chunks is not None and not self._closing:
            place = line.popleft()
            self._hold(-place.size)
            if place.is_behind:
                self._hold_behind(-place.size)
            if place.chunks:
                self._write(place.chunks, place.is_long)
        self._catch_up()

    def _write(self, chunks: list[Buffer], is_long: bool = False) -> None:
        was_writable = self._is_writable
        size = len(chunks[0]) if len(chunks) == 1 else sum(map(len, chunks))
        if was_writable or size > self._largest_write:
            self._largest_write = size
        if len(chunks) == 1:
            self._transport.write(chunks[0])
        else:
            self._transport.writelines(chunks)
        self._traffic.sent_bytes += size
        self._progress.written += size
        if not was_writable:
            # Some of what was there before may have been sent meanwhile.
            self._count_unsent()
        elif size > _LARGE_ANSWER_BYTES and self._transport.get_write_buffer_size():
            # However little is left of it: have the transport say that writing pauses.
            self._transport.set_write_buffer_limits(high=0, low=0)
            self._transport.set_write_buffer_limits(high=_UNCOUNTED_UNSENT_BYTES, low=0)
        if is_long and not self._is_writable:
            self._hold_unsent(self._unsent, min(self._unread + size, self._unsent))

    def _unsupported(self, header: RequestHeader) -> None:
        if header.api_key != API_VERSIONS:
            self.refuse(f"API {header.api_key} is not supported in version {header.api_version}")
            return
        api = self._apis[API_VERSIONS]
        self._respond(api, header._replace(api_version=0), unsupported_api_versions())

    def _broken(self, place: _Place, api: Api, header: RequestHeader, error: Exception) -> None:
        if isinstance(error, ConnectionAbortedError | DecodeError):
            self.refuse(str(error))
            return
        logger.error(
            "%s v%d from %s failed", api.name, header.api_version, self.peer, exc_info=error
        )
        response = MESSAGES[api.key].response()
        if not hasattr(response, "error_code"):
            self.close()
            return
        response.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
        self._fill(place, framed(header, encode(response, header.api_version)))

    def refuse(self, why: str) -> None:
        logger.warning("closing connection from %s: %s", self.peer, why)
        self.close()

    def complaint(self) -> str | None:
        """Why this connection should end, if it should; asked every half minute."""
        unsent = self._transport.get_write_buffer_size()
        are_needed = self._closing or self._budget.is_scarce
        return self._progress.complaint(self._frame, unsent, self._is_waiting, are_needed)

    def take_no_more(self) -> None:
        """Answer what has been asked, and read nothing more."""
        self._finishing = True
        if not self._closing:
            self._transport.pause_reading()

    def close(self) -> None:
        self._closing = True
        self._transport.close()

    def abort(self) -> None:
        """Close without waiting for a client that does not read what it is sent."""
        self._closing = True
        self._transport.abort()
