"""Faults in joins of many inputs: what meets in memory, what leaves it, the loop, the chain, the grid."""

from typing import Final

from mutations.mutation import Mutation

CONTRACT: Final = "operators/multiway/test_multiway_contract.py::test_all_promises"
MINER: Final = "operators/multiway/test_miner.py"
PASSING: Final = "operators/multiway/test_passing.py"

MUTATIONS: Final = (
    Mutation(
        "rows-of-one-call-meet-twice",
        "operators/multiway/join.py",
        old="yield from self._met(which, run, new[:which])",
        new="yield from self._met(which, run, new)",
        breaks="Rows that come in one call find each other from both sides, and results come twice.",
        tests=(CONTRACT,),
    ),
    Mutation(
        "a-row-that-matches-the-disk-passes",
        "operators/multiway/passing.py",
        old="there: Flags = (begun > 0) & (self._lasts[begun - 1] >= lowest)",
        new="there: Flags = (begun > 0) & (self._lasts[begun - 1] > lowest)",
        breaks="A row whose match is the last of a block on disk is not kept, and its results are lost.",
        tests=(PASSING,),
    ),
    Mutation(
        "rows-go-although-their-match-is-on-disk",
        "operators/multiway/passing.py",
        old="return self._inputs[which].ended and not self._inputs[which].partitions[0].spilled",
        new="return self._inputs[which].ended",
        breaks="A row that matches nothing in memory of an input that has ended is let go, whatever lies on disk.",
        tests=(PASSING,),
    ),
    Mutation(
        "what-leaves-for-a-row-is-forgotten",
        "operators/multiway/leaving.py",
        old="needed_bytes = needed()  # those that left may be looked for, or look for others",
        new="pass",
        breaks="Rows pass although what they match has just left to make room for them.",
        tests=(f"{PASSING}::test_a_row_whose_match_leaves_to_make_room_for_it_is_kept",),
    ),
    Mutation(
        "rows-are-through-although-one-left-before-they-came",
        "operators/multiway/passing.py",
        old="if (early := [one for one in runs if _departed(one) < last_of_others[other]])",
        new="if (early := [one for one in runs if _departed(one) < min(newest)])",
        breaks="Rows in memory are forgotten in the end although they came after their match had left.",
        tests=(PASSING, CONTRACT),
    ),
    Mutation(
        "an-input-that-has-left-asks-for-nothing",
        "operators/multiway/leaving.py",
        old="asking = [not one.ended or bool(one.partitions[0].spilled) for one in self._inputs]",
        new="asking = [not one.ended for one in self._inputs]",
        breaks="Indexes by which rows from disk are joined in the end are not counted.",
        tests=(PASSING,),
    ),
    Mutation(
        "runs-beyond-the-codes-are-skipped-too-soon",
        "operators/multiway/combining.py",
        old="if in_order[-1] < lowest or highest < in_order[0]:",
        new="if in_order[-1] <= lowest or highest < in_order[0]:",
        breaks="A run whose last code is the lowest that is looked for is not looked into.",
        tests=(CONTRACT, MINER, PASSING),
    ),
    Mutation(
        "an-input-between-others-is-left-out-of-the-chain",
        "operators/multiway/graph.py",
        old="return len(held_by) <= 1",
        new="return len(held_by) <= 2",
        breaks="Inputs on disk are joined without the one that connects them.",
        tests=(f"{PASSING}::test_what_lies_between_inputs_on_disk_is_joined_with_them",),
    ),
    Mutation(
        "what-was-in-memory-together-comes-again",
        "operators/multiway/results.py",
        old="is_new = np.flatnonzero((arrived > departed) & (arrived > horizon))",
        new="is_new = np.flatnonzero((arrived > departed - 2) & (arrived > horizon))",
        breaks="Rows that left right after the last of them came are joined once more.",
        tests=(CONTRACT, MINER, PASSING),
    ),
    Mutation(
        "joined-by-the-loop-comes-again",
        "operators/multiway/chain.py",
        old="if len(self._chained) == len(self._inputs) and is_looped.any():",
        new="if len(self._chained) > len(self._inputs) and is_looped.any():",
        breaks="What the loop has given in a silence comes once more in the end.",
        tests=(f"{MINER}::test_a_loop_hands_over_and_what_it_did_is_not_done_again", MINER),
    ),
    Mutation(
        "met-although-one-came-later",
        "operators/multiway/overlaps.py",
        old="met: Flags = (latest <= earliest) | (latest <= horizon)",
        new="met: Flags = (latest <= earliest + 3) | (latest <= horizon)",
        breaks="A row is taken for joined although it had left shortly before its match came.",
        tests=(PASSING, CONTRACT),
    ),
    Mutation(
        "the-input-with-the-fewest-rows-leaves",
        "policies/multiway/regions.py",
        old="victims = sorted(range(len(rows)), key=lambda which: -int(rows[which]))",
        new="victims = sorted(range(len(rows)), key=lambda which: int(rows[which]))",
        breaks="Rows of the input with the fewest leave, and not of that with most.",
        tests=(f"{MINER}::test_regions_of_two_inputs_let_the_same_rows_go_as_diner",),
    ),
    Mutation(
        "a-cell-of-the-grid-is-missed",
        "spark/shuffle/shares.py",
        old="cells = [cell + at * step for cell in cells for at in along]",
        new="cells = [cell + at * step for cell in cells[:1] for at in along]",
        breaks="A row that lacks two attributes is not copied to all cells, and results are lost.",
        tests=("spark/test_spark_multijoin.py::test_a_grid_of_several_dimensions_copies_what_it_must",),
    ),
    Mutation(
        "a-range-from-the-wrong-side",
        "asked/joining_in_turn.py",
        old="return Apart(one.right, one.left.column, _from_the_right(one.within))",
        new="return Apart(one.right, one.left.column, one.within)",
        breaks="A range that was given from the later input is taken the other way round.",
        tests=("spark/test_spark_multijoin.py::test_inputs_with_a_range_are_joined_two_at_a_time",),
    ),
)
