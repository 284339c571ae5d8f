"""Text that only is text."""

import unicodedata

import pytest

from sooner.plain_text import columns_of, plain_text

HARMLESS = ["", "Ada Lovelace", "[/nope]", "漢字", "Zoë", "👩\u200d👧", "می\u200cخواهم", "a\\b", "$x$ |"]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_text_stays_as_it_is(text: str) -> None:
    assert plain_text(text) == text


def test_nothing_is_left_that_a_terminal_obeys_or_nobody_sees() -> None:
    for number in [*range(0x3000), *range(0xD7F0, 0xE010), *range(0xFE00, 0x10100), *range(0xE0000, 0xE0100)]:
        for left in plain_text(f"a{chr(number)}b"):
            assert left in "\u200c\u200d" or unicodedata.category(left) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"), (
                number
            )


def test_what_was_there_can_still_be_told() -> None:
    assert plain_text("\x1b[31m\x07\n\r\t\u202e\udcff\U000e0001") == r"\x1b[31m\x07\n\r\t\u202e\udcff\U000e0001"
    assert plain_text(None) == "None"


def test_columns_are_those_of_a_terminal() -> None:
    assert [columns_of(text) for text in ("", "abc", "漢字", "Zoe\u0308", "ｱ", "Ａ")] == [0, 3, 4, 3, 1, 2]
