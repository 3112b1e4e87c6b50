"""Whether a client goes on: with the frame that it sends, and with taking what it is sent.

Above: connection.py.
"""

from kafkaesque.broker.partial_frame import PartialFrame

_PROGRESS_BYTES = 4096
"""What must come of a frame, or be taken of what is sent, between two looks."""
_PROGRESS_SHARE = 20
"""And one part in so many of what waits to be taken: else a little at a time would keep much."""


class Progress:
    def __init__(self) -> None:
        self.begun_frames = 0
        self.has_waited = False
        """Since the last look, for room: nothing came because nothing was read."""
        self.written = 0
        self._before = (0, 0, 0, 0)

    def complaint(
        self, frame: PartialFrame | None, unsent: int, is_waiting: bool, are_needed: bool
    ) -> str | None:
        """Why the connection should end, if it should.

        A frame that has begun must go on. A client that reads nothing may take its time, unless
        the bytes that wait for it are needed by others.
        """
        filled, taken = frame.filled if frame else 0, self.written - unsent
        before = self._before
        self._before = (self.begun_frames, filled, unsent, taken)
        has_waited, self.has_waited = self.has_waited, is_waiting
        is_slow = self.begun_frames == before[0] and filled - before[1] < _PROGRESS_BYTES
        if frame and is_slow and not has_waited:
            return f"{filled} bytes of a frame of {frame.size} have come, and no more do"
        least = max(_PROGRESS_BYTES, before[2] // _PROGRESS_SHARE)
        is_stuck = unsent and before[2] and taken - before[3] < least
        if is_stuck and are_needed:
            return f"{unsent} bytes wait to be read by the client"
        return None
