"""What every test of the log needs: batches, a log on a forgetting disk, and a whole flush."""

from collections.abc import Sequence

from tests.crash.forgetting import ForgettingFiles

from kafkaesque.log.disk import DiskSegments
from kafkaesque.log.log import Log, LogConfig
from kafkaesque.records.batch import Codec, Record, new_batch, read_header

DIRECTORY = "/data/orders-0"
NOW = 1_700_000_000_000


def batch_of(
    base_offset: int,
    timestamps: Sequence[int] = (NOW,),
    size: int = 20,
    fill: int = 0,
    codec: Codec = Codec.NONE,
) -> bytes:
    """A batch with a record for each timestamp, whose values are `size` bytes long together."""
    values = [bytes([(fill + i) % 256]) * (size // len(timestamps)) for i in range(len(timestamps))]
    records = [
        Record(base_offset + i, timestamp, None, value)
        for i, (timestamp, value) in enumerate(zip(timestamps, values, strict=True))
    ]
    return bytes(new_batch(records, base_offset=base_offset, codec=codec))


def append(
    log: Log, timestamps: Sequence[int] = (NOW,), size: int = 20, fill: int = 0, now_ms: int = NOW
) -> bytes:
    batch = batch_of(log.end_offset, timestamps, size, fill)
    log.append(batch, read_header(batch), now_ms)
    return batch


def append_many(log: Log, count: int, size: int = 20) -> list[bytes]:
    return [append(log, (NOW + i,), size, fill=i) for i in range(count)]


def flush(log: Log) -> None:
    job = log.begin_flush()
    if job is not None:
        job.run()
        log.end_flush(job)


def checkpoint(log: Log) -> int:
    flush(log)
    job = log.checkpoint()
    if job is not None:
        job.run()
        log.end_checkpoint(job)
    return log.recovery_point


def new_disk(seed: int = 0) -> ForgettingFiles:
    """A machine with an empty partition directory."""
    files = ForgettingFiles(seed=seed)
    for path in ("/data", DIRECTORY):
        files.make_directory(path)
        files.sync_directory("/" if path == "/data" else "/data")
    return files


def open_log(
    files: ForgettingFiles,
    config: LogConfig | None = None,
    *,
    log_start_offset: int | None = None,
    recovery_point: int | None = None,
    clean: bool = False,
) -> Log:
    return Log.open(
        DiskSegments(files, DIRECTORY),
        config or LogConfig(),
        log_start_offset=log_start_offset,
        recovery_point=recovery_point,
        clean=clean,
    )


def read(log: Log, offset: int, max_bytes: int = 1 << 30, limit: int | None = None) -> bytes:
    data = log.read(offset, max_bytes, log.end_offset if limit is None else limit).read_nowait()
    assert data is not None
    return bytes(data)


def read_all(log: Log) -> bytes:
    """Every byte, read as a consumer does."""
    data, offset = b"", log.log_start_offset
    while offset < log.end_offset:
        piece = read(log, offset)
        data += piece
        position = 0
        while position < len(piece):
            header = read_header(piece, position)
            position, offset = position + header.size, header.next_offset
    return data


def path_of(base_offset: int, suffix: str) -> str:
    return f"{DIRECTORY}/{base_offset:020d}{suffix}"


def content(files: ForgettingFiles, path: str) -> bytes:
    file = files.open(path)
    return file.pread(file.size(), 0)
