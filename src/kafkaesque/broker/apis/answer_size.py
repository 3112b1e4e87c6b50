"""What an answer takes, built and encoded, before there is any of it: so much for each element of
its arrays, and its texts.

A text is not copied into the answer, but encoded, into a buffer that grows as it does.
"""

_ELEMENT_BYTES = 300
_TIMES_A_TEXT = 2


def answer_size(elements: int, *texts: str | None) -> int:
    return elements * _ELEMENT_BYTES + _TIMES_A_TEXT * sum(map(_encoded_size, texts))


def _encoded_size(text: str | None) -> int:
    if not text:
        return 0
    return len(text) if text.isascii() else len(text.encode())
