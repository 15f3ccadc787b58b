"""``python -m pg_simhash report``: the commands of the package."""

import sys

COMMANDS = "usage: python -m pg_simhash report DATABASE TABLE COLUMN > report.html (--help for more)"


def main(arguments: list[str]) -> int:
    if arguments[:1] != ["report"]:
        print(COMMANDS, file=sys.stderr)
        return 2
    from pg_simhash.report.command import main as report

    return report(arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
