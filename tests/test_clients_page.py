"""docs/reference/clients.md is run as it stands, and its table of profiles is true."""

import doctest
import re
from pathlib import Path

from kafkaesque.client.profiles import CONSUMER_PROFILES, PRODUCER_PROFILES

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "clients.md"


def test_every_example_of_the_page_does_what_it_says() -> None:
    done = doctest.testfile(str(PAGE), module_relative=False)
    assert done.attempted >= 20
    assert done.failed == 0


def test_the_page_names_every_setting_of_a_profile() -> None:
    rows = re.findall(
        r"^\| (producer|consumer): `(.+?)` \| (.+?) \| (.+?) \|$", PAGE.read_text(), re.M
    )
    told = {
        (who, name, column): cell for who, name, *cells in rows for column, cell in enumerate(cells)
    }
    for who, profiles in (("producer", PRODUCER_PROFILES), ("consumer", CONSUMER_PROFILES)):
        for column, settings in enumerate((profiles["latency"], profiles["throughput"])):
            for name, value in settings.items():
                cell = told[who, name, column].replace(",", "").replace(" MiB", "")
                assert cell in (str(value), str(value >> 20 if isinstance(value, int) else value))
