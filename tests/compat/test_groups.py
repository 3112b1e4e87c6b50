"""Consumer groups of foreign clients: members join, leave and die, the broker is killed once.

What must hold is in history.py: every record processed, no partition owned twice in a generation,
no acknowledged commit lost.
"""

from pathlib import Path

import pytest
from tests.compat.chaos import Chaos, Plan, Seat
from tests.compat.drivers import CONFLUENT, JAVA, KAFKA_PYTHON
from tests.compat.peer import running_peer

pytestmark = pytest.mark.slow

EAGER_RANGE = (
    *[Seat(CONFLUENT)] * 2,
    Seat(CONFLUENT, static=True),
    *[Seat(JAVA)] * 2,
    *[Seat(KAFKA_PYTHON)] * 2,
)
EAGER_ROUND_ROBIN = tuple(
    Seat(client, static) for client in (CONFLUENT, JAVA, KAFKA_PYTHON) for static in (True, False)
)
COOPERATIVE = (
    *[Seat(CONFLUENT)] * 2,
    Seat(CONFLUENT, static=True),
    Seat(JAVA),
    Seat(JAVA, static=True),
    *[Seat(KAFKA_PYTHON)] * 2,
)
SETTINGS = {"group.min.session.timeout.ms": "1000"}


@pytest.mark.compat
@pytest.mark.timeout(600)
def test_twenty_members_of_three_clients_in_three_groups(tmp_path: Path) -> None:
    plans = (
        Plan("eager-range", "range", EAGER_RANGE),
        Plan("eager-roundrobin", "roundrobin", EAGER_ROUND_ROBIN),
        Plan("cooperative", "cooperative-sticky", COOPERATIVE),
    )
    assert sum(len(plan.seats) for plan in plans) == 20
    with running_peer(tmp_path / "data", SETTINGS) as peer:
        chaos = Chaos(peer, tmp_path, plans, partitions=12, seed=20)
        assert chaos.run(step_s=2, session_ms=6000, drain_s=90) == []


def test_six_members_of_two_clients_in_two_groups(tmp_path: Path) -> None:
    seats = (Seat(CONFLUENT), Seat(KAFKA_PYTHON), Seat(CONFLUENT, static=True))
    plans = (Plan("eager", "range", seats), Plan("cooperative", "cooperative-sticky", seats))
    with running_peer(tmp_path / "data", SETTINGS) as peer:
        chaos = Chaos(peer, tmp_path, plans, partitions=6, seed=6)
        assert chaos.run(step_s=1.5, session_ms=3000, drain_s=30) == []
