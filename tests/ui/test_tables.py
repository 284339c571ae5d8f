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
