"""Faults in policies: which rows leave memory, and which work on disk comes next."""

from typing import Final

from mutations.mutation import Mutation

MUTATIONS: Final = (
    Mutation(
        "rate-optimal-wrong-victim",
        "policies/flush/rate_optimal.py",
        old="np.delete(chances, victim, axis=0).sum(axis=0)",
        new="chances[victim]",
        breaks="RPJ flushes the rows that are most likely to be met.",
        tests=("policies/test_rate_optimal.py",),
    ),
    Mutation(
        "regions-smaller-side-first",
        "policies/flush/regions.py",
        old="key=lambda which: -int(view.resident_rows[which].sum())",
        new="key=lambda which: int(view.resident_rows[which].sum())",
        breaks="DINER flushes the side with fewer rows in memory.",
        tests=("policies/test_regions_policy.py",),
    ),
    Mutation(
        "growth-not-staggered",
        "policies/react/growth.py",
        old="np.where(is_first, 1 + staggered(len(view.whole_rows)), 1)",
        new="np.where(is_first, 1.0, 1)",
        breaks="All partitions of PR-Join are joined at the same time at first.",
        tests=("policies/test_growth_rule.py",),
    ),
    Mutation(
        "growth-staggered-by-index",
        "policies/react/growth.py",
        old="np.arange(n_partitions) * GOLDEN_RATIO % 1",
        new="np.arange(n_partitions)",
        breaks="Neighbouring partitions of PR-Join, which may be alike, are joined one after the other.",
        tests=("policies/test_growth_rule.py",),
    ),
    Mutation(
        "growth-stops-all-at-once",
        "policies/react/growth.py",
        old="(1 + self.gamma) * view.arrived_rows.sum(axis=0)",
        new="(1 + self.gamma) * view.arrived_rows.sum() / n_partitions",
        breaks="PR-Join's stop constraint looks at all rows, not at those of the partition.",
        tests=("policies/test_growth_rule.py",),
    ),
    Mutation(
        "merge-rate-of-one-pass",
        "policies/react/best_rate.py",
        old="device.merge_seconds(n_bytes.sum(axis=0)) * passes",
        new="device.merge_seconds(n_bytes.sum(axis=0))",
        breaks="A disk-disk task seems as cheap with many runs as with few.",
        tests=("policies/test_react_policies.py",),
    ),
    Mutation(
        "merge-the-latest-again",
        "policies/react/merge.py",
        old="view.last_merge[waiting].argmin()",
        new="view.last_merge[waiting].argmax()",
        breaks="HMJ merges one partition again and again while the others wait.",
        tests=("policies/test_react_policies.py",),
    ),
)
