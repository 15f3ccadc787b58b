"""Runs the report without the compiled module of the package, as ``tools/demo`` does: ``python -m report``."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
