"""`python -m mudy` is `mudy`."""

from mudy.interfaces.cli import main

if __name__ == "__main__":
    main()
