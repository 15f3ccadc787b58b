"""``python -m pg_simhash report``: the commands of the package."""

import sys

USAGE = "usage: python -m pg_simhash report DATABASE TABLE COLUMN > report.html (report --help for more)"


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["report"]:
        # Imported here, because the usage needs none of it.
        from pg_simhash.report.command import main as report

        return report(arguments[1:])
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    print(USAGE, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
