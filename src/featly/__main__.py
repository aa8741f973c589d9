"""``python -m featly`` is the command line."""

from featly.present.cli import main

if __name__ == "__main__":
    main()
