"""`python -m binnacle` is `bn`, for where the command is not on the PATH."""

from binnacle.cli.main import run

if __name__ == "__main__":
    run()
