"""What is wrong with a value that does not become a row.

Above: every file of this package.
"""

from enum import IntEnum


class Fault(IntEnum):
    """Why a row was refused; 0 says that it was not."""

    NONE = 0
    CUT_OFF = 1
    NUMBER = 2
    INT = 3
    LENGTH = 4
    UTF8 = 5
    BRANCH = 6
    SYMBOL = 7
    COUNT = 8
    TIME = 9
    UUID = 10
    DECIMAL = 11
    DEPTH = 12
    FRAME = 13
    RESOLUTION = 14
    JSON = 15
    JSON_TYPE = 16


REASONS = {
    Fault.CUT_OFF: "the value ends before its last field",
    Fault.NUMBER: "a number is longer than 64 bits",
    Fault.INT: "an int is beyond 32 bits",
    Fault.LENGTH: "a length is negative, or runs past the end of the value",
    Fault.UTF8: "a text is not UTF-8",
    Fault.BRANCH: "a union has no branch of that number",
    Fault.SYMBOL: "an enum has no symbol of that number",
    Fault.COUNT: "an array or a map claims more items than the value has room for",
    Fault.TIME: "a time of day is not within a day",
    Fault.UUID: "a text is no UUID",
    Fault.DECIMAL: "a decimal has more digits than its schema allows",
    Fault.DEPTH: "a value is nested too deep",
    Fault.FRAME: "the value is shorter than its frame",
    Fault.RESOLUTION: "the value does not fit the reader's schema",
    Fault.JSON: "the value is no JSON object",
    Fault.JSON_TYPE: "the value does not fit the schema of the columns",
}


class ColumnsError(ValueError):
    """`index` is the row that was refused; `reason` says why."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(index, reason)
        self.index = index
        self.reason = reason

    def __str__(self) -> str:
        return f"row {self.index}: {self.reason}"


class RefusedError(Exception):
    """One value, walked alone, is refused."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault
