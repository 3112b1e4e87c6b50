"""The rows of the compatibility table that need nothing but PyPI, in `make test` as well.

What a cell asserts is in cells.py; test_matrix.py has all rows.
"""

import pytest
from tests.compat.cells import CELLS
from tests.compat.drivers import PYTHON_CLIENTS, ForeignClient
from tests.compat.peer import Peer
from tests.tiers import few


@pytest.mark.parametrize("cell", few(list(CELLS), 2))
@pytest.mark.parametrize("client", PYTHON_CLIENTS, ids=lambda client: client.name)
def test_python_client_can(peer: Peer, client: ForeignClient, cell: str) -> None:
    CELLS[cell](client, peer)
