"""`python -m tests.simulation`: see the package."""

from tests.simulation.command import main

if __name__ == "__main__":
    raise SystemExit(main())
