"""Deep links: the address of each page, and the name of a topic, group or subject in it.

A group may have any name, slashes included, and an address is decoded once by the server and not
at all by the browser's history. So names are quoted with `~` in place of `%`, which nobody decodes
but `name_in`.
"""

from urllib.parse import quote, unquote

TOPICS = "/topics"
GROUPS = "/groups"
TRANSACTIONS = "/transactions"
SCHEMAS = "/schemas"
FANOUT = "/fanout"
PIPELINES = "/pipelines"
CANDLES = "/candles"


def topic_path(name: str) -> str:
    return f"{TOPICS}/{_quoted(name)}"


def group_path(name: str) -> str:
    return f"{GROUPS}/{_quoted(name)}"


def subject_path(name: str) -> str:
    return f"{SCHEMAS}/{_quoted(name)}"


def candles_path(ticker: str) -> str:
    """Of its shortest window; behind another slash follows another."""
    return f"{CANDLES}/{_quoted(ticker)}"


def name_in(segment: str) -> str:
    """The name that a segment of an address stands for; one typed by hand reads as itself."""
    return unquote(segment.replace("~", "%"))


def _quoted(name: str) -> str:
    return quote(name, safe="").replace("~", "%7E").replace("%", "~")
