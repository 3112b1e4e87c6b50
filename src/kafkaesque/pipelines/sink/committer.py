"""One batch of a query into its topics, once: also when the batch comes again.

    open the producer (which ends what an earlier one has left) → read the state → leave out what is
    written → send the rows → send the new state → commit

Producer and state are kept from batch to batch, for as long as nobody else becomes the writer. When
a transaction is lost (the broker was killed, another producer of this name began), both are dropped
and the batch begins anew: the state that is read then tells whether it had been written.

A batch that has mark columns is recognised row by row: each above the mark of its group is new,
whatever the checkpoint says. One without is recognised by its number.
Above: stream.py, batch.py. Below: producer.py, ledger.py, staging.py, state.py.
"""

import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from kafkaesque.pipelines.marks import unwritten
from kafkaesque.pipelines.sink.errors import FencedError, LostError, SinkError, TooLargeError
from kafkaesque.pipelines.sink.layout import Layout
from kafkaesque.pipelines.sink.ledger import Ledger
from kafkaesque.pipelines.sink.options import SinkOptions
from kafkaesque.pipelines.sink.producer import TransactionalProducer
from kafkaesque.pipelines.sink.staging import Staged, clear_others, staged_rows
from kafkaesque.pipelines.sink.state import State

_PAUSE_S = 0.2
_ROWS = 10_000
"""So many are Python objects at a time."""


class Committer:
    """Writes for one writerId."""

    def __init__(self, options: SinkOptions) -> None:
        assert options.writer_id is not None
        self._options = options
        self._writer_id = options.writer_id
        self._ledger = Ledger(options.connection, self._writer_id, options.topic)
        self._producer: TransactionalProducer | None = None
        self._state = State()
        self._in_batches = True
        """Until a batch of records was too large: sent one by one, only a row can be."""

    def commit(self, layout: Layout, staged: Sequence[Staged], batch: int) -> int:
        """How many rows were written. Raises SinkError; then none were."""
        give_up_at = time.monotonic() + self._options.delivery_timeout_ms / 1000
        while True:
            try:
                return self._attempt(layout, staged, batch)
            except TooLargeError:
                if not self._in_batches:
                    raise
                self._producer, self._in_batches = None, False
            except LostError as error:
                self._producer = None
                if time.monotonic() > give_up_at:
                    raise SinkError(
                        f"{error}; see whether the brokers run with `kafkaesque cluster health`: "
                        "the query goes on from this batch when it is started again"
                    ) from None
                time.sleep(_PAUSE_S)

    def _attempt(self, layout: Layout, staged: Sequence[Staged], batch: int) -> int:
        job = staged[0].job
        producer = self._writer_for(job.run)
        if self._state.runs[-1:] != (job.run,) and job.directory is not None:
            clear_others(job.directory)
        if self._is_written(job.query, batch):
            return 0
        producer.begin()
        try:
            sent, topics = self._send(producer, layout, staged, batch)
            if sent:
                state = self._state.after(job.run, job.query, batch, _highest(staged))
                producer.flush()
                for offsets, group in self._ledger.entries(state, topics):
                    producer.send_offsets(offsets, group)
                producer.commit()
                self._state = state
                return sent
        except BaseException:
            # Also when it could be aborted: librdkafka's producers are not well after a refusal.
            self._producer = None
            producer.abort()
            raise
        if not producer.abort():
            self._producer = None
        return 0

    def _writer_for(self, run: str) -> TransactionalProducer:
        if self._producer is None:
            # Before anything: a run that is over must not end the transaction of the one after it.
            self._require_current(self._ledger.read(stable=False), run)
            producer = transaction_producer(self._options, self._writer_id, self._in_batches)
            producer.open()
            self._state = self._ledger.read(stable=True)
            self._producer = producer
        self._require_current(self._state, run)
        return self._producer

    def _require_current(self, state: State, run: str) -> None:
        if state.is_over(run):
            raise FencedError(
                f"another query writes with writerId {self._writer_id} since this one did: stop "
                "one of them, or give each a writerId of its own"
            )

    def _is_written(self, query: str, batch: int) -> bool:
        """Whether all of the batch is, as far as its number tells."""
        written = self._state.written
        if self._options.marks is not None or not written.has(query, batch):
            return False
        if batch < written.batch:
            raise SinkError(
                f"batch {batch} of the query comes again, but {self._writer_id} has written up to "
                f"batch {written.batch}: the checkpoint is an older one, and without markColumn "
                "nobody knows which rows are new; give another writerId to write them all again"
            )
        return True

    def _send(
        self, producer: TransactionalProducer, layout: Layout, staged: Sequence[Staged], batch: int
    ) -> tuple[int, set[str]]:
        """How many rows went to which topics."""
        sent = 0
        topics: set[str] = set()
        for each in staged:
            for rows in self._new_rows(each, batch):
                named = layout.topics(rows)
                producer.require(named)
                topics.update(named)
                for piece in _pieces(rows):
                    sent += producer.send(layout.records(piece))
        return sent, topics

    def _new_rows(self, staged: Staged, batch: int) -> Iterator[pa.Table]:
        marks, columns = self._state.written.marks, self._options.marks
        is_replay = any(low <= marks.get(name, low - 1) for name, low in staged.lowest.items())
        has_number = self._state.written.has(staged.job.query, batch)
        for rows in staged_rows(staged):
            table = pa.Table.from_batches([rows])
            if columns is not None and has_number:
                # Rows without a mark are told by the number of their batch alone.
                table = table.filter(table[columns.rising].is_valid())
            if columns is not None and is_replay:
                table = unwritten(table, columns, marks)
            if table.num_rows:
                yield table


def transaction_producer(
    options: SinkOptions, transactional_id: str, in_batches: bool = True
) -> TransactionalProducer:
    settings = {} if in_batches else {"batch_num_messages": 1}
    return TransactionalProducer(
        options.connection,
        transactional_id,
        options.delivery_timeout_ms / 1000,
        transaction_timeout_ms=options.transaction_timeout_ms,
        delivery_timeout_ms=options.delivery_timeout_ms,
        compression_type=options.compression,
        linger_ms=options.linger_ms,
        **settings,
    )


def write_once(options: SinkOptions, layout: Layout, staged: Sequence[Staged]) -> int:
    """All rows in one transaction that remembers nothing. Raises SinkError; then none were."""
    transactional_id = options.writer_id or f"kafkaesque-batch-{uuid.uuid4()}"
    try:
        return _write(transaction_producer(options, transactional_id), layout, staged)
    except TooLargeError:
        return _write(transaction_producer(options, transactional_id, False), layout, staged)


def _write(producer: TransactionalProducer, layout: Layout, staged: Sequence[Staged]) -> int:
    producer.open()
    producer.begin()
    sent = 0
    try:
        for each in staged:
            for rows in staged_rows(each):
                producer.require(layout.topics(rows))
                for piece in _pieces(rows):
                    sent += producer.send(layout.records(piece))
        producer.flush()
        producer.commit()
    except BaseException:
        producer.abort()
        raise
    return sent


def _pieces(rows: pa.Table | pa.RecordBatch) -> Iterator[pa.Table | pa.RecordBatch]:
    for start in range(0, rows.num_rows, _ROWS):
        yield rows.slice(start, _ROWS)


def _highest(staged: Sequence[Staged]) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in staged:
        for name, mark in each.highest.items():
            found[name] = max(mark, found.get(name, mark))
    return found


_kept: Mapping[SinkOptions, Committer] = {}
_pid = 0


def committer_for(options: SinkOptions) -> Committer:
    """The one that this process keeps: Spark asks the same processes again and again."""
    global _kept, _pid
    if _pid != os.getpid():
        _kept, _pid = {}, os.getpid()
    if options not in _kept:
        # A transaction has one writer: who writes with other options has been stopped.
        others = {each: it for each, it in _kept.items() if each.writer_id != options.writer_id}
        _kept = {**others, options: Committer(options)}
    return _kept[options]
