"""A process that checks cases as it is told, one a line: it may die of one, and whoever asked knows of which."""

import faulthandler
import json
import sys

from fuzz.trial import wrong_with


def main() -> None:
    faulthandler.enable()
    for line in sys.stdin:
        name, seed = line.split()
        print(json.dumps(wrong_with(name, int(seed))), flush=True)  # noqa: T201 - this is how it answers


if __name__ == "__main__":
    main()
