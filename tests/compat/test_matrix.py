"""Every foreign client × everything it must be able to do, a test each.

`make compat` prints the result as a table. What a cell asserts is in cells.py.
"""

import pytest
from tests.compat.cells import CELLS
from tests.compat.drivers import ALL_CLIENTS, ForeignClient
from tests.compat.peer import Peer

# The first test of a client may have to download and build it.
pytestmark = [pytest.mark.compat, pytest.mark.timeout(600)]


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("client", ALL_CLIENTS, ids=lambda client: client.name)
def test_client_can(peer: Peer, client: ForeignClient, cell: str) -> None:
    CELLS[cell](client, peer)
