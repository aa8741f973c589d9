"""``python -m featly`` is the command line."""

from featly.cli.main import run

if __name__ == "__main__":
    run()
