"""The command without the rest of the package: ``python -m report``, in a directory with this folder."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
