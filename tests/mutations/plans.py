"""Faults in plans of joins: what leaves memory, who works on disk, and results on their way up."""

from typing import Final

from mutations.mutation import Mutation

CONTRACT: Final = "operators/plans/test_plan_contract.py"
PLAN: Final = "operators/plans/test_plan_of_joins.py"
POLICIES: Final = "policies/test_plan_policies.py"
HELD: Final = f"{PLAN}::test_a_join_is_held_in_the_middle_of_a_call_that_gives_much"

MUTATIONS: Final = (
    Mutation(
        "the-best-groups-leave",
        "policies/groups.py",
        old="for score, negative_bytes, _, p, name in sorted(groups):",
        new="for score, negative_bytes, _, p, name in sorted(groups, reverse=True):",
        breaks="Those groups leave memory that are worth most.",
        tests=(POLICIES,),
    ),
    Mutation(
        "local-results-count-as-final",
        "policies/plans/global_score.py",
        old="np.sum(results, axis=0) * expected_share(groups.final, groups.local) / group_bytes",
        new="np.sum(results, axis=0) / group_bytes",
        breaks="A group whose results come to nothing further up is kept.",
        tests=(POLICIES,),
    ),
    Mutation(
        "what-was-seen-of-few-results-is-believed",
        "policies/groups.py",
        old="shares: Numbers = (final + of_join) / (local + 1)",
        new="shares = final_share(final, local)",
        breaks="Groups that have had no time to give a final result leave first.",
        tests=(POLICIES,),
    ),
    Mutation(
        "the-smallest-of-equal-groups-leave",
        "policies/groups.py",
        old="for score, negative_bytes, _, p, name in sorted(groups):",
        new="for score, negative_bytes, _, p, name in sorted(groups, key=lambda one: (one[0], -one[1])):",
        breaks="A flush is of many small runs.",
        tests=(POLICIES,),
    ),
    Mutation(
        "a-silence-is-wasted-on-what-promises-nothing",
        "policies/plans/state_manager.py",
        old="return best, bool(on_disk > in_memory)",
        new="return best, bool(on_disk > in_memory) or view.around.silent",
        breaks="Groups without results are joined before those that have some.",
        tests=(POLICIES,),
    ),
    Mutation(
        "events-of-joins-reach-nobody",
        "operators/plans/plan.py",
        old="listener=_inside(means.listener, join.input),",
        new="listener=None,",
        breaks="A trace does not show what a plan does on disk.",
        tests=("test_trace.py::test_a_plan_tells_what_happens_in_each_of_its_joins",),
    ),
    Mutation(
        "the-state-manager-begins-at-the-base",
        "policies/plans/state_manager.py",
        old="for at, (name, view) in reversed([*enumerate(views.items())]):",
        new="for at, (name, view) in [*enumerate(views.items())]:",
        breaks="The join farthest from the results is sent to disk.",
        tests=(POLICIES,),
    ),
    Mutation(
        "a-merge-blocks-nothing",
        "operators/plans/join.py",
        old='return "blocked" if port == "ready" and merging is not None',
        new='return "blocked" if port == "done" and merging is not None',
        breaks="Rows come to a join that is sent to disk.",
        tests=(f"{PLAN}::test_a_merge_blocks_what_comes_for_it_and_below",),
    ),
    Mutation(
        "no-passage-is-set-aside",
        "operators/plans/join.py",
        old="above = len(self._stages) - 1 - at",
        new="above = 0",
        breaks="Results find no room while the joins below hold their rows.",
        tests=(HELD,),
    ),
    Mutation(
        "results-go-up-in-the-order-of-arrival",
        "operators/plans/join.py",
        old="if at == len(self._stages) - 1 or not batches:",
        new="if True:",
        breaks="Where a join is held depends on the order of rows, so a step that is repeated gives something else.",
        tests=(HELD,),
    ),
    Mutation(
        "a-key-of-a-row-without-a-left-is-lost",
        "operators/plans/plan.py",
        old='counts = "left" if not left else "either" if right else "right"',
        new='counts = "left"',
        breaks="In right and full joins the key of a row that matches nothing is null.",
        tests=(f"{CONTRACT}::test_the_answer_of_all_shapes",),
    ),
    Mutation(
        "nobody-hears-that-a-join-is-done",
        "operators/plans/join.py",
        old='if stage.join.phase == "done" and not above.join.inputs[LEFT].ended:',
        new='if stage.join.phase == "clean-up" and not above.join.inputs[LEFT].ended:',
        breaks="The next join is cleaned up before it has all that comes from below.",
        tests=(f"{PLAN}::test_inputs_that_stall_and_end_in_any_order",),
    ),
)
