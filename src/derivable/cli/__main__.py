"""`python -m derivable.cli`: as `python -m derivable`."""

from .app import main

if __name__ == "__main__":
    main()
