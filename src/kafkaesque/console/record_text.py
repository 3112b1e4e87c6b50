"""How the bytes of a record read: as text where they are text, else as hex.

Pure. `preview` is one short line for a list; `whole` is all of it, JSON indented.
"""

import json
import unicodedata

PREVIEW = 300
HEX_PREVIEW = 48
WHOLE = 256 * 1024


def preview(data: bytes | None) -> str:
    """One line; None is Kafka's null, which is not the same as empty."""
    if data is None:
        return "null"
    # A character takes four bytes at most: no need to decode a megabyte for a line.
    text = text_of(_cut(data, PREVIEW * 4))
    if text is None:
        shown = data[:HEX_PREVIEW].hex(" ")
        return f"0x {shown}" + (" …" if len(data) > HEX_PREVIEW else "")
    return line_of(text)


def line_of(text: str) -> str:
    # What is cut off anyway need not be split.
    line = " ".join(text[: PREVIEW * 4].split())
    return line if len(line) <= PREVIEW else line[:PREVIEW] + " …"


def whole(data: bytes | None) -> str:
    """JSON indented, other text as it is, anything else as a hex dump."""
    if data is None:
        return "null"
    if len(data) > WHOLE:
        return f"{whole(_cut(data, WHOLE))}\n… {len(data) - WHOLE:,} more bytes"
    text = text_of(data)
    if text is None:
        return hex_dump(data)
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def kind(data: bytes | None) -> str:
    """What `whole` makes of it, in a word."""
    if data is None:
        return "null"
    text = text_of(data)
    if text is None:
        return "binary"
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return "text"
    return "JSON"


def text_of(data: bytes) -> str | None:
    """The text that these bytes are; None if they are none."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    odd = any(unicodedata.category(char) == "Cc" and char not in "\t\n\r" for char in text)
    return None if odd else text


def hex_dump(data: bytes) -> str:
    """Sixteen bytes a line: position, hex, and what is printable."""
    lines = []
    for position in range(0, len(data), 16):
        row = data[position : position + 16]
        printable = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f"{position:08x}  {row.hex(' '):<47}  {printable}")
    return "\n".join(lines)


def _cut(data: bytes, size: int) -> bytes:
    """The first bytes, without a character that would be cut in two."""
    if len(data) <= size:
        return data
    end = size
    while end > size - 4 and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end]
