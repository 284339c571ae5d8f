"""`python -m sooner` is the command `sooner`."""

import sys

from sooner.ui.command_line import main

if __name__ == "__main__":
    sys.exit(main())
