"""Looking for something again, when it is not found at once: another registry may have written it.

Above: the other routes. Below: journal.py, parsing.py.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.entries import Schema
from kafkaesque.registry.journal import Journal
from kafkaesque.registry.parsing import parse_ahead
from kafkaesque.registry.problems import ProblemError

T = TypeVar("T")


async def found(journal: Journal, question: Callable[[Catalog], T]) -> T:
    """The answer; when that is a 404, or the cause may be that, once more on a fresh catalog."""
    try:
        return question(journal.catalog)
    except ProblemError as problem:
        if problem.status not in (404, 422):
            raise
    await journal.refresh()
    return question(journal.catalog)


async def parsed_ahead(journal: Journal, subject: str, schema: Schema) -> None:
    """Parse in a thread, so that questions about the schema do not keep the loop. Raises
    ProblemError."""
    work = await found(journal, lambda catalog: parse_ahead(catalog, subject, schema))
    if work is not None:
        await asyncio.to_thread(work)
