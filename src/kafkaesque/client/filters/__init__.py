"""Filters: a small language that says which records are wanted.

    value.price > 100 and value.ticker in ("AMZN", "GOOG")

A filter is text from strangers, and is never run as Python. The route of one, top to bottom:

    tokens.py     text -> words, numbers, strings, marks
    grammar.py    tokens -> a tree with positions (syntax.py), within limits
    kinds.py      every term gets a kind (number, text, boolean) from its use, or is refused
    normal.py     the tree -> its meaning (conditions.py); merging.py joins parts, and equal
                  meanings get equal text (written.py)
    compile.py    a condition -> a closure over a Subject (subject.py, readers.py)
    predicate.py  all of that: `parse`
    index.py      many predicates over one record: guards.py picks what to look up; tables.py,
                  spans.py and bounds.py look it up
    columnar.py   one predicate over the columns of many records (column_terms.py)

The language is described in docs/reference/filters.md. Pure: no input, no output, no clock.
Above: the fan-out gateway, the console. Below: records, orjson.
"""

from kafkaesque.client.filters.errors import FilterError
from kafkaesque.client.filters.index import PredicateIndex
from kafkaesque.client.filters.predicate import Predicate, parse
from kafkaesque.client.filters.subject import Documents, Subject

__all__ = ["Documents", "FilterError", "Predicate", "PredicateIndex", "Subject", "parse"]
