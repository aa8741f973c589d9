"""``python -m featly`` is the command line."""

from featly.present.cli import run

if __name__ == "__main__":
    run()
