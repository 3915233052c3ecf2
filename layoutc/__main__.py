"""`python -m layoutc`: the command `layoutc`, where its folder is not on the path."""

import sys

from layoutc.tools.start import layoutc

if __name__ == "__main__":
    sys.exit(layoutc())
