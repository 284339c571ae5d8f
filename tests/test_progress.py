"""How far an operator is, and all partitions of one together."""

from dataclasses import replace

from sooner.progress import Progress, together

ONE = Progress(
    phase="arriving",
    arrived_rows=(10, 20),
    resident_rows_by_side=(4, 5),
    resident_bytes=90,
    peak_bytes=100,
    spilled_rows_by_side=(6, 15),
    spilled_bytes=200,
    forgotten_rows_by_side=(0, 1),
    results=7,
    arrived_pairs=200.0,
    covered_pairs=50.0,
    late_rows=(1, 2),
    newest=(3, None),
    fallbacks=("slowly",),
)


def test_partitions_together_are_as_far_as_the_one_that_is_least_far() -> None:
    other = replace(ONE, phase="done", covered_pairs=200.0, newest=(2, 9))
    for parts in ([ONE, other], [other, ONE]):
        found = together(parts)
        assert found.phase == "arriving"
        assert (found.arrived_rows, found.resident_rows, found.spilled_rows) == ((20, 40), 18, 42)
        assert (found.results, found.late_rows, found.newest) == (14, (2, 4), (3, 9))
        assert found.covered_fraction == 250 / 400
        assert found.fallbacks == ("slowly",), "what all of them say is said once"


def test_of_no_pairs_all_are_covered() -> None:
    assert replace(ONE, arrived_pairs=0.0, covered_pairs=0.0).covered_fraction == 1.0


def test_progress_survives_as_plain_data() -> None:
    assert Progress.from_plain(ONE.to_plain()) == ONE
