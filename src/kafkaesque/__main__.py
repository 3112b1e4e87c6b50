"""`python -m kafkaesque` is the `kafkaesque` command, wherever its script is not on the PATH."""

from kafkaesque.cli.main import main

if __name__ == "__main__":
    main()
