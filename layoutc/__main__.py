"""`python -m layoutc`: the command `layoutc`, where its folder is not on the path."""

import sys

from layoutc.tools.layoutc import main

if __name__ == "__main__":
    sys.exit(main())
