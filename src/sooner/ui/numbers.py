"""Numbers on the command line, or a refusal in one sentence."""

import argparse
import math
from typing import Final

MOST_DIGITS: Final = 18  # of a number that fits in 64 bits


def positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number above 0")
    return number


def whole_number(text: str) -> int:
    if not (text.isdecimal() and len(text) <= MOST_DIGITS):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 on")
    return int(text)
