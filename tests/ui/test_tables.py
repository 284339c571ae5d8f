"""Tables in plain text."""

from sooner.ui.tables import lines_of_table

TITLES, ROWS = ("name", "what it does"), [("a", "short"), ("long name", "folded where there is no room")]


def test_columns_stand_side_by_side() -> None:
    assert lines_of_table(TITLES, ROWS) == [
        "name        what it does",
        "a           short",
        "long name   folded where there is no room",
    ]


def test_the_widest_column_is_folded_to_the_width() -> None:
    assert lines_of_table(TITLES, ROWS, width=28) == [
        "name        what it does",
        "a           short",
        "long name   folded where",
        "            there is no room",
    ]


def test_a_width_that_nothing_fits_in_still_shows_everything() -> None:
    lines = lines_of_table(TITLES, ROWS, width=1)
    assert "".join(" ".join(lines).split()).count("folded") == 1
    assert all(len(line) <= 8 + 3 + 8 for line in lines)


def test_a_table_without_rows_is_its_titles() -> None:
    assert lines_of_table(("name", ""), []) == ["name"]


def test_columns_stand_side_by_side_whatever_is_in_them() -> None:
    rows = [("漢字", "x"), ("a\x1b[1m", "y"), ("two\nlines", "z"), ("", "")]
    assert lines_of_table(("[red]\x07", "b"), rows) == [
        r"[red]\x07    b",
        "漢字         x",
        r"a\x1b[1m     y",
        r"two\nlines   z",
        "",
    ]


def test_wide_letters_are_folded_to_the_width_too() -> None:
    lines = lines_of_table(("a", "b"), [("漢" * 30, "x" * 60)], width=40)
    assert max(len(line) + line.count("漢") for line in lines) <= 40
    assert "".join(lines).count("漢") == 30
